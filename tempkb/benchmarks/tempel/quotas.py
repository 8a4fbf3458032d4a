"""Sets how many mentions of each entity a snapshot gets, so that all snapshots have equal distributions. Pure.

Entities are compared by rank and not by identity: the entity with the most mentions
at one snapshot is compared with the one at another (section 3.1 and figure 7 of the paper).
"""

from collections.abc import Mapping, Sequence
from datetime import date

from tempkb.benchmarks.chance import draw

Counts = Mapping[int, int]
"""page_id -> mentions, of one subset at one cut."""


def equalise(counts: Mapping[date, Counts], seed: int, subset: str) -> dict[date, dict[int, int]]:
    """Lower the counts of the richer snapshots to the total of the poorest.

    An entity can lose only the mentions that it has more than the entity of the same
    rank at the poorest snapshot. Which of these are removed is drawn without
    replacement. So no entity falls below the smaller of the two counts.

    Args:
        counts: counts per cut, with the same number of entities at each.
        subset: the name of the subset, also part of the draw.
    """
    poorest = min(counts, key=lambda cut: (sum(counts[cut].values()), cut))
    curve = sorted(counts[poorest].values(), reverse=True)
    return {cut: lower_to(own, curve, seed, subset, cut) for cut, own in counts.items()}


def lower_to(own: Counts, curve: Sequence[int], seed: int, subset: str, cut: date) -> dict[int, int]:
    """Lower the counts of a snapshot to the sum of `curve`, which has falling counts by rank."""
    surplus = sum(own.values()) - sum(curve)
    lowered = dict(own)
    if surplus <= 0:
        return lowered
    tickets = [
        (draw(seed, "surplus", subset, cut, page, number), page)
        for rank, page in enumerate(ranked(own, seed))
        for number in range(max(0, own[page] - (curve[rank] if rank < len(curve) else 0)))
    ]
    for _, page in sorted(tickets)[:surplus]:
        lowered[page] -= 1
    return lowered


def fill_to(own: Counts, curve: Sequence[int], seed: int, subset: str, cut: date) -> dict[int, int]:
    """Fill a snapshot up to `curve` as far as possible: each rank gets its count, and shortfalls go to other entities.

    This is for an extension, whose curve is frozen. Its snapshot may have fewer mentions of some entities and more of
    others.
    """
    order = ranked(own, seed)
    filled = {page: min(own[page], curve[rank] if rank < len(curve) else 0) for rank, page in enumerate(order)}
    lacking = sum(curve) - sum(filled.values())
    tickets = [
        (draw(seed, "filled", subset, cut, page, number), page)
        for page in order
        for number in range(own[page] - filled[page])
    ]
    for _, page in sorted(tickets)[: max(0, lacking)]:
        filled[page] += 1
    return filled


def ranked(counts: Counts, seed: int) -> list[int]:
    """Return the entities by falling count; ties are broken by the seed."""
    return sorted(counts, key=lambda page: (-counts[page], draw(seed, "rank", page)))
