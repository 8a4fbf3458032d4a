"""Divides an entity's surfaces among train, validation and test, so that models cannot memorise the pairs. Pure.

Surfaces of one entity in different subsets have an edit distance of at least
`ed_men_subsets` (section 3.1 of the paper), over all snapshots of a release.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from tempkb.benchmarks.chance import draw
from tempkb.benchmarks.tempel.design import SUBSETS
from tempkb.benchmarks.tempel.similarity import normalised_distance

Cuts = frozenset[date]


def split_surfaces(
    surfaces: Mapping[str, Cuts], cuts: Iterable[date], threshold: float, seed: int, entity: int
) -> dict[str, str] | None:
    """Divide an entity's surfaces among the subsets; None if some subset would be empty at some cut.

    Surfaces that are nearer than the threshold, directly or through others, form a
    group and stay together. A group goes to the subset that lacks a surface at most
    of its cuts, then to the one with the fewest surfaces. Groups that occur at the
    most cuts are placed first.

    Args:
        surfaces: surface -> cuts at which it has mentions of the entity.
        cuts: the cuts at which each subset needs a surface.
        threshold: normalised edit distance.
        seed: breaks ties, together with `entity`.
    """
    wanted = frozenset(cuts)
    groups = near_groups(sorted(surfaces), threshold)
    spread = [frozenset().union(*(surfaces[one] for one in group)) & wanted for group in groups]
    order = sorted(range(len(groups)), key=lambda at: (-len(spread[at]), draw(seed, "surfaces", entity, *groups[at])))
    lacking = dict.fromkeys(SUBSETS, wanted)
    sizes = dict.fromkeys(SUBSETS, 0)
    shared: dict[str, str] = {}
    for at in order:
        best = min(SUBSETS, key=lambda subset: (-len(spread[at] & lacking[subset]), sizes[subset]))  # noqa: B023 - used at once
        lacking[best] -= spread[at]
        sizes[best] += len(groups[at])
        shared |= dict.fromkeys(groups[at], best)
    return None if any(lacking.values()) else shared


def split_greedily(rows: Sequence[tuple[date, str]], cuts: Iterable[date], threshold: float) -> dict[str, str] | None:
    """Divide an entity's surfaces as TempEL's code does; None if some subset would be empty at some cut.

    Surfaces are placed one after another: into the subset that has a near surface,
    or, if none has, into the one with the fewest. A surface near several subsets is
    dropped. Ties are broken by the order train, validation, test; in TempEL's code
    this order changes from run to run.

    Args:
        rows: (cut, surface), by cut and then by rising number of links.
        cuts: the cuts at which each subset needs a surface.
        threshold: normalised edit distance.
    """
    members: dict[str, list[str]] = {subset: [] for subset in SUBSETS}
    shared: dict[str, str] = {}
    lacking = {subset: set(cuts) for subset in SUBSETS}
    dropped: set[str] = set()
    for cut, surface in rows:
        if surface not in shared and surface not in dropped:
            near = nearby_subsets(surface, members, threshold)
            if len(near) > 1:
                dropped.add(surface)
                continue
            subset = near[0] if near else min(SUBSETS, key=lambda one: len(members[one]))
            members[subset].append(surface)
            shared[surface] = subset
        if surface in shared:
            lacking[shared[surface]].discard(cut)
    return None if any(lacking.values()) else shared


def nearby_subsets(surface: str, members: Mapping[str, Sequence[str]], threshold: float) -> list[str]:
    """Return the subsets that contain a surface nearer than the threshold."""
    return [
        subset for subset in SUBSETS if any(normalised_distance(surface, one) < threshold for one in members[subset])
    ]


def near_groups(surfaces: Sequence[str], threshold: float) -> list[list[str]]:
    """Group surfaces by single linkage: a surface joins a group if it is nearer than the threshold to any member.

    >>> near_groups(["host", "hosts", "wafer"], 0.25)
    [['host', 'hosts'], ['wafer']]
    """
    distances = cdist(surfaces, surfaces, scorer=Levenshtein.distance, dtype=np.int32)
    lengths = np.array([len(one) for one in surfaces])
    longer = np.maximum(np.maximum.outer(lengths, lengths), 1)
    near = distances / longer < threshold
    group_of = list(range(len(surfaces)))
    for at in range(len(surfaces)):
        for other in np.flatnonzero(near[at, :at]):
            old, new = group_of[at], group_of[int(other)]
            if old != new:
                group_of = [new if one == old else one for one in group_of]
    groups: dict[int, list[str]] = {}
    for surface, group in zip(surfaces, group_of, strict=True):
        groups.setdefault(group, []).append(surface)
    return list(groups.values())
