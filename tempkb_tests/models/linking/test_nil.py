"""Which mentions have no entity among the candidates: what p is, where the threshold lies, and what it is chosen on."""

from datetime import date

import numpy as np
import pyarrow as pa
import pytest

from tempkb.core.errors import SettingsError
from tempkb.models.linking.answering import nil_of
from tempkb.models.linking.known import known_linker
from tempkb.models.linking.nil import Nil, kept_of, p_values, threshold_of
from tempkb.models.linking.scoring import write_nil_thresholds
from tempkb.models.linking.tables import LINKING_SCORES, NIL_THRESHOLDS, scores_partition
from tempkb.store.drafts import Provenance
from tempkb_tests.models.linking.small_home import A, B, full, hand_made_linker, small_home

C = date(2024, 1, 1)


def test_p_is_the_share_of_present_mentions_that_are_not_higher_and_of_the_mention_itself():
    present = np.array([1.0, 2.0, 2.0, 5.0])
    assert p_values(present, np.array([0.0, 1.0, 1.5, 2.0, 4.9, 5.0, 9.0])).tolist() == [0.2, 0.4, 0.4, 0.8, 0.8, 1, 1]


def test_the_threshold_is_where_most_absent_and_fewest_present_mentions_are_refused():
    # Up to .2 two of four absent ones are refused and no present one, and up to .3 four and one.
    assert threshold_of(np.array([0.3, 0.5, 0.7, 0.9]), np.array([0.1, 0.2, 0.3, 0.3])) == 0.3
    # Of equals the one that refuses fewest: at .1 and at .2 the difference is one half.
    assert threshold_of(np.array([0.2, 0.9]), np.array([0.1, 0.2])) == 0.1


def test_of_many_values_a_thousand_are_kept_with_both_ends():
    kept = kept_of(np.arange(25_000.0)[::-1])
    assert (len(kept), kept[0], kept[-1]) == (1000, 0, 24_999)
    assert (np.diff(kept) > 0).all()
    assert kept_of(np.array([3.0, 1.0, 1.0])).tolist() == [1, 1, 3]


def test_a_mention_without_a_candidate_has_a_score_of_zero_and_one_candidate_leads_by_its_score():
    scores = [np.array([]), np.array([3.0]), np.array([7.0, 6.0])]
    present = np.array([0.5, 2.0, 6.5])
    told = Nil("margin", present, 0.5, None).told(scores)
    assert list(told) == [(0.25, True), (0.75, False), (0.5, True)]
    assert [p for p, _ in Nil("top_score", present, None, "why").told(scores)] == [0.25, 0.75, 1]


@pytest.fixture
def store(tmp_path, monkeypatch):
    return small_home(tmp_path / "home", monkeypatch)


def write_scores(store, linker, cut, pool, mentions, subset="validation"):
    """Write scores of mentions: of which entity, whether that is a candidate, and the best scores."""
    rows = [
        full(LINKING_SCORES, {"wiki": "testwiki", "linker": linker, "release": "r", "cut": cut, "pool": pool})
        | {"subset": subset, "target_page_id": page, "anchor_page_id": 1, "start_char": at, "category": "new"}
        | {"gold_is_candidate": is_candidate, "n_candidates": 9, "top_page_ids": [900, 901], "top_scores": scores}
        for at, (page, is_candidate, scores) in enumerate(mentions)
    ]
    rows.sort(key=lambda row: (row["target_page_id"], row["start_char"]))
    table = pa.Table.from_pylist(rows, LINKING_SCORES.schema)
    store.write(LINKING_SCORES, scores_partition(linker, "r", str(cut), pool), [table], Provenance())


# The lead of twelve present entities is 2 to 13, that of twelve absent ones 0 to 0.55 and once 3.5; all scores are 50.
TOLD = [(page, True, [50.0, 48.0 - page]) for page in range(12)]
TOLD += [(100 + at, False, [50.0, 46.5 if at == 11 else 50.0 - at / 20]) for at in range(12)]


def test_a_threshold_is_chosen_on_validation_mentions_alone_in_pools_since_the_training(store, monkeypatch):
    hand_made_linker(store, monkeypatch, kind="bi-encoder", release="r", cut=B, seed=1, preset="demo")
    write_scores(store, "hand", C, str(B), TOLD)
    # Of the linker's own mentions, of a pool before its training, of the same day and of a fixed one: they do not count.
    write_scores(store, "hand", C, str(A), [(page, not there, scores) for page, there, scores in TOLD])
    write_scores(store, "hand", C, str(C), TOLD[:5])
    write_scores(store, "hand", C, "fixed-9", TOLD[:5])
    row = known_linker(store.lake, "hand")
    margin, top_score = written(store, row)
    # The absent one with 3.5 is above 2 and 3 alone: 142 of 144 pairs are right.
    assert (margin["measure"], margin["auc"]) == ("margin", pytest.approx(142 / 144))
    assert (margin["n_present"], margin["n_absent"], margin["n_absent_entities"]) == (12, 12, 12)
    assert (margin["pools"], margin["releases"]) == ([str(B)], ["r"])
    # Eleven of twelve absent ones have less than all present ones, whose p is 1 / 13.
    assert margin["threshold"] == pytest.approx(1 / 13)
    assert (margin["refused_present"], margin["refused_absent"]) == (0, pytest.approx(11 / 12))
    assert (top_score["auc"], top_score["threshold"]) == (0.5, None)
    nil = nil_of(store, row)
    assert (nil.measure, nil.threshold, len(nil.present)) == ("margin", pytest.approx(1 / 13), 12)
    assert nil_of(store, row, 0.5).threshold == 0.5
    # Test mentions beside them change nothing.
    write_scores(store, "hand", C, str(B), [(500, False, [9.0, 1.0])], subset="test")
    assert written(store, row) == []
    write_scores(store, "hand", C, str(B), TOLD)
    assert written(store, row) == [margin, top_score]


def written(store, row):
    write_nil_thresholds(store, row["linker"], print)
    return store.read(NIL_THRESHOLDS.name, linker=row["linker"]).to_pylist()


def test_a_linker_that_cannot_tell_has_no_threshold(store):
    row = known_linker(store.lake, "prior")
    few = [one for one in TOLD if one[0] < 105]
    write_scores(store, "prior", B, str(A), few)
    assert {one["reason"] for one in written(store, row)} == {"5 entities on one side; at least 10 are needed"}
    # Present and absent mentions in turn: the AUC is near one half.
    alike = [(page, page % 2 == 0, [50.0, 49.0 - page]) for page in range(40)]
    write_scores(store, "prior", B, str(A), alike)
    rows = written(store, row)
    assert [one["threshold"] for one in rows] == [None, None]
    assert rows[0]["low"] < 0.5 < rows[0]["high"]
    nil = nil_of(store, row)
    assert (nil.threshold, nil.reason) == (
        None,
        "the interval of its AUC is not above one half, so that no threshold can be chosen",
    )


def test_without_such_mentions_it_is_said_what_to_type(store, monkeypatch):
    row = known_linker(store.lake, "prior")
    assert written(store, row) == []
    assert store.lake.partitions(NIL_THRESHOLDS.name) == []
    why = (
        "prior has linked no validation mentions with and without an entity among the candidates of an earlier "
        "snapshot; link some: tempkb linker score prior --release r --pool 2022-01-01 --subset validation"
    )
    assert nil_of(store, row) == why
    with pytest.raises(SettingsError, match=r"^--nil-threshold 0\.1: prior has linked no validation mentions"):
        nil_of(store, row, 0.1)
    hand_made_linker(store, monkeypatch, kind="bi-encoder", release="r", cut=B, seed=1, preset="demo")
    assert "no release of TempEL has a snapshot after 2023-01-01; make one" in nil_of(
        store, known_linker(store.lake, "hand")
    )


def test_a_threshold_of_scores_that_were_removed_is_not_used(store):
    row = known_linker(store.lake, "prior")
    write_scores(store, "prior", B, str(A), TOLD)
    written(store, row)
    assert isinstance(nil_of(store, row), Nil)
    store.lake.remove(LINKING_SCORES.name, scores_partition("prior", "r", str(B), str(A)))
    assert isinstance(nil_of(store, row), str)
