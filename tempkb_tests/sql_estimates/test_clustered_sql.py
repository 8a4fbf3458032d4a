"""DuckDB's estimates are those of `tempkb.statistics`, and its quantile of t is nearly SciPy's."""

import math

import duckdb
import numpy as np
import pytest
from scipy.stats import norm, t

from tempkb import statistics
from tempkb.sql_estimates import clustered_sql
from tempkb.statistics import Estimate

SOURCE = "SELECT model, part, cluster, count(*) AS n, sum(value) AS s FROM items GROUP BY ALL"
GROUPS = ("model", "part")
COLUMNS = ("value", "standard_error", "low", "high", "n_items", "n_clusters")


def test_the_quantile_of_t_is_near_that_of_scipy():
    found = duckdb.sql(f"SELECT n - 1, {clustered_sql.t_975('n')} FROM range(10, 5000) AS counted (n)").fetchnumpy()
    freedom, quantile = (np.asarray(column) for column in found.values())
    error = np.abs(quantile / t.ppf(0.975, freedom) - 1)
    assert error.max() < 1e-5
    assert error[freedom >= 30].max() < 2e-8


@pytest.mark.parametrize(("share", "coefficients"), [(0.975, clustered_sql._T_975), (0.8, clustered_sql._T_80)])
def test_coefficients_are_those_of_abramowitz_and_stegun(share, coefficients):
    z = norm.ppf(share)
    polynomials = [
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    ]
    assert pytest.approx([z, *polynomials], rel=1e-13) == list(coefficients)


def test_what_is_detectable_is_that_of_python():
    for n_clusters in (10, 11, 30, 300):
        expected = Estimate(0.0, 0.25, -1.0, 1.0, n_clusters, n_clusters).mde
        ((found,),) = duckdb.sql(
            f"SELECT {clustered_sql.detectable('n', '0.25')} FROM (SELECT {n_clusters} AS n)"
        ).fetchall()
        assert found == pytest.approx(expected, rel=1e-5)


@pytest.fixture(scope="module")
def items():
    """Rows of model, part, cluster and value: groups of 1 to 400 clusters, a null group, and groups that agree."""
    random = np.random.default_rng(20261122)
    found = []
    for model in ("a", "b", None):
        for part, n_clusters in enumerate((1, 2, 9, 10, 11, 40, 400)):
            sizes = random.geometric(0.3, n_clusters)
            effects = random.normal(3, 1, n_clusters)
            found += [
                (model, part, f"Q{cluster}", effect + random.normal())
                for cluster, (size, effect) in enumerate(zip(sizes, effects, strict=True))
                for _ in range(size)
            ]
    found += [("agree", 0, cluster, 0.1) for cluster in range(12) for _ in range(1 + cluster % 3)]
    return found


@pytest.fixture(scope="module")
def truths(items):
    """The same with shares from none to all true."""
    random = np.random.default_rng(7)
    shares = (0, 0.01, 0.5, 0.5, 0.9, 0.99, 1)
    found = [(model, part, cluster, float(random.random() < shares[part])) for model, part, cluster, _ in items]
    return found + [("halves", 0, cluster, value) for cluster in range(12) for value in (0.0, 1.0)]


def rows_of(query, items):
    connection = duckdb.connect()
    connection.execute("CREATE TABLE items (model VARCHAR, part INTEGER, cluster VARCHAR, value DOUBLE)")
    connection.executemany("INSERT INTO items VALUES (?, ?, ?, ?)", items)
    found = connection.sql(query)
    assert found.columns == [*GROUPS, *COLUMNS]
    return {row[:2]: row[2:] for row in found.fetchall()}


def by_group(items):
    found = {}
    for model, part, cluster, value in items:
        values, clusters = found.setdefault((model, part), ([], []))
        values.append(value)
        clusters.append(str(cluster))
    return found


def assert_equal(found, expected):
    """To 1e-9; ends of intervals to what the expansion of t leaves."""
    assert found.keys() == expected.keys()
    for group, row in found.items():
        value, standard_error, low, high, n_items, n_clusters = row
        one = expected[group]
        assert (n_items, n_clusters) == (one.n_items, one.n_clusters), group
        assert value == pytest.approx(one.value, rel=1e-9, abs=1e-12), group
        assert standard_error == (one.standard_error and pytest.approx(one.standard_error, rel=1e-9)), group
        assert (low is None) == (one.low is None), group
        if low is not None:
            near = 1e-5 * max(one.high - one.low, 1e-9)
            assert (low, high) == (pytest.approx(one.low, abs=near), pytest.approx(one.high, abs=near)), group


@pytest.mark.slow
@pytest.mark.parametrize("name", ["clustered_mean", "macro_mean"])
def test_means_are_those_of_python(items, name):
    found = rows_of(getattr(clustered_sql, name)(SOURCE, GROUPS), items)
    assert_equal(found, {group: getattr(statistics, name)(*one) for group, one in by_group(items).items()})
    # Here the rules that make no interval are at work, and so is a null group.
    assert found["a", 2][2] is None
    assert found[None, 3][2] is not None
    assert found["agree", 0][1:3] == (0, None)


@pytest.mark.slow
def test_proportions_are_those_of_python(truths):
    found = rows_of(clustered_sql.proportion(SOURCE, GROUPS), truths)
    assert_equal(found, {group: statistics.proportion(*one) for group, one in by_group(truths).items()})
    # All of 400 clusters: Wilson's lower end, 1 / (1 + t^2 / 400).
    assert found["a", 6][:4] == (1, 0, pytest.approx(1 / (1 + t.ppf(0.975, 399) ** 2 / 400)), 1)


def test_an_interval_holds_its_share_to_the_last_digit():
    every = "FROM range(10, 60) AS sizes (size), range(60) AS drawn (cluster), (VALUES (0), (1)) AS shares (share)"
    source = f"SELECT size, share, cluster, 1 AS n, share AS s {every} WHERE cluster < size"
    sums = "sum(n) AS c, sum(n) AS n, sum(s) AS s, sum(n) AS nn, sum(s) AS ns, sum(s) AS ss"
    counted = f"SELECT size, share, {sums} FROM ({source}) GROUP BY ALL"
    groups = ("size", "share")
    for query in (clustered_sql.proportion(source, groups), clustered_sql.counted_proportion(counted, groups)):
        rows = duckdb.sql(f"SELECT size, share, CASE share WHEN 0 THEN low ELSE high END FROM ({query})").fetchall()
        assert len(rows) == 100
        assert [row for row in rows if row[1] != row[2]] == []


@pytest.mark.slow
def test_perplexities_are_those_of_python(items):
    found = rows_of(clustered_sql.exponentiated(clustered_sql.macro_mean(SOURCE, GROUPS)), items)
    expected = {group: statistics.exponentiated(statistics.macro_mean(*one)) for group, one in by_group(items).items()}
    assert_equal(found, expected)


def test_a_perplexity_that_no_number_holds_is_infinite_as_in_python():
    items = [(model, 0, f"Q{at}", nats) for model, nats in (("same", 800.0), ("spread", 700.0)) for at in range(12)]
    items.append(("spread", 0, "Q12", 5900.0))
    low = math.exp(1100 - 400 * t.ppf(0.975, 12))
    found = rows_of(clustered_sql.exponentiated(clustered_sql.macro_mean(SOURCE, GROUPS)), items)
    assert found == {
        ("same", 0): (math.inf, math.inf, None, None, 12, 12),
        ("spread", 0): (math.inf, math.inf, pytest.approx(low, rel=0.01), math.inf, 13, 13),
    }


@pytest.mark.slow
@pytest.mark.parametrize(("name", "is_macro"), [("change", False), ("macro_change", True)])
def test_changes_are_those_of_python(items, name, is_macro):
    """Model b against model a: they share some clusters, as the numbers of clusters are equal but the items are not."""
    both = [("a" if model == "b" else model, part, cluster, value) for model, part, cluster, value in items]
    shifted = [(m, p, f"Q{int(c[1:]) + 3}" if m == "a" else c, v) for m, p, c, v in both[len(both) // 3 :] if c != 3]
    connection = duckdb.connect()
    for table, rows in (("items", items), ("others", shifted)):
        connection.execute(f"CREATE TABLE {table} (model VARCHAR, part INTEGER, cluster VARCHAR, value DOUBLE)")
        connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", rows)
    query = clustered_sql.change(SOURCE, SOURCE.replace("items", "others"), GROUPS, is_macro=is_macro)
    found = connection.sql(query)
    assert found.columns == [*GROUPS, *COLUMNS]
    before, after = by_group(items), by_group(shifted)
    expected = {
        group: getattr(statistics, name)(*before[group], *after[group]) for group in before.keys() & after.keys()
    }
    assert len(expected) > 8
    assert_equal({row[:2]: row[2:] for row in found.fetchall()}, expected)


@pytest.mark.slow
def test_a_query_without_groups_is_one_row_and_an_empty_source_none(items):
    source = "SELECT cluster, count(*) AS n, sum(value) AS s FROM items GROUP BY ALL"
    connection = duckdb.connect()
    connection.execute("CREATE TABLE items (model VARCHAR, part INTEGER, cluster VARCHAR, value DOUBLE)")
    for query in (clustered_sql.clustered_mean(source, ()), clustered_sql.change(source, source, ())):
        assert connection.sql(query).fetchall() == []
    connection.executemany("INSERT INTO items VALUES (?, ?, ?, ?)", items)
    ((value, *_),) = connection.sql(clustered_sql.clustered_mean(source, ())).fetchall()
    assert value == pytest.approx(np.mean([row[3] for row in items]))
