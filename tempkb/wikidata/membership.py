"""When is a fact true? The truth table, and the same as SQL. Pure.

A fact begins on one of some days and ends on one of some days. In a window it is
*possible* if it holds on some day of it by some reading of its dates, and
*certain* if it does so by every reading.

| start | end | possible | certain |
|---|---|---|---|
| date | date | from the first day of the start to the last of the end | begins before the window ends and ends after
it begins, by every reading |
| date | absent | from the first day of the start to the dump's date | never: it may have ended |
| date | `novalue` | the same | from the last day of the start to the dump's date: it is said to have no end |
| date | `somevalue` | the same: it ended before the dump, nobody knows when | never |
| absent or `somevalue` | any | before the end | never: nobody knows since when |
| `novalue` | any | before the end | as if it had always been so |
| unreadable | | as `somevalue` | never |

With neither date nor `novalue` it is no fact. The day that a subject died or was
dissolved closes an end that is not known (a setting of a release). Nothing holds
on or after the dump's date.
"""

MAX_DAY, MIN_DAY = "DATE '5800000-01-01'", "DATE '5800000-01-01 (BC)'"

POSSIBLE_FROM = f"coalesce(valid_from, {MIN_DAY})"
"""First day of a row of `facts` on which it may hold."""
POSSIBLE_TO = "least(coalesce(valid_to, dump_date), dump_date)"
"""First day on which it can no longer hold, as far as the dump knows."""
CERTAIN_FROM = f"CASE WHEN start_kind = 'novalue' THEN {MIN_DAY} ELSE coalesce(certain_from, {MAX_DAY}) END"
"""Latest day on which it may begin; the end of time when nobody knows."""
CERTAIN_TO = f"CASE WHEN end_kind = 'novalue' THEN dump_date ELSE least(coalesce(certain_to, {MIN_DAY}), dump_date) END"
"""Earliest day on which it may have ended; the beginning of time when nobody knows."""


def true_on(day: str, *, certainly: bool = False) -> str:
    """Return the SQL condition that a row of `facts` holds on a day (an SQL expression)."""
    return true_within(day, f"CAST({day} + INTERVAL 1 DAY AS DATE)", certainly=certainly)


def true_within(start: str, end: str, *, certainly: bool = False) -> str:
    """Return the SQL condition that a row of `facts` holds on some day of [start, end), two SQL expressions."""
    since, until = (CERTAIN_FROM, CERTAIN_TO) if certainly else (POSSIBLE_FROM, POSSIBLE_TO)
    return f"({since} < {end} AND {until} > {start} AND {start} < dump_date)"


def known_by(dump_date: str) -> str:
    """Return the SQL condition that a row of `fact_versions` was known by the dump of a day (an SQL expression)."""
    return f"(coalesce(known_from, {MIN_DAY}) <= {dump_date} AND coalesce(known_to, {MAX_DAY}) > {dump_date})"
