"""Reads and writes the files of TempLAMA and DynamicTempLAMA: one JSON object per line. Pure, except for files.

    {"query": "... _X_.", "answer": [{"wikidata_id": "Q1", "name": "..."}], "date": "2010", "id": "Q2_P54_2010",
     "most_frequent_answer": {...}, "most_recent_answer": {...}, "relation": "P54"}

DynamicTempLAMA's records have no `most_*` fields. These depend on later years, so
they are not used here, only kept.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from tempkb.benchmarks.fact_queries.tables import ANSWER
from tempkb.errors import SourceError

_NEEDED = ("query", "answer", "date", "id", "relation")
_MOST = ("most_frequent_answer", "most_recent_answer")
IMPORTED = pa.schema(
    [
        ("query_id", pa.string()),
        ("subject_id", pa.string()),
        ("relation", pa.string()),
        ("date", pa.string()),
        ("query", pa.string()),
        ("answers", pa.list_(ANSWER.arrow)),
        ("most_frequent_answer", ANSWER.arrow),
        ("most_recent_answer", ANSWER.arrow),
    ]
)
"""A file as a table: columns of the query tables, and the two `most_*` fields."""


def read_records(paths: Sequence[Path]) -> pa.Table:
    """Return the records of released files, in the order of the files, with the schema `IMPORTED`.

    Raises:
        SourceError: a line is not a record; the message names the file and the line.
    """
    rows = [row for path in paths for row in _rows(path)]
    return pa.Table.from_pylist(rows, IMPORTED)


def records_of(rows: Iterable[Mapping[str, Any]], *, is_uniform: bool = False) -> Iterator[dict[str, Any]]:
    """Yield rows of a query table, or of `read_records`, as records with the released fields in their order.

    The `most_*` fields are written if a row has them.

    Args:
        is_uniform: whether answers without other names have `aliases`, too.
    """
    for row in rows:
        record = {
            "query": row["query"],
            "answer": [_answer(one, is_uniform) for one in row["answers"]],
            "date": row["date"],
            "id": row["query_id"],
        }
        record |= {name: _answer(row[name], is_uniform) for name in _MOST if row.get(name)}
        yield {**record, "relation": row["relation"]}


def most_answers(dated: Sequence[tuple[str, Sequence[str]]], popularity: Mapping[str, int]) -> tuple[str, str]:
    """Return the most frequent and the most recent answer of a subject and relation, as in the released code.

    Each window counts for its most popular answer, in a tie for the first one. The
    most frequent answer is the one of most windows, in a tie the one that came first.

    Args:
        dated: (date, answers in order) of every window, oldest first.
        popularity: number of statements by item.
    """
    one_each = [max(answers, key=lambda one: popularity.get(one, 0)) for _, answers in dated]
    times = {one: one_each.count(one) for one in one_each}
    return max(times, key=lambda one: times[one]), one_each[-1]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if not path.is_file():
        raise SourceError(f"{path}: no such file; expected records, one JSON object per line")
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _row(path, number, line)


def _row(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
        missing = [name for name in _NEEDED if name not in record]
        if missing:
            raise SourceError(f"{path}, line {number}: has no {', '.join(missing)}; expected {', '.join(_NEEDED)}")
        # TempLAMA's code, unlike its data, writes a single answer without a list.
        answers = record["answer"] if isinstance(record["answer"], list) else [record["answer"]]
        return {
            "query_id": record["id"],
            "subject_id": record["id"].split("_")[0],
            "relation": record["relation"],
            "date": record["date"],
            "query": record["query"],
            "answers": [_entity(one) for one in answers],
            **{name: _entity(record[name]) if name in record else None for name in _MOST},
        }
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise SourceError(f"{path}, line {number}: not a record of TempLAMA ({error!r})") from None


def _entity(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {"entity_id": answer["wikidata_id"], "label": answer["name"], "aliases": answer.get("aliases", [])}


def _answer(entity: Mapping[str, Any], is_uniform: bool) -> dict[str, Any]:
    written = {"wikidata_id": entity["entity_id"], "name": entity["label"]}
    return {**written, "aliases": list(entity["aliases"])} if entity["aliases"] or is_uniform else written
