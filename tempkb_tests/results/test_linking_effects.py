"""What linkers show of time: verdicts from hand-made gains, error rates by simulation, and the rows of a home."""

from datetime import UTC, date, datetime
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import t

from tempkb.benchmarks.tempel.tables import TEMPEL_MENTIONS, TEMPEL_NEW_ENTITIES
from tempkb.core.statistics import Estimate, crossed_bootstrap, equivalence
from tempkb.engine.steps import Look
from tempkb.models.linking.steps import SCORES, STEPS
from tempkb.models.linking.tables import LINKERS, LINKING_SCORES, scores_partition
from tempkb.platform.api import open_store
from tempkb.results.linking_effects import (
    CONTINUAL_IN_MINUS_OUT,
    LINKER_MINUS_PRIOR,
    SHOCK_MINUS_SERIES,
    Gains,
    effect_between,
    effect_of,
    read_effects,
    shock_quarter,
)
from tempkb.results.steps import look
from tempkb.results.tables import ALL, LINKING_EFFECTS
from tempkb.store.drafts import Provenance
from tempkb_tests.results.making import make

Y1, Y2 = date(2022, 1, 1), date(2023, 1, 1)


def gains(matrix, first=0):
    """Gains of entities by seeds, with two mentions of each entity."""
    rows = np.asarray(matrix, float)
    values = {(first + at, seed): rows[at, seed] for at, seed in product(*map(range, rows.shape))}
    return Gains(values, {first + at: 2 for at in range(len(rows))})


def drawn(mean, n=40, seeds=5, spread=0.3, of_seeds=0.01, number=1):
    chance = np.random.default_rng(number)
    return mean + chance.normal(0, spread, (n, 1)) + chance.normal(0, of_seeds, (1, seeds))


def test_an_effect_is_shown_if_its_interval_is_above_zero():
    shown = effect_of(LINKER_MINUS_PRIOR, gains(drawn(0.3)), "")
    assert (shown.verdict, shown.n_items, shown.n_clusters, shown.n_seeds) == ("shown", 80, 40, 5)
    assert 0 < shown.low < shown.estimate < shown.high
    assert effect_of(LINKER_MINUS_PRIOR, gains(drawn(0.0)), "").verdict == "not shown"
    # The other way round is no effect either.
    below = effect_of(LINKER_MINUS_PRIOR, gains(drawn(-0.5)), "")
    assert (below.verdict, below.p_value < 0.01) == ("not shown", True)


def test_equivalence_is_shown_if_the_interval_of_90_percent_lies_within_five_points():
    close = effect_of(CONTINUAL_IN_MINUS_OUT, gains(drawn(0.0, n=400, spread=0.2)), "")
    assert (close.verdict, close.p_value < 0.05) == ("shown", True)
    # Few entities: zero is included, and so is a large difference.
    few = effect_of(CONTINUAL_IN_MINUS_OUT, gains(drawn(0.0, n=20)), "")
    assert few.low < 0 < few.high
    assert (few.verdict, few.p_value > 0.05) == ("not shown", True)
    far = effect_of(CONTINUAL_IN_MINUS_OUT, gains(drawn(0.2, n=400, spread=0.2)), "")
    assert (far.verdict, far.p_value > 0.99) == ("not shown", True)


@pytest.mark.parametrize("value", [-0.03, 0.0, 0.02, 0.07])
def test_two_one_sided_tests_are_an_interval_of_90_percent(value):
    estimate = Estimate(value, 0.012, value - 1, value + 1, 100, 50, freedom=7.5)
    half = t.ppf(0.95, 7.5) * 0.012
    assert (equivalence(estimate, 0.05) < 0.05) == (value - half > -0.05 and value + half < 0.05)
    # By hand: the larger of both tests.
    larger = max(t.sf((value + 0.05) / 0.012, 7.5), t.cdf((value - 0.05) / 0.012, 7.5))
    assert equivalence(estimate, 0.05) == pytest.approx(larger)
    assert equivalence(Estimate(value, 0.0, None, None, 100, 50), 0.05) is None


@pytest.mark.parametrize(
    ("matrix", "note"),
    [
        (drawn(0.3, seeds=4), "4 seeds; at least 5 are needed for a claim"),
        (drawn(0.3, seeds=1), "1 seed; at least 5 are needed for a claim"),
        (drawn(0.3, n=9), "9 entities; at least 10 are needed for an interval"),
        (
            drawn(0.3, n=1, seeds=2),
            "1 entity; at least 10 are needed for an interval; 2 seeds; at least 5 are needed for a claim",
        ),
        (np.ones((12, 5)), "all values agree exactly, so that their spread cannot be estimated"),
    ],
)
def test_where_there_is_no_claim_the_row_says_why(matrix, note):
    found = effect_of(LINKER_MINUS_PRIOR, gains(matrix), "")
    assert (found.verdict, found.note) == ("no claim", note)
    assert found.estimate == pytest.approx(matrix.mean())
    nothing = effect_of(LINKER_MINUS_PRIOR, Gains({}, {}), "found none")
    assert (nothing.verdict, nothing.note, nothing.estimate, nothing.n_seeds) == ("no claim", "found none", None, 0)


def test_entities_without_a_value_of_each_seed_are_left_out():
    held = gains(drawn(0.3))
    values = {key: value for key, value in held.values.items() if key != (7, 3)}
    found = effect_of(LINKER_MINUS_PRIOR, Gains(values, held.n_items), "")
    assert (found.n_clusters, found.n_items) == (39, 78)


def test_two_groups_are_compared_by_their_means():
    one, other = drawn(0.4, n=30), drawn(0.1, n=60, number=2)
    found = effect_between(SHOCK_MINUS_SERIES, gains(one), gains(other, 100), "", "these")
    assert found.estimate == pytest.approx(one.mean() - other.mean())
    assert (found.n_clusters, found.n_items, found.verdict, found.note) == (30, 180, "shown", "these")
    none = effect_between(SHOCK_MINUS_SERIES, gains(one), Gains({}, {}), "found no mentions", "these")
    assert (none.verdict, none.estimate, none.note) == ("no claim", None, "found no mentions; these")


@pytest.mark.slow
def test_differences_between_groups_have_honest_intervals():
    """The truth is zero; seeds move the two groups each in its own way, so that they do not cancel."""
    chance, n, held = np.random.default_rng(5), 200, 0
    for _ in range(n):
        sides = [
            chance.normal(0, 0.3, (size, 1)) + chance.normal(0, 0.05, (1, 5)) + chance.normal(0, 0.2, (size, 5))
            for size in (25, 50)
        ]
        found = effect_between(SHOCK_MINUS_SERIES, gains(sides[0]), gains(sides[1], 100), "", "")
        held += found.low <= 0 <= found.high
    assert 0.92 <= held / n <= 0.99


def news(quarters, **more):
    return [
        {"quarter": quarter, "is_series": False, "is_extract": False, **more}
        for quarter, n in quarters.items()
        for _ in range(n)
    ]


Q1, Q2, Q3, Q4 = (date(2022, month, 1) for month in (1, 4, 7, 10))


def test_the_shock_is_the_quarter_with_unusually_many_new_entities():
    assert shock_quarter(news({Q1: 5, Q2: 10, Q3: 5, Q4: 4})) == Q2
    assert shock_quarter(news({Q1: 5, Q2: 9, Q3: 5, Q4: 4})) is None
    assert shock_quarter(news({Q1: 5})) is None
    assert shock_quarter([]) is None
    # What continues a series, or the text of a page, is no news.
    assert shock_quarter([*news({Q1: 5, Q2: 6, Q3: 5}), *news({Q2: 20}, is_series=True)]) is None
    assert shock_quarter([*news({Q1: 5, Q2: 6, Q3: 5}), *news({Q2: 20}, is_extract=True)]) is None


@pytest.fixture
def store(home_folder):
    """Linkers of two cuts and five seeds; 12 continual entities, 12 of a shock and 12 of series at each cut.

    The prior links nothing. A linker links all continual and series entities, but of the shock those of its own cut.
    """
    store = open_store()
    fill(store, seeds=5)
    return store


def fill(store, seeds, lacking=()):
    base = {"wiki": "demowiki", "release": "r", "dump_id": "d"}
    entities = {}
    for cut, first in ((Y1, 100), (Y2, 200)):
        entities[cut] = dict.fromkeys(range(12), "continual")
        entities[cut] |= {first + at: "shock" for at in range(12)} | {first + 50 + at: "series" for at in range(12)}
        rows = [
            {**base, "cut": cut, "subset": "test", "category": "continual" if kind == "continual" else "new"}
            | {"target_page_id": page, "anchor_page_id": 1, "start_char": 10 * at, "end_char": 10 * at + 3}
            # Half of the continual entities have surfaces of their own.
            | {"mention": "abc", "men_prior": 1.0 if page < 6 else 0.5, "age_at_cut_days": 1}
            for page, kind in entities[cut].items()
            for at in range(2)
        ]
        rows = [{**row, "start_char": row["start_char"] + 1000 * row["target_page_id"]} for row in rows]
        rows = [{**row, "end_char": row["start_char"] + 3} for row in rows]
        store.write(TEMPEL_MENTIONS, f"r.{cut}", [pa.Table.from_pylist(rows, TEMPEL_MENTIONS.schema)], Provenance())
        # At the second cut the shock's entities come in one quarter; all others are spread.
        new = [
            {**base, "cut": cut, "page_id": page, "title": "t", "paper_type": "other", "n_runs": 9, "is_extract": False}
            | {"series_page_id": 1 if kind == "series" else None, "shingle_share": 0.0}
            | {"article_since": datetime(cut.year - 1, 4 if cut == Y2 else 1 + 3 * (page % 4), 2, tzinfo=UTC)}
            for page, kind in entities[cut].items()
            if kind != "continual"
        ]
        store.write(
            TEMPEL_NEW_ENTITIES, f"r.{cut}", [pa.Table.from_pylist(new, TEMPEL_NEW_ENTITIES.schema)], Provenance()
        )
    digests = dict.fromkeys(("weights_sha256", "config_sha256", "tokenizer_sha256"), "0")
    for model, seed in product((Y1, Y2), range(seeds)):
        name = f"l-{model.year}-{seed}"
        row = {"linker": name, "kind": "bi-encoder", "release": "r", "cut": model, "seed": seed, "preset": "demo"}
        row |= {"recipe": "{}", "base": None, "dim": 4, **digests}
        store.write(LINKERS, name, [pa.Table.from_pylist([row], LINKERS.schema)], Provenance())
    linkers = [("prior", None, None), *((f"l-{m.year}-{s}", m, s) for m, s in product((Y1, Y2), range(seeds)))]
    for (name, model, seed), cut in product(linkers, (Y1, Y2)):
        if name in lacking:
            continue
        rows = []
        for page, kind in entities[cut].items():
            for at in range(2):
                # One mention in ten is luck, of entity and seed.
                luck = (7 * page + 3 * at + 5 * (seed or 0)) % 10 == 0
                hit = model is not None and (kind != "shock" or model == cut) and not luck
                rows.append(
                    {"wiki": "demowiki", "linker": name, "release": "r", "cut": cut, "pool": "own", "subset": "test"}
                    | {"target_page_id": page, "anchor_page_id": 1, "start_char": 10 * at + 1000 * page}
                    | {"category": "continual" if kind == "continual" else "new", "model_cut": model, "seed": seed}
                    | {"rank": 1 if hit else None, "gold_is_candidate": True, "n_candidates": 99, "n_tied": 0}
                    | {"top_page_ids": [page] if hit else [], "top_scores": [1.0] if hit else []}
                )
        partition = scores_partition(name, "r", str(cut), "own")
        stamped = Look(store, STEPS).provenance(SCORES, LINKING_SCORES, partition)
        store.write(LINKING_SCORES, partition, [pa.Table.from_pylist(rows, LINKING_SCORES.schema)], stamped)


def test_a_home_says_what_its_linkers_show(store):
    make(store, LINKING_EFFECTS)
    assert look(store).is_current(LINKING_EFFECTS.name, ALL)
    found = {(row["contrast"], row["k"]): row for row in store.read("linking_effects").to_pylist()}
    assert len(found) == 8
    prior, continual = found["linker_minus_prior", 1], found["continual_in_minus_out", 1]
    # Only surfaces that are shared count: 6 continual entities and 48 new ones, with two mentions each.
    assert (prior["setup"], prior["verdict"], prior["n_clusters"]) == ("demo", "shown", 54)
    assert prior["n_items"] == 6 * 4 + 48 * 2
    assert 0.85 < prior["estimate"] < 0.95
    # In and out have the same luck, so that they never differ: nothing can be said of the spread.
    assert (continual["estimate"], continual["verdict"], continual["n_clusters"]) == (0, "no claim", 12)
    assert continual["note"] == "all values agree exactly, so that their spread cannot be estimated"
    shock = found["shock_minus_series", 1]
    assert (shock["verdict"], shock["n_clusters"], shock["n_seeds"]) == ("shown", 12, 5)
    assert 0.8 < shock["estimate"] <= 1
    assert shock["note"] == "the quarter begins on 2022-04-01"
    covid = found["covid_minus_recurrent", 64]
    assert (covid["verdict"], covid["estimate"], covid["note"]) == (
        "no claim",
        None,
        "found no mentions of both groups",
    )


def test_a_home_with_few_seeds_claims_nothing(home_folder):
    store = open_store()
    fill(store, seeds=2)
    assert {one.verdict for found in read_effects(store, 1).values() for one in found} == {"no claim"}


def test_a_seed_without_all_training_snapshots_is_left_out(home_folder):
    store = open_store()
    fill(store, seeds=5, lacking=("l-2022-4",))
    (found,) = read_effects(store, 1).values()
    assert {one.contrast.name: one.n_seeds for one in found}["shock_minus_series"] == 4


def test_a_home_without_trained_linkers_has_no_effects(home_folder):
    store = open_store()
    assert read_effects(store, 1) == {}
    fill(store, seeds=0)
    assert read_effects(store, 1) == {}
    assert make(store, LINKING_EFFECTS).rows == 0


def test_the_degrees_of_freedom_of_two_random_factors_are_known():
    found = crossed_bootstrap(drawn(0.1), n_replicates=2000, seed=1)
    half = t.ppf(0.975, found.freedom) * found.standard_error
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half))
