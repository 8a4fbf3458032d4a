"""Reads links, tags and entities inside a block: readable text, and the positions of its links. Pure."""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple
from urllib.parse import unquote

from tempkb.core.titles import Site, decode_entities, is_mkhedruli, may_be_title
from tempkb.wiki.wikitext.counting import UNSPACED
from tempkb.wiki.wikitext.holes import HOLE, Holes, in_one_line, markers, without_holes
from tempkb.wiki.wikitext.markup import MARK, TAGS
from tempkb.wiki.wikitext.page_kinds import words_table

_PROTOCOLS = (
    "(?:(?:https?|ftps?|sftp|ircs?|gopher|nntp|worldwind|svn|git|ssh|telnet|mms|redis|wikipedia):)?//"
    "|(?:bitcoin|news|mailto|matrix|sips?|xmpp|sms|tel|urn|geo|magnet):"
)
# Vowel signs, tone marks and joiners are parts of words, but Python does not count them among the letters.
_SIGNS = "".join(chr(code) for code in range(0x300, 0x2000) if unicodedata.category(chr(code)).startswith("M"))
_LETTER = rf"(?:[^\W\d_]|(?-i:[{_SIGNS}\u200c\u200d]))"
# A label with an opening bracket takes the first of three closing ones, too: `[[a|[b]]]` shows "[b]".
_LABEL = r"(?:[^\[\]]|\](?!\]))*+(?:\[(?!\[)(?:[^\[\]]|\[(?!\[)|\](?!\]))*+(?:\](?=\]\]))?)?"
_TARGET = rf"[^\[\]|<>{{}}{MARK}]*"
# A host may be a number in brackets.
_ADDRESS = rf"(?:{_PROTOCOLS})(?:\[[0-9a-fA-F:.]++\])?"
_BEGINS_ADDRESS = re.compile(_ADDRESS, re.IGNORECASE)
# An external link ends at the first bracket that is none of a link in its words, and is none if its line ends before.
_WORDS = (
    rf"(?:[^\[\]\n]++|\[\[{_TARGET}(?:\|{_LABEL})?\]\]"
    rf"|\[{_ADDRESS}[^\[\]]*+\]|\[(?!{_ADDRESS}))*+"
)


@cache
def _tokens(trail: str) -> re.Pattern[str]:
    """Return a pattern of everything that is not plain text; links are the first three groups, other kinds follow.

    Each alternative begins with a plain character, so that the engine can skip to the next of them.
    """
    return re.compile(
        rf"\[\[(?P<target>{_TARGET})(?:\|(?P<label>{_LABEL}))?\]\](?P<trail>(?-i:{trail}+))?"
        rf"|&(?P<entity>(?:\#[0-9]{{1,20}}|\#[xX][0-9a-fA-F]{{1,20}}|[a-zA-Z][a-zA-Z0-9]{{1,31}});)"
        rf"|<(?P<tag>/?(?:{TAGS})(?=[\s/>]))[^<>]*>"
        rf"|{MARK}(?P<literal>[0-9]{{1,9}}){MARK}"
        rf"|\[{_ADDRESS}[^\s\[\]<>\"{MARK}]*+(?P<words>{_WORDS})\]"
        rf"|_(?P<magic>_[^\W\d_](?:_?{_LETTER})*__)"
        r"|\[(?P<bracket>)(?=\[\[)"
        r"|\[(?P<opened>\[)(?:[^\[\]|<>{}]*\|)?|\](?P<closed>\])|\{(?P<brace>[{|])\{*|\}(?P<braces>\})\}*|\|(?P<table>\})"
        r"|~(?P<signature>~{2,4})",
        re.IGNORECASE,
    )


@cache
def _link_trails() -> dict[str, str]:
    """Return an expression for each letter behind a link that belongs to it, by language."""
    found: dict[str, str] = {}
    for row in words_table()["link_trails"]:
        languages, _, letters = row.partition(": ")
        # An apostrophe is no letter where it begins the markup of bold or italics.
        plain = letters.replace("'", "")
        one = letters if letters.startswith("(") else f"[{plain}]" if plain == letters else f"(?:[{plain}]|'(?!'))"
        found |= dict.fromkeys(languages.split(), one)
    return found


class Span(NamedTuple):
    """A link in a block: the position of its surface and the target as written."""

    start: int
    end: int
    target: str


@dataclass
class Inline:
    """Reads blocks of one wiki.

    Args:
        literal: returns the text of a marker.
        language: of the wiki, such as `en`; decides which letters after a link belong to it.

    Attributes:
        unbalanced: number of brackets without a partner, so far.
    """

    site: Site
    literal: Callable[[str], str]
    language: str
    unbalanced: int = 0

    def __post_init__(self) -> None:
        self._pattern = _tokens(_link_trails().get(self.language, "[a-z]"))

    def read(self, text: str) -> tuple[str, list[Span]]:
        """Return the readable text of a block and its links, in order."""
        if not _ANY_SIGN.search(text):
            return text, []
        pieces: list[str] = []
        spans: list[Span] = []
        length = at = 0
        for token in self._pattern.finditer(text):
            start, end = token.span()
            if start > at:
                pieces.append(text[at:start])
                length += start - at
            at = end
            written, label, trail = token.group(1, 2, 3)
            if token.lastgroup == "words":
                shown, inside = self.read(token["words"].strip())
                spans += (Span(length + left, length + right, target) for left, right, target in inside)
            elif written is None:
                shown = self._shown(token)
            else:
                shown, target = self._link(written, label)
                if trail:
                    shown += trail
                if target and (plain := shown.strip()):
                    # Without blanks at its ends, strip returns the same string object.
                    left = length + (0 if plain is shown else len(shown) - len(shown.lstrip()))
                    spans.append(Span(left, left + len(plain), target))
            if shown:
                pieces.append(shown)
                length += len(shown)
        pieces.append(text[at:])
        return "".join(pieces), spans

    def _shown(self, token: re.Match[str]) -> str:
        """Return what a token shows that is not a link."""
        kind = token.lastgroup
        if kind == "entity":
            return _unescaped(token[0])
        if kind == "tag":
            return " " if token["tag"].lower().removeprefix("/") in _BREAKS else ""
        if kind == "literal":
            return self.literal(token["literal"])
        if kind == "bracket":
            return "["
        if kind == "magic":
            return "" if _is_switch(token[0].strip("_")) else token[0]
        self.unbalanced += kind in _WITHOUT_PARTNER
        return ""

    def _link(self, written: str, label: str | None) -> tuple[str, str]:
        """Return what a link shows, and its target as written; no target if the link is not visible."""
        if HOLE in written or (label and HOLE in label and not without_holes(label).strip()):
            # A hole in a target, or a label of nothing but holes, is also a hole in the text that is shown.
            shown, target = self._link(without_holes(written), label and without_holes(label))
            inside = markers(written) + markers(label or "")
            return (inside + shown if target or shown else ""), target
        target = written.strip()
        if "\n" in target:
            target = in_one_line(target)
        name = _without_percents(target) if "%" in target else target
        if ":" in name or name[:1] == "/":
            if _BEGINS_ADDRESS.match(written):  # an external link in brackets
                return f"[{self._plain(f'[{written}]' if label is None else f'[{written}|{label}]')}]", ""
            if name[0] != ":" and self.is_hidden(name):
                return "", ""
        if label is not None and target:
            if label:
                label = label.rpartition("|")[2] or label
                return self._plain(label), target
            return piped(in_one_line(decode_entities(name))), target
        shown = label or "" if not target else name.removeprefix(":")
        return self._plain(shown), target

    def is_hidden(self, target: str) -> bool:
        """Does a link without a leading colon show nothing, as for a file, a category or another language?"""
        prefix, colon, _ = target.partition(":")
        if not colon:
            return False
        prefix = " ".join(prefix.replace("_", " ").split()).casefold()
        namespace = self.site.namespace_number(prefix)
        if namespace is not None:
            return namespace in (6, 14)
        return prefix in _hidden_prefixes() and prefix != self.language

    def _plain(self, text: str) -> str:
        """Return the readable text of a label, which contains no links."""
        return self.read(text)[0] if _ANY_SIGN.search(text) else text


_ANY_SIGN = re.compile(rf"[\[\]<&{MARK}{{}}]|__|~~~")
_WITHOUT_PARTNER = frozenset(("opened", "closed", "brace", "braces"))
_BREAKS = frozenset(("br", "hr", "li", "p", "div", "td", "th", "tr", "dd", "dt", "blockquote", "center", "poem"))
# What the pipe trick removes: a parenthesis at the end, or everything from the first comma on.
_DISAMBIGUATOR = re.compile(r"\s*[(（][^()（）]*[)）]$")


def piped(target: str) -> str:
    """Return what `[[target|]]` shows: no namespace, no parenthesis at the end, nothing after a comma.

    >>> [piped("Mercury (planet)"), piped("Boston, Massachusetts"), piped("Help:Pipe trick")]
    ['Mercury', 'Boston', 'Pipe trick']
    """
    name = target.removeprefix(":")
    prefix, colon, rest = name.partition(":")
    if colon and rest.strip() and prefix.strip():
        name = rest
    name = name.strip()
    without = _DISAMBIGUATOR.sub("", name)
    if without != name and without:
        return without
    return name.partition(", ")[0] or name


def _unescaped(entity: str) -> str:
    shown = decode_entities(entity)
    return " " if shown.isspace() else shown


_PERCENT = re.compile("%[0-9A-Fa-f]{2}")


def _without_percents(target: str) -> str:
    """Return a target as MediaWiki shows it: with what its percent signs stand for, if a page can have that name."""
    decoded = unquote(target, errors="replace")
    return decoded if may_be_title(decoded) and not _PERCENT.search(decoded) else target


@cache
def _is_switch(word: str) -> bool:
    """Is this word between underscores one of MediaWiki's switches? In a script without capitals, every word is."""
    table = words_table()["behaviour_switches"]
    if all(sign.lower() == sign.upper() or is_mkhedruli(sign) for sign in word):
        return True
    return word.upper() in table["in_any_case"].split() or word in table["as_written"].split()


@cache
def _hidden_prefixes() -> frozenset[str]:
    """Return the prefixes of files and categories in any language, and of languages; their links show nothing."""
    table = words_table()
    return frozenset(name.casefold() for key in ("file_names", "category_names", "languages") for name in table[key])


_PREFIXED = re.compile(r"\[\[\s*([^\[\]|:\n]{2,40}):")


@cache
def _media_names() -> frozenset[str]:
    return frozenset(name.casefold() for name in words_table()["file_names"])


def _begins_media(prefix: str, site: Site) -> bool:
    name = " ".join(prefix.replace("_", " ").split()).casefold()
    namespace = site.namespace_number(name)
    return namespace == 6 if namespace is not None else name in _media_names()


_BRACKETS = re.compile(r"\[\[|\]\]")
_LONGEST_CAPTION = 3000
# The unit of a width in the wiki's own language. Without a blank before it, it may be any word. A longer word behind a
# blank, as in "20 people", or in a script without blanks, as in "18世紀の地図", is a caption unless it means pixels.
_UNIT = rf"(?:(?![{UNSPACED}]){_LETTER}){{0,12}}|\s*(?:{_LETTER}{{0,3}}|פיקסלים|ピクセル|พิกเซล)"
# A width or height below a hundred pixels, in any digits.
_SMALL = re.compile(rf"\|\s*x?\d{{1,2}}(?:x\d{{1,2}})?(?:{_UNIT})\s*(?=[|\]])")
# A caption with more brackets than this lacks one; all brackets of the text are then matched together.
_MOST_BRACKETS = 200


def drop_media(text: str, site: Site, holes: Holes) -> str:
    """Return the text without links to files, their captions and the links in those.

    A picture as small as a character replaces words and leaves a hole; other pictures leave none.
    A file whose brackets do not close, or only after a heading, loses the rest of
    its line. What is inside a dropped file is not read again, so the time is
    that of one reading.
    """
    pieces, at = [], 0
    for found in _PREFIXED.finditer(text):
        start = found.start()
        if start < at or not _begins_media(found[1], site):
            continue
        end = _closing(text, start)
        if end is None:
            return _drop_unclosed_media(text, site, holes)
        pieces.append(text[at:start])
        at = _caption_end(text, start, end)
        if _SMALL.search(text, start, at):
            pieces.append(holes.leave("file", ""))
    pieces.append(text[at:])
    return "".join(pieces) if at else text


def _closing(text: str, start: int) -> int | None:
    """Return where the link that begins at `start` ends; None if it does not end within reach."""
    depth = 0
    for number, bracket in enumerate(_BRACKETS.finditer(text, start)):
        depth += 1 if bracket[0] == "[[" else -1
        if not depth:
            return bracket.end()
        if number > _MOST_BRACKETS:
            break
    return None


def _drop_unclosed_media(text: str, site: Site, holes: Holes) -> str:
    """Do the same for a text in which some file does not close: match all brackets, reading each once."""
    openers = {found.start() for found in _PREFIXED.finditer(text) if _begins_media(found[1], site)}
    stack: list[int] = []
    spans: list[tuple[int, int]] = []
    for bracket in _BRACKETS.finditer(text, min(openers)):
        if bracket[0] == "[[":
            stack.append(bracket.start())
        elif stack:
            start = stack.pop()
            if start in openers:
                openers.discard(start)
                spans.append((start, _caption_end(text, start, bracket.end())))
    line_end = -1
    for start in sorted(openers):
        if start > line_end:
            line_end = _line_end(text, start)
        spans.append((start, line_end))
    pieces, at = [], 0
    for start, end in sorted(spans):
        if start >= at:
            pieces.append(text[at:start])
            if _SMALL.search(text, start, end):
                pieces.append(holes.leave("file", ""))
        at = max(at, end)
    pieces.append(text[at:])
    return "".join(pieces)


def _caption_end(text: str, start: int, end: int) -> int:
    is_long = end - start > _LONGEST_CAPTION
    return _line_end(text, start) if is_long and "\n==" in text[start : start + 4 * _LONGEST_CAPTION] else end


def _line_end(text: str, start: int) -> int:
    found = text.find("\n", start)
    return found if found >= 0 else len(text)
