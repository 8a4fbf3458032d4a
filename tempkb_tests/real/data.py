"""The folder of real files, and the marks of the tests that need it."""

import os
from pathlib import Path

import pytest

_NAMED = os.environ.get("TEMPKB_REAL_DATA")
DATA = Path(_NAMED or ".").resolve()
DUMPS = DATA / "dumps"
REAL = [
    pytest.mark.real,
    pytest.mark.skipif(not _NAMED, reason="TEMPKB_REAL_DATA names no folder with real dumps"),
]
