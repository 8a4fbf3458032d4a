"""SQL for views: windows, sums with their groups put together, and the estimates of `statistics`, by clusters.

What comes out has a row for each group: its columns, `value`, `standard_error`, `low`, `high`, `n_items` and
`n_clusters`. `low` and `high`, the ends of the 95 % interval, are cut at what the form allows. They are null for fewer
than ten clusters, or where all clusters agree exactly. Where the value or its variance is larger than any number, the
standard error and both ends are null; a difference of two infinite values is null as well. Columns of groups are given
as SQL: quoted where they need to be.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

ALL = "all"
"""Value of a column of groups in the rows that pool its values; for dates it is null, for years 0."""


def pooled(
    source: str, same: Sequence[str], each: Mapping[str, str], added: Sequence[str] = ("n", "s", "items")
) -> str:
    """Return SQL that adds up the sums of clusters: for each value of some columns, and for all of their values.

    Args:
        source: SQL with all of these columns, one row for each value of the first two kinds together.
        same: columns whose values are never put together.
        each: SQL of what stands for all values of a column, by its name. Where such a column is null, a row counts
            for all values only.
        added: columns that are summed.
    """
    own = "".join(f"{name}, " for name in same)
    shown = "".join(
        f"CASE WHEN grouping({name}) = 1 THEN {every} ELSE {name} END AS {name}, " for name, every in each.items()
    )
    sums = ", ".join(f"sum({name}) AS {name}" for name in added)
    some = [kept for n in range(len(each)) for kept in combinations(each, n)]
    sets = ", ".join(f"({', '.join([*same, *kept])})" for kept in some)
    known = " AND ".join(f"(grouping({name}) = 1 OR {name} IS NOT NULL)" for name in each)
    return f"""
        WITH parts AS MATERIALIZED ({source})
        SELECT {own}{", ".join([*each, *added])} FROM parts WHERE {" AND ".join(f"{name} IS NOT NULL" for name in each)}
        UNION ALL SELECT {own}{shown}{sums} FROM parts GROUP BY GROUPING SETS ({sets}) HAVING {known}
    """


def window_of(day: str, granularity: str) -> str:
    """Return SQL of the first day of the window that contains a day.

    Args:
        day: SQL of the day.
        granularity: SQL of the window's length, such as quarter.
    """
    return f"CAST(date_trunc({granularity}, {day}) AS DATE)"


def end_of_window(start: str, granularity: str) -> str:
    """Return SQL of the first day after a window.

    Args:
        start: SQL of its first day.
        granularity: SQL of its length: week, month, quarter or year.
    """
    return (
        f"CAST({start} + CASE {granularity} WHEN 'week' THEN INTERVAL 7 DAY WHEN 'month' THEN INTERVAL 1 MONTH "
        f"WHEN 'quarter' THEN INTERVAL 3 MONTH WHEN 'year' THEN INTERVAL 1 YEAR END AS DATE)"
    )


LEVEL = 0.95
"""Of all intervals."""
MIN_CLUSTERS = 10
"""With fewer clusters there is no interval, only a sentence: the standard error itself is too uncertain."""
EDGE = 10
"""With fewer successes or failures than this, counted in effective items, a proportion gets Wilson's interval."""
ROUNDING = 1e-12
"""A standard error below this part of the values is what rounding leaves of zero."""


MEAN, SHARE, EXP = "mean", "share", "exp"
"""Forms of aggregates: a mean, a share (a mean of 0 and 1), and a perplexity: the exponential of a mean of nats."""
FRACTION, DIFFERENCE, LOG_PROB, PPL = "fraction", "difference", "log_prob", "ppl"
"""Means of values from 0 to 1, of differences of such values, of log-probabilities, and of perplexities."""

# The quantile of t is a smooth function of 1/df. This polynomial through SciPy's values, which a test fits anew, has a
# relative error below 1e-13 from nine degrees of freedom on, which ten clusters have.
_T_975 = (
    1.95996398454012,
    2.37227123020299,
    2.822498638782919,
    2.555847532781896,
    1.589634624545945,
    0.7302405357281742,
    0.6688686684473037,
    -0.24551145451059114,
    0.03198620590752864,
)


class Measure(NamedTuple):
    """What is estimated: sum(s) / sum(n) over clusters, of `items` items.

    Attributes:
        n: column with the numbers by which sums are divided; clusters where it is 0 do not count.
        s: column with the sums.
        items: column with the numbers of items.
        labels: SQL of columns that tell the measures of one source apart, by name; one is `form`, unless the source
            has that column.
    """

    n: str = "n"
    s: str = "s"
    items: str = "items"
    labels: tuple[tuple[str, str], ...] = ()


def t_975(n_clusters: str) -> str:
    """Return SQL for the 97.5 % quantile of t with one degree of freedom less than there are clusters.

    Args:
        n_clusters: SQL of the number of clusters; fewer than ten count as ten.
    """
    freedom = f"(greatest({n_clusters}, {MIN_CLUSTERS}) - 1)"
    nested = str(_T_975[-1])
    for coefficient in reversed(_T_975[:-1]):
        nested = f"({coefficient} + {nested} / {freedom})"
    return nested


def estimates(source: str, groups: Sequence[str], measures: Sequence[Measure] = (Measure(),)) -> str:
    """Return a query of estimates: `statistics.clustered_mean`, or by `form` its `proportion` or `exponentiated`.

    Args:
        source: a query with one row for each group and cluster: the columns of the groups and of the measures.
        groups: columns of the groups; what they tell apart has one form.
        measures: what is estimated of each group; those without an item have no row.
    """
    labels = dict(measures[0].labels)
    form = "" if "form" in labels else "form, "
    shown = "".join(f"{name}, " for name in (*groups, *(name for name in labels if name != "form")))
    keys = "".join(f"{name}, " for name in groups) + form
    means = ", ".join(
        f"sum({one.n})::DOUBLE AS n{at}, sum({one.s}) / n{at} AS mean{at}" for at, one in enumerate(measures)
    )
    # In two passes, since squares of sums minus sums of squares lose digits.
    added = ", ".join(
        f"sum((({one.s} - mean{at} * {one.n}) / n{at}) ** 2) AS squares{at}, "
        f"sum({one.items})::BIGINT AS items{at}, count(*) FILTER ({one.n} > 0) AS clusters{at}"
        for at, one in enumerate(measures)
    )
    rows = ", ".join(f"{{{_labelled(one)}{_figures(at)}}}" for at, one in enumerate(measures))
    same = " AND ".join(f"sums.{name} IS NOT DISTINCT FROM means.{name}" for name in groups)
    return f"""
    WITH sums AS MATERIALIZED ({source}),
    means AS MATERIALIZED (SELECT row_number() OVER () AS id, * FROM (SELECT {keys}{means} FROM sums GROUP BY ALL)),
    errors AS (SELECT id, {added} FROM sums JOIN means ON {same} GROUP BY id)
    SELECT {shown}{_SHOWN}, n_items, n_clusters
    FROM ({_with_edges(f"SELECT {keys}unnest([{rows}], max_depth := 2) FROM errors JOIN means USING (id)")})
    """


def _labelled(measure: Measure) -> str:
    return "".join(f"'{name}': {value}, " for name, value in measure.labels)


def _figures(at: int) -> str:
    return f"'mean': mean{at}, 'squares': squares{at}, 'n_items': items{at}, 'n_clusters': clusters{at}"


def _with_edges(means: str) -> str:
    """Return a query that adds to means their standard errors, quantiles, and the effective items of shares.

    A standard error is zero for what rounding leaves of zero, and null if infinite.
    """
    return f"""
    SELECT *, {t_975("n_clusters")} AS t, n_clusters >= {MIN_CLUSTERS} AND error > 0 AS has_interval,
           CASE WHEN mean IN (0, 1) THEN n_clusters
                WHEN error > 0 THEN least(mean * (1 - mean) / error ** 2, n_items) ELSE n_items END AS n_effective,
           form = '{SHARE}' AND n_clusters >= {MIN_CLUSTERS}
               AND (error = 0 OR n_effective * least(mean, 1 - mean) < {EDGE}) AS is_edge
    FROM (
        SELECT *, sqrt(squares * n_clusters / nullif(n_clusters - 1, 0)) AS raw,
               CASE WHEN NOT isfinite(raw) THEN NULL WHEN raw <= {ROUNDING} * abs(mean) THEN 0 ELSE raw END AS error
        FROM ({means}) WHERE n_clusters > 0
    )
    """


# Wilson's interval of a share near the edges. Rounding may leave the value just outside of it where all items are true,
# or none, so it is put in.
_CENTRE = "(mean + t * t / (2 * n_effective)) / (1 + t * t / n_effective)"
_HALF = "t * sqrt(mean * (1 - mean) / n_effective + t * t / (4 * n_effective ** 2)) / (1 + t * t / n_effective)"
# Zero times an infinite value would be no number.
_EXP_ERROR = "CASE WHEN error = 0 AND isinf(exp(mean)) THEN exp(mean) ELSE exp(mean) * error END"


def _of_form(sql: str) -> str:
    return f"CASE form WHEN '{EXP}' THEN exp({sql}) ELSE {sql} END"


# What is possible; null, which `least` and `greatest` pass over, where that has no end.
_LEAST = f"CASE form WHEN '{DIFFERENCE}' THEN -1 WHEN '{FRACTION}' THEN 0 WHEN '{PPL}' THEN 1 WHEN '{EXP}' THEN 1 END"
_MOST = f"CASE form WHEN '{LOG_PROB}' THEN 0 WHEN '{FRACTION}' THEN 1 WHEN '{DIFFERENCE}' THEN 1 END"
_SHOWN = f"""
    nullif({_of_form("mean")}, 'nan'::DOUBLE) AS value,
    CASE form WHEN '{EXP}' THEN {_EXP_ERROR} ELSE error END AS standard_error,
    CASE WHEN is_edge THEN least(greatest({_CENTRE} - {_HALF}, 0), mean)
         WHEN has_interval THEN least(greatest({_of_form("mean - t * error")}, {_LEAST}), {_of_form("mean")})
         END AS low,
    CASE WHEN is_edge THEN greatest(least({_CENTRE} + {_HALF}, 1), mean)
         WHEN has_interval THEN greatest(least({_of_form("mean + t * error")}, {_MOST}), {_of_form("mean")})
         END AS high
"""
