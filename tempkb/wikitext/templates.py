"""Templates, expanded offline from a versioned table (`templates.toml`). Pure.

What the table does not know is dropped and counted by name, so that the table
can grow, and leaves a hole unless its name is known to show nothing. TempEL asked MediaWiki's API instead, which expands with today's
templates and one request after another.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from tempkb.wikitext import dates
from tempkb.wikitext.braces import Braces, match_braces, replace_braces, split_arguments, unclosed_regions
from tempkb.wikitext.calls import Call, read_call
from tempkb.wikitext.convert import convert
from tempkb.wikitext.holes import HOLE, Holes, markers, without_holes

# MediaWiki stops at a hundred; nobody nests words in prose deeper than this.
_DEEPEST = 24
# A text with more braces that never close than this is no article; the rest of such pieces is dropped unread.
_MOST_MENDED = 20
Renderer = Callable[[Call], str]
_TAG = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)


class Expansion:
    """Expands the templates of one wikitext.

    Args:
        text: wikitext without comments and extension tags.
        day: when the revision was saved, for ages.
        local_words: does the wiki write English?
        holes: of the wikitext, to which those of dropped templates are added.

    Attributes:
        dropped: names of templates that were dropped, with how often.
        unclosed: how many braces were opened and never closed.
    """

    def __init__(self, text: str, day: date | None, *, local_words: bool, holes: Holes) -> None:
        self._text, self._day, self._local_words = text, day, local_words
        self._holes = holes
        self.dropped: Counter[str] = Counter()
        self.unclosed = 0

    def expand(self, mend: Callable[[str], str]) -> str:
        """Return the text with every template replaced by what it shows.

        Args:
            mend: gives what stands for a piece of text that begins with braces which are never closed.
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
        renderer = _renderers().get(name)
        if renderer is None and name.startswith("lang-") and len(name) < 12:
            renderer = language
        if renderer is None:
            return self._dropped(name.partition(":")[0], braces, depth)
        parts = split_arguments(self._text, braces, lambda inside: self._shown(inside, depth + 1))
        head, colon, value = parts[0].partition(":")
        arguments = [value, *parts[1:]] if colon and _plain_name(head) == name else parts[1:]
        return self._rendered(renderer, arguments, name)

    def _dropped(self, name: str, braces: Braces, depth: int) -> str:
        """Count a template that is not shown; return a hole unless nothing is missed where it stood."""
        self.dropped[name] += 1
        if is_silent(name) or (not depth and self._is_block(braces)):
            return ""
        return self._holes.leave("template", name)

    def _is_block(self, braces: Braces) -> bool:
        """Does it begin a line, or follow another template, and fill several lines? Boxes do, words do not."""
        before = self._text[braces.start - 1] if braces.start else "\n"
        return before in "\n}" and self._text.find("\n", braces.start, braces.end) >= 0

    def _rendered(self, renderer: Renderer, arguments: list[str], name: str) -> str:
        """What a template shows, with the holes that its arguments have brought along.

        Holes do not change what is shown: where a renderer would read them as part of
        a number or a word, they stand behind what it shows without them.
        """
        if not any(HOLE in one for one in arguments):
            return renderer(read_call(arguments, name, self._day, local_words=self._local_words))
        bare = [without_holes(one) for one in arguments]
        plain = renderer(read_call(bare, name, self._day, local_words=self._local_words))
        marked = renderer(read_call(arguments, name, self._day, local_words=self._local_words))
        return marked if without_holes(marked) == plain else plain + "".join(map(markers, arguments))

    def _name(self, braces: Braces) -> str:
        start = braces.start + 2
        end = braces.inside[0].start if braces.inside else braces.end - 2
        pipe = self._text.find("|", start, end)
        name = _plain_name(self._text[start : min(end, start + 120) if pipe < 0 else pipe])
        head = name.partition(":")[0].strip()
        return head if head != name and head in _PARSER_FUNCTIONS else name


def _plain_name(text: str) -> str:
    return " ".join(text.replace("_", " ").lower().split()).removeprefix("template:")


_PARSER_FUNCTIONS = {"formatnum", "lc", "uc", "ucfirst", "lcfirst", "nowrap"}


def language(call: Call) -> str:
    """`{{lang-fr|Paris}}` and `{{langx|fr|Paris}}`: French: Paris."""
    if call.name == "langx":
        code, text = call.get("1"), call.get("2", "text")
    else:
        code, text = call.name.removeprefix("lang-"), call.get("1", "text")
    name = _table()["languages"].get(code.partition("-")[0].lower())
    labelled = call.local_words and name and call.get("label") != "none" and call.get("links") != "none"
    return f"{name}: {text}" if labelled and text else text


def chemistry(call: Call) -> str:
    """`{{chem|H|2|O}}`: H2O."""
    return "".join(call.positional()).replace("<sub>", "").replace("</sub>", "")


def fraction(call: Call) -> str:
    """`{{frac|1|2}}`: 1/2; `{{frac|3|1|2}}`: 3 1/2."""
    values = call.positional()
    if len(values) >= 3:
        return f"{values[0]} {values[1]}/{values[2]}"
    return "/".join(values) if len(values) == 2 else f"1/{values[0]}" if values else ""


def value(call: Call) -> str:
    """`{{val|1234.5|0.3|u=km}}`: 1,234.5±0.3 km."""
    values = call.positional()
    said = _grouped(values[0]) if values else ""
    if len(values) == 2:
        said += f"±{values[1]}" if not values[1].startswith("(") else values[1]
    elif len(values) > 2:
        said += f" +{values[1].lstrip('+')} −{values[2].lstrip('-−')}"
    exponent, unit = call.get("e"), call.get("u", "ul", "up")
    return f"{said}{f' × 10{exponent}' if exponent else ''}{f' {unit}' if unit else ''}{call.get('s')}"


def index(call: Call) -> str:
    """`{{sub|2}}` and `{{e|6}}`: the index on the line; a power of ten in words of its own."""
    if call.name in ("e", "e-sp"):
        return f" × 10{call.get('1')}"
    return "".join(call.positional())


def particle(call: Call) -> str:
    """`{{SubatomicParticle|electron}}`: e−."""
    name = call.get("1")
    symbol: str = _table()["particles"].get(name.lower(), name)
    return symbol


def nihongo(call: Call) -> str:
    """`{{nihongo|Tokyo Tower|東京タワー|Tōkyō tawā}}`: Tokyo Tower (東京タワー, Tōkyō tawā)."""
    values = [*call.positional(), "", "", ""]
    if call.name == "nihongo2":
        return values[0]
    if call.name == "nihongo3":
        values = [values[2], values[1], values[0]] if values[2] else [values[0], values[1], "", ""]
    inside = ", ".join(one for one in values[1:3] if one)
    return f"{values[0]} ({inside})" if values[0] and inside else values[0] or inside


def chinese(call: Call) -> str:
    """`{{zh|t=漢字|p=hànzì}}`: the characters, then how they are read."""
    names = ("c", "s", "t", "l", "p", "hp", "w", "j", "y", "poj")
    given = [call.get(name) for name in names] or call.positional()
    return ", ".join(dict.fromkeys(one for one in (*given, *call.positional()) if one))


def korean(call: Call) -> str:
    """`{{korean|hangul=...|rr=...}}`: the words, then how they are read."""
    given = [call.get(name) for name in ("hangul", "hanja", "rr", "mr")]
    return ", ".join(dict.fromkeys(one for one in (*given, *call.positional()) if one))


def gaps(call: Call) -> str:
    """`{{gaps|1|234|567}}`: 1234567."""
    return "".join(call.positional()) + call.get("e")


def format_number(call: Call) -> str:
    """`{{formatnum:1234567}}`: 1,234,567."""
    return _grouped(call.get("1"))


def sortname(call: Call) -> str:
    """`{{sortname|Jane|Doe}}`: a link to the article named so."""
    shown = " ".join(call.positional()[:2])
    return shown if call.get("nolink") else f"[[{call.get('3') or shown}|{shown}]]"


def born_in(call: Call) -> str:
    """`{{b.|1900}}`: b. 1900."""
    return f"b. {call.get('1')}"


def died_in(call: Call) -> str:
    """`{{d.|1900}}`: d. 1900."""
    return f"d. {call.get('1')}"


def first_quote(_call: Call) -> str:
    """Quotation marks that would run into an apostrophe."""
    return "\"'s"


def _grouped(number: str) -> str:
    sign, digits = (number[:1], number[1:]) if number[:1] in ("-", "−", "+") else ("", number)
    whole, point, rest = digits.partition(".")
    if not whole.isascii() or not whole.isdigit() or len(whole) > 30:
        return number
    return f"{sign}{int(whole):,}{point}{rest}" if len(whole) > 3 else number


_FUNCTIONS: Mapping[str, Renderer] = {
    "convert": convert,
    "date": dates.date_in_words,
    **{f.__name__: f for f in (language, chemistry, fraction, value, index, particle, nihongo, chinese, korean, gaps,
                               format_number, sortname, born_in, died_in, first_quote)},
    **{f.__name__: f for f in (dates.birth_date_and_age, dates.death_date_and_age, dates.start_date_and_age, dates.age,
                               dates.as_of, dates.circa, dates.floruit, dates.reign)},
}  # fmt: skip


def table_version() -> int:
    """Version of the table: texts that were cleaned with another one are stale."""
    version: int = _table()["version"]
    return version


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "templates.toml").read_text("utf-8"))


@cache
def _renderers() -> dict[str, Renderer]:
    """What to do with each template name of the table."""
    table = _table()
    found: dict[str, Renderer] = {"lc": lambda call: call.get("1").lower(), "uc": lambda call: call.get("1").upper()}
    for which, names in table["show"].items():
        found |= dict.fromkeys(names, _show(which))
    for text, names in table["text"].items():
        found |= dict.fromkeys(names, lambda _call, text=text: text)
    for name, link in table["link"].items():
        found[name] = _link(link["to"], tuple(link["shown"]))
    for function, names in table["render"].items():
        found |= dict.fromkeys(names, _FUNCTIONS[function])
    return found


def is_silent(name: str) -> bool:
    return False


def _show(which: str) -> Renderer:
    if which == "last":
        return lambda call: (call.positional() or [""])[-1]
    if which == "bare":
        return lambda call: call.name.upper() if call.name not in _MIXED_CASE else _MIXED_CASE[call.name]
    return lambda call: call.get(which, "text", "content", "quote")


_MIXED_CASE = {"hcl": "HCl", "naoh": "NaOH"}


def _link(to: str, shown: tuple[str, ...]) -> Renderer:
    def render(call: Call) -> str:
        target, words = call.get(to) if to else "", _TAG.sub("", call.get(*shown))
        return f"[[{target}|{words or target}]]" if target else words

    return render
