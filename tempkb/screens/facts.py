"""The screen of `tempkb knows --fact`: what models give for the objects of one fact, and when each held."""

from collections.abc import Sequence
from pathlib import Path

from tempkb.api import open_store
from tempkb.errors import SettingsError
from tempkb.listings import Listing, Sheet, in_order
from tempkb.results.facts import Fact, read_fact
from tempkb.results.plots import fact_figure
from tempkb.screens.console import print_sheet, say, show
from tempkb.screens.files import write_picture
from tempkb.screens.utf8 import as_utf8
from tempkb.wording import rounded


def print_fact(subject: str, relation: str, releases: Sequence[str], picture: Path | None) -> None:
    """Print the log-probabilities of the objects of a fact, and draw them if a file is named.

    Raises:
        SettingsError: no release asks about the fact, no model has scores of it, or none of them belongs to a day at
            which it can be drawn.
    """
    fact = read_fact(open_store(), as_utf8(subject), as_utf8(relation), [as_utf8(name) for name in releases])
    say(f"{fact.query} ({fact.subject}, {fact.relation}, release {fact.release})")
    spells = [(name, ", ".join(f"{a} to {b}" for a, b in held)) for name, held in fact.spells.items()]
    show(Listing(in_order("object", "held (within the release)")), spells)
    _print_scores(fact)
    if not picture:
        say("As a picture: add --picture FILE.png")
        return
    series = fact.series()
    if not series:
        raise SettingsError(
            f"--picture {picture}: no model with scores of this fact has a knowledge date, and none has scores of its "
            "dated queries, so there is no day at which to draw them; name the date: tempkb model add MODEL CHECKPOINT "
            "--knows-until DATE, or score those queries: tempkb score MODEL --variant dated"
        )
    with fact_figure(f"{fact.subject}, {fact.relation}: {fact.query}", series, fact.spells) as figure:
        write_picture(picture, figure)


def _print_scores(fact: Fact) -> None:
    """A row for each model, scorer and, of queries with a date, window; a column for each object."""
    rows: dict[tuple[str, ...], dict[str, float]] = {}
    for one in sorted(fact.scores, key=lambda one: (one.model, one.scorer, one.is_dated, one.is_dated and one.day)):
        when = str(one.day) if one.is_dated else ""
        rows.setdefault((one.model, one.scorer, when), {})[one.object] = one.nats
    heads = ("model", "scorer", "date in the query")[: 2 + any(one.is_dated for one in fact.scores)]
    # An object may be named as a column is.
    cells = [
        (
            *key[: len(heads)],
            *(rounded(nats.get(name), 1) for name in fact.spells),
            max(nats, key=lambda name: nats[name]) if len(nats) > 1 else "",
        )
        for key, nats in rows.items()
    ]
    print_sheet(Sheet((*heads, *fact.spells, "most probable"), cells, "log-probabilities (nats)"))
    say(
        "most probable: by the log-probability itself, which is lower for longer and rarer names, whoever they belong "
        "to; without --fact, what the subject adds to it is compared. A query with a date asks only for the objects of "
        "its own window and for those that have just left."
    )
