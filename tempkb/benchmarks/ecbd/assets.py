"""When a release's tables are made: once per name; what stands is never written again."""

import time
from collections.abc import Iterator
from typing import Any

import dagster as dg

from tempkb.benchmarks.assets import forgetting_withdrawn
from tempkb.benchmarks.ecbd import releases
from tempkb.benchmarks.ecbd.building import build_release
from tempkb.benchmarks.ecbd.chunking import FALLBACK
from tempkb.benchmarks.ecbd.design import make_design
from tempkb.benchmarks.ecbd.plots import items_by_window, plot_categories, plot_windows
from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE, ECBD_ENTITIES, ECBD_RELEASES, ECBD_SENTENCES, TABLES
from tempkb.mentions.tables import ENTITY_POPULARITY, MENTIONS, PAGE_LINKS, PAGE_TEXTS
from tempkb.revisions.tables import STABLE_SNAPSHOTS
from tempkb.store.assets import glance_of, sample_of, spec_of, table_of
from tempkb.store.lake import Version
from tempkb.store.materialise import facts_of
from tempkb.store.memory import in_memory, view_files
from tempkb.store.parquet import read_parquet
from tempkb.store.plain import plain_rows
from tempkb.store.store import Store
from tempkb.store.tables import EXCLUSIONS, Table
from tempkb.wikidata.tables import ENTITY_CLASSES, ENTITY_ORIGINS, SUBCLASSES, WIKIDATA_ENTITIES


class EcbdReleaseConfig(dg.Config):
    """What a release is to be, when it was not written down before by `tempkb release ecbd`.

    Attributes:
        preset: `tempkb`, `paper`, `paper_2021`, `ecbd_compat` or `small`.
        windows: origins, as `2017-01-01..2022-01-01`; empty when the release is written down.
        cut: day that ends the window whose snapshot gives the texts.
        dump_id: Wikidata dump; empty for popular pages only.
        popular: how many popular entities, or a file that lists pages.
        changes: part of the design -> value.
    """

    preset: str = "tempkb"
    windows: str = ""
    cut: str = ""
    dump_id: str = ""
    popular: str = ""
    changes: dict[str, str] = {}  # noqa: RUF012 - pydantic copies it


def _whole(*tables: Table) -> list[dg.AssetDep]:
    return [dg.AssetDep(table.name, partition_mapping=dg.AllPartitionMapping()) for table in tables]


@dg.multi_asset(
    name="ecbd",
    specs=[
        spec_of(
            ECBD_ENTITIES,
            "Entities that a release asks about, with origin, category and names; what is left out is counted in "
            "`exclusions`. Key `page_id`.",
            _whole(STABLE_SNAPSHOTS, ENTITY_POPULARITY, WIKIDATA_ENTITIES, ENTITY_ORIGINS, ENTITY_CLASSES, SUBCLASSES),
        ),
        spec_of(
            ECBD_SENTENCES,
            "Sentences that mention an entity once, with their noun phrases. Key `page_id, sentence_start_char`.",
            [ECBD_ENTITIES.name, *_whole(PAGE_TEXTS, PAGE_LINKS, MENTIONS)],
        ),
        spec_of(ECBD_CLOZE, "Cloze items: a sentence with one span masked. Key `cloze_id`.", [ECBD_SENTENCES.name]),
        spec_of(ECBD_RELEASES, "Releases of ECBD with their designs. Key `release`.", [ECBD_CLOZE.name]),
    ],
    backfill_policy=dg.BackfillPolicy.single_run(),
)
def ecbd(
    context: dg.AssetExecutionContext, config: EcbdReleaseConfig, store: dg.ResourceParam[Store]
) -> Iterator[dg.MaterializeResult[None]]:
    """Choose entities, sentences and spans, for each release of the run."""
    if config.windows:
        _write_down(context, config, store)
    told: dict[str, dict[str, Any]] = {}
    for name in context.partition_keys:
        began = time.monotonic()
        warnings: list[str] = []
        with forgetting_withdrawn(context, store, name):
            versions = build_release(store, releases.load(store.home, name), context.log.info, warnings.append)
        for warning in warnings:
            context.log.warning(warning)
        publication = store.publish()
        for table in TABLES:
            version = versions[table.name]
            told[table.name] = {**facts_of(version, publication), "chunker": _chunker(versions)}
            left_out = {f"left out/{row['reason']}": row["n"] for row in version.side_rows(EXCLUSIONS.name)}
            seconds = {"seconds": round(time.monotonic() - began, 2)}
            context.add_asset_metadata(
                {**told[table.name], **left_out, **seconds}, asset_key=table.name, partition_key=name
            )
            told[table.name]["sample"] = sample_of(version)
        if warnings:
            told[ECBD_RELEASES.name]["warning"] = "; ".join(warnings)
        told[ECBD_ENTITIES.name]["picture"] = dg.MetadataValue.md(plot_categories(versions[ECBD_ENTITIES.name]))
        told[ECBD_CLOZE.name]["glance"] = glance_of(*items_by_window(versions[ECBD_CLOZE.name]))
        told[ECBD_CLOZE.name]["picture"] = dg.MetadataValue.md(plot_windows(versions[ECBD_CLOZE.name]))
        told[ECBD_CLOZE.name]["items"] = _items(versions[ECBD_CLOZE.name])
    for table_name, facts in told.items():
        yield dg.MaterializeResult(asset_key=table_name, metadata=facts)


def _write_down(context: dg.AssetExecutionContext, config: EcbdReleaseConfig, store: Store) -> None:
    """Write down a release that is asked for by the run's configuration."""
    name = context.partition_key
    with forgetting_withdrawn(context, store, name):
        design = make_design(config.preset, config.windows, config.cut, config.dump_id, config.popular, config.changes)
        releases.keep(store.home, releases.create(store.home, config.preset, design, name))


def _chunker(versions: dict[str, Version]) -> str:
    row = plain_rows(read_parquet(versions[ECBD_RELEASES.name].paths()))[0]
    name: str = row["chunker"]
    return name if FALLBACK not in name else name.upper()


def _items(version: Version) -> dg.MetadataValue:
    """Ten items, as people read them."""
    with in_memory() as connection:
        view_files(connection, "items", version.paths())
        rows = connection.sql(
            """
            SELECT title, coalesce(origin_window, 'popular') AS origin, span_kind AS kind, masked_sentence, answer
            FROM items ORDER BY md5(cloze_id) LIMIT 10
            """
        ).to_arrow_table()
    return table_of(rows, cell=300)
