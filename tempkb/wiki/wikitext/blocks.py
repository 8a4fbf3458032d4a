"""Splits a text into headings, paragraphs and list items, without tables, and tidies each line. Pure.

What dropped templates and notes leave behind goes: double blanks, empty parentheses, lonely commas. Positions in the
original text are mapped to the new one, so that links keep their spans.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from tempkb.wiki.wikitext.counting import UNSPACED
from tempkb.wiki.wikitext.holes import HOLE, settled
from tempkb.wiki.wikitext.markup import NOTHING

Kind = Literal["heading", "prose", "list"]

_RUN_OF_QUOTES = re.compile("'{2,}")
# In the target of a link they are apostrophes of the title.
_QUOTES_IN_TARGET = re.compile(r"\[\[(?:[^\[\]|<>{}']++|'(?!'))*+''[^\[\]|<>{}]*+(?=\||\]\])")
_TARGET_OR_QUOTES = re.compile(rf"{_QUOTES_IN_TARGET.pattern}|'{{2,}}")
_RULE = re.compile(r"-{4,}")
_LIST_MARKS = "*#:;"


class Block(NamedTuple):
    """Lines that belong together, without the apostrophes of markup.

    Attributes:
        kind: heading, prose or list (an item of one).
        text: still with links, tags and line ends.
        level: of a heading, 1 to 6; else 0.
    """

    kind: Kind
    text: str
    level: int = 0


def split_blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a wikitext that has neither templates nor extension tags."""
    gathered: list[str] = []
    for line in _lines(text):
        first = line[:1]
        # A paragraph continues as long as lines begin like prose.
        if first and first not in "=*#:;|-" and not line.isspace():
            gathered.append(unquoted(line) if "''" in line else line)
            continue
        if gathered and (first != "-" or line.startswith("----") or not line.strip()):
            yield Block("prose", "\n".join(gathered))
            gathered = []
        if first == "=" and (heading := _heading(line)):
            yield heading
        elif first and first in _LIST_MARKS:
            yield Block("list", unquoted(line).lstrip("*#:; \t"))
        elif first == "-":
            gathered.append(unquoted(_RULE.sub("", line, count=1) if line.startswith("----") else line))
        elif first == "=":
            gathered.append(unquoted(line))
        # A line that begins with a pipe is the rest of a table whose delimiters came from templates.
    if gathered:
        yield Block("prose", "\n".join(gathered))


def _lines(text: str) -> list[str]:
    """Return the lines of a text without those of tables and without holes that are alone on a line."""
    lines = text.split("\n")
    if HOLE in text:
        lines = [settled(line) if HOLE in line else line for line in lines]
    return _without_tables(lines) if "{|" in text or "|}" in text else lines


def _heading(line: str) -> Block | None:
    line = line.rstrip()
    left = len(line) - len(line.lstrip("="))
    right = len(line) - len(line.rstrip("="))
    level = min(left, right, 6)
    if not level or left == len(line):
        return None
    return Block("heading", unquoted(line[level:-level].strip()), level)


def _without_tables(lines: list[str]) -> list[str]:
    """Remove tables with their contents; of a table that is never closed, the lines that look like a table's."""
    kept: list[str] = []
    inside: list[str] = []  # lines since the outermost open table began
    begins: list[int] = []  # for each open table, how many of these there were before it
    for line in lines:
        stripped = line.lstrip(" \t:*#")
        if stripped.startswith("{|"):
            if not begins:
                kept.append("")  # the text before and after a table are different paragraphs
            begins.append(len(inside))
        elif begins and stripped.startswith("|}") and not stripped.startswith("|}}"):
            del inside[begins.pop() :]
            behind = stripped[2:].strip()
            if behind.startswith("{|"):
                begins.append(len(inside))
            elif behind and not begins:
                kept += (f" {behind}", "")  # a blank, since what is behind the end of a table begins no list or heading
        elif begins:
            inside.append(line)
        else:
            kept.append(line)
    return kept + _behind_table(inside) if begins else kept


def _behind_table(lines: list[str]) -> list[str]:
    """Return what follows the rows of a table without an end: everything from the first blank or heading line on."""
    for at, line in enumerate(lines):
        if not line.strip() or line.startswith("="):
            return lines[at:]
    return []


def unquoted(line: str) -> str:
    """Remove the markup of bold and italics from a line; apostrophes of the text stay.

    Five apostrophes are both, four are an apostrophe and bold. If bold and italics
    are both left open, one bold was an apostrophe and italics. It is chosen as in
    MediaWiki: the first after a single letter, else the first after a longer word, else
    the first after a blank.

    >>> unquoted("L'''Étoile'' of the '''Rock 'n' Roll''' O'Brien's")
    "L'Étoile of the Rock 'n' Roll O'Brien's"
    """
    if "''" not in line:
        return line
    runs = list(_RUN_OF_QUOTES.finditer(line))
    if "[[" in line and _QUOTES_IN_TARGET.search(line):
        runs = [run for run in _TARGET_OR_QUOTES.finditer(line) if run[0][0] == "'"]
    lengths = [len(run[0]) for run in runs]
    bold = sum(length >= 3 for length in lengths)
    italic = sum(length == 2 or length >= 5 for length in lengths)
    misread = _misread(line, runs) if bold % 2 and italic % 2 else None
    pieces, at = [], 0
    for number, run in enumerate(runs):
        pieces.append(line[at : run.start()])
        length = lengths[number]
        if length == 4 or number == misread:
            pieces.append("'")
        elif (
            line.endswith("]]", at, run.start())
            or "//" in line[max(at, line.rfind(" ", at, run.start())) : run.start()]
        ):
            pieces.append(NOTHING)  # letters after the markup do not belong to the link or address before it
        elif length > 5:
            pieces.append("'" * (length - 5))
        at = run.end()
    pieces.append(line[at:])
    return "".join(pieces)


def _misread(line: str, runs: list[re.Match[str]]) -> int | None:
    """Return which run of three apostrophes is an apostrophe and italics."""
    found: dict[str, int] = {}
    for number, run in enumerate(runs):
        if len(run[0]) != 3:
            continue
        before = line[max(run.start() - 2, 0) : run.start()]
        place = "blank" if before.endswith(" ") else "letter" if before.startswith(" ") else "word"
        found.setdefault(place, number)
    return next((found[place] for place in ("letter", "word", "blank") if place in found), None)


# Soft hyphens, word joiners and blanks without a width: nobody sees them.
_UNSEEN = "\u00ad\u200b\u2060\ufeff"
# Every alternative begins with one of these, so most places are skipped at once.
_BEGINS = r"(?=[\s(（\[),;:、；" + _UNSEEN + "]|^)"
# An empty pair, or empty pairs in it, is removed with the blank before it.
_EMPTY = r"\s*[(（][\s,;:.、，；]*(?:[(（][\s,;:.]*[)）][\s,;:.]*)*[)）]|\s*\[[\s,;:]*\]"
_DEBRIS = re.compile(
    _BEGINS
    + "(?:"
    + _EMPTY
    + r"|(?<=[(（])\s*(?:[,;:、；]\s*)+|(?<=[(（])\s+"  # a comma or blank that opens a parenthesis
    + r"|(?<![\s,;:、；])\s*+(?:[,;:、；]\s*+)++(?=[)）])|\s+(?=[)）])"  # or closes it; tried once per run
    + r"|\s+(?=[,.](?:\s|$))"  # a blank before a comma or full stop
    + r"|(?<=[,;])(?:\s*+[,;])++"  # doubled commas
    + f"|[{_UNSEEN}]+"
    + r"|\s{2,}|^\s+|\s+$)"
)
_OPENED = ("()", "( ", "(,", "(;", "(:", "(.", " )", ",)", ";)", ":)")
_OPENED_WIDE = ("（）", "（ ", "（、", "（；", " ）", "、）", "；）")
_LONELY = ("  ", " ,", " .", ",,", ";;", ", ,", "; ,", ", ;", "; ;", ",;", ";,")
_SPACED = re.compile(rf"[^\W_{UNSPACED}]")
_PASSES = 3


def tidy(text: str, positions: Sequence[int]) -> tuple[str, list[int], set[int]]:
    """Return the text without debris, the new positions, and which of them were in a pair that was removed.

    A position between two blanks comes after the one that is kept. The third part
    holds indices of positions: those inside parentheses that held
    nothing else, with a blank before them where the script has blanks.

    >>> tidy("Paris ( ;  French: Paris )  is , here", [19, 24])
    ('Paris (French: Paris) is, here', [15, 20], set())
    >>> tidy("The sum of  and  is f() (, ).", [11, 16, 22, 25])
    ('The sum of and is f.', [11, 15, 19, 19], {3})
    """
    moved = list(positions)
    emptied: set[int] = set()
    for _ in range(_PASSES):
        if not _has_debris(text):
            break
        text, moved = _once(text, moved, emptied)
    return text, moved, emptied


def _has_debris(text: str) -> bool:
    """Test quickly: most lines have none, and a search for short strings is much faster than for the pattern."""
    holds = text.__contains__
    return (
        text[:1] == " "
        or text[-1:] == " "
        or any(map(holds, _LONELY))
        or (not text.isascii() and any(map(holds, _UNSEEN)))
        or ("(" in text and any(map(holds, _OPENED)))
        or ("（" in text and any(map(holds, _OPENED_WIDE)))
        or ("[" in text and ("[]" in text or "[ " in text))
    )


def _once(text: str, positions: list[int], emptied: set[int]) -> tuple[str, list[int]]:
    pieces: list[str] = []
    # Parallel lists: positions after the end of each edit are shifted by this much.
    starts, ends, shifts, at, shift = [], [], [], 0, 0
    for edit in _DEBRIS.finditer(text):
        start, end = edit.span()
        between = " " if start > 0 and end < len(text) and _leaves_blank(text, start, end) else ""
        pieces += (text[at:start], between)
        shift += len(between) - (end - start)
        starts.append(start)
        ends.append(end)
        shifts.append(shift)
        at = end
    pieces.append(text[at:])
    moved = []
    for number, position in enumerate(positions):
        behind = bisect_right(starts, position) - 1
        if behind < 0:
            moved.append(position)
        elif position >= ends[behind]:
            moved.append(position + shifts[behind])
        else:  # inside an edit: where the edit began, or after the blank that it leaves
            start, end = starts[behind], ends[behind]
            before = shifts[behind - 1] if behind else 0
            leaves_blank = shifts[behind] - before > start - end
            moved.append(start + before + int(leaves_blank and position > start))
            if position > start and (text[end - 1] == "）" or (text[end - 1] in ")]" and text[start].isspace())):
                emptied.add(number)
    return "".join(pieces), moved


def _leaves_blank(text: str, start: int, end: int) -> bool:
    """Does an edit leave one blank?

    One of blanks does, except beside parentheses and before commas, and so does a blank without a width that is all
    that stands between two words, in scripts that have blanks there.
    """
    if not text[start:end].isspace():
        return "\u200b" in text[start:end] and bool(_SPACED.match(text, start - 1) and _SPACED.match(text, end))
    return (
        text[start - 1] not in "(（"
        and text[end] not in ")）"
        and not (text[end] in ",." and (end + 1 == len(text) or text[end + 1].isspace()))
    )
