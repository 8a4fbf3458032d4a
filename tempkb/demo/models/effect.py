"""The demo effect: do tiny models of two cuts differ by what changed between the cuts, and by nothing else? Pure.

Each contrast is a mean over subjects and seeds, both of which count as drawn at random: another world and another
training would give other numbers. What is expected to be zero is a placebo, a contrast in which there is nothing to
know; placebos of a family are judged together, by Holm.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import combinations
from math import comb
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tempkb.demo.models.effect_scores import BORN, FamilyScores, Floats, Matrices, Panel
from tempkb.results.linking_effects import CLAIM_SEEDS, unclaimed
from tempkb.results.tables import EFFECT_REPLICATES, EFFECT_SEED
from tempkb.statistics import MIN_CLUSTERS, crossed_bootstrap, holm, paired_difference
from tempkb.wording import counted

LEVEL = 0.05
_ROUNDING = 1e-12  # by which sums of equal numbers may differ
_MOST_SPLITS = 20_000  # that are all tried; of more, as many are drawn

Expected = Literal["positive", "zero"]
Verdict = Literal["shown", "not shown", "zero is included", "not zero", "no claim"]

_FACTS, _CLOZE = "dynamic_templama", "ecbd"
_LEAD = "nats by which the later model prefers new to removed objects more than the earlier one does"


@dataclass(frozen=True)
class Contrast:
    """What is compared.

    Attributes:
        expected: an effect is positive, a placebo is zero.
    """

    benchmark: str
    name: str
    expected: Expected
    unit: str


@dataclass(frozen=True)
class Effect:
    """A contrast and what was found of it; the columns of `demo_effect` say what each attribute is."""

    contrast: Contrast
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    n_items: int = 0
    n_clusters: int = 0
    n_seeds: int = 0
    p_value: float | None = None
    p_holm: float | None = None
    p_permuted_cuts: float | None = None
    verdict: Verdict = "no claim"
    note: str | None = None


NEW_MINUS_REMOVED = Contrast(_FACTS, "new_minus_removed", "positive", f"{_LEAD}, beyond permuted answers")
NEW_MINUS_KEPT = Contrast(
    _FACTS,
    "new_minus_kept",
    "positive",
    "nats by which the later model gains more than the earlier one in what a subject adds to its object: new objects "
    "of changed subjects minus kept objects of unchanged ones",
)
BORN_MINUS_LATER, BORN_MINUS_EARLIER = (
    Contrast(
        _CLOZE,
        f"born_between_minus_{other}",
        "positive",
        "nats a token by which the later model is better than the earlier one: entities born between the cuts minus "
        f"entities born {words}",
    )
    for other, words in (("later", "after both"), ("earlier", "before both"))
)
UNTRAINED = Contrast(
    _FACTS, "untrained", "zero", "nats by which untrained models prefer new to removed objects, beyond permuted answers"
)
PAIRS_OF_SEEDS = Contrast(
    _FACTS,
    "pairs_of_seeds",
    "zero",
    "new_minus_removed between models of one cut: mean over all pairs of seeds, the higher number for the later model",
)
PERMUTED_ANSWERS = Contrast(_FACTS, "permuted_answers", "zero", f"{_LEAD}; objects of another subject's change")
WITHHELD_SUBJECTS = Contrast(
    _FACTS, "withheld_subjects", "zero", "new_minus_removed of subjects whose articles were withheld from all models"
)
WITHHELD_SUBJECTS_ADDED = Contrast(
    _FACTS,
    "withheld_subjects_added",
    "zero",
    f"{_LEAD}, in what subjects add whose articles were withheld from all models",
)
CONTRASTS = (
    NEW_MINUS_REMOVED,
    NEW_MINUS_KEPT,
    BORN_MINUS_LATER,
    BORN_MINUS_EARLIER,
    UNTRAINED,
    PAIRS_OF_SEEDS,
    PERMUTED_ANSWERS,
    WITHHELD_SUBJECTS,
    WITHHELD_SUBJECTS_ADDED,
)
"""All contrasts of a family: first what is expected to be positive, then the placebos."""


def effects(scores: FamilyScores) -> list[Effect]:
    """Return what is found of all contrasts of a family, in the order of `CONTRASTS`."""
    cuts = scores.cuts
    read = [one for one in scores.changes if not one.is_withheld]
    net = Panel((one.model, one.subject_id, one.change, one.lead - one.control_lead) for one in read)
    control = Panel((one.model, one.subject_id, one.change, one.control_lead) for one in read)
    unread = [one for one in scores.changes if one.is_withheld]
    withheld = Panel((one.model, one.subject_id, one.change, one.lead - one.control_lead) for one in unread)
    withheld_added = Panel(
        (one.model, one.subject_id, one.change, one.added_lead) for one in unread if one.added_lead is not None
    )
    new, kept = (
        Panel((one.model, one.subject_id, one.object, one.added) for one in scores.objects if one.is_new == is_new)
        for is_new in (True, False)
    )
    between, later, earlier = (
        Panel((one.model, one.entity_id, one.item, one.token_nats) for one in scores.clozes if one.born == born)
        for born in BORN
    )
    headline = _difference(NEW_MINUS_REMOVED, net, cuts)
    found = [
        replace(headline, p_permuted_cuts=_permuted_cuts(net, cuts)),
        _difference_of_groups(NEW_MINUS_KEPT, new, kept, cuts),
        _difference_of_groups(BORN_MINUS_LATER, between, later, cuts),
        _difference_of_groups(BORN_MINUS_EARLIER, between, earlier, cuts),
    ]
    placebos = [
        _untrained(net),
        _pairs_of_seeds(net, cuts),
        _difference(PERMUTED_ANSWERS, control, cuts),
        _difference(WITHHELD_SUBJECTS, withheld, cuts),
        # A name that is read more often at the second cut is so without the subject, too.
        _difference(WITHHELD_SUBJECTS_ADDED, withheld_added, cuts),
    ]
    return [_judged(one) for one in (*found, *_adjusted(placebos))]


def _difference(contrast: Contrast, panel: Panel, cuts: tuple[date, date]) -> Effect:
    """The later models minus the earlier ones on the same items: a mean over clusters and seeds."""
    seeds = panel.seeds(*cuts)
    found = panel.matrices(seeds, *cuts)
    if not found.n_items:
        return Effect(contrast)
    earlier, later = found.values
    return _crossed(Effect(contrast, n_items=found.n_items, n_clusters=len(found.clusters)), later - earlier)


def _difference_of_groups(contrast: Contrast, one: Panel, other: Panel, cuts: tuple[date, date]) -> Effect:
    """How much more the later models gain in one group of items than in another.

    The rows of the matrix are what each cluster contributes to the difference between two means, as in `change` of
    the statistics, so that a cluster with items in both groups is drawn once.
    """
    seeds = sorted({*one.seeds(*cuts)} & {*other.seeds(*cuts)})
    groups = [panel.matrices(seeds, *cuts) for panel in (one, other)]
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
    return _crossed(Effect(contrast, n_items=sum(group.n_items for group in groups), n_clusters=smaller), matrix)


def _untrained(panel: Panel) -> Effect:
    """What untrained models prefer.

    Untrained models of one seed are equal whatever their cut, and those of two seeds differ by luck alone. So it is the
    preference itself that is asked for: it shows whether new objects are likelier for their letters or their length.
    """
    found = panel.matrices(panel.seeds(None), None)
    if not found.n_items:
        return Effect(UNTRAINED, note="found no scores of untrained models; make them: tempkb model demo --untrained")
    return _crossed(Effect(UNTRAINED, n_items=found.n_items, n_clusters=len(found.clusters)), found.values[0])


def _pairs_of_seeds(panel: Panel, cuts: tuple[date, date]) -> Effect:
    """Models of one cut against one another, in all pairs; the order of the seeds is permuted for the interval.

    A single pair is hardly ever zero, since one of two trainings has learnt more. Their numbers have no meaning, so
    that over all pairs nothing should be left but what another order of the same models would leave as well.
    """
    seeds = panel.seeds(*cuts)
    found = panel.matrices(seeds, *cuts)
    effect = Effect(PAIRS_OF_SEEDS, n_items=found.n_items, n_clusters=len(found.clusters), n_seeds=len(seeds))
    if len(seeds) == 1 and found.n_items:
        return replace(effect, note=f"1 seed; a pair needs 2, and a claim at least {CLAIM_SEEDS}")
    if len(seeds) < 2 or not found.n_items:
        return effect
    levels = np.array([matrix.mean(axis=0) for matrix in found.values])
    n = len(seeds)
    # Each pair counts once: the seed at place k is the later one of k pairs, and the earlier one of n - 1 - k.
    weights = (2 * np.arange(n) - (n - 1)) / comb(n, 2)
    estimate = float((levels @ weights).mean())
    chance = np.random.Generator(np.random.PCG64(EFFECT_SEED))
    orders = chance.permuted(np.tile(np.arange(n), (EFFECT_REPLICATES, len(cuts), 1)), axis=2)
    permuted = np.abs((np.take_along_axis(levels[None], orders, axis=2) @ weights).mean(axis=1))
    margin = float(np.quantile(permuted, 1 - LEVEL))
    return replace(
        effect,
        estimate=estimate,
        low=estimate - margin,
        high=estimate + margin,
        p_value=_share_reaching(permuted, estimate),
        note=_single_pairs(found),
    )


def _single_pairs(found: Matrices) -> str:
    """What single pairs of seeds would have said."""
    pairs = [
        matrix[:, [one, other]] for matrix in found.values for one, other in combinations(range(matrix.shape[1]), 2)
    ]
    alone = [paired_difference(pair[:, 0], pair[:, 1], found.clusters) for pair in pairs]
    largest = max(abs(one.value) for one in alone)
    n_apart = sum(one.p_value is not None and one.p_value < LEVEL for one in alone)
    return (
        f"{counted(len(pairs), 'pair')}, of which the largest is {largest:.2f}; "
        f"{n_apart} would not be zero if the seeds were not counted as drawn"
    )


def _permuted_cuts(panel: Panel, cuts: tuple[date, date]) -> float | None:
    """Share of all ways to call half of the models the later ones in which the effect is at least as large."""
    seeds = panel.seeds(*cuts)
    found = panel.matrices(seeds, *cuts)
    n = len(seeds)
    if n < 2 or not found.n_items:
        return None
    levels = np.concatenate([matrix.mean(axis=0) for matrix in found.values])
    is_later = np.arange(2 * n) >= n
    if comb(2 * n, n) <= _MOST_SPLITS:
        chosen = np.array(list(combinations(range(2 * n), n)))
        splits = np.zeros((len(chosen), 2 * n), bool)
        np.put_along_axis(splits, chosen, True, axis=1)
        effects_of_splits = np.abs(_effect_of(splits, levels))
        return float((effects_of_splits >= abs(float(_effect_of(is_later, levels))) - _ROUNDING).mean())
    chance = np.random.Generator(np.random.PCG64(EFFECT_SEED))
    splits = chance.permuted(np.tile(is_later, (_MOST_SPLITS, 1)), axis=1)
    return _share_reaching(np.abs(_effect_of(splits, levels)), float(_effect_of(is_later, levels)))


def _effect_of(is_later: NDArray[np.bool_], levels: Floats) -> Floats:
    """Mean of the models that are called later, minus that of the others; half of them are."""
    signed: Floats = np.where(is_later, levels, -levels)
    return np.asarray(signed.sum(axis=-1) / (len(levels) / 2), np.float64)


def _share_reaching(permuted: Floats, estimate: float) -> float:
    """The p-value of an estimate: the share of permutations, itself included, whose size reaches its own."""
    return float((1 + (permuted >= abs(estimate) - _ROUNDING).sum()) / (1 + len(permuted)))


def _crossed(effect: Effect, matrix: Floats) -> Effect:
    """Add the mean of a matrix of clusters by seeds, with its interval if there are enough of both."""
    n_seeds = matrix.shape[1]
    if n_seeds < 2 or effect.n_clusters < MIN_CLUSTERS:
        return replace(effect, estimate=float(matrix.mean()), n_seeds=n_seeds)
    found = crossed_bootstrap(matrix, n_replicates=EFFECT_REPLICATES, seed=EFFECT_SEED)
    return replace(effect, estimate=found.value, low=found.low, high=found.high, n_seeds=n_seeds, p_value=found.p_value)


def _adjusted(placebos: Sequence[Effect]) -> list[Effect]:
    """Add what Holm's method makes of the p-values of placebos."""
    p_values = [one.p_value for one in placebos if one.p_value is not None]
    adjusted = iter(holm(p_values))
    return [replace(one, p_holm=next(adjusted)) if one.p_value is not None else one for one in placebos]


def _judged(effect: Effect) -> Effect:
    """Add the verdict, or why there is no claim."""
    if effect.estimate is None:
        return replace(effect, note=effect.note or "found no items that models of both cuts have scored")
    reasons = [*unclaimed(effect.n_clusters, effect.n_seeds, effect.low, "cluster")]
    if reasons:
        return replace(effect, note="; ".join([*reasons, *([effect.note] if effect.note else [])]))
    if effect.contrast.expected == "zero":
        if effect.p_holm is None or effect.p_holm < LEVEL:
            return replace(effect, verdict="not zero")
        return replace(effect, verdict="zero is included", note=_noted(effect))
    is_above = effect.low is not None and effect.low > 0
    return replace(effect, verdict="shown" if is_above else "not shown")


def _noted(effect: Effect) -> str | None:
    """What is to be told of a placebo that includes zero: whether it does so by Holm's method alone."""
    if effect.low is None or effect.high is None or effect.low <= 0 <= effect.high:
        return effect.note
    return "; ".join(["zero is included after Holm only: its own interval excludes zero", *filter(None, [effect.note])])
