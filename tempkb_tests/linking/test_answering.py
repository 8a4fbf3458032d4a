"""Texts of people are linked, and indexes written, on a home that is written by hand."""

import io
import json
import shutil
import sys
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from tempkb.errors import ModelError, SettingsError
from tempkb.linking.answering import Found, Links, link_text
from tempkb.linking.indexing import write_index
from tempkb.linking.linkers import add_linker
from tempkb.linking.requests import LinkRequest, linker_request
from tempkb.linking.scoring import link_mentions
from tempkb.linking.vectors import _loaded
from tempkb.revisions.tables import STABLE_SNAPSHOTS
from tempkb.screens import linking_texts
from tempkb_tests.linking.small_home import TEXTS, TITLES, A, hand_made_linker, small_home, write
from tempkb_tests.linking.tiny import save_encoder

DAY = "2022-06-30"


@pytest.fixture
def store(tmp_path, monkeypatch):
    store = small_home(tmp_path / "home", monkeypatch)
    rows = [
        {
            "cut": A,
            "window_start": date(2021, 1, 1),
            "page_id": page,
            "namespace": 0,
            "title": TITLES[page],
            "revision_id": revision,
            "revision_timestamp": datetime(quarter.year, quarter.month, 5, tzinfo=UTC),
            "is_blank": False,
            "is_disambiguation": False,
        }
        for page, (revision, quarter, _) in TEXTS[A].items()
    ]
    write(store, STABLE_SNAPSHOTS, "2021-01-01", rows)
    return store


def linked(store, text, n=5):
    links = link_text(store, text, DAY, "hand", n, lambda _: None)
    return [(mention, [(one.title, one.score) for one in found]) for mention, found in links.mentions]


def test_mentions_are_linked_to_the_articles_of_the_last_cut_before_a_day(store, monkeypatch):
    hand_made_linker(store, monkeypatch)
    # The query (1, 0) gives 1 to the port and to the assembly, which has the higher number, and 0 to the goddess.
    first = ("Aurora", [("Aurora (port)", 1.0), ("Mejlis", 1.0), ("Aurora (goddess)", 0.0)])
    second = ("elders", [("Aurora (port)", 0.0), ("Aurora (goddess)", -1.0), ("Mejlis", -1.0)])
    assert linked(store, "[[Aurora]] and the [[elders]]", n=64) == [first, second]
    assert linked(store, "[[Aurora]]", n=1) == [("Aurora", [("Aurora (port)", 1.0)])]


def test_a_text_is_linked_in_the_precision_of_the_vectors_that_are_there(store, monkeypatch):
    hand_made_linker(store, monkeypatch)
    link_mentions(store, "hand", LinkRequest(dtype="bfloat16"), lambda _: None)
    assert linked(store, "[[Aurora]]", n=1) == [("Aurora", [("Aurora (port)", 1.0)])]


def test_a_text_that_is_no_utf8_is_linked_and_json_is_utf8_in_any_terminal(monkeypatch):
    asked = []

    def link_text(_store, text, *_):
        asked.append(text)
        return Links("hand", A, 3, [("caf\ufffd", [Found(1, None, "Zürich", 1.0)])])

    written = io.BytesIO()
    monkeypatch.setattr(linking_texts, "open_store", lambda: None)
    monkeypatch.setattr(linking_texts, "link_text", link_text)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "ascii", "backslashreplace"))
    # How Python passes on the byte 0xe9, which is é in Latin-1.
    linking_texts.print_links("[[caf\udce9]]", DAY, "hand", 5, as_json=True)
    sys.stdout.flush()
    assert asked == ["[[caf\ufffd]]"]
    said = json.loads(written.getvalue().decode("utf-8"))
    assert (said["mention"], said["entities"][0]["title"]) == ("caf\ufffd", "Zürich")


@pytest.mark.slow
@pytest.mark.parametrize(("markers", "form"), [(True, "[Ms] the old port [Me]"), (False, "the old port: At dawn")])
def test_the_card_of_an_index_has_the_form_that_its_encoder_reads(store, tmp_path, markers, form):
    add(store, tmp_path / "encoder", markers)
    write_index(store, DAY, tmp_path / "index", "own", lambda _: None)
    card = (tmp_path / "index" / "README.md").read_text()
    assert form in card
    assert "3 entities: every article at the first instant of 2022-01-01" in card


@pytest.mark.slow
def test_an_index_replaces_an_index_and_nothing_else(store, tmp_path, monkeypatch):
    add(store, tmp_path / "encoder", markers=True)
    other = tmp_path / "other"
    other.mkdir()
    (other / "SHA256SUMS").write_text("")
    with pytest.raises(SettingsError, match="other: exists and is not an index of entities, so it is not replaced"):
        write_index(store, DAY, other, "own", lambda _: None)
    assert [path.name for path in other.iterdir()] == ["SHA256SUMS"]
    first = write_index(store, DAY, tmp_path / "index", "own", lambda _: None)
    assert write_index(store, DAY, tmp_path / "index", "own", lambda _: None) == first
    monkeypatch.chdir(tmp_path / "index")
    assert write_index(store, DAY, Path(), "own", lambda _: None) == replace(first, folder=Path())
    (tmp_path / "index" / "notes.txt").write_text("mine")
    with pytest.raises(SettingsError, match=r"index: holds notes.txt, which tempkb did not write"):
        write_index(store, DAY, tmp_path / "index", "own", lambda _: None)
    assert (tmp_path / "index" / "notes.txt").read_text() == "mine"


def test_an_index_below_a_file_is_refused_with_the_name_of_the_file(store, tmp_path):
    add(store, tmp_path / "encoder", markers=True)
    (tmp_path / "notes.txt").touch()
    with pytest.raises(SettingsError, match=f"^{tmp_path}/notes.txt: is a file; choose a folder$"):
        write_index(store, DAY, tmp_path / "notes.txt" / "index", "own", lambda _: None)


@pytest.mark.slow
def test_an_encoder_that_was_changed_is_not_handed_on(store, tmp_path):
    add(store, tmp_path / "encoder", markers=True)
    write_index(store, DAY, tmp_path / "index", "own", lambda _: None)
    _loaded.cache_clear()
    save_encoder(tmp_path / "changed", "bert", "mean", max_tokens=32)
    shutil.copytree(tmp_path / "changed", tmp_path / "encoder", dirs_exist_ok=True)
    with pytest.raises(ModelError, match="linker 'own': expected in .*encoder the files to which its name is bound"):
        write_index(store, DAY, tmp_path / "again", "own", lambda _: None)
    assert not (tmp_path / "again").exists()


def add(store, folder, markers):
    save_encoder(folder, "bert", markers=markers, max_tokens=32)
    add_linker(store, linker_request("own", {"checkpoint": str(folder)}), lambda _: None)
