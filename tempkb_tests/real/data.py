"""The folder of real files, and the marks of the tests that need it."""

import os
import re
from pathlib import Path

import pytest

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
