"""Released files whose ids repeat: all records are kept, each under an id of its own, and it is said."""

import json

import pytest

from tempkb.benchmarks.ecbd.importing import import_records
from tempkb.benchmarks.ecbd.records import cloze_record, probe_record
from tempkb.errors import SourceError
from tempkb_tests.benchmarks.ecbd.test_records import NINE, PROBE


def write(path, *records):
    path.write_text("".join(f"{json.dumps(one)}\n" for one in records))
    return path


def test_records_that_share_an_id_are_all_kept_and_told(tmp_path):
    other = {**NINE, "answer_str": "<extra_id_0> a crew <extra_id_1>", "answer_d": {"<extra_id_0>": "a crew"}}
    unique = {**NINE, "ex_id": "Day_Ferry_13_1_0"}
    noun = write(tmp_path / "np_spans_test.json", NINE, unique)
    rand = write(tmp_path / "random_spans_test.json", other, NINE)
    told = []
    found = import_records([noun, rand], cloze_record, told.append)
    # Four records, three of which have the id Night_Ferry_12_3_0; one of them is there twice.
    assert [one.record.to_json() for one in found] == [NINE, unique, other, NINE]
    assert [one.path for one in found] == [noun, noun, rand, rand]
    assert [one.record.ex_id for one in found].count("Night_Ferry_12_3_0") == 3
    assert len({one.own_id for one in found}) == 4
    assert told == [
        "np_spans_test.json, random_spans_test.json: 2 of 4 records repeat the ex_id of an earlier one, such as "
        "'Night_Ferry_12_3_0'; 1 of these are equal to it. All are kept, each with an id of its own"
    ]


def test_an_own_id_does_not_hang_on_the_other_records(tmp_path):
    alone = import_records([write(tmp_path / "a.json", PROBE)], probe_record, pytest.fail)
    (first, second) = import_records(
        [write(tmp_path / "b.json", {**PROBE, "ex_id": "Day_Ferry_13_1_0"}, PROBE)], probe_record, pytest.fail
    )
    assert second.own_id == alone[0].own_id
    assert first.own_id.startswith("Day_Ferry_13_1_0~")


def test_files_without_a_record_are_an_error(tmp_path):
    with pytest.raises(SourceError, match=r"empty\.json: has no record"):
        import_records([write(tmp_path / "empty.json")], cloze_record, pytest.fail)
