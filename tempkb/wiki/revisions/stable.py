"""The rules by which a text is chosen for a cut. Pure.

`standing` chooses the most stable text of the last days before it. A vandalised text is seldom current for more than
minutes, so the time for which a text was current is a cheap sign of quality. The idea is TempEL's (Zaporojets et al.,
NeurIPS 2022 D&B, section 2). TempEL's code also counts time after the cut and treats a restored text as a new one;
this rule does neither.

`tempel` takes the revision that TempEL's released code takes as stable, look-ahead included. For comparison only: it
reads what happens after a cut, so later history changes earlier snapshots, and a revision exactly at the cut is in the
snapshot. Written independently from the code's behaviour, and tested against numbers that the code itself computed.
"""

from bisect import bisect_left, bisect_right
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


DAY = 86_400
# Not in the paper: after this many days, a later version always wins over an earlier one.
ENOUGH_DAYS = 10


def select_tempel(
    times: Sequence[int], is_empty: Sequence[bool | int], cuts: Sequence[int], lookback_days: int
) -> list[int | None]:
    """Return for each cut the position of the chosen revision, or None if the page had none yet.

    The list of cuts is one argument because it affects the result: revisions after the
    last cut are never read, so only there does the newest version end at the cut.

    Args:
        times: seconds since 1970 of one page's revisions, in the order of the file.
        is_empty: is the text of each revision empty after white space is stripped?
        cuts: seconds since 1970; the results are in the same order.
        lookback_days: how far the window reaches back, in whole days rounded down.
    """
    if not cuts:
        return []
    end = _last_read(cuts)
    earliest = min((time for time, empty in zip(times, is_empty, strict=True) if not empty), default=end)
    # What is read for a cut is the beginning of what is read for the last one, unless that begins after the cut.
    whole = _read(times, is_empty, end, end)
    chosen: list[int | None] = []
    for cut in cuts:
        if cut < earliest:
            chosen.append(None)
            continue
        kept = whole if whole and times[whole[0]] <= cut else _read(times, is_empty, cut, end)
        chosen.append(_choose(times, kept, cut, lookback_days))
    return chosen


def describe(times: Sequence[int], contents: Sequence[int], index: int, cut: int, lookback: int) -> Stable:
    """Return for a chosen revision the figures that `select_stable` returns; its text may never have been current.

    Args:
        times: of the whole history, in the order (time, revision id).
        contents: for each revision a number that identifies its content.
        cut: seconds since 1970.
        lookback: seconds.
    """
    begin, n_before = cut - lookback, bisect_right(times, cut)
    seconds, last = 0, min(times[index], cut)
    for at in range(max(bisect_left(times, begin, 0, n_before) - 1, 0), n_before):
        start, stop = max(times[at], begin), min(times[at + 1] if at + 1 < len(times) else cut, cut)
        if contents[at] == contents[index] and stop > start:
            seconds, last = seconds + stop - start, stop
    return Stable(index, seconds, last, n_before, n_before - bisect_left(times, begin, 0, n_before))


def _last_read(cuts: Sequence[int]) -> int:
    # Each cut is compared with the first one only, so in an unordered list the last cut that exceeds the first is used.
    return next((cut for cut in reversed(cuts) if cut > cuts[0]), cuts[0])


def _read(times: Sequence[int], is_empty: Sequence[bool | int], cut: int, end: int) -> list[int]:
    # In the order of the file: revisions that are not blank, each later than the one before, up to one after the cut.
    # The first must not be later than the cut; while it is, reading continues.
    kept: list[int] = []
    for at, time in enumerate(times):
        if is_empty[at] or time > end or (time <= times[kept[-1]] if kept else time > cut):
            continue
        kept.append(at)
        if time > cut:
            break
    return kept


def _choose(times: Sequence[int], kept: Sequence[int], cut: int, lookback_days: int) -> int | None:
    if not kept:
        return None
    # One revision after the cut is read. Ages are rounded down to days, so one more day is before the window.
    n_read = min(bisect_right(kept, cut, key=times.__getitem__) + 1, len(kept))
    n_before = bisect_right(kept, cut - (lookback_days + 1) * DAY, 0, n_read, key=times.__getitem__)
    chosen, longest, enough = kept[max(n_before - 1, 0)], 0, ENOUGH_DAYS * DAY
    for place in range(max(n_before, 1), n_read):
        before, at = kept[place - 1], kept[place]
        lasted = times[at] - times[before]  # its whole life, including time before the window or after the cut
        if lasted > longest or lasted >= enough:
            chosen = before
        longest = max(longest, lasted)
    lasted = cut - times[kept[n_read - 1]]  # negative if an edit after the cut was read
    if lasted >= longest or lasted >= enough:
        chosen = kept[n_read - 1]
    return chosen
