"""Links, tags and entities inside a block: readable text, and where its links are. Pure."""

import html
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from tempkb.titles import Site
from tempkb.wikitext.extensions import MARK
from tempkb.wikitext.redirects import words_table

_TAGS = (
    "a|abbr|b|bdi|bdo|big|blockquote|br|caption|center|cite|code|col|colgroup|data|dd|del|dfn|div|dl|dt|em|font|h[1-6]|hr|i|"
    "ins|kbd|li|mark|noinclude|nowiki|ol|onlyinclude|p|poem|pre|q|rb|rp|rt|rtc|ruby|s|samp|small|span|strike|strong|sub|"
    "sup|table|tbody|td|tfoot|th|thead|time|tr|tt|u|ul|var|wbr|ref|references|math|gallery|div|includeonly"
)
_PROTOCOLS = (
    r"(?:https?|ftps?|irc|ircs|news|mailto|gopher|nntp|worldwind|svn|git|telnet|sip|sips|xmpp|sms|tel|urn|geo|magnet):"
)
_LABEL = r"(?:[^\[\]]|\[(?!\[)|\](?!\]))*"


@cache
def _tokens(trail: str) -> re.Pattern[str]:
    """All that is not plain text; alternatives are told apart by their groups.

    Each alternative begins with a plain character, since that lets the engine skip to the next of them.
    """
    return re.compile(
        rf"\[\[(?P<target>[^\[\]|<>{{}}{MARK}]*)(?:\|(?P<label>{_LABEL}))?\]\](?P<trail>(?-i:[{trail}]+))?"
        rf"|&(?P<entity>(?:\#[0-9]{{1,7}}|\#[xX][0-9a-fA-F]{{1,6}}|[a-zA-Z][a-zA-Z0-9]{{1,31}});)"
        rf"|<(?P<tag>/?(?:{_TAGS})(?=[\s/>]))[^<>]*>"
        rf"|{MARK}(?P<literal>[0-9]{{1,9}}){MARK}"
        rf"|\[(?:{_PROTOCOLS}|//)[^\s\[\]<>\"{MARK}]+(?P<words>\s+[^\[\]]*)?\]"
        r"|_(?P<magic>_[^\W\d_](?:_?[^\W\d_])*__)"
        r"|\[(?P<bracket>)(?=\[\[)"
        r"|\[(?P<opened>\[)(?:[^\[\]|<>{}]*\|)?|\](?P<closed>\])|\{(?P<brace>[{|])\{*|\}(?P<braces>\})\}*|\|(?P<table>\})"
        r"|~(?P<signature>~{2,4})",
        re.IGNORECASE,
    )


class Span(NamedTuple):
    """A link in a block: where its surface stands and the target as written."""

    start: int
    end: int
    target: str


@dataclass
class Inline:
    """Reads blocks of one wiki.

    Args:
        site: its namespaces.
        literal: gives the text of a marker.
        language: of the wiki, such as `en`; decides which letters a link takes along.

    Attributes:
        unbalanced: brackets without a partner, so far.
    """

    site: Site
    literal: Callable[[str], str]
    language: str
    unbalanced: int = 0

    def __post_init__(self) -> None:
        self._pattern = _tokens(words_table()["link_trails"].get(self.language, "a-z"))

    def read(self, text: str) -> tuple[str, list[Span]]:
        """Return the readable text of a block and its links, in order."""
        if not _ANY_SIGN.search(text):
            return text, []
        pieces: list[str] = []
        spans: list[Span] = []
        length = at = 0
        for token in self._pattern.finditer(text):
            start = token.start()
            if start > at:
                pieces.append(text[at:start])
                length += start - at
            at = token.end()
            kind = token.lastgroup
            if token["target"] is not None:
                shown, target = self._link(token, spans, length)
                if target is not None and shown.strip():
                    blank = len(shown) - len(shown.lstrip())
                    spans.append(Span(length + blank, length + len(shown.rstrip()), target))
            elif kind == "entity":
                shown = _unescaped(token[0])
            elif kind == "tag":
                shown = " " if token["tag"].lower().removeprefix("/") in _BREAKS else ""
            elif kind == "literal":
                shown = self.literal(token["literal"])
            elif kind == "words":
                shown = self._plain(token["words"].strip())
            elif kind == "bracket":
                shown = "["
            elif kind == "magic":
                # Magic words are in capitals, or in a script that has none; __init__ is text.
                shown = "" if token[0] == token[0].upper() else token[0]
            else:
                shown = ""
                self.unbalanced += kind in _WITHOUT_PARTNER
            if shown:
                pieces.append(shown)
                length += len(shown)
        pieces.append(text[at:])
        return "".join(pieces), spans

    def _link(self, token: re.Match[str], spans: list[Span], length: int) -> tuple[str, str | None]:
        """What a link shows, and its target; None when it is not a link that readers see."""
        target, label, trail = token["target"], token["label"], token["trail"] or ""
        if "&" in target:
            target = html.unescape(target)
        target = target.strip()
        if not target or (label is None and target.startswith("#")):
            # [[#Section]] shows its own name; [[]] and [[|x]] are no links.
            shown = target if target else f"{label or ''}"
            return self._plain(shown) + trail, target or None
        if not target.startswith(":") and self.is_hidden(target):
            return trail, None
        if label is None:
            return target.removeprefix(":") + trail, target
        if not label.strip():
            return piped(target) + trail, target
        return self._plain(label.rpartition("|")[2] or label) + trail, target

    def is_hidden(self, target: str) -> bool:
        """Is a link without a leading colon one that shows nothing: a file, a category, another language?"""
        prefix, colon, _ = target.partition(":")
        if not colon:
            return False
        prefix = " ".join(prefix.replace("_", " ").split()).casefold()
        namespace = self.site.namespace_number(prefix)
        if namespace is not None:
            return namespace in (6, 14, -2)
        return prefix in _hidden_prefixes()

    def _plain(self, text: str) -> str:
        """The readable text of a label, which holds no links."""
        if not _ANY_SIGN.search(text):
            return text
        return self.read(text)[0]


_ANY_SIGN = re.compile(rf"[\[\]<&{MARK}{{}}]|__|~~~")
_WITHOUT_PARTNER = frozenset(("opened", "closed", "brace", "braces"))
_BREAKS = frozenset(("br", "hr", "li", "p", "div", "td", "th", "tr", "dd", "dt", "blockquote", "center", "poem"))
# A piece in parentheses at the end, or all from the first comma on: what the pipe trick cuts off.
_DISAMBIGUATOR = re.compile(r"\s*[(（][^()（）]*[)）]$")


def piped(target: str) -> str:
    """What `[[target|]]` shows: no namespace, no parenthesis at the end, or nothing after a comma.

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
    shown = html.unescape(entity)
    return " " if shown.isspace() else shown


@cache
def _hidden_prefixes() -> frozenset[str]:
    """Prefixes of files and categories in any language, and of languages: their links show nothing."""
    table = words_table()
    return frozenset(name.casefold() for key in ("file_names", "category_names", "languages") for name in table[key])


_PREFIXED = re.compile(r"\[\[\s*([^\[\]|:\n]{2,40}):")


@cache
def _media_names() -> frozenset[str]:
    return frozenset(name.casefold() for name in words_table()["file_names"])


def _begins_media(prefix: str, site: Site) -> bool:
    name = " ".join(prefix.replace("_", " ").split()).casefold()
    namespace = site.namespace_number(name)
    return namespace in (6, -2) if namespace is not None else name in _media_names()


_BRACKETS = re.compile(r"\[\[|\]\]")
_LONGEST_CAPTION = 3000


def drop_media(text: str, site: Site) -> str:
    """Return the text without links to files, with their captions and all that is linked in those.

    Every bracket is looked at once. A file whose brackets do not close, or only
    behind a heading, loses the rest of its line.
    """
    openers = {found.start() for found in _PREFIXED.finditer(text) if _begins_media(found[1], site)}
    if not openers:
        return text
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
    spans += [(start, _line_end(text, start)) for start in openers]
    pieces, at = [], 0
    for start, end in sorted(spans):
        if start >= at:
            pieces.append(text[at:start])
        at = max(at, end)
    pieces.append(text[at:])
    return "".join(pieces)


def _caption_end(text: str, start: int, end: int) -> int:
    is_long = end - start > _LONGEST_CAPTION
    return _line_end(text, start) if is_long and "\n==" in text[start : start + 4 * _LONGEST_CAPTION] else end


def _line_end(text: str, start: int) -> int:
    found = text.find("\n", start)
    return found if found >= 0 else len(text)
