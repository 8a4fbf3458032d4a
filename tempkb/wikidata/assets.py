"""When the room's tables are made: once per Wikidata dump, in one pass over it."""

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import dagster as dg

from tempkb.dumps.assets import dump_of_run
from tempkb.dumps.tables import DUMP_FILES
from tempkb.store.assets import sample_of, spec_of, table_of
from tempkb.store.materialise import facts_of
from tempkb.store.memory import in_memory
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
            "Statements that name an item and say when they hold, a row per stretch. Key `fact_id, interval_no`.",
        ),
        _spec(UNDATED_STATEMENTS, "Statements without a date beside dated ones: no facts, but told. Key `fact_id`."),
        _spec(ENTITY_ORIGINS, "When items came into the world, by ECBD's properties. Key `entity_id`."),
        _spec(ENTITY_CLASSES, "What items are: classes, and those asked for above them. Key `entity_id, class_id`."),
        _spec(SUBCLASSES, "Which class lies directly below which. Key `class_id, above_id`."),
        _spec(
            LATE_EDITS,
            "How much of each window is entered late, against the first dump after it. Key `window_start`.",
            deps=[FACTS.name],
        ),
    ],
    backfill_policy=dg.BackfillPolicy.single_run(),
)
def wikidata(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]) -> Iterator[dg.MaterializeResult[None]]:
    """Read each Wikidata dump once, the oldest first, and write all that is known from it."""
    found = [dump for key in context.partition_keys if (dump := dump_of_run(context, store, key))]
    for dump in found:
        if not dump.entities:
            context.log.info(f"Dump {dump.dump_id} holds pages, so no entities of Wikidata.")
    dumps = sorted((dump for dump in found if dump.entities), key=lambda one: one.horizon)
    told: dict[str, dict[str, Any]] = {}
    for dump in dumps:
        began = time.monotonic()
        report = read_dump(store, dump, context.log.info)
        publication = store.publish()
        for table in ALL:
            version = report.versions[table.name]
            told[table.name] = facts_of(version, publication)
            left_out = {f"left out/{row['reason']}": row["n"] for row in version.side_rows(EXCLUSIONS.name)}
            seconds = {"seconds": round(time.monotonic() - began, 2)}
            context.add_asset_metadata(
                {**told[table.name], **left_out, **seconds}, asset_key=table.name, partition_key=dump.dump_id
            )
            told[table.name]["sample"] = sample_of(version)
        if report.warning:
            told[FACTS.name]["warning"] = report.warning
        damages = {name: tally.reason for name, tally in report.tallies.items() if tally.reason}
        if damages:
            told[FACTS.name]["damaged_files"] = dg.MetadataValue.json(damages)
        told[FACTS.name]["relations"] = _by_relation(store, dump.dump_id)
    for name, facts in told.items():
        yield dg.MaterializeResult(asset_key=name, metadata=facts)


def _by_relation(store: Store, dump_id: str) -> dg.MetadataValue:
    """The twenty properties with the most facts, with how exact their dates are."""
    paths = file_names(store.lake.files(FACTS.name, [dump_id]))
    with in_memory() as connection:
        found = connection.sql(
            """
            SELECT relation, count(*) AS facts, count(*) FILTER (WHERE start_precision = 'day') AS starts_by_day,
                   count(*) FILTER (WHERE start_precision = 'year') AS starts_by_year,
                   count(*) FILTER (WHERE end_kind = 'absent' AND NOT is_point) AS no_end_is_told
            FROM read_parquet($paths) GROUP BY relation ORDER BY facts DESC, relation LIMIT 20
            """,
            params={"paths": paths},
        ).to_arrow_table()
    return table_of(found)
