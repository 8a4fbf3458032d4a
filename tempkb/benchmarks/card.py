"""Renders the dataset card of a release from a template that all benchmarks share."""

from collections.abc import Sequence
from dataclasses import dataclass

import tempkb
from tempkb.dumps.tables import DUMP_FILES
from tempkb.store.materialise import escaped
from tempkb.store.plain import plain_rows
from tempkb.store.store import Store

_FRAME = """\
---
license: {licence}
task_categories: [{tasks}]
pretty_name: {name}
---
# {name}

{intro}
{sections}
## Maintenance
The release is frozen. Built again from the same dumps with the same design it has the same bytes.{maintenance}
`sha256sum -c SHA256SUMS` verifies the files.
"""
SOURCES = "{files}"
"""The placeholder in a section for the list of the dumps' files with their checksums."""


@dataclass(frozen=True)
class Card:
    """The parts of a card that differ between releases.

    Attributes:
        licence: the texts' licence, by its name on the hub.
        tasks: categories of tasks, by their names on the hub.
        intro: what the release is; `{version}` is replaced by tempkb's version.
        sections: headings of a datasheet (Gebru et al. 2021) with their texts, in order.
        dump_ids: the dumps from which it was made.
        maintenance: a further sentence about later versions.
    """

    licence: str
    tasks: tuple[str, ...]
    intro: str
    sections: tuple[tuple[str, str], ...]
    dump_ids: Sequence[str]
    maintenance: str = ""


def render(store: Store, name: str, card: Card) -> str:
    """Return the card of a release in Markdown."""
    files = _files(store, card.dump_ids)
    sections = [f"\n## {heading}\n{text.replace(SOURCES, files)}\n" for heading, text in card.sections]
    return _FRAME.format(
        name=name,
        licence=card.licence,
        tasks=", ".join(card.tasks),
        intro=card.intro.replace("{version}", tempkb.__version__),
        sections="".join(sections),
        maintenance=f" {card.maintenance}" if card.maintenance else "",
    )


def _files(store: Store, dump_ids: Sequence[str]) -> str:
    files = [one for dump_id in dump_ids for one in plain_rows(store.read(DUMP_FILES.name, dump_id=dump_id))]
    lines = ["| dump | file | sha256 |", "| --- | --- | --- |"]
    lines += [f"| {one['dump_id']} | {escaped(one['file_name'])} | {one['checksum']} |" for one in files]
    return "\n".join(lines)
