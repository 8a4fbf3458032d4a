"""Writes the released layouts of ECBD: its nine fields, and the fields of the follow-up paper (propagation)."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any

from tempkb.benchmarks.chance import draw
from tempkb.benchmarks.ecbd.design import SPLITS, Release
from tempkb.benchmarks.ecbd.released import Tokens
from tempkb.benchmarks.ecbd.spans import NP, RANDOM
from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE, ECBD_ENTITIES, TABLES
from tempkb.benchmarks.export_folder import ExportFolder
from tempkb.benchmarks.register import release_versions
from tempkb.benchmarks.sentences import MASK, words_of
from tempkb.store.memory import asking, view_files
from tempkb.store.plain import plain_rows
from tempkb.store.store import Store
from tempkb.store.versions import Version

_AFTER = "<extra_id_1>"
_MOST_WORDS = 5
_MASKINGS = 10
_TRIES = 200


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


def _target(answer: str) -> str:
    return f"{MASK} {answer} {_AFTER}"


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
                lines = _cloze_lines(built, year, kind, split)
                out.write_json_lines(f"{year}/{kind}_spans_{split}.json", lines)
    for kind in (NP, RANDOM):
        for split in SPLITS:
            out.write_json_lines(f"ekp/{kind}_{split}.json", _probe_lines(built, release, kind, split))


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


def _cloze_lines(built: dict[str, Version], year: str, kind: str, split: str) -> Iterator[Row]:
    """Items in the nine fields (the released code's README); places of mentions are ranges of spaCy's tokens."""
    values = {"year": year, "kind": kind, "split": split}
    for row in _item_rows(built, "n.year = $year AND n.span_kind = $kind AND n.split = $split", values):
        tokens = Tokens(row["sentence"]).around(row["mention_start_char"], row["mention_end_char"])
        yield {
            "ex_id": _ex_id(row),
            "masked_sentence": row["masked_sentence"],
            "answer_str": _target(row["answer"]),
            "answer_d": {MASK: row["answer"]},
            "span_type": f"NP-{row['np_type']}" if kind == NP else "RANDOM",
            "definition": row["definition_sentences"],
            "year": year,
            "entity_span_str": row["mention"],
            "entity_span_loc": tokens,
        }


def _probe_lines(built: dict[str, Version], release: Release, kind: str, split: str) -> Iterator[Row]:
    """Items in the follow-up's format: a masked definition to learn from, a sentence that probes what was learnt."""
    rows = _item_rows(built, "n.span_kind = $kind AND n.split = $split", {"kind": kind, "split": split})
    for page_id, own in groupby(rows, key=itemgetter("page_id")):
        masked: list[tuple[str, str]] | None = None
        for row in own:
            masked = masked or maskings(row["definition"], release.design.seed, page_id)
            probe = {"probe_sentence": row["masked_sentence"], "label": _target(row["answer"])}
            yield {
                "ex_id": _ex_id(row),
                "definition": masked[0][0],
                "def_target": _target(masked[0][1]),
                "category": row["category"],
                "qid": [_class(one) for one in row["classes"]],
                "ent_str": row["mention"],
                "attribute": "n/a",
                "additional_sentences": [[text, _target(answer)] for text, answer in masked[1:]],
                "conceptnet": [],
                "probe_sentences": {"template_0": probe},
            }


def _class(one: dict[str, str | None]) -> str:
    return f"{one['label']} ({one['class_id']})" if one["label"] else str(one["class_id"])
