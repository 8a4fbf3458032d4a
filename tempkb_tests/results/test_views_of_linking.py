"""Views of linking: by hand, by the numbers that the paper prints, by an oracle in plain Python, and by simulation."""

import json
import random
from datetime import date
from itertools import product
from statistics import fmean

import numpy as np
import pyarrow as pa
import pytest

from tempkb.results.linking_sums import sums_of
from tempkb.store.memory import in_memory
from tempkb_tests.results.paper_linking import FIRST_YEAR, PRINTED
from tempkb_tests.results.test_every_row import BASE, check_linking
from tempkb_tests.results.worlds import Linked

Y1, Y2, Y3 = (date(year, 1, 1) for year in (2021, 2022, 2023))
WHOLE = {"metric": "accuracy", "pool": "own", "subset": "test"}


@pytest.fixture
def linked():
    """Two linkers of two years, at two tests; entities 1 and 2 are continual, 3 is new at the second."""
    world = Linked()
    for name, cut in (("a", Y1), ("b", Y2), ("prior", None)):
        world.linker(name, cut)
    for cut, mentions in {Y1: {1: (1, 2), 2: (5,)}, Y2: {1: (1, 3), 2: (None,)}}.items():
        for entity, ranks in mentions.items():
            for at, rank in enumerate(ranks):
                world.link("a", cut, entity, rank, anchor=at)
                # The later model is better at the second test: all are first.
                world.link("b", cut, entity, 1 if cut == Y2 else rank, anchor=at)
    world.link("a", Y2, 3, None, "new", gold_is_candidate=False)
    world.link("b", Y2, 3, 64, "new")
    world.link("prior", Y1, 1, 1)
    return world


def accuracy(world, **equal):
    return world.one("linking_accuracy", **{**WHOLE, **equal})


def test_an_accuracy_is_the_share_of_mentions_whose_entity_is_among_the_first_k(linked):
    found = {
        (row["linker"], row["cut"], row["category"], row["k"]): (row["value"], row["n_items"], row["n_clusters"])
        for row in linked.read("linking_accuracy", **WHOLE)
    }
    assert found["a", Y1, "continual", 1] == (1 / 3, 3, 2)
    assert found["a", Y1, "continual", 2] == found["a", Y1, "continual", 4] == (2 / 3, 3, 2)
    assert found["a", Y1, "continual", 8] == (1, 3, 2)
    # A rank beyond 64 is a miss, however large k is.
    assert found["a", Y2, "continual", 64] == (2 / 3, 3, 2)
    assert found["a", Y2, "all", 64] == (2 / 4, 4, 3)
    assert found["b", Y2, "new", 32] == (0, 1, 1)
    assert found["b", Y2, "new", 64] == (1, 1, 1)
    assert {k for *_, k in found} == {1, 2, 4, 8, 16, 32, 64}


def test_an_entity_that_is_no_candidate_is_a_miss_and_is_counted(linked):
    row = accuracy(linked, linker="a", cut=Y2, category="new", k=64)
    assert (row["value"], row["n_items"], row["n_missing"], row["n_candidates"]) == (0, 1, 1, 100)


def test_linkers_have_the_setup_of_their_training_and_others_their_name(linked):
    linked.linker("other", Y1, release="u")
    linked.linker("tuned", Y1, preset="paper", recipe='{"epochs": 2}')
    linked.linker("plain", Y1, preset="paper", recipe='{"epochs": 1}')
    for name in ("other", "tuned", "plain"):
        linked.link(name, Y1, 1, 1)
    setups = {row["linker"]: row["setup"] for row in linked.read("linking_accuracy", k=1)}
    assert (setups["a"], setups["b"], setups["prior"], setups["other"]) == ("demo", "demo", "prior", "demo of u")
    # Two recipes of one preset are not averaged.
    assert setups["tuned"] != setups["plain"]
    assert all(setups[name].startswith("paper ") for name in ("tuned", "plain"))


def test_linkers_of_one_recipe_are_one_setup_at_all_snapshots():
    world = Linked()
    for name, cut, negatives in (("a", Y1, 4), ("b", Y2, 4), ("plain", Y1, 0)):
        world.linker(name, cut, recipe=json.dumps({"epochs": 1, "hard_negatives": negatives}))
        world.link(name, Y1, 1, 1)
    setups = {row["linker"]: row["setup"] for row in world.read("linking_accuracy", k=1)}
    assert setups["a"] == setups["b"] != setups["plain"]


def test_subsets_pools_and_releases_are_apart():
    world = Linked()
    world.linker("a", Y1)
    for more in ({}, {"pool": "fixed-50"}, {"subset": "validation"}, {"release": "u"}):
        world.link("a", Y1, 1, 1, **more)
    rows = world.read("linking_accuracy", k=1, category="all", metric="accuracy")
    assert [row["n_items"] for row in rows] == [1, 1, 1, 1]


def test_similarity_is_the_mean_over_mentions_that_have_one(linked):
    linked.rows["linking_scores"][0]["top_similarity"] = 0.25
    linked.rows["linking_scores"][2]["top_similarity"] = 0.75
    row = linked.one("linking_accuracy", metric="similarity", category="continual")
    assert (row["value"], row["k"], row["n_items"], row["n_clusters"]) == (0.5, 64, 2, 1)


@pytest.mark.parametrize(("n_with", "has_interval"), [(9, False), (10, True)])
def test_entities_whose_mentions_have_no_similarity_are_none_of_its_clusters(n_with, has_interval):
    world = Linked()
    world.linker("prior")
    similar = [0.2 + 0.05 * entity if entity < n_with else None for entity in range(14)]
    for entity, one in enumerate(similar):
        world.link("prior", Y1, entity, 1, top_similarity=one)
        world.link("prior", Y2, entity, 1, top_similarity=None if one is None else one / 2)
    own = {**WHOLE, "metric": "similarity", "setup": "prior", "category": "continual", "k": 64}
    with_value = [one for one in similar if one is not None]
    spread = np.std(with_value, ddof=1) / np.sqrt(n_with)
    row = world.one("linking_by_training", **own, cut=Y1)
    assert (row["n_items"], row["n_clusters"], row["low"] is not None) == (n_with, n_with, has_interval)
    assert (row["value"], row["standard_error"]) == pytest.approx((fmean(with_value), spread))
    # Each entity loses half: the same entities on both sides.
    row = world.one("linking_changes", **own, aggregate="change", cut=Y2)
    assert (row["n_items"], row["n_clusters"], row["low"] is not None) == (2 * n_with, n_with, has_interval)
    assert (row["value"], row["standard_error"]) == pytest.approx((-fmean(with_value) / 2, spread / 2))
    row = world.one("linking_by_training", **{**own, "metric": "accuracy", "k": 1}, cut=Y1)
    assert (row["n_items"], row["n_clusters"]) == (14, 14)


def change(world, **equal):
    return world.one("linking_changes", **{**WHOLE, "setup": "demo", "category": "continual", "k": 1, **equal})


def test_in_and_out_of_snapshot_are_compared_at_the_same_test(linked):
    # At the first test: a 1/3, b 1/3. At the second: b 1, a 1/3.
    values = {
        (row["aggregate"], row["cut"], row["steps"]): row["value"]
        for row in linked.read("linking_changes", setup="demo", category="continual", k=1, metric="accuracy")
    }
    assert values == pytest.approx(
        {
            ("mean_of_models", Y1, None): 1 / 3,
            ("mean_of_models", Y2, None): 2 / 3,
            ("change", Y2, None): 1 / 3,
            ("change_of_later_models", Y2, None): 2 / 3,
            ("in_snapshot", Y1, None): 1 / 3,
            ("in_snapshot", Y2, None): 1,
            ("in_snapshot", None, None): 2 / 3,
            ("out_of_snapshot", Y1, None): 1 / 3,
            ("out_of_snapshot", Y2, None): 1 / 3,
            ("out_of_snapshot", None, None): 1 / 3,
            ("in_minus_out", Y1, None): 0,
            ("in_minus_out", Y2, None): 2 / 3,
            ("in_minus_out", None, None): 1 / 3,
            ("out_minus_in", None, 1): 0,
            ("out_minus_in", None, -1): -2 / 3,
        }
    )
    # Two entities are too few.
    assert change(linked, aggregate="in_minus_out", cut=Y2)["low"] is None


def test_linkers_of_another_release_do_not_change_how_many_snapshots_lie_between(linked):
    """The other release has a snapshot in between, at which a linker was trained that links mentions of both."""
    linked.linker("other", date(2021, 7, 1), release="u")
    for cut in (Y1, Y2):
        linked.link("other", cut, 1, 1)
    of_demo = {row["steps"] for row in linked.read("linking_changes", setup="demo", aggregate="out_minus_in")}
    assert of_demo == {-1, 1}
    # For linkers of that other release it is the snapshot before the second test.
    linked.linker("later", Y2, release="u")
    for cut in (Y1, Y2):
        linked.link("later", cut, 1, 1)
    of_other = {row["steps"] for row in linked.read("linking_changes", setup="demo of u", aggregate="out_minus_in")}
    assert of_other == {-1}


def test_a_test_without_a_linker_of_its_own_snapshot_does_not_count_as_out_of_snapshot(linked):
    for entity in (1, 2):
        linked.link("a", Y3, entity, 1)
    assert change(linked, aggregate="out_of_snapshot", cut=None)["value"] == pytest.approx(1 / 3)
    assert change(linked, aggregate="out_of_snapshot", cut=Y3)["value"] == 1


def test_a_linker_that_is_not_trained_has_changes_and_no_snapshot_of_its_own(linked):
    linked.link("prior", Y2, 1, None)
    found = {
        (row["aggregate"], row["value"], row["n_seeds"]) for row in linked.read("linking_changes", setup="prior", k=1)
    }
    assert found == {("mean_of_models", 1, None), ("mean_of_models", 0, None), ("change", -1, None)}


# What the paper says follows from its tables; means over models of printed numbers have their rounding.
@pytest.mark.parametrize(
    ("category", "year", "aggregate", "points"),
    [
        ("continual", 2022, "change", 3.1),
        ("continual", 2022, "change_of_later_models", 3.1),
        ("new", 2021, "change_of_later_models", 18.0),
        ("new", 2021, "change", 18.4),
    ],
)
def test_the_printed_tables_give_the_numbers_of_the_paper(printed, category, year, aggregate, points):
    rows = [
        row
        for row in printed
        if (row["category"], row["cut"], row["aggregate"], row["k"]) == (category, date(year, 1, 1), aggregate, 64)
    ]
    (row,) = rows
    assert round(-100 * row["value"], 1) == points
    assert row["from_cut"] == date(FIRST_YEAR, 1, 1)
    # Nothing is said of the error of a single entity.
    assert (row["standard_error"], row["low"], row["high"], row["n_clusters"]) == (None, None, None, 1)


@pytest.mark.parametrize(("category", "year", "points"), [("continual", 2022, 3.5), ("new", 2021, 22.2)])
def test_a_single_model_of_the_paper_loses_more_than_the_abstract_says(printed, category, year, points):
    """Of the model of 2013 what it loses is its difference to its own snapshot, which is the first test."""
    own = {"category": category, "aggregate": "minus_own_snapshot", "model_cut": date(FIRST_YEAR, 1, 1), "k": 64}
    (row,) = (row for row in printed if row["cut"] == date(year, 1, 1) and own.items() <= row.items())
    assert round(-100 * row["value"], 1) == points


@pytest.fixture(scope="module")
def printed():
    """The rows of the views over a thousand mentions in each cell, as many of them right as the paper prints."""
    places = product(("continual", "new"), range(10), range(10))
    cells = [
        {
            "category": category,
            "linker": f"m{m}",
            "model_cut": date(FIRST_YEAR + m, 1, 1),
            "cut": date(FIRST_YEAR + c, 1, 1),
            "n_hits": PRINTED[category][m][c],
        }
        for category, m, c in places
    ]
    with in_memory() as connection:
        connection.register("cells", pa.Table.from_pylist(cells))
        return shown(
            connection,
            "SELECT *, CASE WHEN anchor_page_id < n_hits THEN 64 END AS rank, 1 AS target_page_id, 'paper' AS release, 1 AS seed "
            "FROM cells, range(1000) AS mentions(anchor_page_id)",
        )


def shown(connection, scores):
    """The figures of `linking_sums` over the scores that a query gives, of linkers of one preset."""
    fixed = "'own' AS pool, 'test' AS subset, 0 AS start_char, true AS gold_is_candidate, 9 AS n_candidates"
    connection.execute(
        f"CREATE TEMP VIEW linking_scores AS SELECT *, {fixed}, NULL::DOUBLE AS top_similarity FROM ({scores})"
    )
    connection.execute(
        "CREATE TEMP VIEW linkers AS SELECT DISTINCT linker, 'demo' AS preset, NULL::VARCHAR AS release, "
        "'' AS recipe, '' AS base FROM linking_scores"
    )
    Linked().show(connection, "tempel_new_entities")
    return sums_of(lambda query: connection.sql(query).to_arrow_table()).to_pylist()


@pytest.fixture(scope="module", params=[1, 3], ids=["one seed", "three seeds"])
def random_world(request):
    """Three training years, three tests; entities have luck of their own, some mentions were not linked by all."""
    chance, world = random.Random(7), Linked()  # noqa: S311 - reproducible chance, not secrets
    for model, seed in product((Y1, Y2, Y3), range(request.param)):
        world.linker(f"m{model.year}s{seed}", model, seed)
    for cut in (Y1, Y2, Y3):
        for category, entity in product(("continual", "new"), range(14)):
            page = entity if category == "continual" else 100 * cut.year + entity
            luck = chance.random()
            if category == "new":
                kind = chance.choice(["covid", "recurrent", None])
                world.add("tempel_new_entities", release="t", cut=cut, page_id=page, paper_type=kind)
            for anchor in range(chance.randint(1, 4)):
                for name in world.trained:
                    if chance.random() < 0.95:
                        rank = chance.choice([1, 1, 2, 3, 9, 40, None]) if chance.random() < luck else None
                        similarity = chance.choice([0.25, 0.5, None])
                        world.link(name, cut, page, rank, category, anchor, top_similarity=similarity)
    return world


def test_every_row_equals_that_of_plain_python(random_world):
    tables = {name: random_world.table(name).to_pylist() for name in BASE}
    n = check_linking(lambda view: random_world.read(f"linking_{view}"), tables)
    assert n > 1000


def test_linkers_of_one_seed_count_as_one_seed():
    world = Linked()
    for name in ("a", "twin"):
        world.linker(name, Y1, seed=1)
        world.link(name, Y1, 1, 1, anchor=0)
        world.link(name, Y1, 2, 1, anchor=0)
    own = {**WHOLE, "aggregate": "mean_of_seeds", "category": "continual", "k": 1}
    row = world.one("linking_by_training", **own)
    assert (row["value"], row["n_linkers"], row["n_seeds"], row["seed_error"]) == (1, 2, 1, None)
    # Another seed finds nothing: its 0 and the 1 of both others have a sample variance of 1/2, of their mean 1/4.
    world.linker("b", Y1, seed=2)
    for entity in (1, 2):
        world.link("b", Y1, entity, None, anchor=0)
    row = world.one("linking_by_training", **own)
    assert (row["value"], row["n_linkers"], row["n_seeds"]) == (pytest.approx(2 / 3), 3, 2)
    assert row["seed_error"] == pytest.approx(1 / 2)


def test_mentions_by_type_are_put_together_over_tests():
    world = Linked()
    world.linker("a", Y1)
    world.linker("b", Y2)
    types = {1: "covid", 2: "covid", 3: "recurrent", 4: "covid"}
    for entity, kind in types.items():
        for cut in (Y1, Y2):
            world.add(
                "tempel_new_entities",
                release="t",
                cut=cut,
                page_id=entity + 10 * cut.year,
                paper_type=kind,
                entity_class="Q5" if entity == 3 else None,
                is_extract=entity == 4,
                n_runs=9,
                series_page_id=3 if entity in (3, 4) else None,
            )
    # At the first test one mention of covid, at the second three; each has the same weight.
    ranks = {("a", Y1): {1: 1}, ("b", Y1): {1: None}, ("a", Y2): {1: 1, 2: 1, 4: None}, ("b", Y2): {1: 1, 2: 1, 4: 1}}
    for (linker, cut), entities in ranks.items():
        for entity, rank in {**entities, 3: 1}.items():
            world.link(linker, cut, entity + 10 * cut.year, rank, "new", anchor=entity)
        world.link(linker, cut, 1, None, "continual")
    found = {
        (row["type_by"], row["entity_type"], row["aggregate"]): (row["value"], row["n_items"])
        for row in world.read("linking_by_type", cut=None, k=1, metric="accuracy")
    }
    assert found["paper", "covid", "in_snapshot"] == (pytest.approx(4 / 4), 4)
    assert found["paper", "covid", "out_of_snapshot"] == (pytest.approx(2 / 4), 4)
    assert found["paper", "covid", "in_minus_out"] == (pytest.approx(2 / 4), 8)
    assert found["paper", "recurrent", "in_minus_out"] == (0, 4)
    assert found["class", "Q5", "in_snapshot"] == (1, 2)
    # An extract is one, whatever its title is.
    assert found["origin", "extract of an existing page", "out_of_snapshot"] == (0, 1)
    assert found["origin", "series", "in_snapshot"] == (1, 2)
    assert found["origin", "other", "out_of_snapshot"] == (pytest.approx(2 / 3), 3)


@pytest.mark.slow
def test_intervals_hold_the_truth_when_entities_and_seeds_are_drawn():
    """600 worlds of 40 entities: the difference of two trainings at one test, each a mean over seeds.

    The truth is zero. Entities, trainings and their combinations each move a mention's chance.
    """
    chance = np.random.default_rng(11)
    n_worlds, n_seeds, n_entities, n_mentions = 600, 3, 40, 3
    shape = (n_worlds, 2, n_seeds, n_entities, n_mentions)
    logit = (
        chance.normal(0, 1, (n_worlds, 1, 1, n_entities, 1))
        + chance.normal(0, 0.5, (n_worlds, 2, n_seeds, 1, 1))
        + chance.normal(0, 0.7, (n_worlds, 2, n_seeds, n_entities, 1))
    )
    hit = chance.random(shape) < 1 / (1 + np.exp(-logit))
    world, model, seed, entity, mention = (axis.ravel() for axis in np.indices(shape))
    cuts = np.array([Y1, Y2], "datetime64[D]")
    columns = {
        "release": np.char.add("w", world.astype(str)),
        "linker": np.char.add(np.char.add("m", model.astype(str)), np.char.add("s", seed.astype(str))),
        "cut": np.full(world.size, cuts[1]),
        "model_cut": cuts[model],
        "seed": seed.astype(np.int32),
        "target_page_id": entity,
        "anchor_page_id": mention,
        "rank": pa.array(hit.ravel().astype(np.int32), mask=~hit.ravel()),
    }
    table = pa.table({name: pa.array(column) for name, column in columns.items()})
    with in_memory() as connection:
        connection.register("ranks", table)
        every = shown(connection, "SELECT *, 'new' AS category FROM ranks")
    wanted = ("in_minus_out", None, 1, "accuracy")
    rows = [row for row in every if tuple(row[name] for name in ("aggregate", "cut", "k", "metric")) == wanted]
    assert len(rows) == n_worlds
    assert all(row["seed_error"] is not None for row in rows)
    share = fmean(row["low"] <= 0 <= row["high"] for row in rows)
    assert 0.92 <= share <= 0.99


def test_an_entity_s_row_says_how_its_mentions_are_linked():
    world = Linked()
    world.linker("a", Y1)
    world.add("tempel_releases", release="t", granularity="quarter")
    world.add("tempel_releases", release="u", granularity="quarter")
    # Q7 has three mentions at two snapshots; one of them is in two releases. Q8 was linked among other candidates.
    mentions = [(Y1, 7, 1, "t"), (Y1, 7, None, "t"), (Y2, 7, 2, "t"), (Y1, 7, 1, "u")]
    for at, (cut, page, rank, release) in enumerate(mentions):
        anchor = 0 if release == "u" else at
        world.link("a", cut, page, rank, anchor=anchor, release=release)
        said = {"release": release, "cut": cut, "target_page_id": page, "anchor_page_id": anchor, "start_char": 0}
        world.add("tempel_mentions", **said, target_qid=f"Q{page}")
    world.link("a", Y1, 8, 1, anchor=9, pool="fixed-9")
    said = {"release": "t", "cut": Y1, "target_page_id": 8, "anchor_page_id": 9, "start_char": 0}
    world.add("tempel_mentions", **said, target_qid="Q8")
    found = {
        (row["entity_id"], row["window_start"], row["window_end"]): (row["n_mentions"], row["linked_first"])
        for row in world.read("entity_knowledge", model="a", numbers="linker")
    }
    assert found == {
        ("Q7", date(2020, 10, 1), Y1): (2, 0.5),
        ("Q7", date(2021, 10, 1), Y2): (1, 0),
        ("Q7", None, None): (3, pytest.approx(1 / 3)),
    }
