"""Tables of template names: a common one, and one for each language, which takes precedence. Pure."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from tempkb.core.files import toml_beside
from tempkb.wiki.wikitext.calls import Call

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


def common_table() -> dict[str, Any]:
    """Return the table for every wiki, with English names."""
    return toml_beside(__file__, "templates.toml")


@cache
def own_table(language: str) -> dict[str, Any]:
    """Return the rows of one language, such as `de`; empty if it has none."""
    path = _HERE / "languages" / f"{language}.toml"
    known = language.replace("-", "").isalnum() and path.is_file()
    return toml_beside(__file__, f"languages/{language}.toml") if known else {}


@cache
def _verdicts(language: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return when each name is silent on the wikis of a language, and the beginnings of names that always are."""
    names: dict[str, str] = {}
    beginnings: list[str] = []
    for table in (common_table(), own_table(language)):
        groups = {key: group for key, group in table.get("silent", {}).items() if key != "beginnings"}
        names |= {name: "always" for group in groups.values() for name in group}
        names |= {name: when for when, group in table.get("silent_if", {}).items() for name in group}
        beginnings += table.get("silent", {}).get("beginnings", ())
    return names, tuple(beginnings)


def silent_when(name: str, language: str) -> str:
    """Return when a template shows nothing that a sentence needs: `always`, `never`, or a condition for `is_met`.

    Args:
        name: as in `Article.dropped_templates`: lower case, spaces for underscores.
        language: of the wiki, such as `de`.
    """
    names, beginnings = _verdicts(language)
    return names.get(name) or ("always" if name.startswith(beginnings) else "never")


def is_met(condition: str, call: Call) -> bool:
    """Does a call meet a condition of `silent_if`?

    `aside` is met between brackets, commas or semicolons of a parenthesis; `argument=value|value` if the argument has
    one of these values, and an empty value stands for an argument that is not given.

    >>> from tempkb.wiki.wikitext.calls import Call
    >>> coord = Call("coord", ("1", "2"), {"display": "Title"})
    >>> is_met("display=title|t", coord), is_met("name=", coord), is_met("aside", coord)
    (True, True, False)
    """
    if condition == "aside":
        return call.aside
    arguments, _, values = condition.partition("=")
    names = arguments.split("|")
    flag = next((name for name in names if name in call.positional()), "")
    return (call.get(*names) or flag).lower() in values.split("|")


def is_judged(name: str, language: str) -> bool:
    """Does a table say of exactly this name when it is silent? If so, patterns of names are not tried."""
    return name in _verdicts(language)[0]
