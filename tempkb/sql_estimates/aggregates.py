"""SQL that several views share: windows, and sums with their groups put together."""

from collections.abc import Mapping, Sequence
from itertools import combinations

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
