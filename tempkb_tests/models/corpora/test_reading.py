"""What training reads: all of some windows, or as many texts of each year."""

import json
from collections import Counter

import pytest

from tempkb.core.errors import SettingsError
from tempkb.models.corpora.reading import sample
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


def test_a_sample_has_as_many_texts_of_each_year_and_is_shuffled(store):
    found = read(sample(store, "news", WINDOWS, 20, 1))
    assert Counter(row["window_start"].year for row in found) == {2018: 20, 2019: 20, 2020: 20}
    assert {row["split"] for row in found} == {"train"}
    years = [row["window_start"].year for row in found]
    assert years not in (sorted(years), sorted(years, reverse=True))
    assert len({row["text_id"] for row in found}) == 60
    # Of the year with two windows, from both.
    assert len({row["window_start"] for row in found}) == 4
    assert read(sample(store, "news", WINDOWS, 20, 1)) == found
    assert read(sample(store, "news", WINDOWS, 20, 2)) != found
    larger = {row["text_id"] for row in read(sample(store, "news", WINDOWS, 25, 1))}
    assert {row["text_id"] for row in found} < larger


def test_of_a_year_with_few_texts_a_sample_has_all(store):
    every = Counter((row["window_start"].year, row["split"]) for row in store.read(DATED_TEXTS.name).to_pylist())
    for split in ("train", "validation", "test"):
        found = Counter(row["window_start"].year for row in read(sample(store, "news", WINDOWS, 100, 1, split)))
        assert found == {year: min(n, 100) for (year, one), n in every.items() if one == split}
    assert read(sample(store, "news", WINDOWS, 0, 1)) == []


def test_a_window_that_is_not_there_is_refused(store):
    with pytest.raises(SettingsError, match=r"'news': found 0 of 1 windows; .* tempkb corpus add news"):
        list(sample(store, "news", ["2021-01-01"], 5, 1))
    with pytest.raises(SettingsError, match=r"'home': found 0 of 1 windows; make it whole: tempkb corpus make"):
        list(sample(store, "home", ["2020-01-01"], 5, 1))
