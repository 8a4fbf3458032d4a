"""The room's Dagster asset: all tables of a Wikidata dump, in one pass over it."""

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import dagster as dg

from tempkb.dumps.assets import dump_of_run
from tempkb.dumps.tables import DUMP_FILES
from tempkb.store.assets import sample_of, spec_of, table_of
from tempkb.store.materialise import facts_of
from tempkb.store.memory import asking
from tempkb.store.quoting import file_names
from tempkb.store.store import Store
from tempkb.store.tables import EXCLUSIONS
from tempkb.wikidata.building import ALL, read_dump
from tempkb.wikidata.tables import (
    ENTITY_CLASSES,
    ENTITY_ORIGINS,
    FACTS,
    LATE_EDITS,
    SUBCLASSES,
    UNDATED_STATEMENTS,
    WIKIDATA_ENTITIES,
)

_spec = partial(spec_of, deps=[DUMP_FILES.name], skippable=True)


@dg.multi_asset(
    name="wikidata",
    specs=[
        _spec(WIKIDATA_ENTITIES, "Items with a page in the wiki, as a Wikidata dump describes them. Key `entity_id`."),
        _spec(
            FACTS,
            "Statements with an item as value and with dates, one row per interval. Key `fact_id, interval_no`.",
        ),
        _spec(
            UNDATED_STATEMENTS,
            "Statements without a date, of subjects and relations that also have dated ones. Key `fact_id`.",
        ),
        _spec(ENTITY_ORIGINS, "When items began to exist, by ECBD's properties. Key `entity_id`."),
        _spec(
            ENTITY_CLASSES,
            "The classes of items, and the configured classes above them. Key `entity_id, class_id`.",
        ),
        _spec(SUBCLASSES, "The edges of the class tree: class and direct superclass. Key `class_id, above_id`."),
        _spec(
            LATE_EDITS,
            "How much of each window was entered after the first dump that follows it. Key `window_start`.",
            deps=[FACTS.name],
        ),
    ],
    backfill_policy=dg.BackfillPolicy.single_run(),
)
def wikidata(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]) -> Iterator[dg.MaterializeResult[None]]:
    """Read each Wikidata dump once, the oldest first, and write all tables of the room."""
    found = [dump for key in context.partition_keys if (dump := dump_of_run(context, store, key))]
    for dump in found:
        if not dump.entities:
            context.log.info(f"Dump {dump.dump_id} is skipped: it has pages, not Wikidata's entities.")
    dumps = sorted((dump for dump in found if dump.entities), key=lambda one: one.horizon)
    metadata: dict[str, dict[str, Any]] = {}
    for dump in dumps:
        began = time.monotonic()
        report = read_dump(store, dump, context.log.info)
        for table in ALL:
            version = report.versions[table.name]
            metadata[table.name] = facts_of(version)
            left_out = {f"left out/{row['reason']}": row["n"] for row in version.side_rows(EXCLUSIONS.name)}
            seconds = {"seconds": round(time.monotonic() - began, 2)}
            context.add_asset_metadata(
                {**metadata[table.name], **left_out, **seconds}, asset_key=table.name, partition_key=dump.dump_id
            )
            metadata[table.name]["sample"] = sample_of(version)
        if report.warning:
            metadata[FACTS.name]["warning"] = report.warning
        damages = {name: tally.reason for name, tally in report.tallies.items() if tally.reason}
        if damages:
            metadata[FACTS.name]["damaged_files"] = dg.MetadataValue.json(damages)
        metadata[FACTS.name]["relations"] = _by_relation(store, dump.dump_id)
    for name, values in metadata.items():
        yield dg.MaterializeResult(asset_key=name, metadata=values)


def _by_relation(store: Store, dump_id: str) -> dg.MetadataValue:
    """The twenty properties with the most facts, and the precision of their dates."""
    paths = file_names(store.lake.files(FACTS.name, [dump_id]))
    with asking() as connection:
        found = connection.sql(
            """
            SELECT relation, count(*) AS facts, count(*) FILTER (WHERE start_precision = 'day') AS starts_by_day,
                   count(*) FILTER (WHERE start_precision = 'year') AS starts_by_year,
                   count(*) FILTER (WHERE end_kind = 'absent' AND NOT is_point) AS without_end
            FROM read_parquet($paths) GROUP BY relation ORDER BY facts DESC, relation LIMIT 20
            """,
            params={"paths": paths},
        ).to_arrow_table()
    return table_of(found)
