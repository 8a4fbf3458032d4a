"""Released files: each record comes as it was written; a line that is none is named."""

import json

import pytest

from tempkb.core.errors import SourceError
from tempkb_tests.real.released_files import read_records

NINE = {
    "ex_id": "Night_Ferry_12_3_0",
    "masked_sentence": "The Ferry has <extra_id_0>.",
    "answer_str": "<extra_id_0> two bells <extra_id_1>",
    "answer_d": {"<extra_id_0>": "two bells"},
    "span_type": "NP-COMMON",
    "definition": ["The Ferry is a boat.", "It is new."],
    "year": "2021",
    "entity_span_str": "Ferry",
    "entity_span_loc": [1, 2],
}
PROBE = {
    "ex_id": "Night_Ferry_12_3_0",
    "definition": "The Ferry is <extra_id_0>.",
    "def_target": "<extra_id_0> a boat <extra_id_1>",
    "category": "tv_show",
    "qid": ["boat (Q35872)"],
    "ent_str": "Ferry",
    "attribute": "n/a",
    "probe_sentences": {
        "template_0": {"probe_sentence": "The Ferry has <extra_id_0>.", "label": "<extra_id_0> two bells <extra_id_1>"}
    },
}
CHOICE = {
    **PROBE,
    "probe_sentences": {
        "template_0": {
            "probe_sentence": "It has <extra_id_0>.",
            "labels": ["<extra_id_0> bells <extra_id_1>", "<extra_id_0> sails <extra_id_1>"],
        }
    },
}
YEARLY = {
    "query": "Ada plays for _X_.",
    "answer": [{"wikidata_id": "Q101", "name": "Reed"}, {"wikidata_id": "Q102", "name": "Sält"}],
    "date": "2019",
    "id": "Q1_P54_2019",
    "most_frequent_answer": {"wikidata_id": "Q102", "name": "Sält"},
    "relation": "P54",
}
ONE_ANSWER = {**YEARLY, "answer": {"wikidata_id": "Q101", "name": "Reed"}}


@pytest.mark.parametrize(
    ("layout", "said"),
    [("ecbd", [NINE]), ("propagation", [PROBE, CHOICE]), ("templama", [YEARLY, ONE_ANSWER])],
)
def test_records_come_as_they_were_written(tmp_path, layout, said):
    path = tmp_path / "records.jsonl"
    path.write_text("\n\n".join(json.dumps(one) for one in said) + "\n")
    assert [json.dumps(one) for one in read_records(path, layout)] == [json.dumps(one) for one in said]


def test_a_file_of_one_object_on_many_lines(tmp_path):
    path = tmp_path / "record.json"
    path.write_text(json.dumps(NINE, indent=1))
    assert list(read_records(path, "ecbd")) == [NINE]


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["newline", "carriage return and newline"])
@pytest.mark.parametrize("inside", ["\u2028", "\u2029", "\u0085"])
def test_a_line_ends_at_a_newline_only(tmp_path, inside, end):
    path = tmp_path / "np_spans_dev.json"
    said = [{**NINE, "entity_span_str": f"Harbour{inside}Clock"}, {**NINE, "year": "2022"}]
    path.write_bytes("".join(json.dumps(one, ensure_ascii=False) + end for one in said).encode())
    assert list(read_records(path, "ecbd")) == said


def without(record: dict, field: str) -> dict:
    return {name: value for name, value in record.items() if name != field}


@pytest.mark.parametrize(
    ("layout", "good", "bad", "told"),
    [
        ("ecbd", NINE, "{", "not a record of ecbd"),
        ("ecbd", NINE, "[]", "has no ex_id"),
        ("ecbd", NINE, "7", "not a record of ecbd"),
        ("ecbd", NINE, {**NINE, "answer_str": "two bells"}, "is 'two bells'; expected '<extra_id_0> two bells"),
        ("ecbd", NINE, without(NINE, "year"), "has no year"),
        ("ecbd", NINE, {**NINE, "answer_d": {}}, "the field '<extra_id_0>' is missing"),
        ("propagation", PROBE, {**PROBE, "probe_sentences": {"template_0": {}, "x": {}}}, "expected template_0 alone"),
        ("propagation", PROBE, {**PROBE, "def_target": "a boat"}, "found 'a boat'; expected '<extra_id_0> ..."),
        ("templama", YEARLY, {"query": "x"}, "has no answer, date, id, relation"),
        ("templama", YEARLY, {**YEARLY, "answer": [{"name": "x"}]}, "the field 'wikidata_id' is missing"),
    ],
)
def test_what_is_no_record_is_named_by_its_line(tmp_path, layout, good, bad, told):
    path = tmp_path / "spans.json"
    path.write_text(f"{json.dumps(good)}\n{bad if isinstance(bad, str) else json.dumps(bad)}\n")
    with pytest.raises(SourceError, match="spans.json, line 2") as error:
        list(read_records(path, layout))
    assert told in str(error.value)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(SourceError, match="absent.jsonl: no such file"):
        list(read_records(tmp_path / "absent.jsonl", "templama"))
