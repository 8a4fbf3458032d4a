"""How many mentions of each entity a snapshot gets, so that all snapshots are alike. Pure.

Entities are compared by rank, not by identity: the entity with most mentions of
one snapshot with that of another (section 3.1; the paper's figure 7).
"""

from collections.abc import Mapping, Sequence
from datetime import date

from tempkb.benchmarks.chance import draw

Counts = Mapping[int, int]
"""page_id -> mentions, of one subset at one cut."""


def equalise(counts: Mapping[date, Counts], seed: int, subset: str) -> dict[date, dict[int, int]]:
    """Lower the counts of the richer snapshots to the total of the poorest.

    In each, an entity can lose what it has beyond the entity of its rank in the
    poorest snapshot; which of these surplus mentions go is drawn without putting
    back. So no entity falls below the smaller of the two.

    Args:
        counts: per cut, as many entities in each.
        seed: what is drawn depends on it,
        subset: and on this.
    """
    poorest = min(counts, key=lambda cut: (sum(counts[cut].values()), cut))
    curve = sorted(counts[poorest].values(), reverse=True)
    return {cut: lower_to(own, curve, seed, subset, cut) for cut, own in counts.items()}


def lower_to(own: Counts, curve: Sequence[int], seed: int, subset: str, cut: date) -> dict[int, int]:
    """Lower the counts of a snapshot to the sum of `curve`, a falling row of counts by rank."""
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
    """Come as near to `curve` as a snapshot can: the entity of each rank gets its count, what lacks goes to the others.

    For an extension: the curve is frozen, and a snapshot may have less here and more there.
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
    """Entities by falling count; of equals the seed decides."""
    return sorted(counts, key=lambda page: (-counts[page], draw(seed, "rank", page)))
