"""Templates, expanded offline from versioned tables (`templates.toml`, `languages/`), by name and language. Pure.

A template in no table is dropped, counted by name so that the tables can be extended, and leaves a hole unless the
tables call it silent. TempEL used MediaWiki's API instead, which expands with today's templates, one request at a
time.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from functools import cache, lru_cache
from typing import Any

from tempkb.wiki.wikitext import language_templates, renderers
from tempkb.wiki.wikitext import renderers as parser_functions
from tempkb.wiki.wikitext.calls import (
    Argument,
    Braces,
    Call,
    is_aside,
    match_braces,
    read_call,
    replace_braces,
    split_arguments,
    unclosed_regions,
)
from tempkb.wiki.wikitext.holes import HOLE, Holes, markers, without_holes
from tempkb.wiki.wikitext.markup import kept_apart
from tempkb.wiki.wikitext.quantities import convert
from tempkb.wiki.wikitext.template_tables import common_table, is_judged, is_met, own_table, silent_when

# Returns None if the call does not determine what is shown: the template is then dropped like an unknown one.
Renderer = Callable[[Call], str | None]

# A row of `render` names a function of one of these modules.
_FUNCTIONS: Mapping[str, Renderer] = {"convert": convert} | {
    name: function
    for module in (renderers, language_templates, parser_functions)
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

    >>> from tempkb.wiki.wikitext.calls import Argument, read_call
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


# MediaWiki stops at a hundred; prose never nests deeper than this.
_DEEPEST = 24
# A text with more unclosed braces than this is not an article; the rest of such pieces is dropped unread.
_MOST_MENDED = 20


class Expansion:
    """Expands the templates of one wikitext.

    Args:
        text: wikitext without comments and extension tags.
        day: when the revision was saved, for ages.
        language: of the wiki, whose table takes precedence over the common one; `en` on wikis of many languages.
        holes: of the wikitext, to which those of dropped templates are added.

    Attributes:
        dropped: names of templates that were dropped, with how often each occurred.
        unclosed: number of braces that are never closed.
    """

    def __init__(self, text: str, day: date | None, *, language: str, holes: Holes) -> None:
        self._text, self._day, self._language, self._holes = text, day, language, holes
        self.dropped: Counter[str] = Counter()
        self.unclosed = 0

    def expand(self, mend: Callable[[str], str]) -> str:
        """Return the text with every template replaced by what it shows.

        Args:
            mend: returns the replacement of a piece of text that begins with braces that are never closed.
        """
        if "{{" not in self._text:
            return self._text
        outermost, opened = match_braces(self._text)
        if not opened:
            return replace_braces(self._text, outermost, 0, len(self._text), self._shown)
        self.unclosed = len(opened)
        pieces, at, first = [], 0, 0
        regions = [*unclosed_regions(self._text, outermost, opened), (len(self._text), len(self._text))]
        for mended, (start, end) in enumerate(regions):
            last = first
            while last < len(outermost) and outermost[last].end <= start:
                last += 1
            pieces.append(replace_braces(self._text, outermost[first:last], at, start, self._shown))
            if start < end:
                pieces.append(self._holes.leave("markup", ""))
            if mended < _MOST_MENDED:
                pieces.append(mend(self._text[start:end]))
            first, at = last, end
            while first < len(outermost) and outermost[first].start < end:
                first += 1
        return "".join(pieces)

    def _shown(self, braces: Braces, depth: int = 0) -> str:
        if braces.width == 3 or depth > _DEEPEST:
            return self._holes.leave("argument", "")
        name = self._name(braces)
        renderer = renderer_of(name, self._language)
        if renderer is None:
            return self._dropped(name, braces, depth)
        first, *arguments = split_arguments(self._text, braces, lambda inside: self._shown(inside, depth + 1))
        head, colon, value = first.text.partition(":")
        if colon and _plain_name(head) == name:
            # Parser functions know no names.
            arguments = [Argument(value), *(Argument(one.text) for one in arguments)]
        aside = is_aside(self._text, braces.start, braces.end)
        shown = self._rendered(renderer, arguments, name, aside=aside)
        return self._dropped(name, braces, depth) if shown is None else shown

    def _dropped(self, name: str, braces: Braces, depth: int) -> str:
        """Count a template that is not shown; return a hole unless its place needs none."""
        head = name.partition(":")[0]
        self.dropped[head] += 1
        if self._is_silent(name, braces) or (not depth and self._is_block(braces)):
            return kept_apart(self._text, braces.start, braces.end)
        return self._holes.leave("template", head)

    def _is_silent(self, name: str, braces: Braces) -> bool:
        when = silent_when(name, self._language)
        if when in ("always", "never"):
            return when == "always"
        parts = split_arguments(self._text, braces, lambda _inside: "")
        aside = is_aside(self._text, braces.start, braces.end)
        return is_met(when, read_call(parts[1:], name, self._day, language=self._language, aside=aside))

    def _is_block(self, braces: Braces) -> bool:
        """Does it begin a line, or follow another template, and fill several lines, as boxes do but words do not?"""
        before = self._text[braces.start - 1] if braces.start else "\n"
        return before in "\n}" and self._text.find("\n", braces.start, braces.end) >= 0

    def _rendered(self, renderer: Renderer, arguments: list[Argument], name: str, *, aside: bool) -> str | None:
        """Return what a template shows, with the holes from its arguments; None if the call does not determine it.

        Holes do not change what is shown: where a renderer would read them as part of
        a number or a word, they are put behind what it shows without them. If a number
        of a sum is missing, the renderer returns None, and the whole template is dropped.
        """
        language, day = self._language, self._day
        if not any(HOLE in one.text for one in arguments):
            return renderer(read_call(arguments, name, day, language=language, aside=aside))
        bare = [Argument(without_holes(one.value), one.name and without_holes(one.name)) for one in arguments]
        plain = renderer(read_call(bare, name, day, language=language, aside=aside))
        marked = renderer(read_call(arguments, name, day, language=language, aside=aside))
        if plain is None or marked is None:
            return None
        return marked if without_holes(marked) == plain else plain + "".join(markers(one.text) for one in arguments)

    def _name(self, braces: Braces) -> str:
        start = braces.start + 2
        end = braces.inside[0].start if braces.inside else braces.end - 2
        pipe = self._text.find("|", start, end)
        name = _plain_name(self._text[start : min(end, start + 120) if pipe < 0 else pipe])
        head = name.partition(":")[0].strip()
        return head if head != name and head in PARSER_FUNCTIONS else name


def _plain_name(text: str) -> str:
    return " ".join(text.replace("_", " ").lower().split()).removeprefix("template:")
