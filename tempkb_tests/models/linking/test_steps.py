"""What is current of a linker: what stands whatever changes, what is made again, and that to ask costs nothing."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from tempkb.benchmarks.tempel.tables import TEMPEL_MENTIONS
from tempkb.engine.steps import Look
from tempkb.models.linking import scoring, vectors
from tempkb.models.linking.candidates import of_release
from tempkb.models.linking.known import known_linker
from tempkb.models.linking.requests import LinkRequest
from tempkb.models.linking.scoring import due_linkers, link_mentions
from tempkb.models.linking.steps import PROMISES, STEPS
from tempkb.models.linking.tables import ENTITY_VECTORS, LINKING_SCORES, NIL_THRESHOLDS
from tempkb.models.linking.vectors import encode_missing
from tempkb.store.promises import Subject
from tempkb_tests.damage import cut_off
from tempkb_tests.models.linking.small_home import GODDESS, PIER, A, B, hand_made_linker, small_home, stored, write

ALL = ("hand", "prior", "bm25")


@pytest.fixture
def store(tmp_path, monkeypatch):
    return small_home(tmp_path / "home", monkeypatch)


@pytest.fixture
def encoder(store, monkeypatch):
    """The encoder of the linker `hand`, which has linked all mentions, as the baselines have."""
    encoder = hand_made_linker(store, monkeypatch)
    for name in ALL:
        link(store, name)
    return encoder


def link(store, name="hand", **asked):
    return link_mentions(store, name, LinkRequest(**asked), print)


def due(store, **asked):
    return due_linkers(store, ALL, LinkRequest(**asked))


def serials(store):
    """How often each partition was written."""
    tables = (ENTITY_VECTORS.name, LINKING_SCORES.name)
    return {(name, one.partition): one.serial for name in tables for one in store.lake.versions(name)}


def stale(store, table):
    return Look(store, STEPS).stale(table.name)


def change_mentions(store):
    """Write the mentions of B without that of the pier, as an extension or another plan may."""
    rows = [one for one in stored(store, TEMPEL_MENTIONS) if one["cut"] == B and one["target_page_id"] != PIER]
    write(store, TEMPEL_MENTIONS, f"r.{B}", rows)


def test_other_libraries_and_devices_make_nothing_stale(store, encoder, monkeypatch):
    before = serials(store)
    for module in (vectors, scoring):
        monkeypatch.setattr(module, "version_of", lambda _library: "99")
    monkeypatch.setattr(vectors, "device_of", lambda _request: "cuda")
    assert due(store) == []
    for name in ALL:
        link(store, name)
    assert serials(store) == before
    # They are kept nevertheless.
    (version,) = store.lake.versions(LINKING_SCORES.name, [f"hand--r--{A}--own"])
    assert version.settings["device"] == "cpu"


def test_a_later_code_of_vectors_is_said_and_makes_nothing_stale(store, encoder):
    store.tables = {**store.tables, ENTITY_VECTORS.name: replace(ENTITY_VECTORS, code_version="99")}
    look = Look(store, STEPS)
    assert (due(store), stale(store, ENTITY_VECTORS), stale(store, LINKING_SCORES)) == ([], [], [])
    assert all(look.is_of_earlier_rules(one) for one in store.lake.versions(ENTITY_VECTORS.name))


def test_mentions_that_are_written_again_make_nothing_stale(store, encoder):
    for cut in (A, B):
        write(store, TEMPEL_MENTIONS, f"r.{cut}", [one for one in stored(store, TEMPEL_MENTIONS) if one["cut"] == cut])
    assert due(store) == []


def test_scores_of_other_mentions_or_of_other_code_are_due(store, encoder):
    change_mentions(store)
    assert due(store) == list(ALL)
    assert due(store, cuts=(A,)) == []
    assert stale(store, LINKING_SCORES) == [f"{name}--r--{B}--own" for name in sorted(ALL)]
    # What they promise cannot be said of them: one mention has no row any more, and none lacks one.
    promise = next(one for one in PROMISES if one.name == "every_mention_is_linked")
    assert promise.broken(store, Subject(["hand"])) == []
    link(store)
    assert due(store) == ["prior", "bm25"]
    store.tables = {**store.tables, LINKING_SCORES.name: replace(LINKING_SCORES, code_version="99")}
    assert len(stale(store, LINKING_SCORES)) == 6


def test_scores_of_a_linker_with_other_files_are_due(store, encoder, monkeypatch):
    hand_made_linker(store, monkeypatch, weights_sha256="1" * 64)
    assert due(store) == ["hand"]


def test_thresholds_are_due_if_they_are_lost_or_of_other_scores(store, encoder):
    link(store, "prior", pools=(str(A),), subset="validation", cuts=(B,))
    assert (due(store), store.lake.partitions(NIL_THRESHOLDS.name)) == ([], ["prior"])
    cut_off(*store.lake.current(NIL_THRESHOLDS.name, "prior").places())
    assert due(store) == ["prior"]
    link(store, "prior")
    assert due(store) == []
    store.lake.remove(LINKING_SCORES.name, f"prior--r--{B}--{A}")
    assert due(store) == ["prior"]


def test_what_has_filled_vectors_is_listed(store, encoder):
    filled_by = {one.partition: one.filled_by for one in store.lake.versions(ENTITY_VECTORS.name)}
    assert filled_by == {f"hand--{cut}": (f"r.{cut}",) for cut in (A, B)}
    scores = store.lake.current(LINKING_SCORES.name, f"hand--r--{B}--own")
    assert scores.fills == {f"entity_vectors hand--{cut}": [f"r.{cut}"] for cut in (A, B)}


def test_lost_vectors_are_due_until_all_of_them_are_there_again(store, encoder):
    before = serials(store)
    cut_off(*store.lake.current(ENTITY_VECTORS.name, f"hand--{A}").places())
    assert due(store) == ["hand"]
    # Another run needs one of the three texts, and fills the partition with it.
    some = of_release(store, "r", A, np.array([GODDESS]))
    encode_missing(store, known_linker(store.lake, "hand"), [some], LinkRequest(), print)
    assert (store.lake.lost(ENTITY_VECTORS.name), encoder.n_entities) == ([], 5 + 1)
    assert due(store) == ["hand"]
    link(store)
    assert (due(store), encoder.n_entities, encoder.n_mentions) == ([], 5 + 3, 4)
    scores = {place: n for place, n in serials(store).items() if place[0] == LINKING_SCORES.name}
    assert scores == {place: before[place] for place in scores}, "no mention was linked again"


TWICE = """
import json, sys
from click.testing import CliRunner
from tempkb.commands.cli import main
done = CliRunner().invoke(main, ["linker", "score", "prior", "bm25"])
heavy = ("dagster", "torch", "transformers", "sentence_transformers", "faiss", "bm25s")
print(json.dumps([done.exit_code, done.output, [name for name in heavy if name in sys.modules]]))
"""


@pytest.mark.slow
def test_with_nothing_to_do_no_run_is_started_and_nothing_heavy_is_imported(store, encoder):
    # In a process of its own, since those that are forked for tests have imported all that is heavy.
    done = subprocess.run([sys.executable, "-c", TWICE], check=True, capture_output=True, text=True)
    code, said, heavy = json.loads(done.stdout.splitlines()[-1])
    assert (code, heavy) == (0, [])
    assert "note: nothing to link for prior, bm25: all that was asked for is up to date\n" in said
    assert "accuracy@K in %" in said
    assert not store.home.dagster.exists()
