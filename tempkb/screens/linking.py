"""The screen of `tempkb linking`: the paper's tables of linkers through time, and the figures that follow from them."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tempkb.api import open_store
from tempkb.benchmarks.linkable.pool_names import OWN_POOL
from tempkb.listings import Listing, estimate, named
from tempkb.results.linking_plots import linking_figure
from tempkb.results.linking_reading import CATEGORIES, Linking, read_linking
from tempkb.results.linking_tabling import limits, linking_csv, linking_latex, sentences, table_of_category
from tempkb.results.steps import look
from tempkb.results.tables import ALL, LINKING_EFFECTS
from tempkb.screens.console import print_sheet, say, show
from tempkb.screens.files import write_file, write_picture
from tempkb.store.store import Store
from tempkb.wording import in_points, rounded_p_value

_EFFECTS = Listing(
    named(
        *("release", "setup", "contrast", "k", "expected"),
        points=partial(estimate, columns=("estimate", "low", "high"), show=in_points),
        entities="n_clusters",
        seeds="n_seeds",
        p=lambda row: rounded_p_value(row["p_value"]),
        verdict="verdict",
    ),
    "what linkers show of time (each contrast by itself: p is not corrected)",
)


def print_linking(
    releases: Sequence[str],
    pool: str,
    k: int,
    csv_file: Path | None,
    latex_file: Path | None,
    picture: Path | None,
) -> None:
    """Print the results of linkers, and write them to the files that are asked for.

    Raises:
        SettingsError: there is no such release, pool or k, or no linker has linked anything.
    """
    store = open_store()
    every = read_linking(store, releases, pool, k)
    for one in every:
        _print(store, one)
    say(
        "Cells are per cent of test mentions whose entity is among the first k candidates, averaged over seeds; a year "
        "or month stands for the snapshot of its first day; [brackets]: trained on the snapshot of the test; on a "
        "terminal green is better and red is worse than there. Intervals are 95 %, clustered by entity, and count "
        "seeds of training where there are several. tempkb docs linking explains each figure."
    )
    if csv_file:
        write_file(csv_file, linking_csv(every))
    if latex_file:
        write_file(latex_file, linking_latex(every))
    if picture:
        _write_pictures(every, picture)


def _print(store: Store, linking: Linking) -> None:
    for category in CATEGORIES:
        sheet = table_of_category(linking, category)
        if sheet.lines:
            print_sheet(sheet)
    for line in (*(f"{line}." for line in sentences(linking)), *limits(linking)):
        say(line)
    _print_effects(store, linking)


def _print_effects(store: Store, linking: Linking) -> None:
    """Print what `linking_effects` says of the release, if it was computed; it says nothing of other pools."""
    if not linking.setups:
        return
    if linking.pool != OWN_POOL:
        command = f"tempkb linking --release {linking.release}"
        say(f"Verdicts ({LINKING_EFFECTS.name}) are of the pool {OWN_POOL} only: {command}")
        return
    rows = store.read(LINKING_EFFECTS.name, release=linking.release).to_pylist()
    if rows:
        print_effects(rows)
        if not look(store).is_current(LINKING_EFFECTS.name, ALL):
            say("These verdicts are of earlier scores or mentions; compute them again: tempkb results")
    else:
        say("What these linkers show of time, with verdicts: tempkb results")


def print_effects(rows: Sequence[dict[str, Any]]) -> None:
    """Print rows of `linking_effects`, and their notes."""
    show(_EFFECTS, rows)
    for note in dict.fromkeys(row["note"] for row in rows if row["note"]):
        contrasts = dict.fromkeys(row["contrast"] for row in rows if row["note"] == note)
        say(f"{', '.join(contrasts)}: {note}")


def _write_pictures(every: Sequence[Linking], path: Path) -> None:
    """Write the figures; of several releases each to a file of its own, with the release's name before the suffix."""
    for one in every:
        own = path if len(every) == 1 else path.with_name(f"{path.stem}-{one.release}{path.suffix}")
        with linking_figure(one) as canvas:
            write_picture(own, canvas)
