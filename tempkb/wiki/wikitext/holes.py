"""Holes, places where something visible was left out of a line; and blanks, which all become one. Pure.

While a text is read, a hole is a marker in it: a control character that no page can hold, a number, and the character
again. The marker is ASCII, so that it costs no memory, and it passes through templates, links and markup like a word.
Before a line is tidied, `take_out` removes the markers and returns their positions, so the readable text is the same
as if nothing had been marked.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

HOLE = "\x01"
# One marker; a renderer may have cut one in half, so a single control character is removed, too.
_MARKER = re.compile(rf"{HOLE}(?:([0-9]{{1,9}}){HOLE})?")
_WHOLE = rf"{HOLE}[0-9]{{1,9}}{HOLE}"
# The beginning of a line that is not prose, with markers in between: signs of lists, headings, tables and rules.
_HEADS = {
    first: re.compile(rf"(?:{_WHOLE}|[{signs}])+")
    for firsts, signs in (("*#:;", r"*#:; \t"), ("=", "="), ("|", "|"), ("{", "{|"), ("-", "-"))
    for first in firsts
}
_BEGINS_LIKE_MARKUP = ("*", "#", ":", ";", "=", "|", "{|", "----")
_LAST_HOLES = re.compile(rf"(?: *{_WHOLE})+ *\Z")
# After one of these signs a sentence is over; quotation marks and brackets may follow. Behind the Latin signs are those
# of Chinese and Japanese, Indian scripts, Arabic, Urdu, Amharic, Armenian, Burmese, Khmer and Tibetan.
SENTENCE_ENDS = frozenset(".!?\u2026\u3002\uff01\uff1f\uff0e\u0964\u0965\u061f\u06d4\u1362\u0589\u104b\u17d4\u0f0d")
CLOSING_SIGNS = "\"'\u201d\u2019\u201c\u00bb\u203a)]\u300d\u300f\uff09"


class Dropped(NamedTuple):
    """What was left out: its kind and name.

    Attributes:
        kind: template, formula, file, extension (another tag), argument (of a template), or markup (braces that
            are never closed).
        name: of the template, in lower case, or of the tag; empty for files and markup.
    """

    kind: str
    name: str


class Holes(list[Dropped]):
    """Everything that was left out of one wikitext; a marker's number is the position in this list."""

    def leave(self, kind: str, name: str) -> str:
        """Note what is left out here, and return its marker."""
        self.append(Dropped(kind, name))
        return f"{HOLE}{len(self) - 1}{HOLE}"


def without_holes(text: str) -> str:
    """Return a text without the markers of holes."""
    return _MARKER.sub("", text) if HOLE in text else text


def markers(text: str) -> str:
    """Return only the markers of a text, one after another."""
    return "".join(found[0] for found in _MARKER.finditer(text) if found[1])


def settled(line: str) -> str:
    r"""Return a line of wikitext with its markers moved so that they do not hide what kind of line it is.

    A line of nothing but holes becomes empty, since no sentence lacks them. Markers before
    the signs of a heading, list or table are moved behind these, and what follows
    the last sign of a heading is removed.

    >>> settled("\x017\x01== A ==\x018\x01") == "==\x017\x01 A =="
    True
    """
    bare = without_holes(line)
    if not bare.strip():
        return ""
    if not bare.startswith(_BEGINS_LIKE_MARKUP):
        return line
    if bare[0] == "=" and bare.rstrip()[-1] == "=":
        line = _LAST_HOLES.sub("", line)
    head = _HEADS[bare[0]].match(line)
    if head is None or HOLE not in head[0]:
        return line
    return without_holes(head[0]) + markers(head[0]) + line[head.end() :]


def take_out(line: str, edges: Sequence[int]) -> tuple[str, list[int], list[tuple[int, int]]]:
    """Remove the markers from a line of readable text.

    Args:
        edges: where links begin and end, alternating and in order; none is inside a marker.

    Returns:
        the line; the edges in it, without blanks at the ends of links; and each hole as (offset, number), in order.
    """
    pieces, places, ends, shifts = [], [], [], []
    at = taken = 0
    for found in _MARKER.finditer(line):
        pieces.append(line[at : found.start()])
        if found[1]:
            places.append((found.start() - taken, int(found[1])))
        taken += found.end() - found.start()
        at = found.end()
        ends.append(at)
        shifts.append(taken)
    bare = "".join([*pieces, line[at:]])
    moved = []
    for edge in edges:
        before = bisect_right(ends, edge)
        moved.append(edge - (shifts[before - 1] if before else 0))
    return bare, _trimmed(bare, moved), places


def _trimmed(line: str, edges: list[int]) -> list[int]:
    """Return the edges of links without blanks beside a marker inside the link."""
    trimmed: list[int] = []
    for left, right in zip(edges[::2], edges[1::2], strict=True):
        surface = line[left:right]
        left += len(surface) - len(surface.lstrip())
        trimmed += (left, max(left, right - (len(surface) - len(surface.rstrip()))))
    return trimmed


def is_behind_sentence(text: str, offset: int) -> bool:
    """Is a sentence over before this offset, so that a hole there is a note and not part of the sentence?

    >>> [is_behind_sentence("It is old. It ends.", at) for at in (10, 11, 19)]
    [True, False, True]
    """
    return (offset == len(text) or text[offset].isspace()) and _is_over(text, offset)


def count_inside(text: str, offsets: Iterable[int], start: int, end: int) -> int:
    """Return how many of these holes are in text[start:end], a sentence or any other span.

    A hole at the very end counts, unless a sentence is over there.
    """
    return sum(start <= one < end or (one == end and not _is_over(text, end)) for one in offsets)


def _is_over(text: str, offset: int) -> bool:
    before = text[max(offset - 4, 0) : offset].rstrip(CLOSING_SIGNS)
    return before[-1:] in SENTENCE_ENDS


_BLANKS = (
    "\r\n",
    "\t",
    "\u00a0",
    "\u2009",
    "\u202f",
    "\u2028",
    "\u2029",
    "\x85",
    "\x0b",
    "\x0c",
    "\x1c",
    "\x1d",
    "\x1e",
    "\r",
)


def with_plain_blanks(text: str) -> str:
    """Replace blanks of every width by one kind, and all line ends by one kind."""
    for blank in _BLANKS:
        if blank in text:
            text = text.replace(blank, "\n" if blank == "\r\n" else " ")
    return text


def in_one_line(text: str) -> str:
    r"""Return a text without line ends, which may come from entities such as `&#10;`.

    >>> in_one_line("a\nb\u2028c")
    'a b c'
    """
    return with_plain_blanks(text).replace("\n", " ")
