"""Template calls, found by matching curly braces: names and arguments. Pure.

Matching follows MediaWiki's preprocessor: two braces make a template, three an argument, and a run of closing braces
closes the innermost opening ones first. The brackets of a link are matched among them: nothing closes while a link
inside it is open. Every sign is read once, so the time is linear even for hostile input.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple


class Argument(NamedTuple):
    """What is between two pipes, with what the templates inside show.

    Attributes:
        value: behind the first equals sign that is written there, or all of it.
        name: before this sign; None if there is none. One that a template inside shows names nothing.
    """

    value: str
    name: str | None = None

    @property
    def text(self) -> str:
        """All of it."""
        return self.value if self.name is None else f"{self.name}={self.value}"


@dataclass(frozen=True)
class Call:
    """A template call whose arguments are wikitext without braces.

    Attributes:
        name: as in the tables: lower case, spaces for underscores.
        unnamed: arguments by position, as written.
        named: arguments by name; `1=` counts as a name. Trimmed.
        day: when the revision was saved, for ages; None if unknown.
        language: of the words that may be added: the wiki's, or `en` on wikis of many languages.
        aside: is it alone between brackets, commas or semicolons of a parenthesis, as pronunciations in leads are?
    """

    name: str
    unnamed: tuple[str, ...]
    named: dict[str, str]
    day: date | None = None
    language: str = "en"
    aside: bool = False

    def get(self, *names: str) -> str:
        """Return the first of these arguments that is given and not empty; a number means a position, from 1."""
        for name in names:
            value = self.named.get(name, "")
            if not value and name.isdigit() and 0 < int(name) <= len(self.unnamed):
                value = self.unnamed[int(name) - 1].strip()
            if value:
                return value
        return ""

    def positional(self) -> list[str]:
        """Return the arguments without a name, trimmed, in order; numbered names are put in their places."""
        values = [value.strip() for value in self.unnamed]
        while self.named.get(str(len(values) + 1)):
            values.append(self.named[str(len(values) + 1)])
        return values


def read_call(
    arguments: Iterable[Argument], name: str, day: date | None, *, language: str, aside: bool = False
) -> Call:
    """Make a call from its name and arguments."""
    unnamed: list[str] = []
    named: dict[str, str] = {}
    for one in arguments:
        # An equals sign inside a tag or link does not name an argument.
        if one.name is not None and not any(sign in one.name for sign in "<["):
            named[one.name.strip()] = one.value.strip()
        else:
            unnamed.append(one.text)
    return Call(name, tuple(unnamed), named, day, language, aside)


_LONGEST_ASIDE = 300
# The braces are those of other templates beside it.
_BEFORE_ASIDE = ("(", "（", ",", ";", "，", "；", "、", "}")
_BEHIND_ASIDE = (")", "）", ",", ";", "，", "；", "、", "{")


def is_aside(text: str, start: int, end: int) -> bool:
    """Is text[start:end] alone between two brackets, commas or semicolons of a parenthesis in its line?

    >>> text = "Ada (English: {{a}}; {{b}}) or (see {{c}})"
    >>> [is_aside(text, at, at + 5) for at in (14, 21, 36)]
    [False, True, False]
    """
    before = text[max(start - _LONGEST_ASIDE, 0) : start].rpartition("\n")[2]
    opened = max(before.rfind("("), before.rfind("（"))
    if opened < 0 or opened < max(before.rfind(")"), before.rfind("）")):
        return False
    return before.rstrip(" '").endswith(_BEFORE_ASIDE) and text[end : end + 20].lstrip(" '").startswith(_BEHIND_ASIDE)


_RUN = re.compile(r"\{\{+|\}\}+|\[\[+|\]\]+")
_LINE_END = re.compile(r"\n")
_BRACE_OR_LINE_END = re.compile(r"[}\n]")
_SEPARATOR_OR_LINK = re.compile(r"[|=]|\[\[|\]\]")
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
class Opening:
    """Opening braces that are not closed yet.

    Attributes:
        at, count: where they begin, and how many are left.
        links: brackets of links that are open directly inside.
        barred: the end of the first braces that would close these but for such a link.
        inside: the braces directly inside, so far.
    """

    at: int
    count: int
    links: int = 0
    barred: int | None = None
    inside: list[Braces] = field(default_factory=list)


def match_braces(text: str) -> tuple[list[Braces], list[Opening]]:
    """Return the outermost matching braces, and the braces that are never closed, both in order."""
    stack = [Opening(0, 0)]  # the first is the text itself
    for run in _RUN.finditer(text):
        at, count, sign = run.start(), run.end() - run.start(), text[run.start()]
        if sign == "{":
            stack.append(Opening(at, count))
        elif sign == "[":
            stack[-1].links += count // 2
        elif sign == "]":
            stack[-1].links = max(stack[-1].links - count // 2, 0)
        while sign == "}" and count >= 2 and len(stack) > 1:
            top = stack[-1]
            width = 3 if count >= 3 and top.count >= 3 else 2
            if top.links:
                top.barred = top.barred or at + width
                break
            # The right end of the opening run is used first: what is still open begins at `top.at` as before.
            top.count -= width
            found = Braces(top.at + top.count, at + width, width, top.inside)
            at, count = at + width, count - width
            # A single remaining brace opens nothing, so its run is finished.
            if top.count >= 2:
                top.inside, top.barred = [found], None
            else:
                stack.pop()
                stack[-1].inside.append(found)
    return [one for left in stack for one in left.inside], stack[1:]


def unclosed_regions(text: str, outermost: Sequence[Braces], opened: Sequence[Opening]) -> list[tuple[int, int]]:
    """Return the regions that belong to braces that are never closed.

    A template in which a link is never closed was meant to end at its first closing
    braces. An infobox that lost its end is a line with the opening braces, then lines that
    begin with a pipe; a closing brace alone was meant as two. Whole templates inside
    are part of it.
    """
    regions: list[tuple[int, int]] = []
    at = 0
    for one in opened:
        if regions and one.at < regions[-1][1]:
            continue
        while at < len(outermost) and outermost[at].end <= one.at:
            at += 1
        if one.barred is not None and one.barred - one.at <= _LONGEST_LOSS:
            regions.append((one.at, one.barred))
        else:
            regions.append((one.at, _end_of_region(text, one.at, outermost, at)))
    return regions


def _end_of_region(text: str, start: int, outermost: Sequence[Braces], at: int) -> int:
    """Go line by line from the opening braces, skipping whole templates, while lines look like parameters."""
    limit = min(len(text), start + _LONGEST_LOSS)
    end, at = _find_outside(_BRACE_OR_LINE_END, text, start, limit, outermost, at)
    if text.startswith("}", end):
        return end + 2 if text.startswith("}}", end) else end + 1
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


def split_arguments(text: str, braces: Braces, write: Callable[[Braces], str]) -> list[Argument]:
    """Return the arguments of a template, its own name as the first; signs inside links and other braces separate none.

    Args:
        write: returns the replacement of the braces inside.
    """
    start, end = braces.start + braces.width, braces.end - braces.width
    arguments: list[Argument] = []
    name: str | None = None
    pieces: list[str] = []
    depth = 0
    for stop, inside in [*((one.start, one) for one in braces.inside), (end, None)]:
        at = start
        for token in _SEPARATOR_OR_LINK.finditer(text, start, stop):
            if token[0] == "[[":
                depth += 1
            elif token[0] == "]]":
                depth = max(depth - 1, 0)
            elif not depth and (token[0] == "|" or (name is None and arguments)):
                written = "".join([*pieces, text[at : token.start()]])
                pieces, at = [], token.end()
                if token[0] == "=":
                    name = written
                else:
                    arguments.append(Argument(written, name))
                    name = None
        pieces.append(text[at:stop])
        if inside is not None:
            pieces.append(write(inside))
            start = inside.end
    return [*arguments, Argument("".join(pieces), name)]
