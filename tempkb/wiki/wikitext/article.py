"""A revision's wikitext as an article: readable text, with exact spans of links, sections and paragraphs. Pure.

The steps are those of MediaWiki, each linear in the text: comments and extension tags, templates, files, then line by
line tables, headings, lists and paragraphs, and in each of those links, tags and entities. Where braces never close,
mwparserfromhell reads: our own reader is ten times as fast and keeps offsets, but relies on braces that close, while
the library's tokenizer goes back to text where nothing does.
"""

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from typing import NamedTuple

import mwparserfromhell
from mwparserfromhell.parser import ParserError

from tempkb.core.titles import Site
from tempkb.wiki.wikitext.blocks import Block, Kind, split_blocks, tidy
from tempkb.wiki.wikitext.holes import HOLE, Dropped, Holes, is_behind_sentence, take_out, with_plain_blanks
from tempkb.wiki.wikitext.inline import Inline, Span, drop_media
from tempkb.wiki.wikitext.markup import settle_variants, strip_extensions, without_hidden
from tempkb.wiki.wikitext.page_kinds import language_of, words_of, words_table
from tempkb.wiki.wikitext.templates import Expansion

# The library's time grows faster than the text if nothing closes; no prose needs more than this.
_LONGEST = 4000
_BRACES = re.compile(r"\{\{|\}\}|\{\|")


def mend(piece: str) -> str:
    """Return the prose of a piece that begins with braces that are never closed.

    mwparserfromhell reads it without the line of parameters after the opening braces.
    Whatever it still takes for text after braces or pipes is dropped, so that the
    inside of a template is never taken for prose.

    >>> mend("{{Infobox|name=[[Ada]]")
    ''
    """
    # The first line is the name and the parameters of the template that lost its end.
    rest = piece[:_LONGEST].partition("\n")[2]
    # One that ends is whole, but for a link inside that is never closed.
    if not rest or piece.endswith("}}"):
        return ""
    try:
        shown = str(mwparserfromhell.parse(rest).strip_code(collapse=False))
    except ParserError:  # the library raises this for what it considers a bug of its own
        return ""
    return "\n".join(
        line for line in shown.split("\n") if not _BRACES.search(line) and "|" not in line and "=" not in line
    )


class Link(NamedTuple):
    """A visible link. `text[start:end] == surface`; `target` as written, without surrounding blanks."""

    start: int
    end: int
    surface: str
    target: str


class Section(NamedTuple):
    """The text from a heading to the next one of the same or a higher level; the lead has level 0 and no title.

    Attributes:
        start, end: of the whole section, its heading's line included.
        body_start: where the text below the heading begins.
    """

    level: int
    title: str
    start: int
    body_start: int
    end: int


class Paragraph(NamedTuple):
    """A line of the text: prose, or an item of a list."""

    kind: Kind
    start: int
    end: int


class Hole(NamedTuple):
    """A place inside a line where something visible was left out.

    Attributes:
        offset: what was left out would begin at text[offset].
        kind, name: what was left out, as in `holes.Dropped`.
    """

    offset: int
    kind: str
    name: str


@dataclass(frozen=True)
class Article:
    """The visible text of an article. Offsets are Unicode code points, half-open.

    Attributes:
        text: one line per heading, paragraph and list item.
        links: in the order of the text.
        sections: the lead first, then in the order of their headings; subsections are inside their sections.
        paragraphs: all lines but the headings.
        holes: in the order of the text; silent templates and the like leave none.
        dropped_templates: names of templates in no table, with how often each occurred.
        unbalanced: number of braces and brackets without a partner.
    """

    text: str
    links: tuple[Link, ...]
    sections: tuple[Section, ...]
    paragraphs: tuple[Paragraph, ...]
    holes: tuple[Hole, ...] = ()
    dropped_templates: Counter[str] = field(default_factory=Counter)
    unbalanced: int = 0


def read_article(
    wikitext: str, site: Site, day: date | None = None, dropped_sections: Collection[str] | None = None
) -> Article:
    """Read a wikitext; never raises, whatever it contains.

    Args:
        day: when the revision was saved, for ages; None leaves them out.
        dropped_sections: headings, in lower case, whose sections are left out;
            None uses those of `words.toml`: references, external links, see also.

    >>> article = read_article("'''Ada''' was a [[Poet|poet]]s' friend ({{IPA|x}}).", Site())
    >>> article.text, article.links
    ("Ada was a poets' friend.", (Link(start=10, end=15, surface='poets', target='Poet'),))
    """
    language = language_of(site)
    stripped = strip_extensions(with_plain_blanks(wikitext))
    expansion = Expansion(stripped.text, day, language=words_of(language), holes=stripped.holes)
    shown = drop_media(without_hidden(settle_variants(expansion.expand(mend), language)), site, stripped.holes)
    inline = Inline(site, stripped.literal, language)
    dropped = dropped_headings() if dropped_sections is None else frozenset(dropped_sections)
    writer = _Writer(dropped)
    for block in split_blocks(shown):
        if writer.skips_to and not (block.kind == "heading" and block.level <= writer.skips_to):
            continue
        line, spans = inline.read(block.text)
        if "\n" in line:
            line = line.replace("\n", " ")
        # Links do not overlap, so their ends are in order.
        edges = [edge for span in spans for edge in (span.start, span.end)]
        holes: list[tuple[int, Dropped]] = []
        if HOLE in line:
            line, edges, holes = _read_holes(line, edges, stripped.holes)
        else:
            line, edges, _ = tidy(line, edges)
        writer.write(block, line, spans, edges, holes)
    return writer.article(expansion.dropped, expansion.unclosed + inline.unbalanced)


def _read_holes(line: str, edges: list[int], holes: Holes) -> tuple[str, list[int], list[tuple[int, Dropped]]]:
    """Remove the markers from a line and tidy it; return it with the edges of its links and its holes."""
    line, edges, places = take_out(line, edges)
    line, moved, emptied = tidy(line, [*edges, *(offset for offset, _ in places)])
    found = []
    for at, (_, number) in enumerate(places, len(edges)):
        # A remark alone in parentheses leaves no hole; a formula does, since the x of f(x) is not a remark.
        if at not in emptied or holes[number].kind == "formula":
            found.append((moved[at], holes[number]))
    return line, moved[: len(edges)], found


@cache
def dropped_headings() -> frozenset[str]:
    """Return the headings, in lower case, of the sections that are left out by default."""
    return frozenset(words_table()["dropped_sections"])


_WORD = re.compile(r"[^\W_]")


class _Writer:
    """Joins lines and keeps track of offsets."""

    def __init__(self, dropped: frozenset[str]) -> None:
        self._dropped = dropped
        self.skips_to = 0  # level of a dropped section's heading while inside it
        self._lines: list[str] = []
        self._length = 0
        self._links: list[Link] = []
        self._paragraphs: list[Paragraph] = []
        self._headings: list[tuple[int, str, int, int]] = []
        self._holes: list[Hole] = []

    def write(
        self, block: Block, line: str, spans: list[Span], edges: list[int], holes: list[tuple[int, Dropped]]
    ) -> None:
        if block.kind == "heading":
            self.skips_to = block.level if line.strip(" :.").lower() in self._dropped else 0
            if self.skips_to:
                return
        word = _WORD.search(line)
        if word is None:
            return
        start, end = self._length, self._length + len(line)
        if block.kind == "heading":
            self._headings.append((block.level, line, start, end + 1))
        else:
            self._paragraphs.append(Paragraph(block.kind, start, end))
        for span, left, right in zip(spans, edges[::2], edges[1::2], strict=True):
            if left < right:
                self._links.append(Link(start + left, start + right, line[left:right], span.target))
        for offset, (kind, name) in holes:
            # A picture before the first word is decoration.
            if not is_behind_sentence(line, offset) and (kind != "file" or offset > word.start()):
                self._holes.append(Hole(start + offset, kind, name))
        self._lines.append(line)
        self._length = end + 1

    def article(self, dropped: Counter[str], unbalanced: int) -> Article:
        text = "\n".join(self._lines)
        sections = _sections(self._headings, len(text))
        return Article(
            text, tuple(self._links), sections, tuple(self._paragraphs), tuple(self._holes), dropped, unbalanced
        )


def _sections(headings: list[tuple[int, str, int, int]], length: int) -> tuple[Section, ...]:
    """Make sections from headings; each ends at the next heading of its level or above."""
    ends = [length] * len(headings)
    opened: list[int] = []
    for number, (level, _, start, _) in enumerate(headings):
        while opened and headings[opened[-1]][0] >= level:
            ends[opened.pop()] = start
        opened.append(number)
    lead = Section(0, "", 0, 0, headings[0][2] if headings else length)
    below = [
        Section(level, title, start, min(body, length), end)
        for (level, title, start, body), end in zip(headings, ends, strict=True)
    ]
    return (lead, *below)
