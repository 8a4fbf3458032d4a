"""What trained linkers show of time: contrasts between linkers, snapshots and kinds of entities, with verdicts.

Each contrast is a mean over entities and over seeds of training, both of which count as drawn at random: other
articles and another training would give other numbers. Each entity has the same weight, however often it is
mentioned.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from statistics import median
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from tempkb.core.statistics import MIN_CLUSTERS, crossed_bootstrap, equivalence
from tempkb.core.statistics.estimates import Floats
from tempkb.core.wording import counted
from tempkb.engine.steps import Work
from tempkb.models.linking.known import rows_of
from tempkb.models.linking.tables import LINKERS, LINKING_SCORES
from tempkb.results.linking_sql import KS, SETUPS
from tempkb.results.tables import LINKING_EFFECTS
from tempkb.store.store import Store

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


Group = tuple[str, str]
"""A release and a setup."""

_MENTIONS, _TYPES = rows_of("mentions"), rows_of("types")
# At one candidate linkers differ most; the paper's figures are at sixty-four.
_KS = (KS[0], KS[-1])
_SHOCK = 2  # times as many new entities as in the median quarter make a shock

# Seeds that do not have all training snapshots of their setup are left out, since their means are of other linkers.
_LINKED = f"""
    linked AS (
        SELECT s.release, setup, s.seed, model_cut, cut, category, target_page_id, anchor_page_id, start_char,
               coalesce(rank <= $k, false)::INTEGER AS hit
        FROM {LINKING_SCORES.name} AS s JOIN ({SETUPS}) USING (release, linker)
        WHERE subset = 'test' AND pool = 'own' AND model_cut IS NOT NULL
    ), trained AS (
        SELECT release, setup, seed, count(DISTINCT model_cut) AS n FROM linked GROUP BY release, setup, seed
        QUALIFY n = max(n) OVER (PARTITION BY release, setup)
    )
"""
_IN_MINUS_OUT = f"""
    WITH {_LINKED}, mentions AS (
        SELECT release, setup, seed, cut, category, target_page_id, anchor_page_id, start_char,
               avg(hit) FILTER (model_cut = cut) - avg(hit) FILTER (model_cut <> cut) AS gain
        FROM linked SEMI JOIN trained USING (release, setup, seed) GROUP BY ALL
    )
    SELECT release, setup, category, target_page_id AS entity, seed, avg(gain) AS gain, count(gain) AS n
    FROM mentions WHERE gain IS NOT NULL GROUP BY ALL
"""
_MINUS_PRIOR = f"""
    WITH {_LINKED}, prior AS (
        SELECT release, cut, target_page_id, anchor_page_id, start_char,
               coalesce(rank <= $k, false)::INTEGER AS prior_hit
        FROM {LINKING_SCORES.name} WHERE linker = 'prior' AND subset = 'test' AND pool = 'own'
    )
    SELECT release, setup, 'all' AS category, target_page_id AS entity, seed, avg(hit - prior_hit) AS gain,
           count(*) AS n
    FROM (FROM linked SEMI JOIN trained USING (release, setup, seed) WHERE model_cut = cut)
    JOIN prior USING (release, cut, target_page_id, anchor_page_id, start_char)
    JOIN (
        SELECT release, cut, target_page_id, anchor_page_id, start_char FROM ({_MENTIONS.query}) WHERE men_prior < 1
    ) USING (release, cut, target_page_id, anchor_page_id, start_char)
    GROUP BY ALL
"""
_GROUPS = f"""
    SELECT DISTINCT release, setup FROM ({SETUPS}) JOIN {LINKING_SCORES.name} USING (release, linker)
    WHERE model_cut IS NOT NULL ORDER BY ALL
"""
_NEW = f"""
    SELECT release, page_id, any_value(paper_type) AS paper_type,
           CAST(date_trunc('quarter', any_value(article_since) AT TIME ZONE 'UTC') AS DATE) AS quarter,
           bool_or(series_page_id IS NOT NULL) AS is_series, bool_or(coalesce(is_extract, false)) AS is_extract
    FROM ({_TYPES.query}) GROUP BY release, page_id ORDER BY release, page_id
"""
_TABLES = (LINKING_SCORES.name, LINKERS.name)


def linking_effects(work: Work) -> Iterator[pa.Table]:
    """Yield the rows of `linking_effects`; there are none without trained linkers."""
    rows = [_row(group, k, one) for k in _KS for group, found in read_effects(work.store, k).items() for one in found]
    rows.sort(key=lambda row: [row[name] for name in LINKING_EFFECTS.key])
    yield pa.Table.from_pylist(rows, LINKING_EFFECTS.schema)


def read_effects(store: Store, k: int) -> dict[Group, list[Effect]]:
    """Return what the trained linkers of each release and setup show.

    Args:
        store: of the home.
        k: number of candidates among which the entity has to be.
    """
    groups = [(row["release"], row["setup"]) for row in store.ask(_GROUPS, *_TABLES)]
    if not groups:
        return {}
    inside = _gains(store.ask(_IN_MINUS_OUT.replace("$k", str(k)), *_TABLES))
    prior = _gains(store.ask(_MINUS_PRIOR.replace("$k", str(k)), *_TABLES, *_MENTIONS.needs))
    kinds: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in store.ask(_NEW, *_TYPES.needs):
        kinds[row["release"]].append(row)
    nothing = Gains({}, {})
    return {
        group: [
            effect_of(
                LINKER_MINUS_PRIOR,
                prior.get((group, "all"), nothing),
                "found no mention with a shared surface that both the prior and a linker of its snapshot have linked",
            ),
            effect_of(
                CONTINUAL_IN_MINUS_OUT,
                inside.get((group, "continual"), nothing),
                "found no test with linkers of its own and of another snapshot",
            ),
            *_of_new(inside.get((group, "new"), nothing), kinds[group[0]]),
        ]
        for group in groups
    }


def _gains(rows: list[dict[str, Any]]) -> dict[tuple[Group, str], Gains]:
    """Gains by group and category; an entity has as many mentions as the seed with most of them."""
    values: defaultdict[tuple[Group, str], dict[tuple[int, int], float]] = defaultdict(dict)
    n_items: defaultdict[tuple[Group, str], dict[int, int]] = defaultdict(dict)
    for row in rows:
        key, entity = ((row["release"], row["setup"]), row["category"]), row["entity"]
        values[key][entity, row["seed"]] = row["gain"]
        n_items[key][entity] = max(row["n"], n_items[key].get(entity, 0))
    return {key: Gains(values[key], n_items[key]) for key in values}


def _of_new(gains: Gains, kinds: list[Mapping[str, Any]]) -> Iterator[Effect]:
    """The contrasts between kinds of new entities."""
    quarter = shock_quarter(kinds)
    series = {row["page_id"] for row in kinds if row["is_series"]}
    shock = {row["page_id"] for row in kinds if row["quarter"] == quarter and _is_news(row)} if quarter else set()
    yield effect_between(
        SHOCK_MINUS_SERIES,
        gains.only(shock),
        gains.only(series),
        "found no mentions of both groups"
        if quarter
        else f"found no quarter with {_SHOCK} times as many new entities as the median one",
        f"the quarter begins on {quarter}" if quarter else "",
    )
    of_type = {name: {row["page_id"] for row in kinds if row["paper_type"] == name} for name in ("covid", "recurrent")}
    yield effect_between(
        COVID_MINUS_RECURRENT,
        gains.only(of_type["covid"]),
        gains.only(of_type["recurrent"]),
        "found no mentions of both groups",
        "",
    )


def _is_news(row: Mapping[str, Any]) -> bool:
    """Whether an entity continues neither a series nor the text of a page."""
    return not row["is_series"] and not row["is_extract"]


def shock_quarter(kinds: list[Mapping[str, Any]]) -> date | None:
    """Return the first day of the quarter in which most new entities became articles, if they are unusually many.

    It is chosen by births alone, and not by how well linkers do, which would find an effect by chance.

    Args:
        kinds: new entities, with `quarter`, `is_series` and `is_extract`; the last two do not count.

    Returns:
        None if no quarter has twice as many as the median one.
    """
    numbers: defaultdict[date, int] = defaultdict(int)
    for row in kinds:
        if row["quarter"] is not None and _is_news(row):
            numbers[row["quarter"]] += 1
    if len(numbers) < 2:
        return None
    best = max(sorted(numbers), key=lambda quarter: numbers[quarter])
    return best if numbers[best] >= _SHOCK * median(numbers.values()) else None


def _row(group: Group, k: int, effect: Effect) -> dict[str, Any]:
    contrast = effect.contrast
    of = {"contrast": contrast.name, "unit": contrast.unit, "expected": contrast.expected}
    return {**vars(effect), **of, "release": group[0], "setup": group[1], "k": k}
