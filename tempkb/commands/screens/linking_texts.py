"""The screens of `tempkb link` and `tempkb index`."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tempkb.commands.screens.console import say, show
from tempkb.commands.screens.failure import speak_utf8, tell
from tempkb.core.wording import counted, rounded
from tempkb.engine.progress import on_terminal
from tempkb.models.linking.answering import Answer, Links, link_text
from tempkb.models.linking.indexing import write_index
from tempkb.models.linking.nil import Nil
from tempkb.platform.api import open_store
from tempkb.store.listings import Listing, in_order


def print_links(
    parts: Iterable[str], day: str, linker: str, n: int, *, as_json: bool, nil_threshold: float | None = None
) -> None:
    """Print the entities that the mentions of a text may mean, and which of them have no article.

    Args:
        parts: the text in its order, with mentions in double brackets.
        day: the candidates are the entities of the last cut at or before it.
        linker: its name; empty for the one that was trained on the newest snapshot up to that cut.
        as_json: one JSON object per mention, and nothing else, to standard output.
        nil_threshold: p up to which a mention has no article; None for what was chosen for the linker.
    """
    with on_terminal():
        some = link_text(open_store(), parts, day, linker, n, tell, nil_threshold)
        if as_json:
            speak_utf8()
        for number, links in enumerate(some):
            if not number:
                told = tell if as_json else say
                told(f"linker {links.linker}, among the {counted(links.n_candidates, 'article')} at {links.as_of.cut}")
                told(links.as_of.in_words())
                told(nil_in_words(links.nil))
            for one in links.mentions:
                if as_json:
                    print(json.dumps(_in_json(links, one), ensure_ascii=False))  # noqa: T201 - machines read it
                else:
                    _print_table(one)


def nil_in_words(nil: Nil | str) -> str:
    """Return how a linker tells that there is no article."""
    if isinstance(nil, str):
        return f"Whether there is an article cannot be told: {nil}"
    if nil.threshold is None:
        return f"Whether there is an article cannot be told, so no threshold is set: {nil.reason}"
    what = {"margin": "best candidate leads by no more", "top_score": "best score is no higher"}[nil.measure]
    return (
        f"p is the share of validation mentions with an article whose {what}; up to p = {nil.threshold:.3f} there is "
        "no such article"
    )


def _in_json(links: Links, one: Answer) -> dict[str, Any]:
    return {
        "mention": one.mention,
        "cut": str(links.as_of.cut),
        "linker": links.linker,
        "is_nil": one.is_nil,
        "p": one.p,
        "entities": [vars(entity) for entity in one.entities],
    }


def _print_table(one: Answer) -> None:
    rows = [
        (place, found.title, found.entity_id, found.page_id, rounded(found.score, 3))
        for place, found in enumerate(one.entities, 1)
    ]
    title = f"{one.mention}: no such article on that day" if one.is_nil else one.mention
    title += "" if one.is_nil is None else f" (p = {one.p:.3f})"
    show(Listing(in_order("place", "title", "Wikidata", "page", "score"), title), rows)


def print_index(day: str, out: Path, linker: str) -> None:
    """Write an index of the entities of a day, and print what it has."""
    with on_terminal():
        written = write_index(open_store(), day, out, linker, tell)
    say(
        f"wrote {written.folder}: {counted(written.n_entities, 'entity', 'entities')} at {written.as_of.cut}, by the "
        f"linker {written.linker}; {counted(written.n_bytes, 'byte')}. {written.folder / 'README.md'} shows how to "
        "search it."
    )
    say(written.as_of.in_words())
