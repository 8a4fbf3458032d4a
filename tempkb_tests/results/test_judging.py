"""Answers that were written by hand, judged: what they are worth, whom they name, and the shares of these."""

import math
from datetime import date

import pyarrow as pa
import pytest
from scipy.stats import t

from tempkb.benchmarks.dynamic_templama.views import CHANGES_AND_NAMES
from tempkb.core.prompts import Question
from tempkb.core.statistics.estimates import clustered_mean, proportion
from tempkb.models.generations.tables import GENERATIONS
from tempkb.results.judged_tables import ASKED, JUDGED_ANSWERS, JUDGED_CHANGES
from tempkb.results.judging import _answers
from tempkb.results.steps import are_due
from tempkb.results.tables import ALL
from tempkb.store.drafts import Provenance
from tempkb.store.memory import in_memory
from tempkb_tests.models.scores.conftest import add, built, saved, store  # noqa: F401 - fixtures of this module
from tempkb_tests.results.making import make
from tempkb_tests.results.worlds import Q1, Q2, Q3, Q4, Facts, World, clustered

DECODER = "seq2seq.greedy-1.f32"


def answer(store, name, texts, decoder=DECODER):  # noqa: F811
    """Write what a model says: text and status, by question."""
    rows = []
    for (left, right), said in texts.items():
        for rank, (text, status) in enumerate(said if isinstance(said, list) else [said], 1):
            rows.append(
                {
                    "question_id": Question(left, right).question_id,
                    "rank": rank,
                    "model": name,
                    "decoder": decoder,
                    "status": status,
                    "text": text,
                    "token_ids": [],
                    "token_log_probs": [],
                }
            )
    rows.sort(key=lambda row: (row["question_id"], row["rank"]))
    store.write(GENERATIONS, f"{name}--{decoder}", [pa.Table.from_pylist(rows, GENERATIONS.schema)], Provenance())


def _changes_of_two():
    """Ann goes from Salt to Reed, Dan from Bath to Quay, each with further teams; Dan's change is Ann's control."""
    world = Facts()
    world.handover("Dan", "Bath", "Quay")
    world.handover("Ann", "Salt", "Reed", control=("Quay", "Bath"))
    # Eve makes the same change as Dan, but later than Ann.
    world.handover("Eve", "Bath", "Quay", arrival=Q3, left=Q4)
    for subject, teams in {"Ann": "Salt Reed Moss", "Dan": "Bath Quay Ox Moss", "Eve": "Bath Quay Elm"}.items():
        for team in teams.split():
            world.add("fact_spells", release="r", subject_id=subject, relation="P54", object_id=team, object_label=team)
    return world


@pytest.fixture
def said(store, add):  # noqa: F811
    name = add(store, "t5")
    answer(
        store,
        name,
        {
            ("Ada plays for ", "."): ("the Salt", "answered"),
            ("Ben plays for ", "."): ("Salt", "answered"),
            ("Cem plays for ", "."): (None, "empty"),
            ("", " is the head coach of Reed Town."): (None, "too_long"),
            ("The name of the head coach of Reed Town is ", "."): ("Ada or Ben", "answered"),
        },
    )
    return store


def test_changes_name_the_new_the_old_or_nothing(said):
    assert "judged_changes" in are_due(said, [JUDGED_CHANGES.name])
    make(said, JUDGED_ANSWERS)
    make(said, JUDGED_CHANGES)
    assert not are_due(said, [JUDGED_CHANGES.name, JUDGED_ANSWERS.name])
    rows = {row["item_id"]: row for row in said.read("judged_changes").to_pylist()}
    found = {key: (row["new_label"], row["old_label"], row["text"], row["names"]) for key, row in rows.items()}
    assert found == {
        "Q1_P54_2019-Q3": ("Salt", "Reed", "the Salt", "new"),
        "Q2_P54_2019-Q3": ("Moss", "Salt", "Salt", "old"),
        "Q3_P54_2019-Q4": ("Moss", "Reed", None, "none"),
        # As it is the query cannot be asked, so the wording with the object last counts.
        "Q201_P286_2019-Q3": ("Ben", "Ada", "Ada or Ben", "other_name"),
    }
    for row in rows.values():
        assert row["position"] is None
        if row["placebo_names"] is not None:
            assert row["placebo_names"] in {"new", "old", "other_name", "none"}


def test_answers_are_worth_what_the_measures_say(said):
    make(said, JUDGED_ANSWERS)
    rows = {row["item_id"]: row for row in said.read("judged_answers").to_pylist()}
    # Ada played for Reed, then for Salt, and in one window for both.
    assert {key: row["exact_match"] for key, row in rows.items() if key.startswith("Q1_")} == {
        "Q1_P54_2019-Q1": 0,
        "Q1_P54_2019-Q2": 0,
        "Q1_P54_2019-Q3": 1,
        "Q1_P54_2019-Q4": 1,
    }
    assert rows["Q3_P54_2019-Q4"]["f1"] == 0
    coach = rows["Q201_P286_2019-Q4"]
    assert (coach["wording"], coach["accepted"], coach["exact_match"]) == ("once", ["Ben"], 0)
    assert coach["f1"] == pytest.approx(2 / 4)
    assert {row["recall_at_10"] for row in rows.values()} == {None}
    # Nothing depends on when it is computed.
    (before,) = said.lake.versions("judged_answers")
    said.lake.remove("judged_answers", ALL)
    assert make(said, JUDGED_ANSWERS).version == before.version


def test_each_right_object_is_judged_by_itself_too():
    """In the window of a change two objects are right; the answer names one, which has an alias."""
    world = Facts()
    world.query(Q2, "Ann", "Salt", "Reed")
    world.rows["dynamic_templama_queries"][0]["answers"][1]["aliases"] = ["The Reeds"]
    for prompt in world.rows["dynamic_templama_prompts"]:
        prompt |= {"left_context": "Ann plays for ", "right_context": "."}
    asked = Question("Ann plays for ", ".").question_id
    world.add("generations", question_id=asked, rank=1, model="m", decoder=DECODER, status="answered", text="Reeds FC")
    with in_memory() as connection:
        for table in (GENERATIONS.name, "prompt_scores", *ASKED):
            world.show(connection, table)
        (row,) = (row for row in _answers(connection) if row["wording"] == "once")
    assert row["accepted"] == ["Reed", "The Reeds", "Salt"]
    assert (row["exact_match"], row["f1"]) == (0, pytest.approx(2 / 3))
    assert [(one["target_id"], one["exact_match"], one["f1"]) for one in row["of_targets"]] == [
        ("Reed", 0, pytest.approx(2 / 3)),
        ("Salt", 0, 0),
    ]


def test_shares_have_the_errors_of_the_statistics():
    world = World()
    kinds = [("new", "old"), ("old", None), ("other_object", "other_name"), ("ambiguous", "none"), ("none", "new")]
    changes = []
    for number in range(36):
        names, placebo = kinds[number * number % 5]
        changes.append((names, placebo, f"S{number % 12}"))
        world.add(
            "judged_changes",
            release="r",
            model="m",
            decoder=DECODER,
            item_id=f"i{number}",
            new_object_id="n",
            old_object_id="o",
            subject_id=f"S{number % 12}",
            window_start=Q3,
            change_from=Q1 if number % 2 else Q2,
            split="test",
            position="before",
            names=names,
            placebo_names=placebo,
        )
    for kind in ("new", "old", "other_object", "other_name", "none", "ambiguous"):
        found = world.one("names_by_window", aggregate=kind, split="all", window_start=None, position="all")
        expected = proportion([names == kind for names, _, _ in changes], [subject for *_, subject in changes])
        assert (found["value"], found["n_items"], found["n_clusters"]) == (pytest.approx(expected.value), 36, 12)
        if expected.low is not None:
            assert found["low"] == pytest.approx(expected.low, abs=1e-10)
            assert found["high"] == pytest.approx(expected.high, abs=1e-10)
    of_placebo = [(placebo == "new", subject) for _, placebo, subject in changes if placebo is not None]
    found = world.one("names_by_window", aggregate="placebo_new", split="all", window_start=None, position="before")
    assert found["value"] == pytest.approx(proportion(*map(list, zip(*of_placebo, strict=True))).value)
    shares = [
        row["value"]
        for row in world.read("names_by_window", split="test", window_start=Q1, position="before")
        if not row["aggregate"].startswith("placebo")
    ]
    assert sum(shares) == pytest.approx(1)
    # Windows are those of the changes, not of the queries.
    assert {row["window_start"] for row in world.read("names_by_window")} == {None, Q1, Q2}


def test_recall_is_of_items_and_of_entities():
    world, values = World(), []
    for number in range(30):
        entity, value = f"e{number % 11}", float(number % 3 == 0)
        values.append((value, entity))
        world.add(
            "judged_answers",
            benchmark="ecbd",
            release="r",
            model="m",
            decoder="seq2seq.recall_beam10-1.f32",
            item_id=f"i{number}",
            wording="original",
            window_start=Q1,
            split="test",
            subset="odie",
            cluster_id=entity,
            recall_at_10=value,
        )
    every = {"split": "all", "window_start": None}
    micro = world.one("answer_results", aggregate="recall_at_10", **every)
    expected = clustered_mean(*map(list, zip(*values, strict=True)))
    assert micro["value"] == pytest.approx(expected.value)
    assert micro["standard_error"] == pytest.approx(expected.standard_error, abs=1e-10)
    means = [
        sum(value for value, one in values if one == entity) / sum(one == entity for _, one in values)
        for entity in sorted({entity for _, entity in values})
    ]
    macro = world.one("answer_results", aggregate="recall_at_10_by_entity", **every)
    assert macro["value"] == pytest.approx(sum(means) / len(means))
    assert macro["n_clusters"] == 11


def test_a_greedy_answer_is_judged_by_its_beginning(store, add):  # noqa: F811
    """A model that runs on: EM counts the names with which it begins, as judged_changes does."""
    name = add(store, "t5")
    answers = {
        ("Ada plays for ", "."): ("Salt and for nobody else", "answered"),
        ("Ben plays for ", "."): ("Salted fish", "answered"),
        ("Cem plays for ", "."): ("for Moss\nand Salt", "answered"),
        ("The name of the head coach of Reed Town is ", "."): (None, "empty"),
    }
    answer(store, name, answers, "causal.greedy-1.f32")
    answer(store, name, answers)
    make(store, JUDGED_ANSWERS)
    make(store, JUDGED_CHANGES)
    rows = store.read("judged_answers").to_pylist()
    found = {(row["decoder"].split("-")[0], row["item_id"]): (row["exact_match"], row["f1"]) for row in rows}
    assert found["causal.greedy", "Q1_P54_2019-Q3"] == (1, 1)
    # "Salted" is another word.
    assert found["causal.greedy", "Q2_P54_2019-Q2"] == (0, 0)
    # The first line, of two words, has one of the right name.
    assert found["causal.greedy", "Q3_P54_2019-Q4"] == (0, pytest.approx(2 / 3))
    assert found["causal.greedy", "Q201_P286_2019-Q3"] == (0, 0)
    # Of a decoder that ends where the answer does, all of it counts: one of five words is right.
    assert found["seq2seq.greedy", "Q1_P54_2019-Q3"] == (0, pytest.approx(2 / 6))
    begins = {
        row["item_id"]: row["names"]
        for row in store.read("judged_changes").to_pylist()
        if row["decoder"].startswith("causal")
    }
    assert begins["Q1_P54_2019-Q3"] == "new"


def test_a_placebo_has_the_objects_of_another_subject():
    """Names are those of the change whose objects are asked as controls, and of what its subject has at other times."""
    world = _changes_of_two()
    with in_memory() as connection:
        for table in CHANGES_AND_NAMES.needs:
            world.show(connection, table)
        rows = connection.sql(CHANGES_AND_NAMES.query).to_arrow_table().to_pylist()
    found = {row["subject_id"]: row for row in rows}
    ann, dan = found["Ann"], found["Dan"]
    columns = ("new_names", "old_names", "other_names", "placebo_new_names", "placebo_old_names", "placebo_other_names")
    assert [ann[column] for column in columns] == [["Reed"], ["Salt"], ["Moss"], ["Quay"], ["Bath"], ["Ox"]]
    # Nobody else's change is asked about Dan.
    assert [dan[column] for column in columns] == [["Quay"], ["Bath"], ["Moss", "Ox"], None, None, None]


def test_ranks_are_cut_off_at_a_hundred():
    world = World()
    for number, rank in enumerate((1, 2, 20, 100, 101)):
        world.prompt("dynamic_templama", Q1, f"i{number}", "t", f"p{number}", f"S{number}")
        world.score(f"p{number}", -1.0, scorer="masked.probing-1.f32", rank=rank)
    # A second wording of a query is no further item.
    world.add("dynamic_templama_queries", release="r", query_id="i0_2", template_no=2)
    world.prompt("dynamic_templama", Q1, "i0_2", "t", "p0_2", "S0")
    world.score("p0_2", -1.0, scorer="masked.probing-1.f32", rank=90)
    found = {row["aggregate"]: row["value"] for row in world.read("token_ranks", split="all", window_start=None)}
    assert found == {
        "precision_at_1": pytest.approx(0.2),
        "precision_at_10": pytest.approx(0.4),
        "precision_at_20": pytest.approx(0.6),
        "precision_at_50": pytest.approx(0.6),
        "precision_at_100": pytest.approx(0.8),
        "mrr_at_100": pytest.approx((1 + 1 / 2 + 1 / 20 + 1 / 100) / 5),
    }


def test_shares_of_ranks_have_intervals_of_shares():
    """Of 30 queries of 15 subjects, one of which has its answers in the first place."""
    world, values = World(), []
    for number in range(30):
        subject, rank = f"S{number % 15}", 1 if number % 15 == 0 else 50
        world.prompt("templama", Q1, f"i{number}", "t", f"p{number}", subject)
        world.score(f"p{number}", -1.0, scorer="masked.probing-1.f32", rank=rank)
        values.append((rank, subject))
    found = {row["aggregate"]: row for row in world.read("token_ranks", split="all", window_start=None)}
    subjects = [subject for _, subject in values]
    first = found["precision_at_1"]
    assert clustered([rank == 1 for rank, _ in values], subjects)[2] < 0
    # Wilson's, by hand: p = 1/15, n = p (1-p) / SE^2 items, z the quantile of t with 14 degrees of freedom.
    p, error, z = 1 / 15, math.sqrt(15 / 14 * ((2 * 14 / 15) ** 2 + 14 * (2 / 15) ** 2)) / 30, t.ppf(0.975, 14)
    n = p * (1 - p) / error**2
    half = z * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    assert (first["low"], first["high"]) == (pytest.approx(centre - half), pytest.approx(centre + half))
    assert (found["precision_at_100"]["low"], found["precision_at_100"]["high"]) == (pytest.approx(15 / (15 + z**2)), 1)
    mean = found["mrr_at_100"]
    assert clustered([1 / rank for rank, _ in values], subjects)[2] < 0
    assert mean["low"] == 0
    assert mean["high"] == pytest.approx(clustered([1 / rank for rank, _ in values], subjects)[3])


def _world_of_changes(subjects=2):
    """Each subject goes from Bath to Reed and keeps Moss in Q2, and in Q3 has gone; another one has come with Elm."""
    world = Facts()
    for at in range(subjects):
        one = f"S{at}"
        world.query(Q1, one, "Bath", "Moss")
        world.query(Q2, one, "Reed", "Moss")
        world.change(Q2, one, "Reed", "updated", "arriving", "Bath", Q2, granularity="quarter")
        world.change(Q2, one, "Bath", "updated", "leaving", "Reed", Q2, granularity="quarter")
        world.change(Q2, one, "Moss", "unchanged", granularity="quarter")
        world.change(Q3, one, "Reed", "deleted", granularity="quarter")
    world.query(Q3, "Eve", "Elm")
    world.change(Q3, "Eve", "Elm", "new", granularity="quarter")
    world.change(Q3, "Eve", "Oak", "undatable", granularity="quarter")
    world.model(possibly=Q3)
    return world


def test_cells_are_of_answers_by_how_they_changed():
    """By hand: ranks of one token, and a first answer against each object alone."""
    world = _world_of_changes()
    for (subject, one), rank in {
        ("S0", "Reed"): 1,
        ("S1", "Reed"): 4,
        ("S0", "Moss"): 30,
        ("S1", "Moss"): None,
        ("Eve", "Elm"): 200,
    }.items():
        world.score(f"{subject} {one} undated", -1.0, scorer="masked.probing-1.f32", rank=rank)
    said = {"S0": {"Bath": 1.0, "Moss": 0.0, "Reed": 0.0}, "S1": {"Bath": 0.0, "Moss": 0.5, "Reed": 1.0}}
    for subject, values in said.items():
        for window, objects in ((Q1, ("Bath", "Moss")), (Q2, ("Reed", "Moss"))):
            world.add(
                "judged_answers",
                release="r",
                model="m",
                decoder=DECODER,
                item_id=f"{subject}_P54_{window}",
                wording="once",
                f1=1.0,
                of_targets=[{"target_id": one, "f1": values[one]} for one in objects],
            )
    rows = world.read("results_by_change", split="all")
    found = {
        (row["aggregate"], row["change"], row["window_start"]): (row["value"], row["n_items"], row["n_clusters"])
        for row in rows
        if row["aggregate"] in ("precision_at_1", "mrr_at_100", "f1")
    }
    # Two objects arrive in Q2, first and fourth; the same are gone in Q3, and Eve's is past the hundredth place.
    assert found == {
        ("precision_at_1", "updated", Q2): (0.5, 2, 2),
        ("precision_at_1", "unchanged", Q2): (0, 1, 1),
        ("precision_at_1", "deleted", Q3): (0.5, 2, 2),
        ("precision_at_1", "new", Q3): (0, 1, 1),
        ("precision_at_1", "all", Q2): (1 / 3, 3, 2),
        ("precision_at_1", "all", Q3): (1 / 3, 3, 3),
        ("precision_at_1", "updated", None): (0.5, 2, 2),
        ("precision_at_1", "unchanged", None): (0, 1, 1),
        ("precision_at_1", "deleted", None): (0.5, 2, 2),
        ("precision_at_1", "new", None): (0, 1, 1),
        ("precision_at_1", "all", None): (2 / 6, 6, 3),
        ("mrr_at_100", "updated", Q2): ((1 + 1 / 4) / 2, 2, 2),
        ("mrr_at_100", "unchanged", Q2): (pytest.approx(1 / 30), 1, 1),
        ("mrr_at_100", "deleted", Q3): ((1 + 1 / 4) / 2, 2, 2),
        ("mrr_at_100", "new", Q3): (0, 1, 1),
        ("mrr_at_100", "all", Q2): (pytest.approx((1 + 1 / 4 + 1 / 30) / 3), 3, 2),
        ("mrr_at_100", "all", Q3): (pytest.approx((1 + 1 / 4) / 3), 3, 3),
        ("mrr_at_100", "updated", None): ((1 + 1 / 4) / 2, 2, 2),
        ("mrr_at_100", "unchanged", None): (pytest.approx(1 / 30), 1, 1),
        ("mrr_at_100", "deleted", None): ((1 + 1 / 4) / 2, 2, 2),
        ("mrr_at_100", "new", None): (0, 1, 1),
        ("mrr_at_100", "all", None): (pytest.approx((2 * (1 + 1 / 4) + 1 / 30) / 6), 6, 3),
        ("f1", "updated", Q2): (0.5, 2, 2),
        ("f1", "unchanged", Q2): (0.25, 2, 2),
        ("f1", "deleted", Q3): (0.5, 2, 2),
        ("f1", "all", Q2): (1.5 / 4, 4, 2),
        ("f1", "all", Q3): (0.5, 2, 2),
        ("f1", "updated", None): (0.5, 2, 2),
        ("f1", "unchanged", None): (0.25, 2, 2),
        ("f1", "deleted", None): (0.5, 2, 2),
        ("f1", "all", None): (2.5 / 6, 6, 2),
    }
    # The last window of which the model may know is Q2: that of the day before its date.
    assert {row["window_start"]: row["windows_after"] for row in rows} == {Q2: 0, Q3: 1, None: None}
    assert {(row["evaluation"], row["scorer"], row["decoder"]) for row in rows} == {
        ("single_token", "masked.probing-1.f32", None),
        ("multi_token", None, DECODER),
    }
    # All subjects are of the test split.
    assert len(world.read("results_by_change", split="test")) == len(rows)


def test_the_mean_over_cells_and_that_over_answers_differ_and_the_second_has_an_interval_by_subject():
    """One updated answer of twelve is known, and of the eleven unchanged ones all are: cells 1 and 1/12."""
    world, values = Facts(), []
    for at in range(12):
        one = f"S{at}"
        world.query(Q1, one, "Reed")
        for window, change in ((Q2, "updated"), *([(Q2, "unchanged")] if at else [])):
            target = "Reed" if change == "updated" else "Moss"
            world.query(window, one, target)
            world.change(window, one, target, change, granularity="quarter")
            rank = 1 if change == "unchanged" or at == 0 else 60
            world.score(f"{one} {target} undated", -1.0, scorer="masked.probing-1.f32", rank=rank)
            values.append((float(rank == 1), one))
    rows = {
        (row["change"], row["window_start"]): row
        for row in world.read("results_by_change", aggregate="precision_at_1", split="all")
    }
    cells = [row["value"] for (change, window), row in rows.items() if change != "all" and window is not None]
    assert sorted(cells) == [pytest.approx(1 / 12), 1]
    pooled = rows["all", None]
    expected = proportion(*map(list, zip(*values, strict=True)))
    assert (pooled["value"], pooled["n_items"], pooled["n_clusters"]) == (pytest.approx(12 / 23), 23, 12)
    assert (pooled["low"], pooled["high"]) == (pytest.approx(expected.low), pytest.approx(expected.high))
    # Nothing is known of the model's date.
    assert pooled["windows_after"] is None


def test_answers_count_by_how_long_the_first_answer_of_the_query_holds():
    """Reed holds for three years, Salt since 2010, Moss for a month; of Bath the start is not known."""
    world = World()
    world.add("fact_releases", release="r", dump_date=date(2022, 1, 1))
    spells = {
        "Reed": (date(2019, 1, 1), date(2022, 1, 1)),
        "Salt": (date(2010, 1, 1), None),
        "Moss": (date(2021, 6, 1), date(2021, 7, 1)),
        "Bath": (None, None),
    }
    for team, (first, end) in spells.items():
        about = {"release": "r", "subject_id": f"of {team}", "relation": "P54", "object_id": team}
        # What ended before the query's year does not count.
        world.add("fact_spells", spell_no=1, valid_from=date(2000, 1, 1), valid_to=date(2001, 1, 1), **about)
        world.add("fact_spells", spell_no=2, valid_from=first, valid_to=end, **about)
        answers = [{"entity_id": one, "label": one, "aliases": [], "answer_age_days": 0} for one in (team, "Reed")]
        world.add(
            "templama_queries",
            release="r",
            query_id=f"{team}_2021",
            template_no=1,
            subject_id=f"of {team}",
            relation="P54",
            window_start=date(2021, 1, 1),
            granularity="year",
            answers=answers,
        )
        for split, f1 in (("test", 0.5), ("train", 1.0)):
            world.add(
                "judged_answers",
                benchmark="templama",
                release="r",
                model="m",
                decoder="d",
                item_id=f"{team}_2021",
                wording="once",
                split=split,
                cluster_id=f"of {team}",
                f1=f1 if team != "Salt" else 0.25,
            )
    rows = {row["held_years"]: row for row in world.read("answers_by_duration")}
    assert {years: (row["value"], row["n_items"]) for years, row in rows.items()} == {
        3: (0.5, 1),
        10: (0.25, 1),
        1: (0.5, 1),
    }
