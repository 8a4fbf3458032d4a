"""What a model is to read: which texts and queries, how many of each period, and what is refused."""

import hashlib
from datetime import date
from operator import itemgetter

import pyarrow as pa
import pytest

from tempkb.core.errors import ContractError, DesignError, SettingsError
from tempkb.models.training.mixtures import Mixing
from tempkb.models.training.requests import train_request
from tempkb.models.training.steps import PROMISES
from tempkb.models.training.tables import MIXTURES
from tempkb.store.drafts import Provenance
from tempkb.store.promises import Subject
from tempkb_tests.models.training.conftest import NAMES, WORDS, YEARS, club, dated, sentences, write_texts


def mixing(store, regime="uniform", has_spans=True, **words):
    request = train_request("tiny", {**WORDS, "regime": regime, "base": "none", **words})
    return Mixing(store, request, has_spans=has_spans)


def counted(mixed, folder):
    with mixed.seeing(folder) as connection:
        return mixed.counted(connection)


def rows_of(store, version):
    assert version.partition == "tiny"
    return store.read("mixtures").to_pylist()


def in_order_of_chance(texts, seed=1):
    """By the digest of the seed and the text's own."""
    return sorted(texts, key=lambda row: hashlib.md5(f"{seed} {row['text_id']}".encode()).hexdigest())


def test_texts_are_those_of_the_training_with_spans_as_many_of_each_period(store, tmp_path):
    """30 examples of three years are ten a year; by hash, so that a longer training reads the same ones and others."""
    version = mixing(store, settings="steps=5,batch_size=6").made(tmp_path)
    found = rows_of(store, version)
    expected = {year: in_order_of_chance(sentences(year))[:10] for year in YEARS}
    assert {(row["window_start"].year, row["text"]) for row in found} == {
        (year, row["text"]) for year, rows in expected.items() for row in rows
    }
    assert all((row["source"], row["name"], row["item_id"]) == ("text", "home", None) for row in found)
    for row in found:
        hidden = {row["text"][one["start_char"] : one["end_char"]] for one in row["spans"]}
        assert len(hidden) == 2
        assert hidden < {*NAMES, "Reed", "Salt", "Moss"}
    assert [(row["window_start"], row["text_id"]) for row in found] == sorted(
        (row["window_start"], row["text_id"]) for row in found
    )
    left_out = {row["reason"].partition(":")[0]: row["n"] for row in version.side_rows("exclusions")}
    assert left_out == {"held_out": 3, "no_spans": 3, "not_drawn": 60}
    told = {(row["regime"], row["period"], row["base"], row["steps"]) for row in found}
    assert told == {("uniform", "year", "none", 5)}
    # It is there, and is not written again; of the base it is the folder's name that counts.
    assert mixing(store, settings="steps=5,batch_size=6", base="far/none").made(tmp_path) == version
    other = mixing(store, regime="temporal", settings="steps=5,batch_size=6").made(tmp_path)
    assert {row["regime"] for row in rows_of(store, other)} == {"temporal"}


def test_a_causal_model_reads_texts_without_spans_as_well(store, tmp_path):
    rows = rows_of(store, mixing(store, has_spans=False).made(tmp_path))
    assert len(rows) == 3 * 31
    assert sum("rained" in row["text"] for row in rows) == 3
    assert not any("Nobody" in row["text"] for row in rows)


def test_queries_are_those_of_the_train_split_each_with_its_answer(store, tmp_path, name_of_release):
    version = mixing(store, release=name_of_release, settings="texts_per_query=1,steps=99").made(tmp_path)
    found = [row for row in rows_of(store, version) if row["source"] == "query"]
    splits = store.read("templama_queries").to_pylist()
    train = {row["query"].partition(" ")[0] for row in splits if row["split"] == "train"}
    assert 0 < len(train) < len(NAMES)
    expected = {
        (year, f"{name} plays for {club(NAMES.index(name), year)}.", club(NAMES.index(name), year))
        for name in train
        for year in YEARS
    }
    assert {
        (row["window_start"].year, row["text"], row["text"][one["start_char"] : one["end_char"]])
        for row in found
        for one in row["spans"]
    } == expected
    assert len(found) == len(expected)
    assert {row["name"] for row in found} == {name_of_release}
    assert {row["item_id"] for row in found} <= {row["query_id"] for row in splits if row["split"] == "train"}


@pytest.mark.parametrize(
    ("regime", "numbers", "examples", "rows"),
    [
        # 33 examples: every eleventh is a query; ten texts of each year, and one query.
        ("uniform", "steps=11,batch_size=3", {"text": 30, "query": 3}, {"text": 30, "query": 3}),
        # Every expert reads as much, of its own year alone.
        ("yearly", "steps=11,batch_size=3", {"text": 30, "query": 3}, {"text": 90, "query": 9}),
        # T5-CBQA-ft: queries alone.
        ("uniform", "steps=11,batch_size=3,texts_per_query=0", {"text": 0, "query": 33}, {"text": 0, "query": 15}),
    ],
)
def test_so_many_texts_come_for_each_query(store, tmp_path, name_of_release, regime, numbers, examples, rows):
    mixed = mixing(store, regime, release=name_of_release, settings=numbers)
    assert mixed.n_examples == examples
    found = [row["source"] for row in rows_of(store, mixed.made(tmp_path))]
    assert {source: found.count(source) for source in ("text", "query")} == rows


def test_the_last_period_may_have_a_share_of_its_own(store, tmp_path):
    """Of 20 texts a share of .65 is 13 of 2020, and four and three of the others, of which four each may be read."""
    version = mixing(store, settings="steps=5,batch_size=4,newest_share=0.65").made(tmp_path)
    found = [(row["window_start"].year, row["text"]) for row in rows_of(store, version)]
    expected = {year: in_order_of_chance(sentences(year))[: 13 if year == 2020 else 4] for year in YEARS}
    assert {*found} == {(year, row["text"]) for year, rows in expected.items() for row in rows}
    assert len(found) == 21
    left_out = {row["reason"].partition(":")[0]: row["n"] for row in version.side_rows("exclusions")}
    assert left_out["not_drawn"] == 90 - 21
    # With another share it is another mixture; with all of the last period it has no text of another one.
    alone = mixing(store, settings="steps=5,batch_size=4,newest_share=1").made(tmp_path)
    assert {row["window_start"].year for row in rows_of(store, alone)} == {2020}
    assert mixing(store, settings="steps=5,batch_size=4,newest_share=1").made(tmp_path) == alone
    few = mixing(store, settings="steps=1,batch_size=4,newest_share=0.001").made(tmp_path)
    assert sum(row["window_start"].year == 2020 for row in rows_of(store, few)) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"regime": "yearly"}, "for the regime yearly and 3 years; expected uniform or temporal, and windows of two"),
        ({"regime": "continual"}, "for the regime continual and 3 years; expected uniform or temporal"),
        ({"windows": "2020-01-01..2021-01-01"}, "for the regime uniform and 1 year; expected uniform or temporal, and"),
        ({"settings": "newest_share=0"}, "newest_share: found '0'; expected a number from 0.001 to 1"),
    ],
)
def test_a_share_of_the_last_period_that_makes_no_sense_is_refused(words, said):
    request = {**WORDS, "regime": "uniform", "base": "none", "settings": "newest_share=0.5"}
    with pytest.raises(SettingsError, match=said):
        train_request("tiny", request | words)


def test_periods_are_of_any_length_and_windows_those_that_are_named(store, tmp_path):
    mixed = mixing(store, windows="2019-01-01..2021-01-01", period="year")
    assert [one.label for one in mixed.periods] == ["2019", "2020"]
    assert {row["window_start"].year for row in rows_of(store, mixed.made(tmp_path))} == {2019, 2020}
    assert mixed.until == date(2021, 1, 1)
    assert mixing(store, windows="2018-06-01..2020-06-01").until == date(2021, 1, 1)


def test_what_may_be_much_older_than_its_window_is_read_only_if_that_is_asked_for(store, tmp_path):
    old = [dated(2018, f"{row['text']} So it is.", ["So"], is_since_first_window=True) for row in sentences(2018)]
    write_texts(store, old)
    with pytest.raises(SettingsError, match=r"the corpus home has no text of 2018 that may be read"):
        mixing(store).made(tmp_path)
    counts = counted(mixing(store, windows="2019-01-01..2021-01-01"), tmp_path)
    assert {one.label: n for one, n in counts.rows["text"].items()} == {"2019": 30, "2020": 30}
    oldest = counted(mixing(store, settings="oldest=true"), tmp_path)
    assert {one.label: n for one, n in oldest.rows["text"].items()} == {"2018": 30, "2019": 30, "2020": 30}


def test_a_corpus_of_ones_own(store, tmp_path):
    for year in YEARS:
        write_texts(store, [dated(year, f"Mine of {year}.", ["Mine"], corpus="mine")])
    rows = rows_of(store, mixing(store, corpus="mine").made(tmp_path))
    assert [row["text"] for row in rows] == [f"Mine of {year}." for year in YEARS]


def test_what_cannot_be_read_is_refused_before_anything_is_written(store, tmp_path, name_of_release):
    with pytest.raises(SettingsError, match="corpus 'yours': no such corpus; there: home. .*: tempkb corpus list$"):
        mixing(store, corpus="yours")
    with pytest.raises(SettingsError, match="there: 2018-01-01 to 2020-01-01. .*: tempkb corpus show home$"):
        mixing(store, windows="2021-01-01..2022-01-01")
    with pytest.raises(DesignError, match="release 'none': no such release"):
        mixing(store, release="none")
    with pytest.raises(SettingsError, match="has no train queries about these windows, .*; expected some"):
        mixing(store, release=name_of_release, windows="2018-03-01..2018-06-01", settings="texts_per_query=0").made(
            tmp_path
        )
    assert store.lake.partitions("mixtures") == []


def test_sentences_of_items_that_are_not_for_training_are_not_read(store, tmp_path):
    """Sentences of the corpus that are, word for word, queries with their answers: those of train subjects are read."""
    texts = {f"{name} plays for {club(place, 2018)}.": name for place, name in enumerate(NAMES)}
    write_texts(store, [*sentences(2018), *(dated(2018, text, [name]) for text, name in texts.items())])
    splits = {row["query"].partition(" ")[0]: row["split"] for row in store.read("templama_queries").to_pylist()}
    version = mixing(store).made(tmp_path)
    read = {texts[row["text"]] for row in rows_of(store, version) if row["text"] in texts}
    assert read == {name for name in NAMES if splits[name] == "train"}
    left_out = {row["reason"].partition(":")[0]: row["n"] for row in version.side_rows("exclusions")}
    assert left_out["item"] == len(NAMES) - len(read) > 0


def broken(store, name):
    """The examples of what breaks a promise."""
    (promise,) = (one for one in PROMISES if one.name == name)
    return promise.judged(store, Subject()).facts["examples"]


def test_what_a_model_has_read_is_checked_for_leaks(store, tmp_path, name_of_release):
    """One row of a mixture breaks each promise, and no other row does."""
    version = mixing(store, release=name_of_release, settings="texts_per_query=1,steps=99").made(tmp_path)
    names = ("no_query_of_a_held_out_subject", "no_sentence_of_a_test_item", "no_text_after_its_windows")
    assert [broken(store, name) for name in names] == [["none"]] * 3
    rows, queries = rows_of(store, version), store.read("templama_queries").to_pylist()
    held_out = next(row for row in queries if row["split"] == "test")
    (query,), (text, other) = [
        [row for row in rows if row["source"] == one][:n] for one, n in (("query", 1), ("text", 2))
    ]
    bad = query | {"item_id": held_out["query_id"]}
    (asked,) = {
        row["left_context"] + row["target"] + row["right_context"]
        for row in store.read("templama_prompts").to_pylist()
        if (row["item_id"], row["variant"], row["role"]) == (held_out["query_id"], "undated", "current")
    }
    early = dated(2020, text["text"])["text_id"]
    for changed, name, shown in (
        (bad, names[0], f"query {held_out['query_id']} is about {held_out['subject_id']}, which is held out"),
        (other | {"text": asked}, names[1], f"text {other['text_id']} of 2018-01-01 is the sentence of an item"),
        (text | {"window_start": date(2017, 1, 1)}, names[2], f"text {early} of 2017-01-01, first seen on 2018-01-01"),
    ):
        now = [
            changed,
            *(row for row in rows if row["text_id"] != changed["text_id"] or row["source"] != changed["source"]),
        ]
        now.sort(key=itemgetter("window_start", "source", "text_id"))
        store.write(MIXTURES, "tiny", [pa.Table.from_pylist(now, MIXTURES.schema)], Provenance())
        assert {one: broken(store, one) for one in names} == dict.fromkeys(names, ["none"]) | {name: [f"tiny: {shown}"]}


def test_another_corpus_of_that_name_is_another_mixture(store, tmp_path):
    first = mixing(store).made(tmp_path)
    write_texts(store, [*sentences(2018), dated(2018, "Zoe came late.", ["Zoe"])])
    second = mixing(store).made(tmp_path)
    assert (first.rows, second.rows) == (90, 91)
    assert first.inputs["dated_texts home.2018-01-01"] != second.inputs["dated_texts home.2018-01-01"]


def test_a_query_without_an_answer_breaks_the_rules_of_the_table(store):
    row = {"model": "tiny", "window_start": date(2018, 1, 1), "source": "query", "name": "r", "text_id": "1" * 32}
    rows = [row | {"item_id": "i", "text": "a b", "spans": []}]
    with pytest.raises(ContractError, match="query_has_an_answer"):
        store.write(MIXTURES, "tiny", [pa.Table.from_pylist(rows, MIXTURES.schema)], Provenance())
