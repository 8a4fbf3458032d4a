"""Plans a release: its entities, the subsets of their surfaces, and the number of mentions at each cut.

The rows that the filters keep are in files, one per cut. Entities are taken in a random order until there are enough,
so only these are read. All snapshots have equal distributions of mentions: entities are compared by rank and not by
identity, the one with the most mentions at one snapshot with the one at another (section 3.1 and figure 7).

Surfaces of one entity in different subsets have an edit distance of at least `ed_men_subsets` (section 3.1), over all
snapshots of a release, so that models cannot memorise the pairs.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from itertools import islice

import duckdb
import numpy as np
import pyarrow as pa
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from tempkb.benchmarks.chance import draw
from tempkb.benchmarks.tempel.design import SUBSETS, Design
from tempkb.benchmarks.tempel.similarity import normalised_distance

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


_CHUNK = 512

Split = dict[str, str]
"""surface -> subset, of one entity."""
Quotas = dict[date, dict[int, int]]
"""cut -> page_id -> mentions, of one category and subset."""


@dataclass
class Plan:
    """What a release will contain.

    Attributes:
        splits: per category, the surfaces of each entity and their subsets.
        available, planned: per (category, subset), numbers of mentions of each entity at each cut.
        left_out: (cut, page_id) -> why an entity of the frozen plan is missing.
        n_common: number of entities that the filters keep at every base cut.
        n_born: per base cut, number of entities that are new since the cut before.
        n_shared: per base cut, number of these whose surfaces can be divided among the subsets.
    """

    splits: dict[str, dict[int, Split]] = field(default_factory=dict)
    available: dict[tuple[str, str], Quotas] = field(default_factory=dict)
    planned: dict[tuple[str, str], Quotas] = field(default_factory=dict)
    left_out: dict[tuple[date, int], str] = field(default_factory=dict)
    n_common: int = 0
    n_born: dict[date, int] = field(default_factory=dict)
    n_shared: dict[date, int] = field(default_factory=dict)

    def assignments(self, cut: date) -> pa.Table:
        """Return the surfaces to use at a cut, with columns page_id, surface, subset, category and quota."""
        rows = [
            (page, surface, subset, category, self.planned[category, subset][cut][page])
            for category, splits in self.splits.items()
            for page, split in splits.items()
            for surface, subset in split.items()
            if self.planned.get((category, subset), {}).get(cut, {}).get(page, 0)
        ]
        names = ("page_id", "surface", "subset", "category", "quota")
        types = (pa.int64(), pa.string(), pa.string(), pa.string(), pa.int64())
        columns = list(zip(*sorted(rows), strict=True)) or [()] * len(names)
        return pa.table(
            {name: pa.array(column, kind) for name, column, kind in zip(names, columns, types, strict=True)}
        )


@dataclass(frozen=True)
class Surface:
    """A surface of an entity at a cut, with its numbers of links and of usable mentions."""

    cut: date
    surface: str
    n_links: int
    n_usable: int


def make_plan(connection: duckdb.DuckDBPyConnection, design: Design) -> Plan:
    """Plan a release from the view `kept`: the rows of `kept_sql` at each cut, with a column `cut`."""
    plan = Plan()
    plan.splits["continual"] = _continual(connection, design, plan)
    plan.splits["new"], of_cut = _new(connection, design, plan)
    everything = {**plan.splits["continual"], **plan.splits["new"]}
    surfaces = dict(surfaces_of(connection, sorted(everything)))
    for category in plan.splits:
        for at, subset in enumerate(SUBSETS):
            available: Quotas = {cut: {} for cut in design.snapshots}
            for page, split in plan.splits[category].items():
                counts = count_usable(surfaces[page], split, subset)
                for cut in design.snapshots if category == "continual" else (of_cut[page],):
                    available[cut][page] = min(counts.get(cut, 0), design.max_mens_per_ent[at])
            plan.available[category, subset] = available
            is_equal = design.equal_snapshots and any(available.values())
            plan.planned[category, subset] = (
                equalise(available, design.seed, f"{category} {subset}") if is_equal else available
            )
    return plan


def count_usable(surfaces: Iterable[Surface], split: Mapping[str, str], subset: str) -> dict[date, int]:
    """Return the number of an entity's usable mentions at each cut, by the surfaces in a subset."""
    counts: dict[date, int] = {}
    for one in surfaces:
        if split.get(one.surface) == subset:
            counts[one.cut] = counts.get(one.cut, 0) + one.n_usable
    return counts


def split_entity(design: Design, page: int, surfaces: Sequence[Surface], cuts: Iterable[date]) -> Split | None:
    """Divide an entity's surfaces among the subsets by the rules of the design; None if that is impossible."""
    if design.rules == "paper":
        rows = sorted((one.cut, one.n_links, one.surface) for one in surfaces)
        return split_greedily([(cut, surface) for cut, _, surface in rows], cuts, design.ed_men_subsets)
    spread: dict[str, frozenset[date]] = {}
    for one in surfaces:
        spread[one.surface] = spread.get(one.surface, frozenset()) | {one.cut}
    return split_surfaces(spread, cuts, design.ed_men_subsets, design.seed, page)


def _continual(connection: duckdb.DuckDBPyConnection, design: Design, plan: Plan) -> dict[int, Split]:
    """The first entities, in random order, that are kept at every cut and whose surfaces can be divided.

    An entity that is new at the first snapshot is kept at all cuts too, and counts as new. By the paper's rule it is
    continual if it is drawn first.
    """
    begin = midnight(design.new_since(design.snapshots[0]))
    older = "true" if design.rules == "paper" else "min(article_since) < $begin"
    found = connection.execute(
        f"SELECT page_id FROM kept GROUP BY page_id HAVING count(DISTINCT cut) = $n AND {older} AND $begin IS NOT NULL",
        {"n": len(design.snapshots), "begin": begin},
    ).fetchall()
    plan.n_common = len(found)
    order = iter(sorted((page for (page,) in found), key=lambda page: draw(design.seed, "continual", page)))
    chosen: dict[int, Split] = {}
    while len(chosen) < design.nr_ct_ents_per_cut and (chunk := list(islice(order, _CHUNK))):
        surfaces = dict(surfaces_of(connection, chunk))
        for page in chunk:
            split = split_entity(design, page, surfaces[page], design.snapshots)
            if split is not None and len(chosen) < design.nr_ct_ents_per_cut:
                chosen[page] = split
    return chosen


def _new(connection: duckdb.DuckDBPyConnection, design: Design, plan: Plan) -> tuple[dict[int, Split], dict[int, date]]:
    """The entities that are new since the cut before, the same number at each cut, and the cut of each."""
    taken = set(plan.splits["continual"])
    splits: dict[date, dict[int, Split]] = {}
    for cut in design.snapshots:
        pages = [page for page in new_pages(connection, design, cut, design.new_since(cut)) if page not in taken]
        surfaces = dict(surfaces_of(connection, pages, cut))
        shared = {page: split_entity(design, page, surfaces[page], [cut]) for page in pages}
        splits[cut] = {page: split for page, split in shared.items() if split is not None}
        taken |= splits[cut].keys()
        plan.n_born[cut], plan.n_shared[cut] = len(pages), len(splits[cut])
    least = min(len(own) for own in splits.values())
    chosen: dict[int, Split] = {}
    of_cut = {}
    for cut, own in splits.items():
        order = sorted(own, key=lambda page: draw(design.seed, "new", page))
        for page in order[:least] if design.equal_snapshots else order:
            chosen[page], of_cut[page] = own[page], cut
    return chosen, of_cut


def new_pages(connection: duckdb.DuckDBPyConnection, design: Design, cut: date, since: date) -> list[int]:
    """Return the entities of a cut that became articles on or after `since`; by the paper's rule, the younger pages."""
    born = (
        "page_created_at > $since"
        if design.rules == "paper"
        else "article_since >= $since AND article_since < $cut::TIMESTAMPTZ"
    )
    query = f"SELECT DISTINCT page_id FROM kept WHERE cut = $cut AND {born} ORDER BY page_id"
    return [page for (page,) in connection.execute(query, {"cut": cut, "since": midnight(since)}).fetchall()]


def midnight(day: date) -> datetime:
    """Return the first instant of a day in UTC."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def surfaces_of(
    connection: duckdb.DuckDBPyConnection, pages: Sequence[int], cut: date | None = None
) -> Iterator[tuple[int, list[Surface]]]:
    """Yield (page_id, its kept surfaces) for some entities, at all cuts or at one."""
    found: dict[int, list[Surface]] = {page: [] for page in pages}
    rows = connection.execute(
        """
        SELECT page_id, cut, surface, n_links, n_usable FROM kept
        WHERE page_id IN (SELECT unnest($pages::BIGINT[])) AND ($cut IS NULL OR cut = $cut)
        ORDER BY page_id, cut, surface
        """,
        {"pages": list(pages), "cut": cut},
    ).fetchall()
    for page, day, surface, n_links, n_usable in rows:
        found[page].append(Surface(day, surface, n_links, n_usable))
    yield from found.items()
