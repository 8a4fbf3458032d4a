"""Compares surfaces and titles: edit distances and overlap types. Pure."""

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cpdist

from tempkb.titles import without_direction_marks

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
