"""TempLAMA's and DynamicTempLAMA's files: a JSON object a line, written and read. Pure but for files.

    {"query": "... _X_.", "answer": [{"wikidata_id": "Q1", "name": "..."}], "date": "2010", "id": "Q2_P54_2010",
     "most_frequent_answer": {...}, "most_recent_answer": {...}, "relation": "P54"}

DynamicTempLAMA's have no most_* fields. What follows from the future (`most_*`) is
never asked of a model here; it is kept for whoever used it.
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
"""What a file holds, as a table: the columns of the query tables, and the two fields about the future."""


def read_records(paths: Sequence[Path]) -> pa.Table:
    """Read released files, one behind the other, in their order.

    Raises:
        SourceError: a line is no record; the message names the file and the line.
    """
    rows = [row for path in paths for row in _rows(path)]
    return pa.Table.from_pylist(rows, IMPORTED)


def records_of(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield records of rows of a query table, or of `read_records`, with the released fields in the released order.

    Fields about the future are written where a row has them.
    """
    for row in rows:
        record = {
            "query": row["query"],
            "answer": [_answer(one) for one in row["answers"]],
            "date": row["date"],
            "id": row["query_id"],
        }
        record |= {name: _answer(row[name]) for name in _MOST if row.get(name)}
        yield {**record, "relation": row["relation"]}


def most_answers(dated: Sequence[tuple[str, Sequence[str]]], popularity: Mapping[str, int]) -> tuple[str, str]:
    """Return the most frequent and the most recent answer of a subject and relation, as the released code has them.

    Of each window's answers the most popular counts, of equals the first; the most
    frequent is that of most windows, of equals that which came first.

    Args:
        dated: (date, answers in order) of every window, oldest first.
        popularity: number of statements by item.
    """
    one_each = [max(answers, key=lambda one: popularity.get(one, 0)) for _, answers in dated]
    times = {one: one_each.count(one) for one in one_each}
    return max(times, key=lambda one: times[one]), one_each[-1]


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if not path.is_file():
        raise SourceError(f"{path}: no such file; expected records, a JSON object a line")
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
        # TempLAMA's code, other than its data, writes one answer by itself.
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
        raise SourceError(f"{path}, line {number}: no record of TempLAMA ({error!r})") from None


def _entity(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {"entity_id": answer["wikidata_id"], "label": answer["name"], "aliases": answer.get("aliases", [])}


def _answer(entity: Mapping[str, Any]) -> dict[str, Any]:
    written = {"wikidata_id": entity["entity_id"], "name": entity["label"]}
    return {**written, "aliases": list(entity["aliases"])} if entity["aliases"] else written
