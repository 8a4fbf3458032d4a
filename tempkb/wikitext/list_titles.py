"""Recognises the titles of pages that list things, by the words of the wiki's language. Pure."""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

_NONE = "$."


def list_title_pattern(language: str) -> str:
    """Return a pattern that titles of lists match, for Python and DuckDB; for an unknown language it matches none.

    >>> import re
    >>> [bool(re.search(list_title_pattern(code), "日本の作家一覧")) for code in ("ja", "en")]
    [True, False]
    """
    patterns = _table().get(language, ())
    return "|".join(f"(?:{one})" for one in patterns) or _NONE


@cache
def _table() -> Mapping[str, Sequence[str]]:
    return tomllib.loads(Path(__file__).with_name("list_titles.toml").read_text("utf-8"))
