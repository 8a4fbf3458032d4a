"""Which function shows a template, by name and language, from the tables. Pure."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from tempkb.wikitext import dates
from tempkb.wikitext import renderers as words
from tempkb.wikitext.calls import Call
from tempkb.wikitext.convert import convert
from tempkb.wikitext.template_tables import common_table, own_table

Renderer = Callable[[Call], str]

_FUNCTIONS: Mapping[str, Renderer] = {
    "convert": convert,
    **{f.__name__: f for f in (
        words.foreign_words, words.chemistry, words.fraction, words.value, words.index, words.particle, words.nihongo,
        words.chinese, words.korean, words.gaps, words.format_number, words.sortname, words.born_in, words.died_in,
        words.first_quote, words.lower_case, words.upper_case)},
    **{f.__name__: f for f in (
        dates.date_in_words, dates.birth_date_and_age, dates.death_date_and_age, dates.start_date_and_age, dates.age,
        dates.as_of, dates.circa, dates.floruit, dates.reign)},
}  # fmt: skip
_MIXED_CASE = {"hcl": "HCl", "naoh": "NaOH"}
_TAG = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)


@cache
def renderers(language: str) -> Mapping[str, Renderer]:
    """Return what shows each template on the wikis of a language: its own rows win over the common ones."""
    found = dict(_rows(common_table()))
    own = own_table(language)
    for group in own.get("silent", {}).values():
        for name in group:
            found.pop(name, None)
    return found | dict(_rows(own))


def _rows(table: Mapping[str, Any]) -> Iterator[tuple[str, Renderer]]:
    """Name and function of every row of a table."""
    for section, read in _SECTIONS.items():
        for key, names in table.get(section, {}).items():
            if section in ("link", "pattern"):
                yield key, read(names)
            else:
                renderer = read(key)
                yield from ((name, renderer) for name in names)


def _show(which: str) -> Renderer:
    if which == "last":
        return lambda call: (call.positional() or [""])[-1]
    if which == "bare":
        return lambda call: _MIXED_CASE.get(call.name, call.name.upper())
    arguments = (*which.split("|"), "text", "content", "quote")
    return lambda call: call.get(*arguments)


def _text(shown: str) -> Renderer:
    return lambda _call: shown


def _link(row: Mapping[str, Any]) -> Renderer:
    to, shown = row["to"], tuple(row["shown"])

    def render(call: Call) -> str:
        target, said = call.get(to) if to else "", _TAG.sub("", call.get(*shown))
        return f"[[{target}|{said or target}]]" if target else said

    return render


_PIECE = re.compile(r"<([^<>]*)>|\{([^{}]*)\}")


def pattern(row: str) -> Renderer:
    """Return a renderer from a pattern: `{1|name}` is the first given of these arguments.

    A part in angle brackets is shown only when an argument in it is given.

    >>> from tempkb.wikitext.calls import read_call
    >>> pattern("HMS {1}< ({2})>")(read_call(["Victory", ""], "hms", None, language="en"))
    'HMS Victory'
    """

    def fill(text: str, call: Call) -> str:
        return _PIECE.sub(lambda piece: piece_shown(piece, call), text)

    def piece_shown(piece: re.Match[str], call: Call) -> str:
        if piece[2] is not None:
            return call.get(*piece[2].split("|"))
        asked = [found[2].split("|") for found in _PIECE.finditer(piece[1]) if found[2] is not None]
        return fill(piece[1], call) if any(call.get(*names) for names in asked) else ""

    return lambda call: fill(row, call)


_SECTIONS: Mapping[str, Callable[[Any], Renderer]] = {
    "show": _show, "text": _text, "link": _link, "pattern": pattern, "render": _FUNCTIONS.__getitem__,
}  # fmt: skip
