"""The demo effect: do tiny models of two cuts differ by what changed between the cuts, and by nothing else? Pure.

Each contrast is a mean over subjects and seeds, both of which count as drawn at random: another world and another
training would give other numbers. What is expected to be zero is a placebo, a contrast in which there is nothing to
know; placebos of a family are judged together, by Holm.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import combinations
from math import comb

import numpy as np

from tempkb.core.statistics import MIN_CLUSTERS, crossed_bootstrap, holm
from tempkb.core.statistics.estimates import Floats
from tempkb.results.linking_effects import CLAIM_SEEDS, unclaimed

CUTS = date(2022, 1, 1), date(2023, 7, 1)
"""Of the earlier and of the later models; an untrained model has the cut None."""
POSITIVE = ("new_minus_removed", "new_minus_kept", "born_between_minus_later", "born_between_minus_earlier")
PLACEBOS = ("untrained", "pairs_of_seeds", "permuted_answers", "withheld_subjects", "withheld_subjects_added")
CONTRASTS = (*POSITIVE, *PLACEBOS)

Value = tuple[date | None, int, str, Hashable, float]
"""Cut and seed of a model, a cluster (a subject or an entity) and an item of it, and what the model gives."""

_LEVEL = 0.05
_REPLICATES, _SEED = 10_000, 17  # of bootstraps and permutations
_ROUNDING = 1e-12  # by which sums of equal numbers may differ


@dataclass(frozen=True)
class Effect:
    """A contrast, and what was found of it: None where scores, or seeds and clusters for an interval, do not suffice.

    Attributes:
        estimate: mean over clusters and seeds, in nats; from low to high is its interval of 95 %.
        n_clusters: of two groups, of the smaller one.
        p_holm: of a placebo: adjusted for all placebos of the family.
        p_permuted_cuts: of the headline: share of all ways to call half of the models the later ones in which the
            effect is at least as large.
        note: why there is no claim, or whether a placebo includes zero by Holm's method alone.
    """

    contrast: str
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    n_items: int = 0
    n_clusters: int = 0
    n_seeds: int = 0
    p_value: float | None = None
    p_holm: float | None = None
    p_permuted_cuts: float | None = None
    verdict: str = "no claim"
    note: str | None = None


@dataclass(frozen=True)
class Matrices:
    """One matrix of clusters by seeds for each cut; its numbers are means over the items of a cluster."""

    values: tuple[Floats, ...]
    clusters: tuple[str, ...]
    n_items: int


class Panel:
    """Values of one kind, by model and item."""

    def __init__(self, rows: Iterable[Value]) -> None:
        self._values: dict[tuple[date | None, int], dict[tuple[str, Hashable], float]] = {}
        for cut, seed, cluster, item, value in rows:
            self._values.setdefault((cut, seed), {})[cluster, item] = value

    def seeds(self, *cuts: date | None) -> list[int]:
        """Return the seeds of which there is a model of each cut."""
        return sorted(set.intersection(*({seed for own, seed in self._values if own == cut} for cut in cuts)))

    def matrices(self, seeds: Sequence[int], *cuts: date | None) -> Matrices:
        """Return the matrices of the models of some seeds and cuts; only items that all of them have scored."""
        sides = [[self._values[cut, seed] for seed in seeds] for cut in cuts]
        models = [set(one) for side in sides for one in side]
        items = sorted(set.intersection(*models), key=repr) if models else []
        clusters = sorted({cluster for cluster, _ in items})
        place = {cluster: at for at, cluster in enumerate(clusters)}
        rows = np.array([place[cluster] for cluster, _ in items], np.int64)
        sums = [[np.bincount(rows, [one[item] for item in items], len(clusters)) for one in side] for side in sides]
        n = np.bincount(rows, minlength=len(clusters))
        values = tuple(np.array(side, np.float64).reshape(len(side), len(clusters)).T / n[:, None] for side in sums)
        return Matrices(values, tuple(clusters), len(items))


def effects(values: Mapping[str, Iterable[Value]]) -> list[Effect]:
    """Return what is found of all `CONTRASTS` of a family, in their order.

    Args:
        values: of changes, the log-probability of the new object minus that of the removed one (`control`: of the
            objects of another subject's change; `net`: beyond these; `withheld`: net, of withheld subjects, and
            `withheld_added`: in what these add beyond the noun of their class); what subjects add to `new` objects of
            changed subjects and to `kept` ones of unchanged subjects; nats a token of entities born `between` the
            cuts, `later` and `earlier`.
    """
    of = defaultdict(lambda: Panel(()), {kind: Panel(rows) for kind, rows in values.items()})
    net = of["net"]
    found = [
        replace(_gain("new_minus_removed", net), p_permuted_cuts=_permuted_cuts(net)),
        _gain_of_groups("new_minus_kept", of["new"], of["kept"]),
        _gain_of_groups("born_between_minus_later", of["between"], of["later"]),
        _gain_of_groups("born_between_minus_earlier", of["between"], of["earlier"]),
    ]
    placebos = [
        _untrained(net),
        _pairs_of_seeds(net),
        _gain("permuted_answers", of["control"]),
        _gain("withheld_subjects", of["withheld"]),
        # A name that is read more often at the second cut is so without the subject, too.
        _gain("withheld_subjects_added", of["withheld_added"]),
    ]
    adjusted = iter(holm([one.p_value for one in placebos if one.p_value is not None]))
    placebos = [one if one.p_value is None else replace(one, p_holm=next(adjusted)) for one in placebos]
    return [_judged(one) for one in (*found, *placebos)]


def _gain(contrast: str, panel: Panel) -> Effect:
    """The later models minus the earlier ones on the same items."""
    found = panel.matrices(panel.seeds(*CUTS), *CUTS)
    return _crossed(contrast, found.values[1] - found.values[0], found.n_items)


def _gain_of_groups(contrast: str, one: Panel, other: Panel) -> Effect:
    """How much more the later models gain in one group of items than in another.

    The rows of the matrix are what each cluster contributes to the difference between two means, as in `change` of
    the statistics, so that a cluster with items in both groups is drawn once.
    """
    seeds = sorted({*one.seeds(*CUTS)} & {*other.seeds(*CUTS)})
    groups = [panel.matrices(seeds, *CUTS) for panel in (one, other)]
    if not all(group.n_items for group in groups):
        return Effect(contrast)
    gains = [group.values[1] - group.values[0] for group in groups]
    means = [float(gain.mean()) for gain in gains]
    clusters = sorted({*groups[0].clusters, *groups[1].clusters})
    place = {cluster: at for at, cluster in enumerate(clusters)}
    matrix = np.full((len(clusters), len(seeds)), means[0] - means[1])
    for sign, group, gain, mean in zip((1, -1), groups, gains, means, strict=True):
        rows = [place[cluster] for cluster in group.clusters]
        matrix[rows] += sign * len(clusters) / len(rows) * (gain - mean)
    smaller = min(len(group.clusters) for group in groups)
    return _crossed(contrast, matrix, sum(group.n_items for group in groups), smaller)


def _untrained(panel: Panel) -> Effect:
    """What untrained models prefer, since those of one seed are equal whatever their cut: letters, or length."""
    found = panel.matrices(panel.seeds(None), None)
    return _crossed("untrained", found.values[0], found.n_items)


def _pairs_of_seeds(panel: Panel) -> Effect:
    """Models of one cut against one another, in all pairs; the order of the seeds is permuted for the interval.

    A single pair is hardly ever zero, since one of two trainings has learnt more. Their numbers have no meaning, so
    that over all pairs nothing should be left but what another order of the same models would leave as well.
    """
    seeds = panel.seeds(*CUTS)
    found, n = panel.matrices(seeds, *CUTS), len(seeds)
    effect = Effect("pairs_of_seeds", n_items=found.n_items, n_clusters=len(found.clusters), n_seeds=n)
    if n == 1:
        return replace(effect, note=f"1 seed; a pair needs 2, and a claim at least {CLAIM_SEEDS}")
    if not found.n_items:
        return effect
    levels = np.array([matrix.mean(axis=0) for matrix in found.values])
    # Each pair counts once: the seed at place k is the later one of k pairs, and the earlier one of n - 1 - k.
    weights = (2 * np.arange(n) - (n - 1)) / comb(n, 2)
    estimate = float((levels @ weights).mean())
    chance = np.random.Generator(np.random.PCG64(_SEED))
    orders = chance.permuted(np.tile(np.arange(n), (_REPLICATES, len(CUTS), 1)), axis=2)
    permuted = np.abs((np.take_along_axis(levels[None], orders, axis=2) @ weights).mean(axis=1))
    margin = float(np.quantile(permuted, 1 - _LEVEL))
    reaching = int((permuted >= abs(estimate) - _ROUNDING).sum())
    p_value = (1 + reaching) / (1 + _REPLICATES)
    return replace(effect, estimate=estimate, low=estimate - margin, high=estimate + margin, p_value=p_value)


def _permuted_cuts(panel: Panel) -> float | None:
    """Share of all ways to call half of the models the later ones in which the effect is at least as large."""
    seeds = panel.seeds(*CUTS)
    found, n = panel.matrices(seeds, *CUTS), len(seeds)
    if n < 2 or not found.n_items:
        return None
    levels = np.concatenate([matrix.mean(axis=0) for matrix in found.values])
    later = np.array(list(combinations(range(2 * n), n)))
    sizes = np.abs(2 * levels[later].sum(axis=1) - levels.sum()) / n
    # The last of all combinations is the true one.
    return float((sizes >= sizes[-1] - _ROUNDING).mean())


def _crossed(contrast: str, matrix: Floats, n_items: int, n_clusters: int | None = None) -> Effect:
    """The mean of a matrix of clusters by seeds, with its interval if there are enough of both."""
    n_rows, n_seeds = matrix.shape
    effect = Effect(contrast, n_items=n_items, n_clusters=n_rows if n_clusters is None else n_clusters)
    if not n_items:
        return effect
    effect = replace(effect, estimate=float(matrix.mean()), n_seeds=n_seeds)
    if n_seeds < 2 or effect.n_clusters < MIN_CLUSTERS:
        return effect
    found = crossed_bootstrap(matrix, n_replicates=_REPLICATES, seed=_SEED)
    return replace(effect, estimate=found.value, low=found.low, high=found.high, p_value=found.p_value)


def _judged(effect: Effect) -> Effect:
    """Add the verdict, or why there is no claim."""
    if effect.estimate is None:
        return replace(effect, note=effect.note or "found no items that models of both cuts have scored")
    reasons = [*unclaimed(effect.n_clusters, effect.n_seeds, effect.low, "cluster")]
    if reasons or effect.low is None or effect.high is None:
        return replace(effect, note="; ".join(reasons))
    if effect.contrast in POSITIVE:
        return replace(effect, verdict="shown" if effect.low > 0 else "not shown")
    if effect.p_holm is None or effect.p_holm < _LEVEL:
        return replace(effect, verdict="not zero")
    is_within = effect.low <= 0 <= effect.high
    note = None if is_within else "zero is included after Holm only: its own interval excludes zero"
    return replace(effect, verdict="zero is included", note=note)
