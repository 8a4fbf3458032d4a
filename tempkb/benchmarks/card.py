"""Renders the dataset card of a release from a template that all benchmarks share."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import tempkb
from tempkb.benchmarks.loading import Loadable, front_matter, section
from tempkb.benchmarks.source_files import files_of
from tempkb.store.materialise import escaped
from tempkb.store.versions import Version

_FRAME = """\
---
license: {licence}
task_categories: [{tasks}]
pretty_name: {name}
{configs}---
# {name}

{intro}
{loading}{sections}
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
        maintenance: a further sentence about later versions.
        made: versions of its rows, whose manifests name the files of the dumps.
    """

    licence: str
    tasks: tuple[str, ...]
    intro: str
    sections: tuple[tuple[str, str], ...]
    maintenance: str = ""
    made: Sequence[Version] = ()


@cache
def texts_beside(module: str) -> dict[str, Any]:
    """Return what `card.toml` beside the file of a module holds."""
    texts: dict[str, Any] = tomllib.loads(Path(module).with_name("card.toml").read_text("utf-8"))
    return texts


def card_beside(module: str, made: Sequence[Version], **values: object) -> Card:
    """Return the card in `card.toml` beside the file of a module; a section in which nothing is left is left out.

    Args:
        values: what takes the places in its texts; `{files}` is `SOURCES`.
    """
    told = texts_beside(module)
    filled = {name: text.format(files=SOURCES, **values) for name, text in told["sections"].items()}
    return Card(
        told["licence"],
        tuple(told["tasks"]),
        told["intro"].format(version="{version}", **values),
        tuple((name, text) for name, text in filled.items() if text),
        told.get("maintenance", ""),
        made,
    )


def render(name: str, card: Card, loadables: Sequence[Loadable] = ()) -> str:
    """Return the card of a release in Markdown."""
    files = _files(card)
    sections = [f"\n## {heading}\n{text.replace(SOURCES, files)}\n" for heading, text in card.sections]
    return _FRAME.format(
        name=name,
        licence=card.licence,
        tasks=", ".join(card.tasks),
        configs=front_matter(loadables),
        loading=section(name, loadables),
        intro=card.intro.replace("{version}", tempkb.__version__),
        sections="".join(sections),
        maintenance=f" {card.maintenance}" if card.maintenance else "",
    )


def _files(card: Card) -> str:
    files = {(*name.split("/", 1), digest) for one in card.made for name, digest in files_of(one).items()}
    lines = ["| dump | file | sha256 |", "| --- | --- | --- |"]
    lines += [
        f"| {dump} | {escaped(name) or 'not known any more'} | {digest} |" for dump, name, digest in sorted(files)
    ]
    return "\n".join(lines)
