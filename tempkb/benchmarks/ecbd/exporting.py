"""Writes the released layouts of ECBD and of its follow-up paper."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any

from tempkb.benchmarks.ecbd.design import SPLITS
from tempkb.benchmarks.ecbd.records import ClozeRecord, ProbeRecord, as_pair, maskings
from tempkb.benchmarks.ecbd.released_spans import Tokens
from tempkb.benchmarks.ecbd.releases import Release
from tempkb.benchmarks.ecbd.spans import NP, RANDOM
from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE, ECBD_ENTITIES, TABLES
from tempkb.benchmarks.export_folder import ExportFolder
from tempkb.benchmarks.register import release_versions
from tempkb.store.memory import asking, view_files
from tempkb.store.plain import plain_rows
from tempkb.store.store import Store
from tempkb.store.versions import Version

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
