"""SQL of linking: accuracies of linkers, which of them belong together, and what each figure weighs.

A cell is a linker at a test: its release, pool, subset, test snapshot and category of mentions. A spot is a training
snapshot (None: not trained) at a test snapshot. Every figure is a weighted sum of the accuracies of spots: the mean
over seeds, a change between snapshots, in-snapshot minus out-of-snapshot.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from tempkb.core.estimates_sql import ALL, FRACTION, SHARE, Measure, estimates
from tempkb.models.linking.tables import LINKERS, LINKING_SCORES, N_TOP
from tempkb.store.quoting import literal

KS = tuple(2**power for power in range(N_TOP.bit_length()))
"""Numbers of candidates among which the entity has to be: 1, 2, 4, 8, 16, 32 and 64."""
HITS = {k: f"h{k}" for k in KS}
"""Columns with the number of mentions whose entity is among the first k."""
ACCURACY, SIMILARITY = "accuracy", "similarity"
"""Metrics: share of mentions whose entity is among the first k; mean similarity of descriptions in the first 64."""

METRICS = {**{(ACCURACY, k): ("n", hits) for k, hits in HITS.items()}, (SIMILARITY, N_TOP): ("n_similar", "s_similar")}
"""Columns with the number of mentions and the sum of their values, by metric and k."""

_TEST = "release, linker, pool, subset, cut"

# Linkers with one setup differ only in the snapshot and the seed of their training. An untrained linker is alone in it.
_SETUP = """
    CASE WHEN model_cut IS NULL THEN linker ELSE concat(
        coalesce(preset, linker), nullif(concat(' of ', trained_on), concat(' of ', release)),
        CASE WHEN n_recipes > 1 THEN concat(' ', left(md5(recipe), 6)) END
    ) END
"""
_LINKERS = f"""
    SELECT linker, preset, release AS trained_on, recipe,
           count(DISTINCT recipe) OVER (PARTITION BY release, preset) AS n_recipes
    FROM (SELECT linker, preset, release, concat(recipe, ' ', base) AS recipe FROM {LINKERS.name})
"""

SETUPS = f"""
    SELECT DISTINCT release, linker, {_SETUP} AS setup
    FROM {LINKING_SCORES.name} LEFT JOIN ({_LINKERS}) USING (linker)
"""
"""SQL: the setup of each linker that has linked mentions of a release."""

OWN_SETUPS = f"""
    SELECT linker, {_SETUP} AS setup
    FROM (SELECT linker, release, cut AS model_cut FROM {LINKERS.name}) JOIN ({_LINKERS}) USING (linker)
"""
"""SQL: the setup of each linker at mentions of the release on which it was trained."""


def spaces(source: str = LINKING_SCORES.name) -> str:
    """Return SQL that numbers the tests of linkers, since counting and joining by numbers is several times faster."""
    return f"""
        SELECT {_TEST}, row_number() OVER (ORDER BY {_TEST}) AS test, any_value(model_cut) AS model_cut,
               any_value(seed) AS seed, any_value(n_candidates) AS n_candidates
        FROM {source} GROUP BY {_TEST}
    """


def counts(source: str = LINKING_SCORES.name, category: str = "category") -> str:
    """Return SQL that counts the mentions of each entity in each cell, and those among the first k candidates.

    A mention without a rank, such as one whose entity is no candidate, is a miss. Needs `tests`, the rows of `spaces`.

    Args:
        source: SQL with the rows of `linking_scores`.
        category: SQL of what mentions are grouped by.
    """
    # In a fixed order, so that equal scores give equal sums.
    similar = "sum(top_similarity ORDER BY anchor_page_id, start_char)"
    hits = ", ".join(f"count(*) FILTER (rank <= {k}) AS {name}" for k, name in HITS.items())
    return f"""
        SELECT test, {category} AS category, target_page_id AS cluster, count(*) AS n,
               count(*) FILTER (NOT gold_is_candidate) AS n_missing, {hits},
               count(top_similarity) AS n_similar, coalesce({similar}, 0) AS s_similar
        FROM {source} JOIN (SELECT {_TEST}, test FROM tests) USING ({_TEST}) GROUP BY ALL
    """


def accuracies() -> str:
    """Return SQL of the accuracies of cells, one row for each k, and of their mean similarity.

    There are also rows for all categories together. Needs `tests` and `counted`, the rows of `spaces` and `counts`.
    """
    named = f"CASE WHEN grouping(category) = 1 THEN '{ALL}' ELSE category END AS category"
    sums = ", ".join(f"sum({name}) AS {name}" for name in ("n", "n_similar", "s_similar", *HITS.values()))
    cells = estimates(
        f"""
        SELECT test, {named}, cluster, {sums} FROM counted
        GROUP BY GROUPING SETS ((test, category, cluster), (test, cluster))
        """,
        ("test", "category"),
        [_measure(metric, k, n, s) for (metric, k), (n, s) in METRICS.items()],
    )
    missing = f"""
        SELECT test, {named}, sum(n_missing)::BIGINT AS n_missing FROM counted
        GROUP BY GROUPING SETS ((test, category), (test))
    """
    return f"""
        SELECT release, linker, {_SETUP} AS setup, model_cut, seed, pool, subset, cut, category, metric, k,
               'micro' AS aggregate, value, standard_error, low, high, n_items, n_clusters,
               CASE metric WHEN '{ACCURACY}' THEN n_missing END AS n_missing, n_candidates
        FROM ({cells}) JOIN ({missing}) USING (test, category) JOIN tests USING (test)
        LEFT JOIN ({_LINKERS}) USING (linker)
    """


def _measure(metric: str, k: int, n: str, s: str) -> Measure:
    form = SHARE if metric == ACCURACY else FRACTION
    return Measure(n, s, n, (("metric", literal(metric)), ("k", str(k)), ("form", literal(form))))


Spot = tuple[date | None, date]
Weights = Mapping[Spot, float]

BY_TRAINING = ("mean_of_seeds", "minus_own_snapshot")
"""The aggregates of one training snapshot at a time."""


@dataclass(frozen=True)
class Figure:
    """A weighted sum.

    Attributes:
        aggregate: name of what it is.
        weights: of spots.
        model_cut: the training snapshot, of a figure of one.
        cut: the test snapshot; None over all tests.
        from_cut: the test with which it is compared; or None.
        steps: number of snapshots from the test to the training; or None.
    """

    aggregate: str
    weights: Weights
    model_cut: date | None = None
    cut: date | None = None
    from_cut: date | None = None
    steps: int | None = None


def by_training(spots: Iterable[Spot]) -> Iterator[Figure]:
    """Yield for each training snapshot at each test the mean over seeds, and its difference to the own snapshot."""
    mean, minus_own = BY_TRAINING
    there = set(spots)
    for model, cut in there:
        yield Figure(mean, {(model, cut): 1.0}, model, cut)
        if model is not None and model != cut and (model, model) in there:
            yield Figure(minus_own, {(model, cut): 1.0, (model, model): -1.0}, model, cut, model)


def by_test(spots: Iterable[Spot], days: Sequence[date]) -> Iterator[Figure]:
    """Yield the figures that put training snapshots together.

    Args:
        spots: those of a setup.
        days: the release's tests and the setup's trainings, oldest first, which are counted by `steps`.
    """
    sizes = dict.fromkeys(spots, 1)
    models = _models(sizes)
    for cut, own in models.items():
        yield Figure("mean_of_models", _mean((model, cut) for model in own), cut=cut)
    yield from _changes("change", models, lambda _model, _first: True)
    yield from _changes("change_of_later_models", models, lambda model, first: model is not None and model > first)
    yield from in_and_out(sizes)
    yield from _by_steps(models, days)


def in_and_out(sizes: Mapping[Spot, int]) -> Iterator[Figure]:
    """Yield in-snapshot and out-of-snapshot accuracy and their difference, by test snapshot and over all of them.

    In-snapshot is the linker trained on the snapshot of the test; out-of-snapshot is the mean of all others. Over all
    tests only those count that have both, so that the two are of the same mentions.

    Args:
        sizes: spots with the weights of their tests among all tests: 1, or their numbers of mentions.
    """
    both: dict[date, tuple[Weights, Weights]] = {}
    for cut, models in _models(sizes).items():
        own: Weights = {(cut, cut): 1.0} if cut in models else {}
        others = _mean((model, cut) for model in models if model not in (None, cut))
        if own:
            yield Figure("in_snapshot", own, cut=cut)
        if others:
            yield Figure("out_of_snapshot", others, cut=cut)
        if own and others:
            yield Figure("in_minus_out", _minus(own, others), cut=cut)
            both[cut] = own, others
    if both:
        total = sum(sizes[cut, cut] for cut in both)
        inside, outside = (
            {spot: weight * sizes[spot] / total for sides in both.values() for spot, weight in sides[at].items()}
            for at in (0, 1)
        )
        yield Figure("in_snapshot", inside)
        yield Figure("out_of_snapshot", outside)
        yield Figure("in_minus_out", _minus(inside, outside))


def _models(spots: Iterable[Spot]) -> dict[date, set[date | None]]:
    """The training snapshots at each test."""
    found: defaultdict[date, set[date | None]] = defaultdict(set)
    for model, cut in spots:
        found[cut].add(model)
    return found


def _mean(spots: Iterable[Spot]) -> Weights:
    every = list(spots)
    return dict.fromkeys(every, 1 / max(len(every), 1))


def _minus(one: Weights, other: Weights) -> Weights:
    """The difference of two sums that have no spot in common."""
    return {**one, **{spot: -weight for spot, weight in other.items()}}


def _changes(
    aggregate: str, models: Mapping[date, set[date | None]], counts: Callable[[date | None, date], bool]
) -> Iterator[Figure]:
    """The change from the first test to each later one, a mean over models that have both."""
    first = min(models)
    for cut in models.keys() - {first}:
        own = [model for model in models[cut] & models[first] if counts(model, first)]
        if own:
            later, earlier = (_mean((model, at) for model in own) for at in (cut, first))
            yield Figure(aggregate, _minus(later, earlier), cut=cut, from_cut=first)


def _by_steps(models: Mapping[date, set[date | None]], days: Sequence[date]) -> Iterator[Figure]:
    """Other trainings than that of the test, minus that of the test, by the number of snapshots in between."""
    pairs: defaultdict[int, list[Spot]] = defaultdict(list)
    for cut, own in models.items():
        for model in own - {cut} if cut in own else ():
            if model is not None:
                pairs[days.index(model) - days.index(cut)].append((model, cut))
    for steps, of_steps in pairs.items():
        weights = defaultdict(float, _mean(of_steps))
        for _, cut in of_steps:
            weights[cut, cut] -= 1 / len(of_steps)
        yield Figure("out_minus_in", weights, steps=steps)
