"""The rule `standing`: which text is the most stable one of the last days before a cut. Pure.

A vandalised text seldom stands for more than minutes, so standing time is a
cheap sign of good text. The idea is TempEL's (Zaporojets et al., NeurIPS 2022
D&B, section 2); its code also counts time beyond the cut and treats a restored
text as a new one, which this rule does not.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stable:
    """The winner of one page at one cut.

    Attributes:
        index: position in the history of the last revision before the cut that
            carried the winning content for a positive time.
        standing_seconds: time the content stood inside [cut - lookback, cut), all its spells added up.
        last_stood_at: end of its last spell, seconds since 1970; at most the cut.
        n_before: revisions before the cut.
        n_inside: revisions saved inside the interval.
    """

    index: int
    standing_seconds: int
    last_stood_at: int
    n_before: int
    n_inside: int


def select_stable(
    times: Sequence[int], contents: Sequence[int], is_weak: Sequence[bool | int], cut: int, lookback: int
) -> Stable | None:
    """Return the content that stood longest in the `lookback` before `cut`.

    A restored text adds up with its earlier spells. Only time inside
    [cut - lookback, cut) counts, and only revisions before the cut are known,
    so nothing that happens later can change the result. Of equals the content
    that stood latest wins. Weak contents (blank, suppressed) win only when
    nothing else stood in the interval.

    Args:
        times: seconds since 1970 of each revision, in the order (time, revision id).
        contents: for each revision a number that names its content.
        is_weak: for each revision, is it blank or suppressed?
        cut: first second *not* in the snapshot.
        lookback: length of the interval, seconds.

    Returns:
        The winner; None if the page was born at or after the cut.
    """
    n_before = bisect_left(times, cut)
    if not n_before:
        return None
    begin = cut - lookback
    first = bisect_left(times, begin, 0, n_before)
    n_inside = n_before - first
    if not n_inside:
        return Stable(n_before - 1, lookback, cut, n_before, 0)
    # The revision saved before the interval, if any, stands at its beginning.
    spells: dict[int, tuple[int, int, int]] = {}
    strong: set[int] = set()
    for index in range(max(first - 1, 0), n_before):
        start = max(times[index], begin)
        end = times[index + 1] if index + 1 < n_before else cut
        if end <= start:
            continue
        content = contents[index]
        stood = spells.get(content, (0, 0, 0))[0]
        spells[content] = (stood + end - start, end, index)
        if not is_weak[index]:
            strong.add(content)
    # Spells compare by time, then by their end: of equals the one that stood latest. Weak ones only if all are weak.
    seconds, last, index = max(spells[content] for content in (strong or spells))
    return Stable(index, seconds, last, n_before, n_inside)
