"""Finds quotations in a sentence: straight, curly, guillemets, corner brackets, nested ones. Pure.

Names in quotation marks are often parts of other names, such as titles of books
(ECBD, section 2.2). A mark opens where a word begins and closes where one ends, so
an apostrophe is not a mark, and a single stray mark does not invert the rest of the
sentence. A quotation that is not closed extends to the end of the sentence, and one
that is not opened begins with it.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Quotation(NamedTuple):
    """A quotation, marks included: code points, half-open.

    Attributes:
        start: offset of its opening mark; None if it began before the sentence.
        end: offset after its closing mark; None if it continues after the sentence.
    """

    start: int | None
    end: int | None


_PAIRS = {
    "\u201c": "\u201d",
    "\u201d": "\u201d",
    "\u2018": "\u2019",
    "\u00ab": "\u00bb",
    "\u2039": "\u203a",
    "\u201e": "\u201c\u201d",
    "\u201a": "\u2018\u2019",
    "\u00bb": "\u00ab",
    "\u300c": "\u300d",
    "\u300e": "\u300f",
}
_STRAIGHT = "\"'"
# Some languages open with the mark with which others close: the guillemet, and the high mark of Swedish and Finnish.
_HIGH_MARK = "\u201d"
_ALSO_OPENING = frozenset(("\u00bb", _HIGH_MARK))
_BEFORE_OPENING = frozenset("([")
_CLOSING_MARKS = frozenset('"\u201d\u00bb\u203a')
_CLOSING = frozenset("".join(_PAIRS.values())) - frozenset(_PAIRS)


def quoted_spans(sentence: str) -> list[tuple[int, int]]:
    r"""Return the outermost quotations, marks included: code points, half-open.

    >>> quoted_spans('He said "no" to the crew\'s cook.')
    [(8, 12)]
    """
    spans: list[tuple[int, int]] = []
    for one in quotations(sentence):
        start, end = one.start or 0, len(sentence) if one.end is None else one.end
        if not spans or start >= spans[-1][1]:
            spans.append((start, end))
    return spans


def quotations(sentence: str) -> list[Quotation]:
    """Return all quotations in the order of their beginnings; an outer one comes before its inner ones."""
    found: list[Quotation] = []
    opened: list[tuple[str, int]] = []
    for at, sign in enumerate(sentence):
        if sign not in _STRAIGHT and sign not in _PAIRS and sign not in _CLOSING:
            continue
        if opened and _closes(sentence, at, opened[-1][0]):
            found.append(Quotation(opened.pop()[1], at + 1))
        elif _opens(sentence, at):
            opened.append((sign, at))
        elif not opened and not found and _closes_what_came_before(sentence, at):
            found.append(Quotation(None, at + 1))
    # A high mark at the beginning that nothing closes was left by the sentence before, whose quotation it closed.
    found += [Quotation(at, None) for sign, at in opened if at or sign != _HIGH_MARK]
    return sorted(found, key=lambda one: -1 if one.start is None else one.start)


def parts_quotation(quoted: Sequence[Quotation], start: int, end: int) -> bool:
    """Return whether a part of the sentence contains one mark of a quotation without the other.

    >>> sentence = 'She wrote "A Song" and "Ode".'
    >>> some = quotations(sentence)
    >>> parts_quotation(some, 13, 22), parts_quotation(some, 10, 22), parts_quotation(some, 11, 17)
    (True, False, False)
    """
    return any(
        (one.start is not None and start <= one.start < end) != (one.end is not None and start < one.end <= end)
        for one in quoted
    )


def holds_half_pair(text: str) -> bool:
    """Return whether a text by itself shows half a pair of double quotation marks; a low one has another partner.

    >>> holds_half_pair('the "old'), holds_half_pair("6\u201d shell"), holds_half_pair("\u201dgamla\u201d kyrkan")
    (True, True, False)
    """
    if text.count('"') % 2:
        return True
    n_closing = text.count("\u201d")
    # Without a mark that only opens, the closing ones are the pairs of Swedish and Finnish.
    is_half = not n_closing if "\u201c" in text else n_closing % 2 == 1
    return is_half and "\u201e" not in text


def _opens(sentence: str, at: int) -> bool:
    sign = sentence[at]
    before, after = sentence[at - 1 : at] if at else "", sentence[at + 1 : at + 2]
    if sign in _ALSO_OPENING:
        return (not before or before.isspace() or before in _BEFORE_OPENING) and after.isalnum()
    if sign in _CLOSING:
        return False
    if sign in _PAIRS and sign != "\u2018":
        return True
    if sign in _STRAIGHT and before in _CLOSING_MARKS:  # the possessive of a quoted name
        return False
    # '90s and rock 'n' roll: before a digit or a single letter, a single mark is an apostrophe.
    if sign == "'" and (after.isdigit() or sentence[at + 2 : at + 3] in ("'", "\u2019")):
        return False
    return not before.isalnum() and bool(after) and not after.isspace()


def _closes(sentence: str, at: int, opening: str) -> bool:
    sign = sentence[at]
    wanted = opening if opening in _STRAIGHT else _PAIRS[opening]
    if sign not in wanted:
        return False
    before, after = sentence[at - 1 : at], sentence[at + 1 : at + 2]
    if sign in ("'", "\u2019"):
        return not after.isalnum() and not before.isspace()
    return sign not in _STRAIGHT or not before.isspace()


def _closes_what_came_before(sentence: str, at: int) -> bool:
    sign = sentence[at]
    if sign in ("'", "\u2019"):  # an apostrophe, such as that of the workers' union
        return False
    before = sentence[at - 1 : at] if at else ""
    # 5'10" is a height.
    return bool(before) and not before.isspace() and not (sign == '"' and before.isdigit())
