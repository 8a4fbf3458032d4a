"""Tables 1 and 2 as views, fed with the paper's own counts; and the promises, each shown to fail."""

from datetime import date

import pyarrow as pa
import pytest

from tempkb.benchmarks.ecbd.methods import OF_PROMPTS, PROMISES
from tempkb.benchmarks.ecbd.tables import (
    BALANCE,
    CATEGORIES,
    DATA_STATISTICS,
    ECBD_CLOZE,
    ECBD_ENTITIES,
    ECBD_PROMPTS,
    ECBD_RELEASES,
    ECBD_SENTENCES,
    ORIGIN_YEARS,
    TABLES,
)
from tempkb.core.errors import ContractError
from tempkb.core.settings import load_home
from tempkb.store.drafts import Provenance
from tempkb.store.memory import in_memory
from tempkb.store.promises import Subject
from tempkb.store.store import Store

# Table 1 of the paper: entities by year, dev and test.
PRINTED = {2017: (300, 299), 2018: (280, 279), 2019: (219, 208), 2020: (187, 176), 2021: (78, 80)}


def table(declared, rows):
    return pa.Table.from_pylist(
        [{name: row.get(name) for name in declared.schema.names} for row in rows], declared.schema
    )


def answers(view, **tables):
    with in_memory() as connection:
        for name, rows in {"ecbd_releases": table(ECBD_RELEASES, [{"release": "r"}]), **tables}.items():
            connection.register(name, rows)
        found = connection.sql(view.query)
        return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]


def printed_entities():
    number = 0
    for year, counts in PRINTED.items():
        for split, n in zip(("dev", "test"), counts, strict=True):
            for _ in range(n):
                number += 1
                yield {
                    "release": "r",
                    "page_id": number,
                    "subset": "odie",
                    "split": split,
                    "category": "Media",
                    "n_np_spans": 1,
                    "n_random_spans": 0,
                    "origin_from": date(year, 3, 1),
                }


def test_the_printed_counts_of_table_1_give_the_corrected_totals():
    extra = [
        {"release": "r", "page_id": -1, "subset": "popular", "split": "dev", "category": "Media"},
        {
            "release": "r",
            "page_id": -2,
            "subset": "odie",
            "category": "Media",
            "origin_from": date(2017, 1, 1),
            "n_np_spans": 0,
            "n_random_spans": 0,
        },
        {
            "release": "killed",
            "page_id": 1,
            "subset": "odie",
            "split": "dev",
            "category": "Media",
            "n_np_spans": 1,
            "n_random_spans": 1,
            "origin_from": date(2017, 1, 1),
        },
    ]
    found = answers(ORIGIN_YEARS, ecbd_entities=table(ECBD_ENTITIES, [*printed_entities(), *extra]))
    by_year = {row["origin_year"]: (row["n_dev"], row["n_test"], row["n_entities"]) for row in found}
    # The paper prints 1,050 and 1,029; its rows add up to these, and they to the 2,106 of Table 2.
    assert by_year[0] == (1_064, 1_042, 2_106)
    assert by_year[2017] == (300, 299, 599)
    assert by_year[2021] == (78, 80, 158)
    assert len(by_year) == 6


def test_categories_are_per_cent_of_a_year():
    rows = [
        {
            "release": "r",
            "page_id": at,
            "subset": "odie",
            "split": "dev",
            "category": name,
            "origin_from": date(year, 1, 1),
            "n_np_spans": 1,
            "n_random_spans": 1,
        }
        for at, (name, year) in enumerate(
            [("Media", 2020), ("Media", 2020), ("Sports", 2020), ("Misc.", 2020), ("Sports", 2021)]
        )
    ]
    found = answers(CATEGORIES, ecbd_entities=table(ECBD_ENTITIES, rows))
    told = {(row["origin_year"], row["category"]): (row["place"], row["n_entities"], row["per_cent"]) for row in found}
    assert told[2020, "Media"] == (2, 2, 50.0)
    assert told[2020, "Misc."] == (9, 1, 25.0)
    assert told[2021, "Sports"] == (1, 1, 100.0)
    assert told[0, "Sports"] == (1, 2, 40.0)


ITEM = {
    "release": "r",
    "cloze_id": "1-np-a",
    "page_id": 1,
    "subset": "odie",
    "split": "dev",
    "span_kind": "np",
    "np_type": "PROPER",
    "sentence": "Ida hit the Lamp Street twice.",
    "masked_sentence": "Ida hit <extra_id_0> twice.",
    "answer": "the Lamp Street",
    "mention": "Ida",
    "mention_start_char": 0,
    "mention_end_char": 3,
    "span_start_char": 8,
    "span_end_char": 23,
    "n_span_words": 3,
    "n_words_after_mention": 2,
    "sentence_start_char": 40,
    "origin_window": "2021",
    "origin_from": date(2021, 1, 1),
    "origin_to": date(2022, 1, 1),
    "chunker": "c",
    "random_definition": "Rye is a grain.",
    "random_definition_page_id": 2,
}
RELEASE = {
    "release": "r",
    "chunker": "c",
    "study_from": date(2021, 1, 1),
    "study_to": date(2022, 1, 1),
}
ENTITIES = [
    {"release": "r", "page_id": 1, "split": "dev", "origin_window": "2021"},
    {"release": "r", "page_id": 2, "split": "dev", "origin_window": "2021"},
]
SENTENCE = {
    "release": "r",
    "page_id": 1,
    "revision_id": 7,
    "sentence_start_char": 3,
    "sentence": ITEM["sentence"],
    "mention": "Ida",
    "mention_start_char": 0,
    "mention_end_char": 3,
    "chunker": "c",
}


def test_table_2_counts_items_entities_words_and_vocabulary():
    items = [
        ITEM,
        {**ITEM, "cloze_id": "2", "page_id": 2, "answer": "the oil", "np_type": "COMMON"},
        {**ITEM, "cloze_id": "3", "span_kind": "random", "np_type": None, "answer": "oil"},
        {**ITEM, "cloze_id": "4", "subset": "popular", "answer": "a  b"},
    ]
    found = {row["subset"]: row for row in answers(DATA_STATISTICS, ecbd_cloze=table(ECBD_CLOZE, items))}
    odie = found["odie"]
    # Words: the, Lamp, Street | the, oil | oil.
    assert (odie["n_items"], odie["n_entities"], odie["n_sentences"], odie["span_vocabulary"]) == (3, 2, 2, 4)
    assert odie["mean_span_words"] == 2.0
    assert odie["proper_share"] == 0.5
    assert found["popular"]["mean_span_words"] == 2.0
    balance = answers(BALANCE, ecbd_cloze=table(ECBD_CLOZE, items))
    assert {(row["span_kind"], row["n_items"]) for row in balance} == {("np", 3), ("random", 1)}


@pytest.fixture
def store(home_folder):
    """A release that keeps its promises: two entities, and a sentence about one of them with an item."""
    found = Store(load_home(), [*TABLES, ECBD_PROMPTS])
    rewrite(found, ECBD_RELEASES, RELEASE)
    rewrite(found, ECBD_ENTITIES, *ENTITIES)
    rewrite(found, ECBD_SENTENCES, SENTENCE)
    rewrite(found, ECBD_CLOZE, ITEM)
    rewrite(found, ECBD_PROMPTS, PROMPT)
    return found


def rewrite(store, declared, *rows):
    store.write(declared, "r", [table(declared, rows)], Provenance())


def broken_promises(store):
    return {one.name for one in (*PROMISES, *OF_PROMPTS) if one.broken(store, Subject())}


PROMPT = {
    "release": "r",
    "item_id": ITEM["cloze_id"],
    "target_id": "answer",
    "variant": "original",
    "role": "current",
    "prompt_id": "0" * 32,
    "left_context": "Ida hit ",
    "target": "the Lamp Street",
    "right_context": " twice.",
    "cluster_id": "1",
    "split": "dev",
}


@pytest.mark.parametrize(
    ("declared", "changes", "promise"),
    [
        (ECBD_CLOZE, {"split": "test"}, "no_entity_is_in_both_splits"),
        (ECBD_CLOZE, {"page_id": 3}, "no_entity_is_in_both_splits"),
        (ECBD_CLOZE, {"origin_to": date(2022, 1, 2)}, "origins_are_in_the_study"),
        (ECBD_CLOZE, {"chunker": "d"}, "one_chunker_per_release"),
        (ECBD_SENTENCES, {"chunker": "d"}, "one_chunker_per_release"),
        (ECBD_PROMPTS, {"item_id": "9-np-cc"}, "every_item_is_asked"),
        (ECBD_PROMPTS, {"variant": "no_ent"}, "every_item_is_asked"),
    ],
)
def test_each_promise_can_be_broken(store, declared, changes, promise):
    assert broken_promises(store) == set()
    whole = {ECBD_CLOZE: ITEM, ECBD_SENTENCES: SENTENCE, ECBD_PROMPTS: PROMPT}[declared]
    rewrite(store, declared, {**whole, **changes})
    assert broken_promises(store) == {promise}


def test_a_release_by_the_bundled_chunker_is_warned_of(store):
    chunker = {"chunker": "textblob (fallback)"}
    for declared, row in ((ECBD_CLOZE, ITEM), (ECBD_SENTENCES, SENTENCE), (ECBD_RELEASES, RELEASE)):
        rewrite(store, declared, {**row, **chunker})
    assert broken_promises(store) == {"chunker_is_spacy"}


@pytest.mark.parametrize(
    ("declared", "changes"),
    [
        (ECBD_CLOZE, {"span_start_char": 9}),
        (ECBD_CLOZE, {"mention_start_char": 1}),
        (ECBD_CLOZE, {"masked_sentence": "Ida hit <extra_id_0> once."}),
        (ECBD_SENTENCES, {"mention_start_char": 1}),
    ],
)
def test_spans_that_are_not_in_place_are_refused(store, declared, changes):
    whole = ITEM if declared is ECBD_CLOZE else SENTENCE
    with pytest.raises(ContractError):
        rewrite(store, declared, {**whole, **changes})
