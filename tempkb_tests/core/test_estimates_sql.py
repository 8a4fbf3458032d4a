"""DuckDB's estimates are those of `tempkb.core.statistics`, and its quantile of t is SciPy's."""

import math

import duckdb
import numpy as np
import pytest
from scipy.stats import t

from tempkb.core import estimates_sql, statistics
from tempkb.core.estimates_sql import DIFFERENCE, EXP, FRACTION, LOG_PROB, MEAN, PPL, SHARE, Measure, estimates

GROUPS = ("model", "part")
COLUMNS = ("value", "standard_error", "low", "high", "n_items", "n_clusters")
BY_ITEM, BY_CLUSTER = "count(*) AS n, sum(value) AS s", "1 AS n, avg(value) AS s"


def source(form, sums=BY_ITEM):
    """SQL of what each cluster adds; by cluster each counts once, whatever its number of items."""
    return f"SELECT model, part, cluster, '{form}' AS form, count(*) AS items, {sums} FROM items GROUP BY ALL"


def test_the_quantile_of_t_is_that_of_scipy():
    numbers = "(SELECT unnest(range(10, 5000) || [10000, 1000000, 1000000000]) AS n)"
    found = duckdb.sql(f"SELECT n - 1, {estimates_sql.t_975('n')} FROM {numbers}").fetchnumpy()
    freedom, quantile = (np.asarray(column) for column in found.values())
    assert np.abs(quantile / t.ppf(0.975, freedom) - 1).max() < 1e-12


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
    assert found.keys() == expected.keys()
    for group, row in found.items():
        one = expected[group]
        assert row[4:] == (one.n_items, one.n_clusters), group
        for figure, same in zip(row[:4], (one.value, one.standard_error, one.low, one.high), strict=True):
            assert figure == (None if same is None else pytest.approx(same, rel=1e-10, abs=1e-12)), group


@pytest.mark.slow
@pytest.mark.parametrize(("name", "sums"), [("clustered_mean", BY_ITEM), ("macro_mean", BY_CLUSTER)])
def test_means_are_those_of_python(items, name, sums):
    found = rows_of(estimates(source(MEAN, sums), GROUPS), items)
    assert_equal(found, {group: getattr(statistics, name)(*one) for group, one in by_group(items).items()})
    # Here the rules that make no interval are at work, and so is a null group.
    assert found["a", 2][2] is None
    assert found[None, 3][2] is not None
    assert found["agree", 0][1:3] == (0, None)


@pytest.mark.slow
def test_proportions_are_those_of_python(truths):
    found = rows_of(estimates(source(SHARE), GROUPS), truths)
    assert_equal(found, {group: statistics.proportion(*one) for group, one in by_group(truths).items()})
    # All of 400 clusters: Wilson's lower end, 1 / (1 + t^2 / 400).
    assert found["a", 6][:4] == (1, 0, pytest.approx(1 / (1 + t.ppf(0.975, 399) ** 2 / 400)), 1)


def test_an_interval_holds_its_share_to_the_last_digit():
    every = "FROM range(10, 60) AS sizes (size), range(60) AS drawn (cluster), (VALUES (0), (1)) AS shares (share)"
    sums = (
        f"SELECT size, share, cluster, '{SHARE}' AS form, 1 AS n, share AS s, 1 AS items {every} WHERE cluster < size"
    )
    query = estimates(sums, ("size", "share"))
    rows = duckdb.sql(f"SELECT size, share, CASE share WHEN 0 THEN low ELSE high END FROM ({query})").fetchall()
    assert len(rows) == 100
    assert [row for row in rows if row[1] != row[2]] == []


@pytest.mark.slow
def test_perplexities_are_those_of_python(items):
    found = rows_of(estimates(source(EXP, BY_CLUSTER), GROUPS), items)
    expected = {group: statistics.exponentiated(statistics.macro_mean(*one)) for group, one in by_group(items).items()}
    assert_equal(found, expected)


def test_a_perplexity_that_no_number_holds_is_infinite_as_in_python():
    items = [(model, 0, f"Q{at}", nats) for model, nats in (("same", 800.0), ("spread", 700.0)) for at in range(12)]
    items.append(("spread", 0, "Q12", 5900.0))
    low = math.exp(1100 - 400 * t.ppf(0.975, 12))
    found = rows_of(estimates(source(EXP, BY_CLUSTER), GROUPS), items)
    assert found == {
        ("same", 0): (math.inf, math.inf, None, None, 12, 12),
        ("spread", 0): (math.inf, math.inf, pytest.approx(low, rel=0.01), math.inf, 13, 13),
    }


@pytest.mark.parametrize(
    ("form", "sign", "end", "bound"),
    [
        (MEAN, 1, 2, None),
        (FRACTION, 1, 2, 0),
        (FRACTION, -1, 3, 1),
        (DIFFERENCE, 1, 2, -1),
        (DIFFERENCE, -1, 3, 1),
        (LOG_PROB, -1, 3, 0),
        (PPL, 1, 2, 1),
        (EXP, 1, 2, 1),
    ],
)
def test_an_interval_ends_where_its_form_does(form, sign, end, bound):
    """Eleven of twelve clusters are at the bound, and one is a half away from it."""
    start = {None: 0.0, EXP: 0.0}.get(form if form == EXP else bound, bound)
    items = [("m", 0, f"Q{at}", start + sign * (0.5 if at == 0 else 0.0)) for at in range(12)]
    row = rows_of(estimates(source(form), GROUPS), items)["m", 0]
    plain = statistics.clustered_mean([one[3] for one in items], range(12))
    ends = [math.exp(one) if form == EXP else one for one in (plain.low, plain.high)]
    other = 5 - end
    assert row[other] == pytest.approx(ends[other - 2])
    assert row[end] == (pytest.approx(ends[end - 2]) if bound is None else bound)
    # The interval that is cut would have ended outside.
    assert sign * (ends[end - 2] - (0 if bound is None else bound)) < 0


def test_measures_of_one_source_are_told_apart_and_count_their_own_clusters():
    """Twelve clusters of two values each; the second measure has no item in four of them."""
    sums = """
        SELECT cluster, 2 AS n_all, 1.0 * cluster AS s_all, CASE WHEN cluster < 8 THEN 1 ELSE 0 END AS n_some,
               CASE WHEN cluster < 8 THEN 1.0 END AS s_some, 'x' AS model FROM range(12) AS drawn (cluster)
    """
    measures = (
        Measure("n_all", "s_all", "n_all", (("aggregate", "'all'"), ("form", f"'{MEAN}'"))),
        Measure("n_some", "s_some", "n_some", (("aggregate", "'some'"), ("form", f"'{SHARE}'"))),
    )
    rows = duckdb.sql(estimates(sums, ("model",), measures)).fetchall()
    found = {aggregate: (value, n_items, n_clusters) for _, aggregate, value, _, _, _, n_items, n_clusters in rows}
    assert found == {"all": (66 / 24, 24, 12), "some": (1, 8, 8)}
