"""Tables 1 and 2 as views, fed with the paper's own counts; and the checks, each shown to fail."""

from datetime import date

import pyarrow as pa
import pytest

from tempkb.benchmarks.ecbd import checking
from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE, ECBD_ENTITIES, ECBD_RELEASES, ECBD_SENTENCES
from tempkb.benchmarks.ecbd.views import BALANCE, CATEGORIES, DATA_STATISTICS, ORIGIN_YEARS
from tempkb.store.memory import in_memory

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
    "design": '{"rules": "tempkb", "max_span_words": 5, "max_distance": 10, "after_mention": true, "caps": "together",'
    ' "strict_answers": true, "balance_kinds": true,'
    ' "max_spans_per_entity": 2, "max_spans_per_window": 0}',
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


def broken(query, cloze=(ITEM,), sentences=(SENTENCE,), releases=(RELEASE,), entities=ENTITIES, text=None):
    with in_memory() as connection:
        connection.register("cloze", table(ECBD_CLOZE, cloze))
        connection.register("sentences", table(ECBD_SENTENCES, sentences))
        connection.register("releases", table(ECBD_RELEASES, releases))
        connection.register("entities", table(ECBD_ENTITIES, entities))
        held = f"..\n{ITEM['sentence']}\n" if text is None else text
        connection.register("texts", pa.table({"page_id": [1], "revision_id": [7], "text": [held]}))
        checking.define_rules(connection)
        return connection.execute(query).fetchall()


QUERIES = (
    "MENTIONED_OFTEN",
    "NOT_IN_PLACE",
    "NOT_IN_TEXT",
    "BEYOND_LIMITS",
    "IN_BOTH_SPLITS",
    "BEYOND_CAPS",
    "GIVEN_AWAY",
    "OUT_OF_WINDOW",
    "SEVERAL_CHUNKERS",
    "BY_FALLBACK",
)


@pytest.mark.parametrize("name", QUERIES)
def test_a_sound_release_breaks_no_promise(name):
    assert broken(getattr(checking, name)) == []


def test_a_latin_name_among_letters_that_are_words_is_sound():
    assert broken(checking.MENTIONED_OFTEN, sentences=[{**SENTENCE, "sentence": "人们在2021年把Ida称为大风暴。"}]) == []


def sentence(text):
    return {"sentences": [{**SENTENCE, "sentence": text}]}


def item(**changes):
    return {"cloze": [{**ITEM, **changes}]}


def design(**changes):
    text = RELEASE["design"]
    for name, value in changes.items():
        old = next(part for part in text.strip("{}").split(", ") if f'"{name}"' in part)
        text = text.replace(old, f'"{name}": {value}')
    return [{**RELEASE, "design": text}]


BEFORE = "Oil of one two three four five six seven eight nine went to Ida."
FAR_BEFORE = {
    **ITEM,
    "sentence": BEFORE,
    "answer": "Oil",
    "span_start_char": 0,
    "span_end_char": 3,
    "mention_start_char": BEFORE.index("Ida"),
    "mention_end_char": BEFORE.index("Ida") + 3,
}
FAR = "Ida hit one two three four five six seven eight nine ten oil."


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("UNBALANCED", {"cloze": [ITEM, {**ITEM, "cloze_id": "2"}, {**ITEM, "cloze_id": "3", "span_kind": "random"}]}),
        ("GIVEN_AWAY", item(answer="the Idas Street")),
        ("GIVEN_AWAY", item(answer='the "Lamp Street')),
        ("GIVEN_AWAY", item(answer="the 6” Lamp Street")),
        ("GIVEN_AWAY", item(answer="the lamp lit-Ida Street", mention="Lit Ida")),
        ("MENTIONED_OFTEN", sentence("Ida and Ida met.")),
        ("MENTIONED_OFTEN", sentence("Idaho and all.")),
        ("MENTIONED_OFTEN", sentence("Ida Ida met.")),
        ("MENTIONED_OFTEN", sentence("The Ida-like Ida met.")),
        ("NOT_IN_PLACE", item(span_start_char=9)),
        ("NOT_IN_PLACE", item(mention_start_char=1)),
        ("NOT_IN_PLACE", item(masked_sentence="Ida hit <extra_id_0> once.")),
        ("NOT_IN_TEXT", {"text": "something else"}),
        ("NOT_IN_TEXT", {"sentences": [{**SENTENCE, "revision_id": 8}]}),
        ("BEYOND_LIMITS", item(answer="one two three four five six")),
        ("BEYOND_LIMITS", item(answer="—")),
        (
            "BEYOND_LIMITS",
            item(sentence=FAR, answer="oil", span_start_char=FAR.index("oil"), span_end_char=len(FAR) - 1),
        ),
        ("BEYOND_LIMITS", item(mention_start_char=24, mention_end_char=29)),
        ("BEYOND_LIMITS", {**item(n_words_after_mention=11), "releases": design(rules='"released"')}),
        ("BEYOND_LIMITS", {"cloze": [FAR_BEFORE], "releases": design(after_mention="false")}),
        ("IN_BOTH_SPLITS", {"cloze": [ITEM, {**ITEM, "cloze_id": "x", "split": "test"}]}),
        ("IN_BOTH_SPLITS", item(split="test")),
        ("BEYOND_CAPS", {"cloze": [{**ITEM, "cloze_id": str(at)} for at in range(3)]}),
        ("BEYOND_CAPS", {"cloze": [ITEM, {**ITEM, "cloze_id": "x"}], "releases": design(max_spans_per_window=1)}),
        ("OUT_OF_WINDOW", item(origin_to=date(2022, 1, 2))),
        ("OUT_OF_WINDOW", {"entities": [ENTITIES[0], {**ENTITIES[1], "split": "test"}]}),
        ("OUT_OF_WINDOW", {"entities": [ENTITIES[0], {**ENTITIES[1], "origin_window": "2022"}]}),
        ("OUT_OF_WINDOW", item(random_definition="It is THE LAMP STREET.")),
        ("OUT_OF_WINDOW", item(random_definition="It is Ida.")),
        ("OUT_OF_WINDOW", item(random_definition="İKİ katlı bir yapıdır.", answer="iki")),
        ("SEVERAL_CHUNKERS", item(chunker="d")),
        ("BY_FALLBACK", {"releases": [{**RELEASE, "chunker": "textblob (fallback)"}]}),
    ],
)
def test_each_check_can_fail(name, changes):
    assert broken(getattr(checking, name), **changes) != []


@pytest.mark.parametrize("kind", ["np", "random"])
def test_a_release_of_one_kind_needs_no_balance(kind):
    assert broken(checking.UNBALANCED, cloze=[{**ITEM, "span_kind": kind}]) == []
    elsewhere = {**ITEM, "cloze_id": "2", "split": "test", "span_kind": "random" if kind == "np" else "np"}
    assert len(broken(checking.UNBALANCED, cloze=[{**ITEM, "span_kind": kind}, elsewhere])) == 2


def test_the_largest_limits_of_a_design_can_be_checked():
    most = dict.fromkeys(("max_span_words", "max_distance", "max_spans_per_entity", "max_spans_per_window"), 2**31 - 1)
    releases = design(**most)
    assert broken(checking.BEYOND_CAPS, releases=releases) == broken(checking.BEYOND_LIMITS, releases=releases) == []


def test_near_spans_before_the_mention_are_sound_where_they_may_be():
    near = {
        **FAR_BEFORE,
        "answer": "six",
        "span_start_char": BEFORE.index("six"),
        "span_end_char": BEFORE.index("six") + 3,
    }
    assert broken(checking.BEYOND_LIMITS, cloze=[near], releases=design(after_mention="false")) == []
    assert broken(checking.BEYOND_LIMITS, cloze=[near]) != []


def test_caps_of_each_kind_by_itself_are_wider():
    items = [
        {**ITEM, "cloze_id": str(at), "span_kind": kind} for at, kind in enumerate(("np", "np", "random", "random"))
    ]
    assert broken(checking.BEYOND_CAPS, cloze=items) != []
    assert broken(checking.BEYOND_CAPS, cloze=items, releases=design(caps='"separate"')) == []
