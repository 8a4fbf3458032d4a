"""Tables of template names: a common one, and one of each language's own, which wins over it. Pure."""

import hashlib
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent


@cache
def table_version() -> str:
    """Version of all tables of this room: texts that were cleaned with others are stale.

    It is a digest of their rows, so that nobody has to raise it; comments do not count.
    """
    digest = hashlib.sha256()
    for path in sorted(_HERE.glob("**/*.toml")):
        rows = (line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#"))
        digest.update("\n".join((path.name, *rows, "")).encode())
    return digest.hexdigest()[:8]


@cache
def common_table() -> dict[str, Any]:
    """Return the table that holds for every wiki: English names."""
    return tomllib.loads((_HERE / "templates.toml").read_text("utf-8"))


@cache
def own_table(language: str) -> dict[str, Any]:
    """Return the rows of one language, such as `de`; empty where it has none."""
    path = _HERE / "languages" / f"{language}.toml"
    known = language.replace("-", "").isalnum() and path.is_file()
    return tomllib.loads(path.read_text("utf-8")) if known else {}


@cache
def _silent(language: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Names and beginnings of names that are silent on the wikis of a language."""
    rows = [table.get("silent", {}) for table in (common_table(), own_table(language))]
    names = frozenset(name for row in rows for key, group in row.items() if key != "beginnings" for name in group)
    return names, tuple(beginning for row in rows for beginning in row.get("beginnings", ()))


def is_silent(name: str, language: str) -> bool:
    """Does a template show nothing to readers, or nothing that a sentence needs?

    Args:
        name: as `Article.dropped_templates` has it: lower case, spaces for underscores.
        language: of the wiki, such as `de`.
    """
    names, beginnings = _silent(language)
    return name in names or name.startswith(beginnings)


def is_silent_by_name(name: str, language: str) -> bool:
    """Does a table list this very name as silent, so that no pattern of names is asked?"""
    return name in _silent(language)[0]
