"""Rows of dated texts: digest, split, years, and the spans that may be asked for. Pure.

Names of months are known in English only; in other languages a date is its year.
"""

import hashlib
import re
from collections.abc import Iterable
from typing import Any

from tempkb.models.corpora.tables import SPAN_KINDS, TEST, TRAIN, VALIDATION

Span = tuple[int, int, str]
"""First code point, the one behind the last, and kind."""

_HELD_OUT = {0: VALIDATION, 1: TEST}
_SHARES = 50  # one of so many texts is for validation, and one for the test
_DAY = r"(?:3[01]|[12]?\d)"
_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
# Neither a part of a longer number nor an amount of money.
_DATE = re.compile(
    rf"(?<![\w.,$£€])(?:{_DAY}\s{_MONTH},?\s|{_MONTH}\s(?:{_DAY},\s)?)?(?P<year>1\d{{3}}|20\d\d)(?!\w|[.,]\d)"
)


def digest_of(text: str) -> str:
    """Return the identity of a text: 32 hexadecimal digits."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def known_of(text: str) -> dict[str, Any]:
    """Return the columns of a text that follow from it alone."""
    text_id = digest_of(text)
    split = _HELD_OUT.get(int(text_id[:8], 16) % _SHARES, TRAIN)
    years = sorted({int(found["year"]) for found in _DATE.finditer(text)})
    return {"text_id": text_id, "text": text, "split": split, "years": years}


def dates_in(text: str) -> list[tuple[int, int]]:
    """Return where a text has dates that name a year.

    >>> [text[slice(*one)] for text in ("On 12 March 2021 and March 12, 2021, not May 3", ) for one in dates_in(text)]
    ['12 March 2021', 'March 12, 2021']
    """
    return [found.span() for found in _DATE.finditer(text)]


def spans_of(text: str, links: Iterable[tuple[int, int]], phrases: Iterable[tuple[int, int]]) -> list[dict[str, Any]]:
    """Return the spans of a text in order; of spans that overlap the longest is taken, then the first.

    Args:
        links: first code point of each, and the one behind its last.
        phrases: those that are names.
    """
    candidates: list[Span] = [
        (start, end, kind)
        for kind, places in zip(SPAN_KINDS, (links, dates_in(text), phrases), strict=True)
        for start, end in places
    ]
    is_taken, taken = bytearray(len(text)), list[Span]()
    for start, end, kind in sorted(candidates, key=lambda one: (one[0] - one[1], one[0], SPAN_KINDS.index(one[2]))):
        if is_taken.find(1, start, end) < 0:
            is_taken[start:end] = b"\1" * (end - start)
            taken.append((start, end, kind))
    return [{"start_char": start, "end_char": end, "kind": kind} for start, end, kind in sorted(taken)]
