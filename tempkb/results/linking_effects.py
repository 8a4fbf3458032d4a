"""What trained linkers show of time: contrasts between linkers, snapshots and kinds of entities, with verdicts. Pure.

Each contrast is a mean over entities and over seeds of training, both of which count as drawn at random: other articles
and another training would give other numbers. Each entity has the same weight, however often it is mentioned.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from tempkb.statistics import MIN_CLUSTERS, crossed_bootstrap, equivalence
from tempkb.statistics.clusters import Floats
from tempkb.wording import counted

CLAIM_SEEDS = 5
"""With fewer seeds there is an interval, but no claim; with one seed there is neither."""
MARGIN = 0.05
"""Two accuracies that differ by less are called equivalent: five points, which a world of 1,000 mentions can tell."""
_LEVEL = 0.05
_REPLICATES = 10_000
_CHANCE = 17

Expected = Literal["positive", "within 5 points"]
Verdict = Literal["shown", "not shown", "no claim"]


@dataclass(frozen=True)
class Contrast:
    """What is compared.

    Attributes:
        name: of the contrast.
        expected: what is expected of it.
        unit: what the estimate is.
    """

    name: str
    expected: Expected
    unit: str


LINKER_MINUS_PRIOR = Contrast(
    "linker_minus_prior",
    "positive",
    "accuracy of linkers trained on the snapshot of the test, minus that of the mention prior, at mentions whose "
    "surface several entities share",
)
CONTINUAL_IN_MINUS_OUT = Contrast(
    "continual_in_minus_out",
    "within 5 points",
    "in-snapshot minus out-of-snapshot accuracy at mentions of continual entities",
)
SHOCK_MINUS_SERIES, COVID_MINUS_RECURRENT = (
    Contrast(name, "positive", f"in-snapshot minus out-of-snapshot accuracy: {words}")
    for name, words in (
        (
            "shock_minus_series",
            "new entities of the quarter with most of them, minus new entities whose titles continue a series",
        ),
        ("covid_minus_recurrent", "new entities of the paper's type covid, minus those of its type recurrent"),
    )
)
CONTRASTS = (LINKER_MINUS_PRIOR, CONTINUAL_IN_MINUS_OUT, SHOCK_MINUS_SERIES, COVID_MINUS_RECURRENT)
"""All contrasts, in the order of their rows."""


@dataclass(frozen=True)
class Gains:
    """A difference of hits by entity and seed: of two linkers, or of in-snapshot and out-of-snapshot.

    Attributes:
        values: by entity and seed, the mean over the entity's mentions.
        n_items: number of mentions of each entity.
    """

    values: Mapping[tuple[int, int], float]
    n_items: Mapping[int, int]

    def matrix(self, seeds: Sequence[int]) -> tuple[Floats, list[int]]:
        """Return the values, a row for each entity that has all seeds, a column for each seed; and the entities."""
        entities = sorted(one for one in self.n_items if all((one, seed) in self.values for seed in seeds))
        rows = [[self.values[one, seed] for seed in seeds] for one in entities]
        return np.array(rows, np.float64).reshape(len(entities), len(seeds)), entities

    @property
    def seeds(self) -> list[int]:
        """All seeds, in order."""
        return sorted({seed for _, seed in self.values})

    def only(self, entities: set[int]) -> "Gains":
        """Return the same of some entities."""
        return Gains(
            {key: value for key, value in self.values.items() if key[0] in entities},
            {one: n for one, n in self.n_items.items() if one in entities},
        )


@dataclass(frozen=True)
class Effect:
    """A contrast and what was found of it; the columns of `linking_effects` say what each attribute is."""

    contrast: Contrast
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    n_items: int = 0
    n_clusters: int = 0
    n_seeds: int = 0
    p_value: float | None = None
    verdict: Verdict = "no claim"
    note: str | None = None


def effect_of(contrast: Contrast, gains: Gains, lacking: str) -> Effect:
    """Return what is found of a contrast that is a mean over entities.

    Args:
        contrast: the contrast.
        gains: its differences.
        lacking: what to say if there is none.
    """
    matrix, entities = gains.matrix(gains.seeds)
    effect = Effect(contrast, n_items=sum(gains.n_items[one] for one in entities), n_clusters=len(entities))
    return _judged(_crossed(effect, matrix), lacking)


def effect_between(contrast: Contrast, one: Gains, other: Gains, lacking: str, note: str) -> Effect:
    """Return what is found of a contrast that is a difference between the means of two groups of entities.

    The rows of the matrix are what each entity contributes to the difference, as in `change` of the statistics.

    Args:
        contrast: the contrast.
        one: differences of the first group.
        other: of the second group.
        lacking: what to say if either group has none.
        note: which entities these are.
    """
    seeds = sorted({*one.seeds} & {*other.seeds})
    groups = [(sign, group, *group.matrix(seeds)) for sign, group in ((1, one), (-1, other))]
    n_clusters = min(len(entities) for *_, entities in groups)
    if not seeds or not n_clusters:
        return _judged(Effect(contrast, n_clusters=n_clusters, note=note or None), lacking)
    n_rows = sum(len(entities) for *_, entities in groups)
    estimate = sum(sign * float(matrix.mean()) for sign, _, matrix, _ in groups)
    # A group's own mean by seed stays in each of its rows, so that what seeds do to the two groups does not cancel.
    rows = [estimate + sign * n_rows / len(entities) * (matrix - matrix.mean()) for sign, _, matrix, entities in groups]
    n_items = sum(group.n_items[entity] for _, group, _, entities in groups for entity in entities)
    effect = Effect(contrast, n_items=n_items, n_clusters=n_clusters, note=note or None)
    return _judged(_crossed(effect, np.concatenate(rows)), lacking)


def _crossed(effect: Effect, matrix: Floats) -> Effect:
    """Add the mean of a matrix of entities by seeds, with its interval if there are enough of both."""
    n_seeds = matrix.shape[1]
    if not matrix.size:
        return replace(effect, n_seeds=n_seeds)
    if n_seeds < 2 or effect.n_clusters < MIN_CLUSTERS:
        return replace(effect, estimate=float(matrix.mean()), n_seeds=n_seeds)
    found = crossed_bootstrap(matrix, n_replicates=_REPLICATES, seed=_CHANCE).within(-1, 1)
    p_value = equivalence(found, MARGIN) if effect.contrast.expected == "within 5 points" else found.p_value
    return replace(effect, estimate=found.value, low=found.low, high=found.high, n_seeds=n_seeds, p_value=p_value)


def _judged(effect: Effect, lacking: str) -> Effect:
    """Add the verdict, or why there is no claim."""
    found = effect.n_clusters, effect.n_seeds, effect.low
    reasons = [lacking] if effect.estimate is None else [*unclaimed(*found, "entity", "entities")]
    if reasons:
        return replace(effect, note="; ".join([*reasons, *([effect.note] if effect.note else [])]))
    if effect.contrast.expected == "positive":
        return replace(effect, verdict="shown" if effect.low is not None and effect.low > 0 else "not shown")
    return replace(effect, verdict="shown" if (effect.p_value or 0) < _LEVEL else "not shown")


def unclaimed(n_clusters: int, n_seeds: int, low: float | None, *cluster: str) -> Iterator[str]:
    """Yield why there is no claim of an estimate.

    Args:
        n_clusters: number of clusters.
        n_seeds: number of seeds.
        low: lower end of the interval; None if there is none.
        cluster: what a cluster is called, and what several are, unless an s is added.
    """
    if n_clusters < MIN_CLUSTERS:
        yield f"{counted(n_clusters, *cluster)}; at least {MIN_CLUSTERS} are needed for an interval"
    elif n_seeds >= CLAIM_SEEDS and low is None:
        yield "all values agree exactly, so that their spread cannot be estimated"
    if n_seeds < CLAIM_SEEDS:
        yield f"{counted(n_seeds, 'seed')}; at least {CLAIM_SEEDS} are needed for a claim"
