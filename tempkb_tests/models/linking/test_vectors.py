"""Vectors of entities: the same bytes however many processes encode, one for each text, for cuts without a release."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tempkb.benchmarks.linkable.texts import DESCRIBED, text_sha256
from tempkb.core.errors import ContractError
from tempkb.models.linking import vectors
from tempkb.models.linking.candidates import Candidates, digests_of, of_release
from tempkb.models.linking.requests import LinkRequest
from tempkb.models.linking.tables import ENTITY_VECTORS, LINKERS
from tempkb.models.linking.vectors import encode_missing, vectors_of
from tempkb.store.drafts import Provenance
from tempkb_tests.models.linking.small_home import (
    TEXTS,
    TITLES,
    VECTORS,
    A,
    B,
    full,
    hand_made_linker,
    small_home,
    stored,
)
from tempkb_tests.models.linking.tiny import save_encoder


@pytest.fixture
def store(tmp_path, monkeypatch):
    return small_home(tmp_path / "home", monkeypatch)


def described(folder, texts):
    """A file with candidates of a cut that no release has: page_id -> (title, description)."""
    rows = [
        {"page_id": page, "title": title, "description": text, "text_sha256": text_sha256(title, text)}
        for page, (title, text) in sorted(texts.items())
    ]
    path = folder / f"{len(list(folder.iterdir()))}.parquet"
    pq.write_table(pa.Table.from_pylist([full_row(row) for row in rows], DESCRIBED), path)
    return path


def full_row(row):
    return dict.fromkeys(DESCRIBED.names) | row


def row_of(store, name):
    from tempkb.models.linking.known import known_linker

    return known_linker(store.lake, name)


def test_candidates_without_a_release_share_the_vectors_of_releases(store, monkeypatch, tmp_path):
    encoder = hand_made_linker(store, monkeypatch)
    row = row_of(store, "hand")
    encode_missing(store, row, [of_release(store, "r", A)], LinkRequest(), print)
    assert encoder.n_entities == 3
    monkeypatch.setitem(VECTORS, "A mole.", (5, -3))
    port = (TITLES[1], TEXTS[A][1][2])
    # Two pages have one title and one text, which is encoded once for both.
    path = described(tmp_path, {70: ("Mole", "A mole."), 9: port, 30: ("Mole", "A mole.")})
    wanted = Candidates(B, (path,))
    said = []
    assert encode_missing(store, row, [wanted], LinkRequest(), said.append) == {B: 1}
    assert said[-1] == "hand: 3 candidates of 1 snapshot have 2 distinct texts, of which 1 were encoded"
    assert encoder.n_entities == 4
    pages, found = vectors_of(store, row, wanted, tmp_path)
    assert pages.tolist() == [9, 30, 70]
    assert found.dtype == np.float16
    assert found.tolist() == [[1, 0], [5, -3], [5, -3]]
    some = Candidates(B, (path,), page_ids=np.array([30]))
    assert [one.tolist() for one in vectors_of(store, row, some, tmp_path)] == [[30], [[5, -3]]]


def test_vectors_of_many_candidates_are_in_a_file(store, monkeypatch, tmp_path):
    hand_made_linker(store, monkeypatch)
    row, wanted = row_of(store, "hand"), of_release(store, "r", B)
    encode_missing(store, row, [wanted], LinkRequest(), print)
    pages, in_memory = vectors_of(store, row, wanted, tmp_path)
    monkeypatch.setattr(vectors, "_IN_MEMORY", 1)
    again, in_file = vectors_of(store, row, wanted, tmp_path)
    assert isinstance(in_file, np.memmap)
    assert not isinstance(in_memory, np.memmap)
    assert pages.tolist() == again.tolist() == [1, 2, 3, 4]
    assert in_file.tolist() == in_memory.tolist() == [[1, 0], [0, 2], [1, 1], [2, 0]]


def test_candidates_that_were_not_encoded_are_refused(store, monkeypatch, tmp_path):
    hand_made_linker(store, monkeypatch)
    row = row_of(store, "hand")
    encode_missing(store, row, [of_release(store, "r", A)], LinkRequest(), print)
    with pytest.raises(ContractError, match=f"2 of 4 candidates at {B} have no vector.*tempkb linker score hand"):
        vectors_of(store, row, of_release(store, "r", B), tmp_path)


def test_a_text_that_is_there_twice_does_not_stand_for_one_that_is_missing(store, monkeypatch, tmp_path):
    hand_made_linker(store, monkeypatch)
    row = row_of(store, "hand")
    encode_missing(store, row, [of_release(store, "r", A)], LinkRequest(), print)
    twice = [one | {"cut": B} for one in stored(store, ENTITY_VECTORS)]
    store.write(ENTITY_VECTORS, f"hand--{B}", [pa.Table.from_pylist(twice, ENTITY_VECTORS.schema)], Provenance())
    assert vectors_of(store, row, of_release(store, "r", A), tmp_path)[1].tolist() == [[1, 0], [0, 1], [1, 1]]
    # Of the port, the goddess, the assembly and the pier, the goddess has a new text, and the pier is new.
    with pytest.raises(ContractError, match=f"2 of 4 candidates at {B} have no vector"):
        vectors_of(store, row, of_release(store, "r", B), tmp_path)


def test_vectors_are_as_the_table_says(store, monkeypatch):
    hand_made_linker(store, monkeypatch)
    encode_missing(
        store, row_of(store, "hand"), [of_release(store, "r", A), of_release(store, "r", B)], LinkRequest(), print
    )
    rows = {row["text_sha256"]: row for row in stored(store, ENTITY_VECTORS)}
    goddess = rows[text_sha256(TITLES[2], "Aurora is a goddess of dawn.")]
    # 2 in float16 is 0x4000, low byte first.
    assert (goddess["vector"], goddess["cut"], goddess["linker"]) == (b"\x00\x00\x00\x40", B, "hand")
    assert len(rows) == 5
    (settings,) = {
        row["settings"] for one in store.lake.versions(ENTITY_VECTORS.name) for row in one.side_rows("manifest")
    }
    assert '"dtype": "float32"' in settings


@pytest.mark.slow
def test_the_bytes_do_not_depend_on_the_number_of_processes(tmp_path, monkeypatch):
    save_encoder(tmp_path / "encoder", "bert", towers=2)
    monkeypatch.setattr(vectors, "N_TEXTS", 2)
    found = {}
    for workers in (1, 2):
        store = small_home(tmp_path / f"home-{workers}", monkeypatch)
        monkeypatch.setenv("TEMPKB_WORKERS", f"{workers}")
        store = type(store)(load(), list(store.tables.values()))
        from tempkb.models.linking.checkpoints import read_layout

        digests = read_layout(str(tmp_path / "encoder")).digests()
        row = {
            "linker": "tiny",
            "kind": "sentence-encoder",
            "checkpoint": str(tmp_path / "encoder"),
            "dim": 32,
            "n_parameters": 1,
        }
        store.write(
            LINKERS, "tiny", [pa.Table.from_pylist([full(LINKERS, row | digests)], LINKERS.schema)], Provenance()
        )
        wanted = [of_release(store, "r", A), of_release(store, "r", B)]
        vectors._loaded.cache_clear()
        encoded = encode_missing(store, row_of(store, "tiny"), wanted, LinkRequest(device="cpu"), print)
        assert sum(encoded.values()) == 5
        found[workers] = {
            (one.partition, path.name): path.read_bytes()
            for one in store.lake.versions(ENTITY_VECTORS.name)
            for path in one.paths()
        }
        assert len(set(digests_of(wanted[0])[1])) == 3
    assert found[1] == found[2]
    assert [key for key, _ in found[1]] == [f"tiny--{A}", f"tiny--{B}"]


def load():
    from tempkb.core.settings import load_home

    return load_home()
