"""The rule `standing`: chooses the most stable text of the last days before a cut. Pure.

A vandalised text is seldom current for more than minutes, so the time for which a
text was current is a cheap sign of quality. The idea is TempEL's (Zaporojets et al.,
NeurIPS 2022 D&B, section 2). TempEL's code also counts time after the cut and treats
a restored text as a new one; this rule does neither.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stable:
    """The chosen revision of one page at one cut.

    Attributes:
        index: position in the history of the last revision before the cut that
            had the chosen content for a positive time.
        standing_seconds: time for which the content was current in [cut - lookback, cut), all spells added up.
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
    """Return the content that was current for the longest time in the `lookback` before `cut`.

    The times of a restored text are added to those of its earlier spells. Only time
    inside [cut - lookback, cut) counts and only revisions before the cut are read,
    so later history cannot change the result. Of equal times the content that was
    current latest wins. Weak contents (blank, suppressed) win only if no other
    content was current in the interval.

    Args:
        times: seconds since 1970 of each revision, in the order (time, revision id).
        contents: for each revision a number that identifies its content.
        is_weak: for each revision, is it blank or suppressed?
        cut: first second *not* in the snapshot.
        lookback: length of the interval, seconds.

    Returns:
        the choice; None if the page was created at or after the cut.
    """
    n_before = bisect_left(times, cut)
    if not n_before:
        return None
    begin = cut - lookback
    first = bisect_left(times, begin, 0, n_before)
    n_inside = n_before - first
    if not n_inside:
        return Stable(n_before - 1, lookback, cut, n_before, 0)
    # The last revision before the interval, if any, is current at its beginning.
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
    # Contents compare by time, then by the end of the last spell. Weak ones are used only if all are weak.
    seconds, last, index = max(spells[content] for content in (strong or spells))
    return Stable(index, seconds, last, n_before, n_inside)
