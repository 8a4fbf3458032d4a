"""Writes the released layouts of ECBD and of its follow-up paper.

Reads and writes the two released formats: ECBD's nine fields, and those of the follow-up paper (propagation).

A record that is read and written again is unchanged. Pure, except that files are read.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

from tempkb.benchmarks.chance import draw
from tempkb.benchmarks.ecbd.design import SPLITS, Release
from tempkb.benchmarks.ecbd.released import Tokens
from tempkb.benchmarks.ecbd.spans import NP, RANDOM
from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE, ECBD_ENTITIES, TABLES
from tempkb.benchmarks.ecbd.words import words_of
from tempkb.benchmarks.export_folder import ExportFolder
from tempkb.benchmarks.register import release_versions
from tempkb.benchmarks.sentences import MASK
from tempkb.core.errors import SourceError
from tempkb.store.memory import asking, view_files
from tempkb.store.plain import plain_rows
from tempkb.store.store import Store
from tempkb.store.versions import Version

_AFTER = "<extra_id_1>"
_MOST_WORDS = 5
_MASKINGS = 10
_TRIES = 200


@dataclass(frozen=True)
class ClozeRecord:
    """An item in the released nine fields (the released code's README).

    Attributes:
        ex_id: title, page, sentence and span; not unique across the kinds of spans in the released data.
        masked_sentence: the sentence with the mask in place of the answer.
        span_type: NP-COMMON, NP-PROPER or RANDOM.
        definition: sentences of the article's first paragraph; the first one is used.
        year: the year of origin, or `popular`.
        mention_tokens: half-open range of spaCy's tokens.
    """

    ex_id: str
    masked_sentence: str
    answer: str
    span_type: str
    definition: tuple[str, ...]
    year: str
    mention: str
    mention_tokens: tuple[int, int]

    def to_json(self) -> dict[str, Any]:
        """Return the record with the released field names, in their order."""
        return {
            "ex_id": self.ex_id,
            "masked_sentence": self.masked_sentence,
            "answer_str": _target(self.answer),
            "answer_d": {MASK: self.answer},
            "span_type": self.span_type,
            "definition": list(self.definition),
            "year": self.year,
            "entity_span_str": self.mention,
            "entity_span_loc": list(self.mention_tokens),
        }


def cloze_record(fields: Mapping[str, Any]) -> ClozeRecord:
    """Return the record of nine fields.

    Raises:
        KeyError: a field is missing.
        ValueError: its two answers differ.
    """
    answer = fields["answer_d"][MASK]
    if fields["answer_str"] != _target(answer):
        raise ValueError(f"answer_str is {fields['answer_str']!r}; expected {_target(answer)!r}, as answer_d says")
    first, behind = fields["entity_span_loc"]
    return ClozeRecord(
        fields["ex_id"],
        fields["masked_sentence"],
        answer,
        fields["span_type"],
        tuple(fields["definition"]),
        fields["year"],
        fields["entity_span_str"],
        (first, behind),
    )


@dataclass(frozen=True)
class ProbeRecord:
    """An item in the follow-up's format: a masked definition to learn from, and a sentence that probes what was learnt.

    Attributes:
        ex_id: as in the nine fields.
        definition: first sentence of the article, with a mask.
        definition_answer: the text in place of that mask.
        classes: the entity's classes as "label (Qid)"; a single text in some released files.
        mention: the text that mentions the entity in the probe.
        probe: a sentence with a mask.
        labels: the answer, or several answers to choose from.
        further: the other fields of the format, unchanged.
    """

    ex_id: str
    definition: str
    definition_answer: str
    category: str
    classes: tuple[str, ...] | str
    mention: str
    probe: str
    labels: tuple[str, ...] | str
    further: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the record with the released field names."""
        one = isinstance(self.labels, str)
        label = {"label": _target(str(self.labels))} if one else {"labels": [_target(each) for each in self.labels]}
        own = {
            "ex_id": self.ex_id,
            "definition": self.definition,
            "def_target": _target(self.definition_answer),
            "category": self.category,
            "qid": self.classes if isinstance(self.classes, str) else list(self.classes),
            "ent_str": self.mention,
        }
        return own | dict(self.further) | {"probe_sentences": {"template_0": {"probe_sentence": self.probe, **label}}}


_OWN = ("ex_id", "definition", "def_target", "category", "qid", "ent_str", "probe_sentences")


def probe_record(fields: Mapping[str, Any]) -> ProbeRecord:
    """Return the record of the follow-up's format.

    Raises:
        KeyError: a field is missing.
        ValueError: there is more than one probe, or an answer has no mask.
    """
    if set(fields["probe_sentences"]) != {"template_0"}:
        raise ValueError(f"probe_sentences has {sorted(fields['probe_sentences'])}; expected template_0 alone")
    probe = fields["probe_sentences"]["template_0"]
    labels = _answer(probe["label"]) if "label" in probe else tuple(_answer(one) for one in probe["labels"])
    classes = fields["qid"]
    return ProbeRecord(
        fields["ex_id"],
        fields["definition"],
        _answer(fields["def_target"]),
        fields["category"],
        classes if isinstance(classes, str) else tuple(classes),
        fields["ent_str"],
        probe["probe_sentence"],
        labels,
        {name: value for name, value in fields.items() if name not in _OWN},
    )


_Record = TypeVar("_Record", ClozeRecord, ProbeRecord)


def read_records(path: Path, read: Callable[[Mapping[str, Any]], _Record]) -> Iterator[_Record]:
    """Yield the records of a file of JSON lines, or of a single JSON object.

    Raises:
        SourceError: a line is not such a record; the message names the file, the line and what is wrong.
    """
    text = path.read_text("utf-8")
    # Not `splitlines`: JSON allows characters in a string that are ends of lines to Unicode, such as U+2028.
    lines = [text] if _is_object(text) else text.split("\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = read(json.loads(line))
        except (ValueError, KeyError, TypeError) as error:
            why = f"the field {error} is missing" if isinstance(error, KeyError) else str(error)
            raise SourceError(
                f"{path}, line {number}: not a record of this format ({why}); fetch the file again"
            ) from None
        yield record


def maskings(definition: str, seed: int, *key: object) -> list[tuple[str, str]]:
    """Return up to ten different random maskings of a definition: (text with the mask, masked text)."""
    words = words_of(definition)
    found: dict[tuple[int, int], tuple[str, str]] = {}
    for number in range(_TRIES if words else 0):
        chance = draw(seed, "masking", *key, number)
        first = chance // _MOST_WORDS % len(words)
        last = first + chance % _MOST_WORDS
        if last < len(words) and (first, last) not in found:
            start, end = words[first].start, words[last].end
            found[first, last] = (f"{definition[:start]}{MASK}{definition[end:]}", definition[start:end])
        if len(found) == _MASKINGS:
            break
    return list(found.values())


def as_pair(masking: tuple[str, str]) -> list[str]:
    """Return a masking in the form of the follow-up's `additional_sentences`."""
    return [masking[0], _target(masking[1])]


def _target(answer: str) -> str:
    return f"{MASK} {answer} {_AFTER}"


def _answer(target: str) -> str:
    if not target.startswith(f"{MASK} ") or not target.endswith(f" {_AFTER}"):
        raise ValueError(f"found {target!r}; expected '{MASK} ... {_AFTER}'")
    return target.removeprefix(f"{MASK} ").removesuffix(f" {_AFTER}")


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


POPULAR = "popular"
YEAR = f"CASE WHEN subset = 'odie' THEN year(origin_from)::VARCHAR ELSE '{POPULAR}' END"
"""SQL of the year of an item's origin, by which the released files are divided."""
Row = dict[str, Any]


def write_files(store: Store, release: Release, out: ExportFolder, _options: Mapping[str, Any]) -> None:
    """Write the files of the released layouts: items with nine fields, and with the fields of the follow-up paper."""
    built = {table.name: version for table in TABLES for version in release_versions(store, table, release.name)}
    for year in _years(built[ECBD_CLOZE.name]):
        for kind in (NP, RANDOM):
            for split in SPLITS:
                cloze = (one.to_json() for one in _cloze_records(built, year, kind, split))
                out.write_json_lines(f"{year}/{kind}_spans_{split}.json", cloze)
    for kind in (NP, RANDOM):
        for split in SPLITS:
            probes = (one.to_json() for one in _probe_records(built, release, kind, split))
            out.write_json_lines(f"ekp/{kind}_{split}.json", probes)


def _years(items: Version) -> list[str]:
    """The years of origin, and `popular` if there are popular entities."""
    with asking() as connection:
        view_files(connection, "items", items.paths())
        return [year for (year,) in connection.execute(f"SELECT DISTINCT {YEAR} AS y FROM items ORDER BY y").fetchall()]


def _item_rows(built: dict[str, Version], where: str, values: dict[str, Any]) -> Iterator[Row]:
    """Items with the number of their sentence within the entity, and of their span within sentence and kind."""
    with asking() as connection:
        view_files(connection, "items", built[ECBD_CLOZE.name].paths())
        view_files(connection, "entities", built[ECBD_ENTITIES.name].paths())
        reader = connection.sql(
            f"""
            WITH numbered AS (
                SELECT *, {YEAR} AS year,
                       dense_rank() OVER (PARTITION BY page_id ORDER BY sentence_start_char) - 1 AS sentence_no,
                       row_number() OVER (PARTITION BY page_id, sentence_start_char, span_kind
                                          ORDER BY span_start_char, span_end_char) - 1 AS span_no
                FROM items
            )
            SELECT n.*, e.definition_sentences, e.classes
            FROM numbered AS n JOIN entities AS e USING (page_id) WHERE {where}
            ORDER BY page_id, sentence_no, span_kind, span_no
            """,
            params=values,
        ).to_arrow_reader(1 << 12)
        for batch in reader:
            yield from plain_rows(batch)


def _ex_id(row: Row) -> str:
    return f"{row['title']}_{row['page_id']}_{row['sentence_no']}_{row['span_no']}"


def _cloze_records(built: dict[str, Version], year: str, kind: str, split: str) -> Iterator[ClozeRecord]:
    values = {"year": year, "kind": kind, "split": split}
    for row in _item_rows(built, "n.year = $year AND n.span_kind = $kind AND n.split = $split", values):
        tokens = Tokens(row["sentence"]).around(row["mention_start_char"], row["mention_end_char"])
        span_type = f"NP-{row['np_type']}" if kind == NP else "RANDOM"
        yield ClozeRecord(
            _ex_id(row),
            row["masked_sentence"],
            row["answer"],
            span_type,
            tuple(row["definition_sentences"]),
            year,
            row["mention"],
            tokens,
        )


def _probe_records(built: dict[str, Version], release: Release, kind: str, split: str) -> Iterator[ProbeRecord]:
    rows = _item_rows(built, "n.span_kind = $kind AND n.split = $split", {"kind": kind, "split": split})
    for page_id, own in groupby(rows, key=itemgetter("page_id")):
        masked: list[tuple[str, str]] | None = None
        for row in own:
            masked = masked or maskings(row["definition"], release.design.seed, page_id)
            classes = tuple(_class(one) for one in row["classes"])
            further = {
                "attribute": "n/a",
                "additional_sentences": [as_pair(one) for one in masked[1:]],
                "conceptnet": [],
            }
            yield ProbeRecord(
                _ex_id(row),
                masked[0][0],
                masked[0][1],
                row["category"],
                classes,
                row["mention"],
                row["masked_sentence"],
                row["answer"],
                further,
            )


def _class(one: dict[str, str | None]) -> str:
    return f"{one['label']} ({one['class_id']})" if one["label"] else str(one["class_id"])
