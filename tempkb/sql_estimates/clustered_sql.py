"""SQL for estimates that know of clusters: the formulas of `statistics`, for views.

A source is a query with one row for each group and cluster: the columns of the groups, `cluster`, `n` (number of items)
and `s` (sum of their values). What comes out has a row for each group: its columns, `value`, `standard_error`, `low`,
`high`, `n_items` and `n_clusters`. `low` and `high`, the ends of the 95 % interval, are null for fewer than ten
clusters, or where all clusters agree exactly. Where the value or its variance is larger than any number, the standard
error and both ends are null; a difference of two infinite values is null as well. Numbers are those of `statistics`,
but for the quantile of t (`t_975`).
Columns of groups are given as SQL: quoted where they need to be.
"""

from collections.abc import Sequence

from tempkb.sql_estimates.conventions import EDGE, MIN_CLUSTERS, ROUNDING

# The expansion of Cornish and Fisher in 1/df (Abramowitz and Stegun 26.7.5): the normal quantile and the coefficients,
# which a test computes anew from the polynomials.
_T_975 = (1.959963984540054, 2.372271230298562, 2.8224986157396112, 2.555849679507722, 1.5895340533938225)
# Of one to eight degrees of freedom, for which the expansion is too coarse.
_T_975_OF_FEW = (
    12.7062047362,
    4.3026527297,
    3.1824463053,
    2.7764451052,
    2.5705818356,
    2.4469118511,
    2.3646242516,
    2.3060041352,
)
_T_80 = (0.8416212335729144, 0.3594409221562545, 0.14765062376290836, 0.01674585475189037, -0.011559163026144157)


def t_975(n_clusters: str) -> str:
    """Return SQL for the 97.5 % quantile of t with one degree of freedom less than there are clusters.

    DuckDB has no such function, so this is an expansion with four terms. Its relative error is below 1e-5 from nine
    degrees of freedom on, which ten clusters have, and below 2e-8 from thirty on.

    Args:
        n_clusters: SQL of the number of clusters; fewer than ten count as ten.
    """
    return _expansion(_T_975, n_clusters)


def t_975_of(freedom: str) -> str:
    """Return SQL for the 97.5 % quantile of t with any number of degrees of freedom, such as few seeds have.

    From nine on this is the expansion of `t_975`; below, the number is rounded down, which makes intervals wider.

    Args:
        freedom: SQL of the number of degrees of freedom, at least 1.
    """
    few = ", ".join(map(str, _T_975_OF_FEW))
    return (
        f"CASE WHEN {freedom} >= {len(_T_975_OF_FEW) + 1} THEN {_expanded(_T_975, f'({freedom})')} "
        f"ELSE [{few}][greatest(1, floor({freedom}))::INTEGER] END"
    )


def detectable(n_clusters: str, standard_error: str) -> str:
    """Return SQL for the smallest true difference that is found with a power of 80 %, as `statistics.Estimate.mde`.

    Args:
        n_clusters: SQL of the number of clusters; fewer than ten count as ten.
        standard_error: SQL of the difference's standard error.
    """
    return f"({_expansion(_T_975, n_clusters)} + {_expansion(_T_80, n_clusters)}) * {standard_error}"


def _expansion(coefficients: Sequence[float], n_clusters: str) -> str:
    return _expanded(coefficients, f"(greatest({n_clusters}, {MIN_CLUSTERS}) - 1)")


def _expanded(coefficients: Sequence[float], freedom: str) -> str:
    nested = "0"
    for coefficient in reversed(coefficients[1:]):
        nested = f"({coefficient} + {nested}) / {freedom}"
    return f"({coefficients[0]} + {nested})"


def clustered_mean(source: str, groups: Sequence[str], *, items: str = "n") -> str:
    """Return a query of means over items, as `statistics.clustered_mean`.

    Args:
        source: a source.
        groups: columns of the groups.
        items: SQL of the number of items of a cluster, where `n` counts something else, such as their tokens.
    """
    return _mean(source, groups, is_macro=False, items=items)


def macro_mean(source: str, groups: Sequence[str]) -> str:
    """Return a query of means of the means of clusters, as `statistics.macro_mean`."""
    return _mean(source, groups, is_macro=True)


def proportion(source: str, groups: Sequence[str]) -> str:
    """Return a query of shares, as `statistics.proportion`; `s` is the number of items that are true."""
    return _as_shares(clustered_mean(source, groups), groups)


def counted_proportion(source: str, groups: Sequence[str]) -> str:
    """Return a query of shares from numbers of items alone, as `proportion`, for many groups of many clusters.

    Whole numbers can be added up exactly, so one pass suffices, and clusters that agree exactly have no error at all.

    Args:
        source: a query with one row for each group: its columns, and over its clusters the number of clusters `c`, the
            sum `n` of their numbers of items, the sum `s` of those that are true, and the sums `nn`, `ns` and `ss` of
            the products of these two numbers.
        groups: columns of the groups.
    """
    squares = "n::HUGEINT * n * ss - 2 * n::HUGEINT * s * ns + s::HUGEINT * s * nn"
    means = f"""
        SELECT {_listed(groups)}s / n AS value,
               sqrt(({squares})::DOUBLE * c / nullif(c - 1, 0)) / n::DOUBLE ** 2 AS standard_error,
               n::BIGINT AS n_items, c::BIGINT AS n_clusters
        FROM ({source})
    """
    return _as_shares(_with_interval(means, _listed(groups)), groups)


def _as_shares(means: str, groups: Sequence[str]) -> str:
    """Return a query that replaces the intervals of means of 0 and 1 by Wilson's near the edges.

    Rounding may leave the value just outside of Wilson's interval where all items are true, or none, so it is put in.
    """
    centre = "(value + z * z / (2 * n_effective)) / (1 + z * z / n_effective)"
    half = "z * sqrt(value * (1 - value) / n_effective + z * z / (4 * n_effective ** 2)) / (1 + z * z / n_effective)"
    # Columns are listed, since DuckDB writes down those of EXCLUDE in an order of its own, so that the text of a view
    # would differ between homes that are equal.
    return f"""
    SELECT {_listed(groups)}value, standard_error,
           CASE WHEN is_edge THEN least(greatest({centre} - {half}, 0), value) ELSE low END AS low,
           CASE WHEN is_edge THEN greatest(least({centre} + {half}, 1), value) ELSE high END AS high,
           n_items, n_clusters
    FROM (
        SELECT *, n_clusters >= {MIN_CLUSTERS}
               AND (standard_error = 0 OR n_effective * least(value, 1 - value) < {EDGE}) AS is_edge
        FROM (
            SELECT *, {t_975("n_clusters")} AS z,
                   CASE WHEN value IN (0, 1) THEN n_clusters
                        WHEN standard_error > 0 THEN least(value * (1 - value) / standard_error ** 2, n_items)
                        ELSE n_items END AS n_effective
            FROM ({means})
        )
    )
    """


def exponentiated(estimates: str) -> str:
    """Return a query of exp of estimates and of the ends of their intervals, as `statistics.exponentiated`."""
    # Zero times an infinite value would be no number.
    error = "CASE WHEN standard_error = 0 AND isinf(exp(value)) THEN exp(value) ELSE exp(value) * standard_error END"
    return f"""
    SELECT * REPLACE (exp(value) AS value, {error} AS standard_error, exp(low) AS low, exp(high) AS high)
    FROM ({estimates})
    """


def change(before: str, after: str, groups: Sequence[str], *, is_macro: bool = False) -> str:
    """Return a query of means after minus means before, as `statistics.change`, or as `macro_change`.

    Args:
        before: a source.
        after: a source with the same columns.
        groups: those that both have; a group that lacks items on either side has no row.
        is_macro: whether means of the means of clusters are compared, as for entity-macro perplexity.
    """
    keys, clusters = _listed(groups), ", ".join([*groups, "cluster"])
    sides = " UNION ALL BY NAME ".join(
        f"SELECT {number} AS side, * FROM ({_deviations(source, groups, is_macro=is_macro)})"
        for number, source in enumerate((before, after))
    )
    # What a cluster adds to the error of the difference is the difference of what it adds to the two means.
    scale = "greatest(abs(any_value(old)), abs(any_value(new)))"
    return _with_interval(
        f"""
        SELECT {keys}any_value(new) - any_value(old) AS value, {_error("psi", scale)} AS standard_error,
               sum(items)::BIGINT AS n_items, least(sum(n_old), sum(n_new))::BIGINT AS n_clusters
        FROM (
            SELECT {clusters}, sum(CASE side WHEN 1 THEN deviation ELSE -deviation END) AS psi, sum(items) AS items,
                   any_value(mean) FILTER (side = 0) AS old, count(*) FILTER (side = 0) AS n_old,
                   any_value(mean) FILTER (side = 1) AS new, count(*) FILTER (side = 1) AS n_new
            FROM ({sides}) GROUP BY {clusters}
        )
        GROUP BY ALL HAVING sum(n_old) > 0 AND sum(n_new) > 0
        """,
        keys,
    )


def _mean(source: str, groups: Sequence[str], *, is_macro: bool, items: str = "n") -> str:
    keys = _listed(groups)
    return _with_interval(
        f"""
        SELECT {keys}nullif(any_value(mean), 'nan'::DOUBLE) AS value,
               {_error("deviation", "abs(any_value(mean))")} AS standard_error,
               sum(items)::BIGINT AS n_items, count(*) AS n_clusters
        FROM ({_deviations(source, groups, is_macro=is_macro, items=items)}) GROUP BY ALL HAVING count(*) > 0
        """,
        keys,
    )


def _deviations(source: str, groups: Sequence[str], *, is_macro: bool, items: str = "n") -> str:
    """Return a query of what each cluster adds to the error of its group's mean, which takes each item or cluster once.

    In two passes, since squares of sums minus sums of squares lose digits.
    """
    weight, summed = ("1", "s / n") if is_macro else ("n", "s")
    over = f"OVER (PARTITION BY {', '.join(groups)})" if groups else "OVER ()"
    clusters = ", ".join([*groups, "cluster"])
    return f"""
    SELECT {clusters}, items, mean, (summed - mean * weight) / weights AS deviation
    FROM (
        SELECT *, sum(summed) {over} / sum(weight) {over} AS mean, sum(weight) {over} AS weights
        FROM (
            SELECT {clusters}, {items} AS items, {weight}::DOUBLE AS weight, ({summed})::DOUBLE AS summed
            FROM ({source})
        )
    )
    """


def _error(deviation: str, scale: str) -> str:
    """Return SQL of the standard error from what clusters add: zero for what rounding leaves of zero, null if infinite.

    Around an infinite mean clusters add what is no number.
    """
    error = f"sqrt(sum({deviation} ** 2) * count(*) / nullif(count(*) - 1, 0))"
    return f"CASE WHEN NOT isfinite({error}) THEN NULL WHEN {error} <= {ROUNDING} * {scale} THEN 0 ELSE {error} END"


def _with_interval(estimates: str, keys: str) -> str:
    """Return a query that adds the ends of intervals to rows of values, standard errors and numbers."""
    half = f"{t_975('n_clusters')} * standard_error"
    has_interval = f"n_clusters >= {MIN_CLUSTERS} AND standard_error > 0"
    return f"""
    SELECT {keys}value, standard_error, CASE WHEN {has_interval} THEN value - {half} END AS low,
           CASE WHEN {has_interval} THEN value + {half} END AS high, n_items, n_clusters
    FROM ({estimates})
    """


def _listed(groups: Sequence[str]) -> str:
    return "".join(f"{group}, " for group in groups)
