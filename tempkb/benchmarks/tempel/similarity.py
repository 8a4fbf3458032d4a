"""Compares texts: edit distances and overlap types of surfaces and titles, and pages of which a text is a part. Pure.

The page is found by runs of words that few pages have, in time linear in the texts.
"""

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cpdist

from tempkb.core.titles import without_direction_marks
from tempkb.wiki.wikitext.counting import split_words

HIGH, CATEGORIES, SUBSTRING, LOW = "HIGH_OVERLAP", "MULTIPLE_CATEGORIES", "AMBIGUOUS_SUBSTRING", "LOW_OVERLAP"
_QUOTES = ('"', "'")
# The dot above, the small sigma at the end of a word, and the direction marks.
_FOLDED_SIGNS = re.compile("[\u0307\u03c2\u200e\u200f\u202a-\u202e]")


def normalised_distance(left: str, right: str) -> float:
    """Return the Levenshtein distance divided by the length of the longer string; 0 for two empty strings.

    >>> round(normalised_distance("host", "sacramental bread"), 4)
    0.9412
    """
    longer = max(len(left), len(right))
    return Levenshtein.distance(left, right) / longer if longer else 0.0


def normalised_distances(left: Sequence[str], right: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return the `normalised_distance` of each pair: float64 [pairs]."""
    if not left:
        return np.zeros(0)
    distances = cpdist(left, right, scorer=Levenshtein.distance, dtype=np.int32).astype(np.float64)
    longer = np.maximum([len(one) for one in left], [len(one) for one in right])
    return np.divide(distances, longer, out=np.zeros(len(left)), where=longer > 0)


def folded(text: str) -> str:
    """Return a text in lower case and without direction marks, so that a surface equals the title that it repeats.

    Surfaces come in DuckDB's lower case, which has one small sigma, and no mark on the i of a dotted capital. Titles
    have no direction marks.

    >>> folded("İzmir"), folded("ΠΑΟΣ")
    ('izmir', 'παοσ')
    """
    small = text.lower()
    # Few texts have one of these signs, and this is asked of every surface.
    if text.isascii() or not _FOLDED_SIGNS.search(small):
        return small
    return without_direction_marks(small.replace("i\u0307", "i").replace("\u03c2", "\u03c3"))


def bare_surface(surface: str) -> str:
    """Return the surface, folded, without quotation marks around it.

    >>> bare_surface('"Up"')
    'up'
    """
    surface = folded(surface)
    while len(surface) > 2 and surface[0] == surface[-1] and surface[0] in _QUOTES:
        surface = surface[1:-1]
    return surface


def bare_title(title: str) -> str:
    """Return the title, folded, without a parenthesis at its end.

    >>> bare_title("Mercury (planet)")
    'mercury'
    """
    title = folded(title)
    if title.endswith(")") and (at := title.rfind(" (")) > 0:
        return title[:at]
    return title


def overlap_type(surface: str, title: str) -> str:
    """Return how a surface overlaps a title: the types of Logeswaran et al. (2019), symmetric as in TempEL's code.

    HIGH_OVERLAP means the whole title, MULTIPLE_CATEGORIES the title without its
    parenthesis, AMBIGUOUS_SUBSTRING that one contains the other at word boundaries,
    and LOW_OVERLAP everything else.

    >>> overlap_type("COVID-19 pandemic", "COVID-19 pandemic in Portland, Oregon")
    'AMBIGUOUS_SUBSTRING'
    """
    mention, phrase = bare_surface(surface), bare_title(title)
    if mention == phrase:
        return HIGH if phrase == folded(title) else CATEGORIES
    if _is_within(mention, phrase) or _is_within(phrase, mention):
        return SUBSTRING
    return LOW


def _is_within(part: str, whole: str) -> bool:
    """Return whether the first occurrence of `part` in `whole` begins and ends at a word boundary."""
    at = whole.find(part)
    if at < 0 or not part:
        return False
    before, behind = whole[at - 1 : at] if at else "", whole[at + len(part) :]
    return before in ("", " ") and (not behind or behind[0] == " " or behind.startswith(", "))


N_WORDS = 8
"""Words of a run. Shorter ones are idioms, and longer ones miss a text whose sentences were edited."""
MOST_PAGES = 3
"""A run of words that more pages have is a formula of the wiki, and says nothing of where a text is from."""

_BASE = np.uint64(0x9E3779B97F4A7C15)
_BITS = 24  # of a table that says at once that a run is not looked for

Hashes = NDArray[np.uint64]
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Origin:
    """Where the text of a page is from.

    Attributes:
        n_runs: number of its distinct runs of words that at most `MOST_PAGES` other pages have.
        page_id: the page that has most of them, of equal ones the first; None if no page has one.
        share: how many of them that page has, from 0 to 1; None without a run.
    """

    n_runs: int
    page_id: int | None
    share: float | None


def runs_of(text: str) -> Hashes:
    """Return a hash of each distinct run of words, in any case and with the punctuation that touches them."""
    words = split_words(text.lower())
    if len(words) < N_WORDS:
        return np.empty(0, np.uint64)
    codes = np.fromiter((zlib.crc32(word.encode()) for word in words), np.uint64, len(words))
    n = len(words) - N_WORDS + 1
    found = np.zeros(n, np.uint64)
    for at in range(N_WORDS):
        found = found * _BASE + codes[at : at + n]
    return np.unique(found)


def origins(texts: Mapping[int, str], pages: Iterable[tuple[int, str]]) -> dict[int, Origin]:
    """Return where texts are from.

    Args:
        texts: by page.
        pages: each other page with its text, once; read once, and not kept.
    """
    wanted = _Wanted(texts)
    for page_id, text in pages:
        wanted.look_into(page_id, text)
    return wanted.origins()


class _Wanted:
    """The runs that are looked for, the pages that have them, and in how many pages each was found."""

    def __init__(self, texts: Mapping[int, str]) -> None:
        self._own = {page_id: runs_of(text) for page_id, text in texts.items()}
        self._hashes = np.unique(np.concatenate([np.empty(0, np.uint64), *self._own.values()]))
        self._is_wanted = np.zeros(1 << _BITS, bool)
        self._is_wanted[self._short(self._hashes)] = True
        self._n_pages = np.zeros(len(self._hashes), np.int32)
        # Of each run no more pages are kept than it may have, so that memory does not grow with the wiki.
        self._found = np.full((len(self._hashes), MOST_PAGES), -1, np.int64)

    def look_into(self, page_id: int, text: str) -> None:
        runs = runs_of(text)
        runs = runs[self._is_wanted[self._short(runs)]]
        if page_id in self._own or not len(runs):
            return
        places = np.searchsorted(self._hashes, runs)
        places = places[self._hashes[np.minimum(places, len(self._hashes) - 1)] == runs]
        has_room = places[self._n_pages[places] < MOST_PAGES]
        self._found[has_room, self._n_pages[has_room]] = page_id
        self._n_pages[places] += 1

    def origins(self) -> dict[int, Origin]:
        return {page_id: self._origin(runs) for page_id, runs in self._own.items()}

    def _origin(self, runs: Hashes) -> Origin:
        places = np.searchsorted(self._hashes, runs)
        places = places[self._n_pages[places] <= MOST_PAGES]
        pages, numbers = np.unique(self._found[places], return_counts=True)
        numbers = numbers[pages >= 0]
        pages = pages[pages >= 0]
        if not len(pages):
            return Origin(len(places), None, 0.0 if len(places) else None)
        best = int(np.argmax(numbers))
        return Origin(len(places), int(pages[best]), float(numbers[best] / len(places)))

    @staticmethod
    def _short(hashes: Hashes) -> Places:
        return (hashes >> np.uint64(64 - _BITS)).astype(np.int64)
