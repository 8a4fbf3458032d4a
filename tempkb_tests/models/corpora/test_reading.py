"""What training reads: all of some windows, or as many texts of each year."""

import json
from collections import Counter

import pytest

from tempkb.core.errors import SettingsError
from tempkb.models.corpora.reading import sample, texts
from tempkb.models.corpora.tables import DATED_TEXTS
from tempkb.platform.api import open_store
from tempkb_tests.models.corpora.small_wiki import make

WINDOWS = ["2018-10-01", "2019-01-01", "2019-04-01", "2020-01-01"]
DAYS = ["2018-11-11"] * 30 + ["2019-02-02"] * 150 + ["2019-05-05"] * 150 + ["2020-03-03"] * 300


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEMPKB_HOME", str(folder / "home"))
        patch.setenv("TEMPKB_WORKERS", "1")
        file = folder / "a.jsonl"
        rows = ({"text": f"Sentence {number}.", "date": day} for number, day in enumerate(DAYS))
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        made = open_store()
        make(made, "news", files=[str(file)], chunker="none")
    return made


def read(batches):
    return [row for batch in batches for row in batch.to_pylist()]


def test_texts_are_those_of_a_split_by_window(store):
    every = store.read(DATED_TEXTS.name).to_pylist()
    for split in ("train", "validation", "test"):
        found = read(texts(store, "news", WINDOWS[1:], split))
        wanted = [row for row in every if row["split"] == split and str(row["window_start"]) > WINDOWS[0]]
        assert found == sorted(wanted, key=lambda row: (row["window_start"], row["text_id"])) != []


def test_a_sample_has_as_many_texts_of_each_year_and_is_shuffled(store):
    found = read(sample(store, "news", WINDOWS, 61, 1))
    assert Counter(row["window_start"].year for row in found) == {2018: 21, 2019: 20, 2020: 20}
    assert {row["split"] for row in found} == {"train"}
    years = [row["window_start"].year for row in found]
    assert years not in (sorted(years), sorted(years, reverse=True))
    assert len({row["text_id"] for row in found}) == 61
    # Of the year with two windows, from both.
    assert len({row["window_start"] for row in found}) == 4
    assert read(sample(store, "news", WINDOWS, 61, 1)) == found
    assert read(sample(store, "news", WINDOWS, 61, 2)) != found
    larger = {row["text_id"] for row in read(sample(store, "news", WINDOWS, 70, 1))}
    assert {row["text_id"] for row in found} <= larger


def test_of_a_year_with_few_texts_a_sample_has_all(store):
    n_few = sum(row["split"] == "train" for row in store.read(DATED_TEXTS.name, window_start=WINDOWS[0]).to_pylist())
    found = Counter(row["window_start"].year for row in read(sample(store, "news", WINDOWS, 300, 1)))
    assert found == {2018: n_few, 2019: 100, 2020: 100}
    assert read(sample(store, "news", WINDOWS, 0, 1)) == []


def test_a_window_that_is_not_there_is_refused(store):
    with pytest.raises(
        SettingsError, match=r"'news': found no texts of 2021-01-01; there are .* tempkb corpus add news"
    ):
        list(texts(store, "news", ["2021-01-01"], "train"))
    with pytest.raises(SettingsError, match=r"'home': found no texts of 2020-01-01\. Make them: tempkb corpus make"):
        list(sample(store, "home", ["2020-01-01"], 5, 1))
