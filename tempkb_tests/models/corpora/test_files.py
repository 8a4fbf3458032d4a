"""Files of a user's own: what is read, and what is refused with the line."""

import json
from datetime import UTC, date, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tempkb.core.errors import SettingsError
from tempkb.models.corpora import files
from tempkb.models.corpora.files import read_texts


def lines(path, *rows):
    path.write_text("".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in rows), "utf-8")
    return path


def read(path):
    return [(row["text"], str(row["day"])) for some in read_texts(path) for row in some]


def test_lines_of_json_are_read_whatever_else_they_have(tmp_path):
    path = lines(
        tmp_path / "a.jsonl",
        "\ufeff" + json.dumps({"text": "Ä\nb", "date": "2020-02-29", "source": [1]}),
        "",
        {"date": "2020-12-31T23:30:00-02:00", "text": "late"},
        {"date": "2020-12-31 23:30", "text": "no zone"},
        {"date": "2020-12-31T23:30Z", "text": "short"},
        {"date": "20201231", "text": "without hyphens"},
    )
    assert read(path) == [
        ("Ä\nb", "2020-02-29"),
        ("late", "2021-01-01"),
        ("no zone", "2020-12-31"),
        ("short", "2020-12-31"),
        ("without hyphens", "2020-12-31"),
    ]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.date32(), [date(2020, 2, 29), date(2021, 1, 1)]),
        (pa.string(), ["2020-02-29", "2021-01-01"]),
        (pa.large_string(), ["2020-02-29T10:00:00", "2021-01-01"]),
        (
            pa.timestamp("ns", "America/New_York"),
            [datetime(2020, 2, 29, 1, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)],
        ),
        (pa.timestamp("ms"), [datetime(2020, 2, 29, 23, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)]),
    ],
)
def test_parquet_is_read_with_dates_of_any_type(tmp_path, kind, values):
    path = tmp_path / "a"
    pq.write_table(pa.table({"more": [[1], [2]], "date": pa.array(values, kind), "text": ["a", "b"]}), path)
    assert read(path) == [("a", "2020-02-29"), ("b", "2021-01-01")]


GOOD = {"text": "a", "date": "2020-01-01"}
LONG = {"text": "a" * 100_001, "date": "2020-01-01"}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], ": found no text"),
        (["", "  "], ": found no text"),
        (["<!DOCTYPE html>", "<html>"], ", line 1: found <!DOCTYPE html> "),
        ([GOOD, "", "[1]"], ", line 3: found [1] "),
        ([GOOD, '{"text": "a", "date": "2020-01'], ", line 2: found "),
        ([{"text": "a"}], "missing required field `date`"),
        ([{"date": "2020-01-01"}], "missing required field `text`"),
        ([GOOD, {**GOOD, "text": " \n"}], ", line 2: found "),
        ([{**GOOD, "text": 5}], "Expected `str`, got `int` - at `$.text`"),
        ([LONG], "Expected `str` of length <= 100000"),
        *(
            ([GOOD, {**GOOD, "date": odd}], f', line 2: found {{"text": "a", "date": {json.dumps(odd)}}} (')
            for odd in ("2020", "2020-13", "2020-02-30", "31.12.2020", "9999-01-01", 2020, "")
        ),
        ([{**GOOD, "date": "2020-01-01T25:00:00"}], ", line 1: found "),
        ([{**GOOD, "date": "0001-01-01T00:00:00+05:00"}], ", line 1: found "),
        (['{"text": "\\ud800", "date": "2020-01-01"}'], ", line 1: found "),
    ],
)
def test_odd_lines_are_refused_with_their_number(tmp_path, rows, said):
    with pytest.raises(SettingsError, match="expected .*text, of 1 to 100,000 characters, and date") as error:
        read(lines(tmp_path / "a.jsonl", *rows))
    assert str(error.value).startswith(f"{tmp_path / 'a.jsonl'}")
    assert said in str(error.value)


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a"] * 9, "date": [date(2020, 1, 1)] * 9}), path)
    whole = path.read_bytes()
    for cut in (whole[:-9], whole[: len(whole) // 2], b"PAR1"):
        path.write_bytes(cut)
        with pytest.raises(SettingsError, match="cannot be read.*or a whole Parquet file"):
            read(path)
    pq.write_table(pa.table({"text": ["a"], "day": ["2020-01-01"]}), path)
    with pytest.raises(SettingsError, match="row 1: found .*missing required field `date`"):
        read(path)
    pq.write_table(pa.table({"text": ["a", None], "date": ["2020-01-01"] * 2}), path)
    with pytest.raises(SettingsError, match=r"row 2: found .*Expected `str`, got `null` - at `\$.text`"):
        read(path)
    for content in (b"\x1f\x8b\x08\x00zip", b'{"text": "\xff", "date": "2020-01-01"}', b"\0" * 99):
        path.write_bytes(content)
        with pytest.raises(SettingsError, match="line 1: found "):
            read(path)
    path.unlink()
    with pytest.raises(SettingsError, match="cannot be read"):
        read(path)


def test_a_file_is_read_a_batch_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_CHARS", 5)
    path = lines(tmp_path / "a.jsonl", *({"text": text, "date": "2020-01-01"} for text in ("abc", "de", "fghijk", "l")))
    assert [[one["text"] for one in some] for some in read_texts(path)] == [["abc", "de"], ["fghijk"], ["l"]]
