"""In which windows a fact holds: the truth table, and the same conditions in SQL. Pure.

The start and the end of a fact are each known as an interval of days. In a window
a fact is *possible* if it holds on some day of the window for at least one reading
of its dates, and *certain* if it does so for every reading.

| start | end | possible | certain |
|---|---|---|---|
| date | date | from the first day of the start to the last of the end | begins before the window ends and ends after
it begins, by every reading |
| date | absent | from the first day of the start to the dump's date | never: it may have ended |
| date | `novalue` | the same | from the last day of the start to the dump's date: explicitly without an end |
| date | `somevalue` | the same: it ended before the dump, at an unknown time | never |
| absent or `somevalue` | any | before the end | never: the start is not known |
| `novalue` | any | before the end | as if it had always held |
| unreadable | | as `somevalue` | never |

A statement with neither a date nor `novalue` is not a fact. The day on which a
subject died or was dissolved closes an end that is not known, and `novalue` (a
setting of a release); what is `novalue` is then certain up to and with the first
day on which the subject may have died. No fact holds on or after the dump's date.
"""

MAX_DAY, MIN_DAY = "DATE '5800000-01-01'", "DATE '5800000-01-01 (BC)'"

POSSIBLE_FROM = f"coalesce(valid_from, {MIN_DAY})"
"""SQL: the first day on which a row of `facts` may hold."""
POSSIBLE_TO = "least(coalesce(valid_to, dump_date), dump_date)"
"""SQL: the first day on which it can no longer hold, as far as the dump knows."""
CERTAIN_FROM = f"CASE WHEN start_kind = 'novalue' THEN {MIN_DAY} ELSE coalesce(certain_from, {MAX_DAY}) END"
"""SQL: the latest day on which it may begin; the largest day if the start is not known."""


def true_within(start: str, end: str) -> str:
    """Return the SQL condition that a row of `facts` may hold on some day of [start, end), two SQL expressions."""
    return f"({POSSIBLE_FROM} < {end} AND {POSSIBLE_TO} > {start} AND {start} < dump_date)"
