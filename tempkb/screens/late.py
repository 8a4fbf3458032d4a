"""`tempkb late`: how long one must wait for the facts of a window."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from tempkb.api import open_store
from tempkb.errors import SettingsError
from tempkb.results.steps import are_due
from tempkb.results.tables import FACT_DELAYS
from tempkb.screens.console import console, grid, say
from tempkb.screens.files import write_csv

_SHOWN = (0.5, 0.9, 0.95)
_WHAT = {"begun": "begin in the window", "holding": "hold in the window"}


def print_delays(csv_file: Path | None) -> None:
    """Print after how many days which share of a window's facts was there, by relation.

    Raises:
        SettingsError: it was not computed yet.
    """
    store = open_store()
    if not store.lake.partitions(FACT_DELAYS.name):
        raise SettingsError(f"{FACT_DELAYS.name} is not built; compute it: tempkb results")
    found = store.query(f"FROM {FACT_DELAYS.name} ORDER BY facts, relation <> 'all', relation, share", FACT_DELAYS.name)
    if csv_file:
        write_csv(csv_file, found)
    rows = found.to_pylist()
    if rows[0]["reason"]:
        say(f"How long facts take to come is not known: {rows[0]['reason']}.")
    else:
        _print_table(rows)
    if due := are_due(store, (FACT_DELAYS.name,)):
        say(due)


def delay_in_words(row: Mapping[str, Any]) -> str:
    """Return days with their interval, if there is one, such as `140 [110, 190]`."""
    return f"{row['days']}" + ("" if row["days_low"] is None else f" [{row['days_low']}, {row['days_high']}]")


def _print_table(rows: Sequence[Mapping[str, Any]]) -> None:
    shares = (f"{100 * share:.0f} % after, days" for share in _SHOWN)
    titles = ("facts that", "relation", "facts", "subjects", *shares, "there after 90 days, %")
    groups = [list(group) for _, group in groupby(rows, key=lambda row: (row["facts"], row["relation"]))]
    console().print(grid(titles, [_cells(group) for group in groups], title="how long facts take to come"))
    (shown,) = (row for row in groups[0] if row["share"] == 0.95)
    say(
        f"95 % of the facts that begin in a window are there {delay_in_words(shown)} days after its end; in brackets "
        f"the 95 % interval, by subject. Counted are the facts that the dump of {shown['newest_dump_date']} has, of "
        f"{shown['n_windows']} windows that ended at least two years before it; what is still to come of younger "
        "windows is not seen. A fact was entered between two dumps, so that days and shares have bounds: the days are "
        "those by which it was there for certain. 90 days after its end a window no longer counts as provisional."
    )


def _cells(group: Sequence[Mapping[str, Any]]) -> tuple[Any, ...]:
    first, by_share = group[0], {row["share"]: row for row in group}
    return (
        _WHAT[first["facts"]],
        first["relation"],
        first["n_facts"],
        first["n_subjects"],
        *(delay_in_words(by_share[share]) for share in _SHOWN),
        f"{100 * first['least_at_90']:.0f} to {100 * first['most_at_90']:.0f}",
    )
