"""The folder of real files, and the marks of the tests that need it."""

import os
import re
from pathlib import Path

import pytest

from tempkb.benchmarks.sentences import MASK, Place
from tempkb.wiki.dumps.files import open_dump

_NAMED = os.environ.get("TEMPKB_REAL_DATA")
DATA = Path(_NAMED or ".").resolve()
DUMPS = DATA / "dumps"
REAL = [
    pytest.mark.real,
    pytest.mark.skipif(not _NAMED, reason="TEMPKB_REAL_DATA names no folder with real dumps"),
]


def as_history(path: Path, folder: Path) -> str:
    """Write a file of current revisions without their parents, and with a name that does not say that they are current.

    A build refuses such a file as it is; so the pages seem to be never edited, and their texts can be tried.
    """
    copy = folder / f"{path.name.partition('.')[0].replace('pages-articles', 'pages')}.xml"
    copy.write_bytes(re.sub(rb"<parentid>\d+</parentid>", b"", b"".join(open_dump(path))))
    return str(copy)


def filled(record: dict) -> tuple[str, Place, Place]:
    """The whole sentence of a released probe of ECBD, with where mention and answer stand."""
    probe = record["probe_sentences"]["template_0"]
    left, right = probe["probe_sentence"].split(MASK)
    answer = unmasked(probe["label"])
    sentence = f"{left}{answer}{right}"
    found = re.search(rf"(?<!\w){re.escape(record['ent_str'])}(?!\w)", sentence)
    return sentence, Place(*found.span()), Place(len(left), len(left) + len(answer))


def definition_of(record: dict) -> str:
    """The definition of a released probe of ECBD, without its mask."""
    return record["definition"].replace(MASK, unmasked(record["def_target"]))


def unmasked(target: str) -> str:
    """The answer in a released target."""
    return target.removeprefix(f"{MASK} ").removesuffix(" <extra_id_1>")
