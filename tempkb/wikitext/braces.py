"""Matching of curly braces, and replacing what is between them. Pure.

Matching follows MediaWiki's preprocessor: two braces make a template, three an
argument, and a run of closing braces closes the innermost opening ones first.
Every brace is read once, so the time is linear even for hostile input.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

_RUN = re.compile(r"\{\{+|\}\}+")
_LINE_END = re.compile(r"\n")
_BRACE_OR_LINE_END = re.compile(r"[}\n]")
_PIPE_OR_LINK = re.compile(r"\||\[\[|\]\]")
# The most that an unclosed opening brace may remove from the text.
_LONGEST_LOSS = 20_000


@dataclass(slots=True)
class Braces:
    """Text between matching braces, with the braces inside it.

    Attributes:
        start, end: positions, the braces included.
        width: 2 for a template, 3 for an argument.
        inside: the braces directly inside, in order.
    """

    start: int
    end: int
    width: int
    inside: list["Braces"] = field(default_factory=list)


@dataclass(slots=True)
class _Open:
    at: int
    count: int
    inside: list[Braces] | None = None


def match_braces(text: str) -> tuple[list[Braces], list[int]]:
    """Return the outermost matching braces, in order, and the positions of braces that are never closed."""
    outermost: list[Braces] = []
    stack: list[_Open] = []
    for run in _RUN.finditer(text):
        at, count = run.start(), run.end() - run.start()
        if text[at] == "{":
            stack.append(_Open(at, count))
            continue
        while count >= 2 and stack:
            top = stack[-1]
            width = 3 if count >= 3 and top.count >= 3 else 2
            # The right end of the opening run is used first: what is still open begins at `top.at` as before.
            top.count -= width
            found = Braces(top.at + top.count, at + width, width, top.inside or [])
            at, count = at + width, count - width
            # A single remaining brace opens nothing, so its run is finished.
            if top.count >= 2:
                top.inside = [found]
            else:
                stack.pop()
                if not stack:
                    outermost.append(found)
                elif stack[-1].inside is None:
                    stack[-1].inside = [found]
                else:
                    stack[-1].inside.append(found)
    for left in stack:
        outermost.extend(left.inside or ())
    return outermost, [left.at for left in stack]


def unclosed_regions(text: str, outermost: Sequence[Braces], opened: Sequence[int]) -> list[tuple[int, int]]:
    """Return the regions that belong to braces that are never closed.

    An infobox that lost its end is a line with the opening braces, then lines that
    begin with a pipe; a closing brace alone was meant as two. Whole templates inside
    are part of it.
    """
    regions: list[tuple[int, int]] = []
    at = 0
    for start in opened:
        if regions and start < regions[-1][1]:
            continue
        while at < len(outermost) and outermost[at].end <= start:
            at += 1
        regions.append((start, _end_of_region(text, start, outermost, at)))
    return regions


def _end_of_region(text: str, start: int, outermost: Sequence[Braces], at: int) -> int:
    """Go line by line from the opening braces, skipping whole templates, while lines look like parameters."""
    limit = min(len(text), start + _LONGEST_LOSS)
    end, at = _find_outside(_BRACE_OR_LINE_END, text, start, limit, outermost, at)
    if text.startswith("}", end):
        return end + 1
    while end < limit:
        following = text[end + 1 : end + 80].lstrip(" ")[:1]
        if following not in ("|", "}"):
            break
        end, at = _find_outside(_LINE_END, text, end + 1, limit, outermost, at)
    return end


def _find_outside(
    sign: re.Pattern[str], text: str, position: int, limit: int, outermost: Sequence[Braces], at: int
) -> tuple[int, int]:
    """Return where a sign is found outside whole templates, or where the search ends; and the first template after it.

    A template that begins before the limit is skipped as a whole, even if it ends after it.
    """
    while at < len(outermost) and outermost[at].start < limit:
        found = sign.search(text, position, outermost[at].start)
        if found is not None:
            return found.start(), at
        position = outermost[at].end
        at += 1
    found = sign.search(text, position, limit)
    return (found.start() if found is not None else max(position, limit)), at


def replace_braces(text: str, braces: Sequence[Braces], start: int, end: int, write: Callable[[Braces], str]) -> str:
    """Return text[start:end] with each of the `braces` in it replaced by the result of `write`."""
    pieces = []
    for one in braces:
        pieces.append(text[start : one.start])
        pieces.append(write(one))
        start = one.end
    pieces.append(text[start:end])
    return "".join(pieces)


def split_arguments(text: str, braces: Braces, write: Callable[[Braces], str]) -> list[str]:
    """Return name and arguments of a template; pipes inside links and other braces do not separate arguments.

    Args:
        text: the whole text.
        braces: the template in it.
        write: returns the replacement of the braces inside.
    """
    start, end = braces.start + braces.width, braces.end - braces.width
    parts: list[list[str]] = [[]]
    depth = 0
    for stop, inside in [*((one.start, one) for one in braces.inside), (end, None)]:
        at = start
        for token in _PIPE_OR_LINK.finditer(text, start, stop):
            if token[0] == "[[":
                depth += 1
            elif token[0] == "]]":
                depth = max(depth - 1, 0)
            elif not depth:
                parts[-1].append(text[at : token.start()])
                parts.append([])
                at = token.end()
        parts[-1].append(text[at:stop])
        if inside is not None:
            parts[-1].append(write(inside))
            start = inside.end
    return ["".join(part) for part in parts]
