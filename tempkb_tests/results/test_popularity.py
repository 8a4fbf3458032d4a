"""Results by the popularity of subjects: rows written by hand, and the thirds of `tempkb knows` counted once more."""

from datetime import date

import pytest

from tempkb.results.popularity import read_thirds
from tempkb.results.reading import read_questions
from tempkb.results.requests import KnowledgeRequest
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.results.worlds import Q1, Q2, Q3, T5, Facts

END_OF_Q2, END_OF_Q3 = date(2021, 7, 1), date(2021, 10, 1)


def write_popularity(world, cut, **inlinks):
    for page, (entity, n) in enumerate(inlinks.items()):
        world.add("stable_snapshots", cut=cut, page_id=page, entity_id=entity)
        world.add("entity_popularity", cut=cut, page_id=page, n_inlinks=n, n_contributors=1)


@pytest.fixture
def world():
    """Six subjects change between the second and the third quarter; of the last one there is no article."""
    world = Facts()
    world.model()
    world.add("fact_releases", release="r", granularity="quarter")
    for number, is_known in enumerate((True, False, True, False, True, True)):
        world.handover(f"S{number}", "Old", "New", Q2, Q3)
        world.tell(f"S{number}", {"New": -1 if is_known else -9, "Old": -5})
        world.tell(f"S{number}", {"New": -5, "Old": -5}, variant="no_subject")
    write_popularity(world, END_OF_Q2, S0=0, S1=0, S2=0, S3=5, S4=9)
    write_popularity(world, END_OF_Q3, S0=9, S1=7, S2=7, S3=5, S4=0)
    # Of a cut that no window's end has reached.
    write_popularity(world, date(2022, 1, 1), S5=99)
    return world


def values(world, **equal):
    rows = world.read("results_by_popularity", scorer=T5, **equal)
    return {row["popularity"]: (row["value"], row["n_items"], row["n_clusters"]) for row in rows}


def test_equally_popular_subjects_are_in_one_third(world):
    assert values(world, aggregate="prefers_new", popular_by="mentions", window_start=Q2) == {
        "lowest": (pytest.approx(2 / 3), 3, 3),
        "middle": (0, 1, 1),
        "highest": (1, 1, 1),
        "unknown": (1, 1, 1),
        "all": (pytest.approx(4 / 6), 6, 6),
    }
    # All five articles have one contributor.
    assert values(world, aggregate="prefers_new", popular_by="contributors", window_start=Q2) == {
        "lowest": (pytest.approx(3 / 5), 5, 5),
        "unknown": (1, 1, 1),
        "all": (pytest.approx(4 / 6), 6, 6),
    }


def test_the_cut_is_the_last_one_at_or_before_the_end_of_the_window(world):
    # In the third quarter S4 is the least popular and S0 the most; S1 and S2 are equal, with two less popular of five.
    third = values(world, aggregate="ppl_token", popular_by="mentions", window_start=Q3)
    assert {name: numbers[1:] for name, numbers in third.items()} == {
        "lowest": (2, 2),
        "middle": (2, 2),
        "highest": (1, 1),
        "unknown": (1, 1),
        "all": (6, 6),
    }
    # Each object has two tokens: S4 1 nat and S3 9 nats; S0 1 nat.
    assert third["lowest"][0] == pytest.approx(2.718281828459045 ** ((1 + 9) / 4))
    assert third["highest"][0] == pytest.approx(2.718281828459045**0.5)
    # Over all windows a subject counts where it is in each: S0 among the lowest and among the highest.
    every = values(world, aggregate="ppl_token", popular_by="mentions", window_start=None)
    assert every["highest"][1:] == (3, 2)
    assert every["all"] == values(world, aggregate="ppl_token", popular_by="contributors", window_start=None)["all"]


def test_all_subjects_together_have_the_results_of_the_other_views(world):
    for number in range(12):
        world.add(
            "judged_answers",
            benchmark="dynamic_templama",
            release="r",
            model="m",
            decoder="d",
            wording="once",
            item_id=f"i{number}",
            split="test",
            window_start=Q2,
            cluster_id=f"S{number // 2}",
            exact_match=float(number % 3 == 0),
            f1=number / 12,
        )
    same = ("value", "standard_error", "low", "high", "n_items", "n_clusters")
    for view, aggregate, scorer, more in (
        ("prefers_new", "prefers_new", T5, {"pairs": "all"}),
        ("dynamic_templama_results", "ppl_token", T5, {"change": "all"}),
        ("answer_results", "exact_match", "d", {}),
        ("answer_results", "f1", "d", {}),
    ):
        expected = world.one(view, aggregate=aggregate, split="all", window_start=None, **more)
        found = world.one(
            "results_by_popularity",
            aggregate=aggregate,
            scorer=scorer,
            window_start=None,
            popular_by="mentions",
            popularity="all",
        )
        assert found["metric"] == expected["metric"]
        assert [found[name] for name in same] == pytest.approx([expected[name] for name in same]), aggregate


def test_without_a_cut_the_popularity_is_unknown(world):
    world.handover("T", "Old", "New", date(2020, 10, 1), Q1)
    world.tell("T", {"New": -1, "Old": -5})
    found = values(world, aggregate="ppl_token", popular_by="mentions", window_start=Q1)
    assert {name: n for name, (_, n, _) in found.items()} == {"unknown": 1, "all": 1}


@pytest.mark.slow
def test_the_thirds_of_a_question_are_those_of_a_plain_count(scored_store, scored_home):
    store, request = scored_store, KnowledgeRequest(window=(date(2022, 1, 1), date(2023, 7, 1)))
    question = next(one for one in read_questions(store, request) if one.aggregate.is_share)
    changes = store.ask(
        """
        SELECT DISTINCT c.subject_id, hash(c.subject_id) AS cluster
        FROM dynamic_templama_changes AS c WHERE c.role = 'leaving' AND c.release = 'demo-quarters'
        AND c.paired_window_start >= DATE '2022-01-01' AND c.window_start <= DATE '2023-07-01'
        AND c.paired_window_start + INTERVAL 3 MONTH <= DATE '2023-07-01'
        """,
        "dynamic_templama_changes",
    )
    pages = store.read("stable_snapshots", cut="2023-07-01").to_pylist()
    contributors = {
        row["page_id"]: row["n_contributors"] for row in store.read("entity_popularity", cut="2023-07-01").to_pylist()
    }
    of_entity = {row["entity_id"]: contributors[row["page_id"]] for row in pages if row["page_id"] in contributors}
    known = {row["cluster"]: of_entity[row["subject_id"]] for row in changes}
    n, expected = len(known), {"lowest": set(), "middle": set(), "highest": set(), "unknown": set()}
    for cluster, own in known.items():
        n_below = sum(other < own for other in known.values())
        expected["lowest" if n_below < n / 3 else "middle" if n_below < 2 * n / 3 else "highest"].add(cluster)
    found = read_thirds(store, question, "contributors")
    assert {name: set(own) for name, own in found.items()} == expected
    assert min(len(expected[name]) for name in ("lowest", "middle", "highest")) > 10
    said = run_tempkb(
        scored_home, "knows", "--by-popularity", "contributors", "--window", "2022-01-01..2023-07-01"
    ).stdout
    assert "preference rate in the window by the popularity of the subjects (contributors)\n" in said
    assert all(f" {name} ({len(own)}) " in said for name, own in expected.items())
    asked = {cluster for one in question.models for cluster in one.window.clusters.tolist()}
    assert asked <= {cluster for own in found.values() for cluster in own}
