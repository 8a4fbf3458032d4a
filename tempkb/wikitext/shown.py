"""Finds the function that shows a template, by name and language, in the tables. Pure."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

from tempkb.wikitext import convert, dates, english, foreign, parser_functions, pronunciation, renderers
from tempkb.wikitext.calls import Call
from tempkb.wikitext.template_tables import common_table, is_judged, own_table

# Returns None if the call does not determine what is shown: the template is then dropped like an unknown one.
Renderer = Callable[[Call], str | None]

# A row of `render` names a function of one of these modules.
_FUNCTIONS: Mapping[str, Renderer] = {"convert": convert.convert} | {
    name: function
    for module in (renderers, dates, pronunciation, english, foreign, parser_functions)
    for name, function in vars(module).items()
    if getattr(function, "__module__", "") == module.__name__ and not name.startswith("_")
}
# Names before a colon, whose arguments begin after it.
PARSER_FUNCTIONS = frozenset(("formatnum", "lc", "uc", "ucfirst", "lcfirst", "nowrap", "#if", "#ifeq", "#expr"))
_KEPT_NAMES = 1 << 15
_MIXED_CASE = {"hcl": "HCl", "naoh": "NaOH"}
_TAG = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)


@lru_cache(_KEPT_NAMES)
def renderer_of(name: str, language: str) -> Renderer | None:
    """Return the function that shows a template on the wikis of a language; None if no table has it.

    A language's own rows take precedence over the common ones, and whole names over beginnings and patterns of names.
    """
    found = _renderers(language).get(name)
    if found is not None or is_judged(name, language):
        return found
    return next((renderer for pattern, renderer in _families(language) if pattern.fullmatch(name)), None)


@cache
def _renderers(language: str) -> Mapping[str, Renderer]:
    own = own_table(language)
    judged = {name for section in ("silent", "silent_if") for group in own.get(section, {}).values() for name in group}
    common = {name: renderer for name, renderer in _rows(common_table()) if name not in judged}
    return common | dict(_rows(own))


@cache
def _families(language: str) -> list[tuple[re.Pattern[str], Renderer]]:
    """Return patterns of names, such as `lang-...`, with the functions that show them; the language's own first."""
    return [
        (re.compile(names), renderer)
        for table in (own_table(language), common_table())
        for names, renderer in _rows(table.get("family", {}))
    ]


def _rows(table: Mapping[str, Any]) -> Iterator[tuple[str, Renderer]]:
    """Yield name and function of every row of a table."""
    for section, read in _BY_NAME.items():
        yield from ((name, read(row)) for name, row in table.get(section, {}).items())
    for section, read in _BY_WHAT_IS_SHOWN.items():
        for key, names in table.get(section, {}).items():
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
    to, shown = row["to"].split("|"), tuple(row["shown"])

    def render(call: Call) -> str:
        target, words = call.get(*to), _TAG.sub("", call.get(*shown))
        return f"[[{target}|{words or target}]]" if target else words

    return render


_PIECE = re.compile(r"<([^<>]*)>|\{([^{}]*)\}")


def pattern(row: str) -> Renderer:
    """Return a renderer from a pattern: `{1|name}` is the first given of these arguments.

    A part in angle brackets is shown only if an argument in it is given. If none of the
    other arguments is given, the call has another meaning, and the renderer returns None.

    >>> from tempkb.wikitext.calls import Argument, read_call
    >>> pattern("HMS {1}< ({2})>")(read_call([Argument("Victory"), Argument("")], "hms", None, language="en"))
    'HMS Victory'
    """
    needed = _arguments_in(re.sub("<[^<>]*>", "", row))

    def fill(text: str, call: Call) -> str:
        return _PIECE.sub(lambda piece: piece_shown(piece, call), text)

    def piece_shown(piece: re.Match[str], call: Call) -> str:
        if piece[2] is not None:
            return call.get(*piece[2].split("|"))
        return fill(piece[1], call) if _any_given(call, _arguments_in(piece[1])) else ""

    return lambda call: fill(row, call) if not needed or _any_given(call, needed) else None


def _arguments_in(text: str) -> list[list[str]]:
    """Return the arguments of each pair of braces in a pattern."""
    return [found.split("|") for found in re.findall(r"\{([^{}]*)\}", text)]


def _any_given(call: Call, wanted: list[list[str]]) -> bool:
    return any(call.get(*names) for names in wanted)


_BY_NAME: Mapping[str, Callable[[Any], Renderer]] = {"link": _link, "pattern": pattern}
_BY_WHAT_IS_SHOWN: Mapping[str, Callable[[str], Renderer]] = {
    "show": _show,
    "text": _text,
    "render": _FUNCTIONS.__getitem__,
}
