"""Released formats: what is read and written again is equal; what is no record is named."""

import json

import pytest

from tempkb.benchmarks.ecbd.exporting import as_pair, cloze_record, maskings, probe_record, read_records
from tempkb.core.errors import SourceError

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
    "additional_sentences": [["The <extra_id_0> a boat.", "<extra_id_0> Ferry is <extra_id_1>"]],
    "conceptnet": [],
    "probe_sentences": {
        "template_0": {"probe_sentence": "The Ferry has <extra_id_0>.", "label": "<extra_id_0> two bells <extra_id_1>"}
    },
}
CHOICE = {
    **PROBE,
    "qid": "boat (Q35872)",
    "label": "bells",
    "probe_sentences": {
        "template_0": {
            "probe_sentence": "It has <extra_id_0>.",
            "labels": ["<extra_id_0> bells <extra_id_1>", "<extra_id_0> sails <extra_id_1>"],
        }
    },
}


def test_nine_fields_there_and_back():
    record = cloze_record(NINE)
    assert (record.answer, record.mention_tokens, record.year) == ("two bells", (1, 2), "2021")
    assert json.dumps(record.to_json()) == json.dumps(NINE)


@pytest.mark.parametrize("said", [PROBE, CHOICE], ids=["one label", "labels to choose from"])
def test_probes_there_and_back(said):
    assert probe_record(said).to_json() == said


def test_files_of_lines_and_of_one_object(tmp_path):
    path = tmp_path / "np_spans_dev.json"
    path.write_text(json.dumps(NINE) + "\n\n" + json.dumps({**NINE, "year": "2022"}) + "\n")
    assert [one.year for one in read_records(path, cloze_record)] == ["2021", "2022"]
    path.write_text(json.dumps(NINE, indent=1))
    assert [one.to_json() for one in read_records(path, cloze_record)] == [NINE]


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["newline", "carriage return and newline"])
@pytest.mark.parametrize("inside", ["\u2028", "\u2029", "\u0085"])
def test_a_line_ends_at_a_newline_only(tmp_path, inside, end):
    path = tmp_path / "np_spans_dev.json"
    said = [{**NINE, "entity_span_str": f"Harbour{inside}Clock"}, {**NINE, "year": "2022"}]
    path.write_bytes("".join(json.dumps(one, ensure_ascii=False) + end for one in said).encode())
    assert [one.to_json() for one in read_records(path, cloze_record)] == said


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("{", "line 2: not a record of this format"),
        ("[]", "line 2: not a record"),
        (
            json.dumps({**NINE, "answer_str": "two bells"}),
            "answer_str is 'two bells'; expected '<extra_id_0> two bells",
        ),
        (json.dumps({key: value for key, value in NINE.items() if key != "year"}), "the field 'year' is missing"),
        (json.dumps({**NINE, "answer_d": {}}), "the field '<extra_id_0>' is missing"),
    ],
)
def test_what_is_no_record_is_named_by_its_line(tmp_path, said, told):
    path = tmp_path / "spans.json"
    path.write_text(f"{json.dumps(NINE)}\n{said}\n")
    with pytest.raises(SourceError, match="spans.json, line 2") as error:
        list(read_records(path, cloze_record))
    assert told in str(error.value)


def test_a_probe_of_another_form_is_refused(tmp_path):
    path = tmp_path / "probes.json"
    path.write_text(json.dumps({**PROBE, "probe_sentences": {"template_0": {}, "template_1": {}}}))
    with pytest.raises(SourceError, match="expected template_0 alone"):
        list(read_records(path, probe_record))
    path.write_text(json.dumps({**PROBE, "def_target": "a boat"}))
    with pytest.raises(SourceError, match="found 'a boat'; expected '<extra_id_0> ... <extra_id_1>'"):
        list(read_records(path, probe_record))


def test_ten_maskings_of_a_definition_each_once():
    definition = "The Ferry is a wooden boat (of oak) that crosses the Sound at night."
    found = maskings(definition, 7, 12)
    assert len(found) == 10
    assert len({masked for masked, _ in found}) == 10
    assert all(masked.replace("<extra_id_0>", answer) == definition for masked, answer in found)
    assert all(1 <= len(answer.split()) <= 5 for _, answer in found)
    assert maskings(definition, 7, 12) == found
    assert maskings(definition, 8, 12) != found
    assert len(maskings("It is.", 7, 12)) == 3  # It, is, It is
    assert maskings("...", 7, 12) == []
    assert as_pair(("A <extra_id_0>.", "boat")) == ["A <extra_id_0>.", "<extra_id_0> boat <extra_id_1>"]
