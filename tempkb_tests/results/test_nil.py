"""How well linkers tell that an entity is not there yet: figures by hand, and the rows of a home."""

import re
import shutil
from datetime import date
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from tempkb.models.linking.answering import link_text
from tempkb.models.linking.requests import LinkRequest
from tempkb.models.linking.scoring import link_mentions
from tempkb.models.linking.tables import LINKING_SCORES, scores_partition
from tempkb.platform.api import open_store
from tempkb.results.nil import compared, figures
from tempkb.results.tables import NIL_RESULTS
from tempkb.store.drafts import Provenance
from tempkb_tests.models.linking.small_home import full, small_home
from tempkb_tests.results.making import make

PAGE = (Path(__file__).resolve().parents[2] / "docs/linking.md").read_text("utf-8")
POOLS = ("2022-01-01", "2023-01-01")


def test_the_figures_by_hand():
    # Of four present mentions one is refused, of the others two are right; of four absent ones three are refused.
    is_present = np.array([True] * 4 + [False] * 4)
    mentions = {
        "values": np.array([1.0, 5, 6, 7, 0, 1, 2, 6]),
        "p": np.array([0.2, 0.4, 0.6, 0.8, 0.1, 0.2, 0.2, 0.6]),
        "is_present": is_present,
        "in_old": is_present,
        "is_right": np.array([True, True, False, True, False, False, False, False]),
        "entities": np.array([1, 1, 2, 3, 4, 4, 5, 6]),
        "articles": np.arange(8),
        "strata": np.zeros(8, int),
    }
    rows = {row["metric"]: row for row in figures(mentions, 0.2)}
    # Pairs: 1 beats one and ties with one, 5 beats three, 6 three and a half, 7 four.
    assert rows["auc"]["value"] == pytest.approx((1.5 + 3 + 3.5 + 4) / 16)
    # Four are refused, three rightly, and four are absent.
    assert rows["f1"]["value"] == pytest.approx(2 * 3 / (4 + 4))
    # Right are 5 and 7, and three absent ones; without the answer none, 1, 5 and 7.
    assert rows["accuracy"]["value"] == pytest.approx(5 / 8)
    assert rows["gain"]["value"] == pytest.approx((5 - 3) / 8)
    assert {(row["n_present"], row["n_absent"]) for row in rows.values()} == {(4, 4)}
    assert {name: row["n_clusters"] for name, row in rows.items()} == {"auc": 3, "f1": 4, "accuracy": 6, "gain": 6}
    assert [row["metric"] for row in figures(mentions, None)] == ["auc"]
    assert list(figures({name: column[is_present] for name, column in mentions.items()}, 0.2)) == []


def test_absent_entities_and_new_articles_are_told_apart_by_hand():
    mentions = {
        "values": np.array([5.0, 7, 4, 1, 6, 2]),
        "is_present": np.array([True, True, True, False, False, False]),
        "in_old": np.array([True, True, False, True, False, False]),
        "is_right": np.zeros(6, bool),
        "entities": np.array([1, 1, 2, 3, 4, 5]),
        "articles": np.array([11, 12, 13, 11, 14, 14]),
        "strata": np.zeros(6, int),
    }
    found = {row["mentions"]: row for row in compared(mentions, None)}
    assert {name: row["value"] for name, row in found.items()} == {
        "all": pytest.approx(7 / 9),  # 5 and 4 are above 1 and 2, 7 above all
        "in_old_articles": 1,  # 5 and 7 above 1
        "in_new_articles": 0.5,  # 4 above 2 alone
        "present": 1,  # those in old articles, 5 and 7, above 4
        "absent": 0,  # 1 below 6 and 2
    }
    assert {
        name: (row["n_present"], row["n_absent"], row["n_in_new_articles"], row["n_clusters"])
        for name, row in found.items()
    } == {
        "all": (3, 3, 3, 2),
        "in_old_articles": (2, 1, 0, 1),
        "in_new_articles": (1, 2, 3, 1),
        "present": (3, 0, 1, 1),
        "absent": (0, 3, 2, 1),
    }
    assert {row["metric"] for row in found.values()} == {"auc"}


def test_a_pool_with_one_kind_of_mentions_alone_is_not_compared_with_another():
    # 9 and 8 are above all absent ones, 2 above 1 alone; of the second pool it is below both.
    mentions = {
        "values": np.array([9.0, 8, 1, 7, 6, 2]),
        "is_present": np.array([True, True, False, False, False, True]),
        "in_old": np.array([True, True, False, True, True, True]),
        "is_right": np.zeros(6, bool),
        "entities": np.arange(6),
        "articles": np.arange(6),
        "strata": np.array([0, 0, 0, 1, 1, 1]),
    }
    found = {row["mentions"]: (row["value"], row["n_present"], row["n_absent"]) for row in compared(mentions, None)}
    # In old articles the first pool has no absent mention; of present ones none is in a new article.
    assert found == {"all": (pytest.approx(7 / 9), 3, 3), "in_old_articles": (0, 1, 2)}


A, B, C = "2022-01-01", "2023-01-01", "2024-01-01"


@pytest.mark.parametrize("trained", [None, B])
def test_a_gap_has_no_pool_before_the_training_of_the_linker(tmp_path, monkeypatch, trained):
    store = small_home(tmp_path / "home", monkeypatch)
    # In each pool one present and one absent mention; the present one has the higher score in the last alone.
    for cut, pool, scores in ((B, A, (1.0, 2.0)), (C, A, (1.0, 2.0)), (C, B, (2.0, 1.0))):
        days = {"cut": date.fromisoformat(cut), "model_cut": trained and date.fromisoformat(trained)}
        rows = [
            full(LINKING_SCORES, {"wiki": "testwiki", "linker": "hand", "release": "r", "pool": pool, **days})
            | {"subset": "test", "target_page_id": page, "anchor_page_id": 9, "start_char": 0, "category": "new"}
            | {"gold_is_candidate": page == 1, "anchor_is_candidate": True, "n_candidates": 9}
            | {"top_page_ids": [8], "top_scores": [score]}
            for page, score in enumerate(scores, 1)
        ]
        table = pa.Table.from_pylist(rows, LINKING_SCORES.schema)
        store.write(LINKING_SCORES, scores_partition("hand", "r", cut, pool), [table], Provenance())
    make(store, NIL_RESULTS)
    rows = store.read(NIL_RESULTS.name, measure="top_score", mentions="all").to_pylist()
    by_gap = {row["gap"]: (row["value"], row["n_present"]) for row in rows if row["cut"] is None}
    # Of the trained linker only the mentions of C among the candidates of B; of the others those of B among A, too:
    # 1 and 2 are present, 2 and 1 absent.
    assert by_gap == ({1: (1, 1)} if trained else {1: (0.5, 2), 2: (0, 1)})
    assert {(str(row["cut"]), str(row["pool"])) for row in rows if row["cut"]} == {(B, A), (C, A), (C, B)}


@pytest.fixture
def linked(linked_home, tmp_path, monkeypatch):
    """The demo with what the prior links among the candidates of earlier snapshots."""
    shutil.copytree(linked_home, tmp_path / "home")
    monkeypatch.setenv("TEMPKB_HOME", str(tmp_path / "home"))
    store = open_store()
    for subset in ("validation", "test"):
        link_mentions(store, "prior", LinkRequest(pools=POOLS, subset=subset), lambda _: None)
    return store


def test_the_prior_of_the_demo_tells_that_an_entity_is_not_there_yet(linked):
    make(linked, NIL_RESULTS)
    rows = linked.read(NIL_RESULTS.name, mentions="all").to_pylist()
    assert {(str(row["pool"]), str(row["cut"]), row["gap"]) for row in rows} == {
        ("2022-01-01", "2023-01-01", 1),
        ("None", "None", 1),
    }
    (auc, *others) = [row for row in rows if row["measure"] == "margin" and row["cut"] is not None]
    assert (auc["metric"], auc["low"] > 0.5, auc["n_absent"]) == ("auc", True, 28)
    assert [row["metric"] for row in others] == ["f1", "accuracy", "gain"]
    # Permuted labels give one half.
    assert auc["placebo_low"] < 0.5 < auc["placebo_high"] < auc["value"]
    assert auc["placebo"] == pytest.approx(0.5, abs=0.03)
    # With one cell the rows of its gap are the same.
    assert [row["value"] for row in rows[:4]] == [row["value"] for row in rows[4:8]]

    def told(mention):
        some = link_text(linked, [f"They saw [[{mention}]]."], "2022-03-31", "prior", 5, lambda _: None)
        return [one for links in some for one in links.mentions][0]

    linked.publish()
    (query,) = [one for one in re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL) if "nil_results" in one]
    with duckdb.connect(str(linked.home.database), read_only=True) as connection:
        assert {(linker, gap) for linker, _, gap, *_ in connection.execute(query).fetchall()} == {("prior", 1)}
    # Invented; born two years later; and an article on that day.
    assert told("qwertyuiop").is_nil
    assert told("that wet day of 2023").is_nil
    known = told("the old port")
    assert (known.is_nil, known.entities[0].title) == (False, "Grand Harbour")
