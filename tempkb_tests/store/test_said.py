"""The files with what people said of a model or a linker."""

import json

import pytest

from tempkb.core.errors import SettingsError
from tempkb.store.said import (
    Said,
    change_said,
    forget_release,
    note_asked,
    read_said,
    readable_said,
    said_names,
    said_path,
)

WORDS = {"checkpoint": "x/y", "knows_until": "2020-01-01"}


@pytest.fixture
def folder(tmp_path):
    change_said(tmp_path / "models", "tiny", lambda said: Said(WORDS, said.asked))
    return tmp_path / "models"


def test_what_was_asked_is_kept_once_in_its_order(folder):
    for words in ({"releases": "b"}, {"releases": "a", "limit": "7"}, {"releases": "b"}):
        note_asked(folder, "tiny", words)
    assert read_said(folder, "tiny") == Said(WORDS, ({"releases": "b"}, {"releases": "a", "limit": "7"}))
    assert said_names(folder) == ["tiny"]
    assert read_said(folder, "nobody") == Said({})


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text.replace("2020-01-01", "2020-01-02"),
        lambda text: text.replace('"tiny"', '"tine"'),
        lambda text: text[:-9],
        lambda text: "[]",
        lambda text: "",
    ],
    ids=["another day", "another name", "cut off", "a list", "empty"],
)
def test_a_file_that_was_changed_is_refused_and_stays(folder, spoil):
    path = said_path(folder, "tiny")
    path.write_text(spoil(path.read_text()))
    before = path.read_text()
    for use in (read_said, lambda *place: note_asked(*place, {"releases": "a"})):
        with pytest.raises(SettingsError, match=r"tiny.json has another content than tempkb wrote"):
            use(folder, "tiny")
    assert readable_said(folder, "tiny") == Said({})
    forget_release(folder, "a")
    assert path.read_text() == before


def test_a_release_that_is_removed_is_asked_for_no_more(folder):
    for words in ({"releases": "a,b", "limit": "7"}, {"releases": "b"}, {"as_of": "2022-01-01"}):
        note_asked(folder, "tiny", words)
    forget_release(folder, "b")
    assert read_said(folder, "tiny").asked == ({"releases": "a", "limit": "7"}, {"as_of": "2022-01-01"})
    assert json.loads(said_path(folder, "tiny").read_text())["words"] == WORDS
