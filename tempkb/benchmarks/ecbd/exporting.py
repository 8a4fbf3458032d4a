"""A release as a folder: the released layouts and field names, Parquet beside them, a card, check sums."""

import json
from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import tempkb
from tempkb.benchmarks.ecbd.design import SPLITS
from tempkb.benchmarks.ecbd.records import ClozeRecord, ProbeRecord, as_pair, maskings
from tempkb.benchmarks.ecbd.released_spans import Tokens
from tempkb.benchmarks.ecbd.releases import Release
from tempkb.benchmarks.ecbd.spans import NP, RANDOM
from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE, ECBD_ENTITIES, TABLES
from tempkb.benchmarks.ecbd.views import CATEGORIES, DATA_STATISTICS, ORIGIN_YEARS
from tempkb.benchmarks.export import ExportFolder, export_folder
from tempkb.dumps.tables import DUMP_FILES
from tempkb.errors import DesignError
from tempkb.store.lake import Version
from tempkb.store.materialise import escaped, markdown
from tempkb.store.memory import in_memory, view_files
from tempkb.store.parquet import read_parquet
from tempkb.store.plain import plain_rows
from tempkb.store.store import Store

POPULAR = "popular"
Row = dict[str, Any]

_CARD = """\
---
license: cc-by-sa-4.0
task_categories: [fill-mask]
pretty_name: {name}
---
# {name}

Entity Cloze By Date, made with tempkb {version}: {n_items:,} cloze items about {n_entities:,} entities that came into
the world from {study_from} to {study_to} (not included){popular}. All texts are those of {wiki} as they stood at {cut}.

## Composition
`<year>/np_spans_<split>.json` and `<year>/random_spans_<split>.json`, and the same below `popular/`, hold an item a
line in the released nine fields. `ekp/<kind>_<split>.json` holds the same items in the follow-up's fields. An `ex_id`
names an item among those of one kind, as in the released data; `cloze_id` in `parquet/` names it among all. `parquet/`
holds the tables with dates, offsets, revisions and all that was chosen; `design.json` the whole design. An entity is in
one split only.

{years}

{statistics}

Per cent of the entities by category:

{categories}

## Collection process
Rules: preset `{preset}`. Noun phrases: {chunker}. From these files:

| dump | file | sha256 |
| --- | --- | --- |
{files}

Origins keep the precision they have in Wikidata; nothing is filled in. A sentence tells what the article said at the
cut, which may be more than was known when the entity was new: `sentence_since` says since when it stands there.

## Uses
To measure what a model infers about entities that are younger than it. `parquet/` has the days between which an
entity's origin lies, so that each model can be asked about what came after it. `answer_in_definition` marks items whose
answer stands in the definition.

## Distribution
The texts are from Wikipedia, under [CC BY-SA 4.0](https://creativecommons.org/licenses/by-sa/4.0/); page and revision
of every sentence are given, which lead to its authors. Dates, classes and names are Wikidata's (CC0).

## Maintenance
The release is frozen. Built again from the same dumps with the same design it has the same bytes.
`sha256sum -c SHA256SUMS` verifies the files.
"""


def export_ecbd(store: Store, release: Release, folder: Path) -> Path:
    """Write a release below `folder`, in a folder of its name, and return that.

    Raises:
        DesignError: the release is not built.
    """
    versions = {table.name: store.lake.current(table.name, release.name) for table in TABLES}
    built = {name: version for name, version in versions.items() if version is not None}
    if len(built) < len(TABLES):
        raise DesignError(f"release {release.name!r}: is not built; build it first: tempkb release ecbd ...")
    target = folder / release.name
    with export_folder(target) as out:
        years = _years(built[ECBD_CLOZE.name])
        for year in years:
            for kind in (NP, RANDOM):
                for split in SPLITS:
                    records = (one.to_json() for one in _cloze_records(built, year, kind, split))
                    out.write_json_lines(f"{year}/{kind}_spans_{split}.json", records)
        for kind in (NP, RANDOM):
            for split in SPLITS:
                records = (one.to_json() for one in _probe_records(built, release, kind, split))
                out.write_json_lines(f"ekp/{kind}_{split}.json", records)
        _write_tables(out, built)
        out.write_text("design.json", json.dumps(release.design.to_json(), indent=1, sort_keys=True) + "\n")
        out.write_text("README.md", _card(store, release, built))
    return target


def _write_tables(out: ExportFolder, built: dict[str, Version]) -> None:
    for table in TABLES:
        batches = (read_parquet(path) for path in built[table.name].paths())
        out.write_parquet(f"parquet/{table.name}.parquet", table.schema, batches)


def _years(items: Version) -> list[str]:
    """Years of origin, and popular if there is any."""
    with in_memory() as connection:
        view_files(connection, "items", items.paths())
        return [
            year for (year,) in connection.execute(f"SELECT DISTINCT {_YEAR} AS y FROM items ORDER BY y").fetchall()
        ]


_YEAR = f"CASE WHEN subset = 'odie' THEN year(origin_from)::VARCHAR ELSE '{POPULAR}' END"


def _item_rows(built: dict[str, Version], where: str, values: dict[str, Any]) -> Iterator[Row]:
    """Items with the number of their sentence within the entity and of their span within sentence and kind."""
    with in_memory() as connection:
        view_files(connection, "items", built[ECBD_CLOZE.name].paths())
        view_files(connection, "entities", built[ECBD_ENTITIES.name].paths())
        reader = connection.sql(
            f"""
            WITH numbered AS (
                SELECT *, {_YEAR} AS year,
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


def _card(store: Store, release: Release, built: dict[str, Version]) -> str:
    row = plain_rows(read_parquet(built["ecbd_releases"].paths()))[0]
    with in_memory() as connection:
        for table in TABLES:
            view_files(connection, table.name, built[table.name].paths())
        n_entities, n_popular = connection.execute(
            "SELECT count(DISTINCT page_id) FILTER (WHERE subset = 'odie'), "
            "count(DISTINCT page_id) FILTER (WHERE subset = 'popular') FROM ecbd_cloze"
        ).fetchall()[0]

        def table_of(query: str) -> str:
            return markdown(connection.sql(query).to_arrow_table())

        every = "CASE WHEN origin_year = 0 THEN 'all' ELSE origin_year::VARCHAR END AS origin_year"
        years = table_of(
            f"SELECT {every}, n_dev, n_test, n_entities FROM ({ORIGIN_YEARS.query}) AS y ORDER BY y.origin_year"
        )
        statistics = table_of(
            "SELECT * EXCLUDE (release) REPLACE (round(mean_span_words, 2) AS mean_span_words, "
            f"round(proper_share, 3) AS proper_share) FROM ({DATA_STATISTICS.query}) ORDER BY subset"
        )
        categories = table_of(
            f"SELECT {every}, category, n_entities, round(per_cent, 1) AS per_cent "
            f"FROM ({CATEGORIES.query}) AS c ORDER BY c.origin_year, place"
        )
    dump_ids = [*row["dump_ids"], *([row["wikidata_dump_id"]] if row["wikidata_dump_id"] else [])]
    files = [one for dump_id in dump_ids for one in plain_rows(store.read(DUMP_FILES.name, dump_id=dump_id))]
    return _CARD.format(
        name=release.name,
        version=tempkb.__version__,
        n_items=built[ECBD_CLOZE.name].rows,
        n_entities=n_entities,
        study_from=row["study_from"],
        study_to=row["study_to"],
        wiki=row["wiki"],
        cut=row["cut"],
        popular=f", and {n_popular:,} popular ones" if n_popular else "",
        years=years,
        statistics=statistics,
        categories=categories,
        preset=row["preset"],
        chunker=row["chunker"],
        files="\n".join(f"| {one['dump_id']} | {escaped(one['file_name'])} | {one['checksum']} |" for one in files),
    )
