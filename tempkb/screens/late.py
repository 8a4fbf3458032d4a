"""`tempkb late`: how long one must wait for the facts of a window."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tempkb.api import open_store
from tempkb.errors import SettingsError
from tempkb.listings import Across, Listing, as_csv, estimate
from tempkb.results.steps import are_due
from tempkb.results.tables import FACT_DELAYS
from tempkb.screens.console import say, show
from tempkb.screens.files import write_file
from tempkb.wording import percent

_WHAT = {"begun": "begin in the window", "holding": "hold in the window"}


def delay_in_words(row: Mapping[str, Any]) -> str:
    """Return days with their interval, if there is one, such as `140 [110, 190]`."""
    return estimate(row, ("days", "days_low", "days_high"), str)


_DELAYS = Listing(
    {
        "facts that": lambda row: _WHAT[row["facts"]],
        "relation": "relation",
        "facts": "n_facts",
        "subjects": "n_subjects",
        "after": Across("share", delay_in_words, {one: f"{percent(one)} % after, days" for one in (0.5, 0.9, 0.95)}),
        "there after 90 days, %": lambda row: f"{percent(row['least_at_90'])} to {percent(row['most_at_90'])}",
    },
    "how long facts take to come",
    query=f"FROM {FACT_DELAYS.name} ORDER BY facts, relation <> 'all', relation, share",
    needs=(FACT_DELAYS.name,),
)


def print_delays(csv_file: Path | None) -> None:
    """Print after how many days which share of a window's facts was there, by relation.

    Raises:
        SettingsError: it was not computed yet.
    """
    store = open_store()
    if not store.lake.partitions(FACT_DELAYS.name):
        raise SettingsError(f"{FACT_DELAYS.name} is not built; compute it: tempkb results")
    rows = _DELAYS.rows(store)
    if csv_file:
        write_file(csv_file, as_csv(rows))
    if rows[0]["reason"]:
        say(f"How long facts take to come is not known: {rows[0]['reason']}.")
    else:
        show(_DELAYS, rows)
        shown = next(row for row in rows if row["share"] == 0.95)
        say(
            f"95 % of the facts that begin in a window are there {delay_in_words(shown)} days after its end; in "
            "brackets the 95 % interval, by subject. Counted are the facts that the dump of "
            f"{shown['newest_dump_date']} has, of {shown['n_windows']} windows that ended at least two years before "
            "it; what is still to come of younger windows is not seen. A fact was entered between two dumps, so that "
            "days and shares have bounds: the days are those by which it was there for certain. 90 days after its end "
            "a window no longer counts as provisional."
        )
    say(are_due(store, (FACT_DELAYS.name,)))
