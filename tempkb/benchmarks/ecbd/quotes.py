"""Which parts of a sentence stand in quotation marks: straight, curly, guillemets, one in another. Pure.

Names in quotes are often parts of other names, such as titles of books (ECBD,
section 2.2). A mark opens where a word begins and closes where one ends, so an
apostrophe is none, and one stray mark does not turn the rest of a sentence
inside out. What is opened and not closed goes to the sentence's end, and what
is closed and was not opened began with it.
"""

_PAIRS = {
    "\u201c": "\u201d",
    "\u2018": "\u2019",
    "\u00ab": "\u00bb",
    "\u2039": "\u203a",
    "\u201e": "\u201c\u201d",
    "\u201a": "\u2018\u2019",
    "\u00bb": "\u00ab",
}
_STRAIGHT = "\"'"
_CLOSING_MARKS = frozenset('"\u201d\u00bb\u203a')
_CLOSING = frozenset("".join(_PAIRS.values())) - frozenset(_PAIRS)


def quoted_spans(sentence: str) -> list[tuple[int, int]]:
    r"""Return the outermost quotations, marks included: code points, half-open.

    >>> quoted_spans('He said "no" to the crew\'s cook.')
    [(8, 12)]
    """
    spans: list[tuple[int, int]] = []
    opened: list[tuple[str, int]] = []
    for at, sign in enumerate(sentence):
        if sign not in _STRAIGHT and sign not in _PAIRS and sign not in _CLOSING:
            continue
        if opened and _closes(sentence, at, opened[-1][0]):
            _, start = opened.pop()
            if not opened:
                spans.append((start, at + 1))
        elif _opens(sentence, at):
            opened.append((sign, at))
        elif not opened and not spans and _closes_what_came_before(sentence, at):
            spans.append((0, at + 1))
    if opened:
        spans.append((opened[0][1], len(sentence)))
    return spans


def _opens(sentence: str, at: int) -> bool:
    sign = sentence[at]
    if sign == "\u00bb":  # some languages turn guillemets round
        return (not at or sentence[at - 1].isspace()) and sentence[at + 1 : at + 2].isalnum()
    if sign in _CLOSING:
        return False
    if sign in _PAIRS and sign != "\u2018":
        return True
    before, after = sentence[at - 1 : at] if at else "", sentence[at + 1 : at + 2]
    if sign in _STRAIGHT and before in _CLOSING_MARKS:  # the genitive of what was quoted
        return False
    # '90s and rock 'n' roll: a digit or a lone letter behind a single mark is an omission.
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
