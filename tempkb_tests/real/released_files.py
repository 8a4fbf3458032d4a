"""Reads the released files of the papers, record by record, each as the released code wrote it."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tempkb.core.errors import SourceError

_MASK, _AFTER = "<extra_id_0>", "<extra_id_1>"  # T5's, before and behind an answer


def _cloze(record: Mapping[str, Any]) -> None:
    answer = f"{_MASK} {record['answer_d'][_MASK]} {_AFTER}"
    if record["answer_str"] != answer:
        raise ValueError(f"answer_str is {record['answer_str']!r}; expected {answer!r}, as answer_d says")


def _probe(record: Mapping[str, Any]) -> None:
    if set(record["probe_sentences"]) != {"template_0"}:
        raise ValueError(f"probe_sentences has {sorted(record['probe_sentences'])}; expected template_0 alone")
    probe = record["probe_sentences"]["template_0"]
    labels = [probe["label"]] if "label" in probe else probe["labels"]
    for target in (record["def_target"], *labels):
        if not target.startswith(f"{_MASK} ") or not target.endswith(f" {_AFTER}"):
            raise ValueError(f"found {target!r}; expected '{_MASK} ... {_AFTER}'")


def _query(record: Mapping[str, Any]) -> None:
    # TempLAMA's code, unlike its data, writes a single answer without a list.
    answers = record["answer"] if isinstance(record["answer"], list) else [record["answer"]]
    for answer in answers:
        _ = answer["wikidata_id"], answer["name"]


_CLOZE_FIELDS = (
    *("ex_id", "masked_sentence", "answer_str", "answer_d", "span_type"),
    *("definition", "year", "entity_span_str", "entity_span_loc"),
)
_PROBE_FIELDS = ("ex_id", "definition", "def_target", "category", "qid", "ent_str", "probe_sentences")
_Layout = tuple[tuple[str, ...], Callable[[Mapping[str, Any]], None]]

LAYOUTS: Mapping[str, _Layout] = {
    "ecbd": (_CLOZE_FIELDS, _cloze),
    "propagation": (_PROBE_FIELDS, _probe),
    "templama": (("query", "answer", "date", "id", "relation"), _query),
}
"""ECBD's nine fields, those of its follow-up paper, and the queries of TempLAMA and DynamicTempLAMA."""


def read_records(path: Path, layout: str) -> Iterator[dict[str, Any]]:
    """Yield the records of a file of JSON lines, or of a single JSON object; with all their fields, in their order.

    Args:
        layout: a name in `LAYOUTS`.

    Raises:
        SourceError: there is no such file, or a line is not such a record; the message names the file, the line and
            what is wrong.
    """
    if not path.is_file():
        raise SourceError(f"{path}: no such file; expected records of {layout}, one JSON object per line")
    needed, check = LAYOUTS[layout]
    text = path.read_text("utf-8")
    # Not `splitlines`: JSON allows characters in a string that are ends of lines to Unicode, such as U+2028.
    for number, line in enumerate([text] if _is_object(text) else text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            missing = [name for name in needed if name not in record]
            if missing:
                raise ValueError(f"has no {', '.join(missing)}")
            check(record)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            why = f"the field {error} is missing" if isinstance(error, KeyError) else str(error)
            raise SourceError(
                f"{path}, line {number}: not a record of {layout} ({why}); fetch the file again"
            ) from None
        yield record


def _is_object(text: str) -> bool:
    """Whether the text is one JSON object, on however many lines."""
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
