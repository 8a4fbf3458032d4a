"""The papers' tables as views, fed with the papers' numbers and with small worlds; tokenizers' losses."""

import duckdb
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from tempkb.benchmarks.dynamic_templama.building import count_tokens
from tempkb.benchmarks.dynamic_templama.views import share_lost, split_shares
from tempkb.benchmarks.work import working
from tempkb.core.errors import SettingsError
from tempkb_tests.benchmarks.fact_queries.worlds import DAY, TEMPLAMA, players, release
from tempkb_tests.wiki.wikidata.items import read_home

# Table 5 of DynamicTempLAMA, all windows from 2019-Q2 to 2022-Q2: unchanged, updated, deleted, new; total, %unchanged,
# %updated, of one token and of at most five; %lost.
PRINTED = [
    ((479, 1, 7, 9), (496, 96.6, 0.2), (8523, 165, 124, 121), (8933, 95.4, 1.8), 94.4),
    ((451, 3, 36, 5), (495, 91.1, 0.6), (8154, 248, 430, 205), (9037, 90.2, 2.7), 94.5),
    ((454, 0, 3, 12), (469, 96.8, 0.0), (8271, 151, 140, 120), (8682, 95.3, 1.7), 94.6),
    ((456, 3, 9, 15), (483, 94.4, 0.6), (8243, 296, 126, 273), (8938, 92.2, 3.3), 94.6),
    ((470, 0, 2, 2), (474, 99.2, 0.0), (8451, 92, 95, 59), (8697, 97.2, 1.1), 94.5),
    ((446, 2, 26, 10), (484, 92.1, 0.4), (8254, 179, 238, 133), (8804, 93.8, 2.0), 94.5),
    ((452, 2, 4, 5), (463, 97.6, 0.4), (8298, 124, 111, 97), (8630, 96.2, 1.4), 94.6),
    ((453, 1, 4, 14), (472, 96.0, 0.2), (8238, 269, 131, 215), (8853, 93.1, 3.0), 94.7),
    ((460, 2, 7, 5), (474, 97.0, 0.4), (8344, 90, 128, 76), (8638, 96.6, 1.0), 94.5),
    ((445, 2, 19, 2), (468, 95.1, 0.4), (8164, 164, 220, 99), (8647, 94.4, 1.9), 94.6),
    ((443, 1, 4, 5), (453, 97.8, 0.2), (8213, 128, 82, 90), (8513, 96.5, 1.5), 94.7),
    ((442, 1, 7, 6), (456, 96.9, 0.2), (8189, 111, 117, 126), (8543, 95.9, 1.3), 94.7),
    ((446, 0, 2, 2), (450, 99.1, 0.0), (8287, 56, 40, 34), (8417, 98.5, 0.7), 94.7),
]


@pytest.mark.parametrize(("single", "told_single", "multi", "told_multi", "lost"), PRINTED)
def test_table_5_from_its_own_counts(single, told_single, multi, told_multi, lost):
    with duckdb.connect() as connection:
        found = []
        for counts in (single, multi):
            source = "SELECT {} AS n_unchanged, {} AS n_updated, {} AS n_deleted, {} AS n_new".format(*counts)
            query = f"SELECT n_total, percent_unchanged, percent_updated FROM ({split_shares(source)})"
            found.append(connection.execute(query).fetchall()[0])
        told = connection.execute(f"SELECT {share_lost(str(told_single[0]), str(told_multi[0]) + '.0')}").fetchall()[0][
            0
        ]
    assert found == [pytest.approx(told_single), pytest.approx(told_multi)]
    assert told == pytest.approx(lost)


@pytest.fixture
def store(tmp_path, monkeypatch):
    entities = players(
        Ada=[("Q101", "2018-01-01", "2019-06-30"), ("Q102", "2019-07-01", "")],
        Ben=[("Q101", "2018-01-01", ""), ("Q103", "2019-10-02", "")],
    )
    entities[1]["labels"]["en"]["value"] = "Old Salt Works"
    store = read_home(tmp_path, monkeypatch, {DAY: entities})
    release(store, windows="2019-01-01..2020-01-01")
    return store


def rows(store, view):
    return [
        {name: value for name, value in row.items() if name not in ("release", "granularity")}
        for row in store.read(view).to_pylist()
    ]


def test_table_5_counts_queries(store):
    found = {
        str(row["window_start"]): [row[f"n_{one}"] for one in ("unchanged", "updated", "deleted", "new", "total")]
        for row in rows(store, "dynamic_templama_split_sizes")
    }
    # A query counts as often as its answers differ: Ben's of October is unchanged in one, new in another.
    assert found == {"2019-04-01": [2, 0, 0, 0, 2], "2019-07-01": [1, 1, 0, 0, 2], "2019-10-01": [2, 0, 0, 1, 3]}


def test_tables_1_and_6(store):
    assert rows(store, "dynamic_templama_relations") == [
        {"relation": "P54", "n_facts": 2, "n_examples": 8, "possible_splits": ["new", "unchanged", "updated"]}
    ]


def test_table_7_shows_an_example_of_each_relation(store):
    assert rows(store, "dynamic_templama_examples") == [
        {"relation": "P54", "query": "Ada plays for _X_.", "answers": ["Old Salt Works"], "date": "2019-Q3"}
    ]


def test_facts_over_time_are_asked_in_every_window(store):
    assert {(row["query"], row["date"]) for row in rows(store, "facts_over_time")} == {
        (f"{name} plays for _X_.", f"2019-Q{n}") for name in ("Ada", "Ben") for n in (1, 2, 3, 4)
    }


@pytest.mark.slow
def test_table_8_and_shares_of_splits(store):
    release(store, TEMPLAMA, granularity="year", windows="2019-01-01..2021-01-01")
    assert rows(store, "templama_relations") == [
        {"relation": "P54", "n_queries": 4, "n_subjects": 2, "such_as": "Ada plays for _X_."}
    ]
    shares = {}
    for row in rows(store, "templama_split_shares"):
        shares[row["window_start"]] = shares.get(row["window_start"], 0) + row["share"]
    assert list(shares.values()) == [pytest.approx(1), pytest.approx(1)]


@pytest.mark.slow
def test_facts_told_from_both_sides_in_two_splits(tmp_path, monkeypatch):
    from tempkb_tests.wiki.wikidata.items import item, said

    clubs = [
        item(
            f"Q9{n}",
            f"Club {n}",
            f"Club {n}",
            P286=[said(f"Q9{n}${at}", f"Q{n}{at}", f"{2018 + at}-03-01", f"{2019 + at}-02-01") for at in (1, 2)],
        )
        for n in range(1, 9)
    ]
    coaches = [
        item(
            f"Q{n}{at}",
            f"Coach {n}{at}",
            f"Coach {n}{at}",
            P54=[said(f"Q{n}{at}$1", f"Q9{n}", f"{2018 + at}-03-01"), said(f"Q{n}{at}$2", "Q91", "2018")],
        )
        for n in range(2, 9)
        for at in (1, 2)
    ]
    store = read_home(
        tmp_path, monkeypatch, {DAY: [*clubs, *coaches, *(item(f"Q1{at}", f"C{at}", f"C{at}") for at in (1, 2))]}
    )
    release(store, windows="2019-01-01..2021-01-01")
    split = {row["subject_id"]: row["split"] for row in store.read("fact_subjects").to_pylist()}
    found = {(row["subject_id"], row["object_id"]) for row in rows(store, "inverse_facts")}
    expected = {
        (min((coach, club), key=split.get), max((coach, club), key=split.get))
        for club in (f"Q9{n}" for n in range(2, 9))
        for coach in (f"Q{club[2]}1", f"Q{club[2]}2")
        if split.get(coach) and split.get(club) and split[coach] != split[club]
    }
    assert expected
    assert found == expected


def test_tokens_and_what_they_lose(store, tmp_path):
    words = {"[UNK]": 0, "Ġ": 1, "ĠReed": 2, "ĠMoss": 3, "ĠOld": 4, "ĠSalt": 5, "ĠWorks": 6}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)]
    )
    folder = tmp_path / "words"
    folder.mkdir()
    tokenizer.save(str(folder / "tokenizer.json"))
    from tempkb.benchmarks.dynamic_templama.benchmark import DYNAMIC_TEMPLAMA
    from tempkb.benchmarks.register import load

    (name,) = store.read("fact_releases")["release"].to_pylist()
    made = load(store.home, DYNAMIC_TEMPLAMA, name)
    with working(store, made, options={"tokenizer": folder / "tokenizer.json"}) as work:
        count_tokens(work)
    found = [(row["tokenizer"], row["label"], row["n_tokens"]) for row in store.read("answer_tokens").to_pylist()]
    # With the blank before it, as within a sentence.
    assert found == [("words", "Reed", 1), ("words", "Old Salt Works", 3), ("words", "Moss", 1)]
    losses = {
        str(row["window_start"]): (
            row["n_any_length"],
            row["n_multi_token"],
            row["n_single_token"],
            row["percent_lost"],
        )
        for row in rows(store, "dynamic_templama_token_losses")
    }
    assert losses == {
        "2019-04-01": (2, 2, 2, 0.0),
        "2019-07-01": (2, 2, 1, 50.0),
        "2019-10-01": (3, 3, 2, pytest.approx(33.3)),
    }
    sizes = {
        (str(row["window_start"]), row["evaluation"]): (
            row["n_unchanged"],
            row["n_updated"],
            row["n_new"],
            row["n_total"],
        )
        for row in rows(store, "dynamic_templama_token_splits")
    }
    # What Ada has from July on has three tokens.
    assert (sizes["2019-07-01", "single_token"], sizes["2019-07-01", "multi_token"]) == ((1, 0, 0, 1), (1, 1, 0, 2))
    assert (sizes["2019-10-01", "single_token"], sizes["2019-10-01", "multi_token"]) == ((1, 0, 1, 2), (2, 0, 1, 3))
    assert {row["label"] for row in rows(store, "dynamic_templama_single_token")} == {"Reed", "Moss"}
    missing = {"tokenizer": tmp_path / "missing.json"}
    with (
        pytest.raises(SettingsError, match=r"expected a tokenizer\.json"),
        working(store, made, options=missing) as work,
    ):
        count_tokens(work)
