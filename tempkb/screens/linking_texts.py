"""The screens of `tempkb link` and `tempkb index`."""

import json
from collections.abc import Iterable
from pathlib import Path

from tempkb.api import open_store
from tempkb.engine.progress import on_terminal
from tempkb.linking.answering import Links, link_text
from tempkb.linking.indexing import write_index
from tempkb.screens.console import console, grid, say
from tempkb.screens.failure import tell
from tempkb.screens.utf8 import speak_utf8
from tempkb.wording import counted, rounded


def print_links(parts: Iterable[str], day: str, linker: str, n: int, *, as_json: bool) -> None:
    """Print the entities that the mentions of a text may mean.

    Args:
        parts: the text in its order, with mentions in double brackets.
        day: whose entities are the candidates.
        linker: its name; empty for the one that was trained on the newest snapshot up to that day.
        as_json: one JSON object per mention, and nothing else, to standard output.
    """
    with on_terminal():
        some = link_text(open_store(), parts, day, linker, n, tell)
        if as_json:
            speak_utf8()
            for links in some:
                _print_json(links)
            return
        for number, links in enumerate(some):
            if not number:
                say(f"linker {links.linker}, among the {counted(links.n_candidates, 'article')} at {links.cut}")
            _print_tables(links)


def _print_json(links: Links) -> None:
    for mention, found in links.mentions:
        entities = [vars(one) for one in found]
        said = {"mention": mention, "cut": str(links.cut), "linker": links.linker, "entities": entities}
        print(json.dumps(said, ensure_ascii=False))  # noqa: T201 - machines read it


def _print_tables(links: Links) -> None:
    for mention, found in links.mentions:
        rows = [
            (place, one.title, one.entity_id, one.page_id, rounded(one.score, 3)) for place, one in enumerate(found, 1)
        ]
        console().print(grid(("place", "title", "Wikidata", "page", "score"), rows, title=mention))


def print_index(day: str, out: Path, linker: str) -> None:
    """Write an index of the entities of a day, and print what it has."""
    with on_terminal():
        written = write_index(open_store(), day, out, linker, tell)
    say(
        f"wrote {written.folder}: {counted(written.n_entities, 'entity', 'entities')} at {written.cut}, by the linker "
        f"{written.linker}; {counted(written.n_bytes, 'byte')}. {written.folder / 'README.md'} shows how to search it."
    )
