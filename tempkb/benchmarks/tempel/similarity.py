"""Compares surfaces and titles: edit distances and overlap types. Pure."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cpdist

HIGH, CATEGORIES, SUBSTRING, LOW = "HIGH_OVERLAP", "MULTIPLE_CATEGORIES", "AMBIGUOUS_SUBSTRING", "LOW_OVERLAP"
_QUOTES = ('"', "'")


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


def bare_surface(surface: str) -> str:
    """Return the surface without quotation marks around it, in lower case.

    >>> bare_surface('"Up"')
    'up'
    """
    while len(surface) > 2 and surface[0] == surface[-1] and surface[0] in _QUOTES:
        surface = surface[1:-1]
    return surface.lower()


def bare_title(title: str) -> str:
    """Return the title without a parenthesis at its end, in lower case.

    >>> bare_title("Mercury (planet)")
    'mercury'
    """
    title = title.lower()
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
        return HIGH if phrase == title.lower() else CATEGORIES
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
