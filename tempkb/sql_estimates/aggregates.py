"""SQL that several views share: windows, and the estimates of aggregates with their groups put together."""

from collections.abc import Mapping, Sequence

from tempkb.sql_estimates.clustered_sql import clustered_mean, exponentiated, proportion

ALL = "all"
"""Value of a column of groups in the rows that pool its values; for dates it is null, for years 0."""

MEAN, SHARE, EXP = "mean", "share", "exp"
"""Forms of aggregates: a mean, a share (a mean of 0 and 1), and the exponential of a mean."""


def estimates(source: str, groups: Sequence[str], forms: Sequence[str]) -> str:
    """Return SQL that estimates aggregates with standard errors that know of clusters.

    Args:
        source: SQL with one row for each group and cluster: the columns of the groups, `form`, `cluster`, `n`, `s` and
            `items`. The estimate is of sum(s) / sum(n); `items` are counted.
        groups: columns by which rows are grouped; each group has one form.
        forms: those that occur.

    Returns:
        SQL with the columns of the groups, value, standard_error, low, high, n_items and n_clusters.
    """
    if len(forms) == 1:
        return _of_form(source, groups, forms[0])
    parts = " UNION ALL BY NAME ".join(f"FROM ({_of_form('FROM sums', groups, form)})" for form in forms)
    return f"WITH sums AS MATERIALIZED ({source}) {parts}"


def _of_form(source: str, groups: Sequence[str], form: str) -> str:
    own = f"SELECT * FROM ({source}) AS own WHERE form = '{form}'"
    if form == SHARE:
        return proportion(own, groups)
    means = clustered_mean(own, groups, items="items")
    return exponentiated(means) if form == EXP else means


def pooled(
    source: str, same: Sequence[str], each: Mapping[str, str], added: Sequence[str] = ("n", "s", "items")
) -> str:
    """Return SQL that adds up the sums of clusters: for each value of some columns, and for all of their values.

    Args:
        source: SQL with all of these columns.
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
    known = " AND ".join(f"(grouping({name}) = 1 OR {name} IS NOT NULL)" for name in each)
    return f"""
        SELECT {own}{shown}{sums} FROM ({source})
        GROUP BY {own}CUBE ({", ".join(each)}) HAVING {known}
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
