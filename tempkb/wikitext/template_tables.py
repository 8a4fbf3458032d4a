"""Tables of template names: a common one, and one for each language, which takes precedence. Pure."""

import hashlib
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent


@cache
def table_version() -> str:
    """Return the version of all tables of this room; texts that were cleaned with another version are stale.

    It is a digest of their rows, so nobody has to raise it; comments do not change it.
    """
    digest = hashlib.sha256()
    for path in sorted(_HERE.glob("**/*.toml")):
        rows = (line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("#"))
        digest.update("\n".join((path.name, *rows, "")).encode())
    return digest.hexdigest()[:8]


@cache
def common_table() -> dict[str, Any]:
    """Return the table for every wiki, with English names."""
    return tomllib.loads((_HERE / "templates.toml").read_text("utf-8"))


@cache
def own_table(language: str) -> dict[str, Any]:
    """Return the rows of one language, such as `de`; empty if it has none."""
    path = _HERE / "languages" / f"{language}.toml"
    known = language.replace("-", "").isalnum() and path.is_file()
    return tomllib.loads(path.read_text("utf-8")) if known else {}


@cache
def _silent(language: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return names and beginnings of names that are silent on the wikis of a language."""
    rows = [table.get("silent", {}) for table in (common_table(), own_table(language))]
    names = frozenset(name for row in rows for key, group in row.items() if key != "beginnings" for name in group)
    return names, tuple(beginning for row in rows for beginning in row.get("beginnings", ()))


def is_silent(name: str, language: str) -> bool:
    """Does a template show nothing to readers, or nothing that a sentence needs?

    Args:
        name: as in `Article.dropped_templates`: lower case, spaces for underscores.
        language: of the wiki, such as `de`.
    """
    names, beginnings = _silent(language)
    return name in names or name.startswith(beginnings)


def is_silent_by_name(name: str, language: str) -> bool:
    """Does a table list exactly this name as silent? If so, patterns of names are not tried."""
    return name in _silent(language)[0]
