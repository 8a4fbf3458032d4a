"""The screens of `tempkb link` and `tempkb index`."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from tempkb.api import open_store
from tempkb.engine.progress import on_terminal
from tempkb.linking.answering import Links, link_text
from tempkb.linking.indexing import write_index
from tempkb.linking.nil import Nil
from tempkb.screens.console import console, grid, say
from tempkb.screens.failure import tell
from tempkb.screens.utf8 import speak_utf8
from tempkb.wording import counted, rounded


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
                _print_head(links, tell if as_json else say)
            if as_json:
                _print_json(links)
            else:
                _print_tables(links)


def _print_head(links: Links, told: Callable[[str], None]) -> None:
    """Say among which articles is searched, and how it is told that there is none."""
    told(f"linker {links.linker}, among the {counted(links.n_candidates, 'article')} at {links.as_of.cut}")
    if lacking := links.as_of.in_words():
        told(lacking)
    told(nil_in_words(links.nil))


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


def _print_json(links: Links) -> None:
    for one in links.mentions:
        said = {
            "mention": one.mention,
            "cut": str(links.as_of.cut),
            "linker": links.linker,
            "is_nil": one.is_nil,
            "p": one.p,
            "entities": [vars(entity) for entity in one.entities],
        }
        print(json.dumps(said, ensure_ascii=False))  # noqa: T201 - machines read it


def _print_tables(links: Links) -> None:
    for one in links.mentions:
        rows = [
            (place, found.title, found.entity_id, found.page_id, rounded(found.score, 3))
            for place, found in enumerate(one.entities, 1)
        ]
        told = "" if one.is_nil is None else f" (p = {one.p:.3f})"
        title = f"{one.mention}: no such article on that day{told}" if one.is_nil else f"{one.mention}{told}"
        console().print(grid(("place", "title", "Wikidata", "page", "score"), rows, title=title))


def print_index(day: str, out: Path, linker: str) -> None:
    """Write an index of the entities of a day, and print what it has."""
    with on_terminal():
        written = write_index(open_store(), day, out, linker, tell)
    say(
        f"wrote {written.folder}: {counted(written.n_entities, 'entity', 'entities')} at {written.as_of.cut}, by the "
        f"linker {written.linker}; {counted(written.n_bytes, 'byte')}. {written.folder / 'README.md'} shows how to "
        "search it."
    )
    if lacking := written.as_of.in_words():
        say(lacking)
