"""What dropped templates and notes leave behind: doubled blanks, empty parentheses, lonely commas. Pure.

Positions in the text before are moved along, so that links keep their spans.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence

# Every alternative begins with one of these, so most places are passed over at once.
_BEGINS = r"(?=[\s(（\[),;:、；]|^)"
# An empty pair, or empty pairs in it, goes with the blank before it.
_EMPTY = r"\s*[(（][\s,;:.、，；]*(?:[(（][\s,;:.]*[)）][\s,;:.]*)*[)）]|\s*\[[\s,;:]*\]"
_DEBRIS = re.compile(
    _BEGINS + "(?:" + _EMPTY
    + r"|(?<=[(（])\s*(?:[,;:、；]\s*)+|(?<=[(（])\s+"  # a comma or blank that opens a parenthesis
    + r"|(?<![\s,;:、；])\s*+(?:[,;:、；]\s*+)++(?=[)）])|\s+(?=[)）])"  # or closes it; tried once per run
    + r"|\s+(?=[,.](?:\s|$))"  # a blank before a comma or full stop
    + r"|(?<=[,;])(?:\s*+[,;])++"  # doubled commas
    + r"|\s{2,}|^\s+|\s+$)"
)  # fmt: skip
_OPENED = ("()", "( ", "(,", "(;", "(:", "(.", " )", ",)", ";)", ":)")
_OPENED_WIDE = ("（）", "（ ", "（、", "（；", " ）", "、）", "；）")
_LONELY = ("  ", " ,", " .", ",,", ";;", ", ,", "; ,", ", ;", "; ;", ",;", ";,")
_PASSES = 3


def tidy(text: str, positions: Sequence[int]) -> tuple[str, list[int]]:
    """Return the text without debris, and where the positions have moved.

    Args:
        text: a line of readable text.
        positions: in rising order.

    >>> tidy("Paris ( ;  French: Paris )  is , here", [19, 24])
    ('Paris (French: Paris) is, here', [15, 20])
    """
    moved = list(positions)
    for _ in range(_PASSES):
        if not _has_debris(text):
            break
        text, moved = _once(text, moved)
    return text, moved


def _has_debris(text: str) -> bool:
    """A quick look: most lines have none, and a search for short strings is much faster than for the pattern."""
    holds = text.__contains__
    return (
        text[:1] == " "
        or text[-1:] == " "
        or any(map(holds, _LONELY))
        or ("(" in text and any(map(holds, _OPENED)))
        or ("（" in text and any(map(holds, _OPENED_WIDE)))
        or ("[" in text and ("[]" in text or "[ " in text))
    )


def _once(text: str, positions: list[int]) -> tuple[str, list[int]]:
    pieces: list[str] = []
    # Parallel lists: from the end of each edit on, positions are shifted by so much.
    starts, ends, shifts, at, shift = [], [], [], 0, 0
    for edit in _DEBRIS.finditer(text):
        start, end = edit.span()
        between = " " if edit[0].isspace() and start > 0 and end < len(text) and _keeps_blank(text, start, end) else ""
        pieces += (text[at:start], between)
        shift += len(between) - (end - start)
        starts.append(start)
        ends.append(end)
        shifts.append(shift)
        at = end
    pieces.append(text[at:])
    moved = []
    for position in positions:
        behind = bisect_right(starts, position) - 1
        if behind < 0:
            moved.append(position)
        elif position >= ends[behind]:
            moved.append(position + shifts[behind])
        else:  # inside an edit: where the edit began
            moved.append(starts[behind] + (shifts[behind - 1] if behind else 0))
    return "".join(pieces), moved


def _keeps_blank(text: str, start: int, end: int) -> bool:
    """Blanks become one blank, except beside parentheses and before commas."""
    return (
        text[start - 1] not in "(（"
        and text[end] not in ")）"
        and not (text[end] in ",." and (end + 1 == len(text) or text[end + 1].isspace()))
    )
