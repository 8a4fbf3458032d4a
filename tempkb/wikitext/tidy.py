"""Removes what dropped templates and notes leave behind: double blanks, empty parentheses, lonely commas. Pure.

Positions in the original text are mapped to the new one, so that links keep their spans.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence

from tempkb.wikitext.counting import UNSPACED

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
