"""When a release is made: once per name, from cuts that are built; what stands is never written again."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import dagster as dg

from tempkb.benchmarks.assets import forgetting_withdrawn
from tempkb.benchmarks.tempel import releases
from tempkb.benchmarks.tempel.building import build_release
from tempkb.benchmarks.tempel.design import make_design, read_snapshots
from tempkb.benchmarks.tempel.frozen import partition_of
from tempkb.benchmarks.tempel.plots import plot_figures
from tempkb.benchmarks.tempel.tables import (
    TEMPEL_ENTITIES,
    TEMPEL_FILTERS,
    TEMPEL_MENTIONS,
    TEMPEL_PLANS,
    TEMPEL_RELEASES,
    TEMPEL_STATISTICS,
)
from tempkb.mentions.tables import MENTION_PRIORS, MENTIONS, PAGE_TEXTS
from tempkb.revisions.tables import STABLE_SNAPSHOTS
from tempkb.store.assets import sample_of, spec_of, table_of
from tempkb.store.lake import Version
from tempkb.store.parquet import read_parquet
from tempkb.store.store import Store


class ReleaseConfig(dg.Config):
    """What a release is to be, when it was not written down before by `tempkb release`.

    Attributes:
        preset: `tempkb`, `paper` or `small`.
        snapshots: days, or a span as `2013-01-01..2022-01-01/yearly`; empty when the release is written down.
        changes: hyperparameter -> value.
    """

    preset: str = "tempkb"
    snapshots: str = ""
    changes: dict[str, str] = {}  # noqa: RUF012 - pydantic copies it


_OF_CUTS = [
    dg.AssetDep(table.name, partition_mapping=dg.AllPartitionMapping())
    for table in (MENTIONS, MENTION_PRIORS, STABLE_SNAPSHOTS, PAGE_TEXTS)
]


@dg.multi_asset(
    name="tempel",
    specs=[
        spec_of(
            TEMPEL_PLANS,
            "Entities, surfaces and quotas of a release, cut by cut; frozen. Key `page_id, subset`.",
            _OF_CUTS,
        ),
        spec_of(
            TEMPEL_FILTERS,
            "What each filter drops at each snapshot, in order, alone and only. Key `filter, applied`.",
            [TEMPEL_PLANS.name],
        ),
        spec_of(
            TEMPEL_MENTIONS,
            "Mentions with the attributes of the paper's table 4. Key `target_page_id, anchor_page_id, start_char`.",
            [TEMPEL_PLANS.name],
        ),
        spec_of(
            TEMPEL_ENTITIES,
            "The candidates of each snapshot. Key `page_id`.",
            [TEMPEL_PLANS.name],
        ),
        spec_of(
            TEMPEL_RELEASES,
            "Releases with their designs. Key `release`.",
            [TEMPEL_MENTIONS.name, TEMPEL_ENTITIES.name],
        ),
        spec_of(
            TEMPEL_STATISTICS,
            "Table 1 and figures 3, 4c, 6 and 7 as numbers. Key `figure, cut, series, label`.",
            [TEMPEL_FILTERS.name, TEMPEL_MENTIONS.name, TEMPEL_ENTITIES.name],
        ),
    ],
)
def tempel(
    context: dg.AssetExecutionContext, config: ReleaseConfig, store: dg.ResourceParam[Store]
) -> Iterator[dg.MaterializeResult[None]]:
    """Plan a release over its snapshots, and write what it lacks."""
    began = time.monotonic()
    name = context.partition_key
    with forgetting_withdrawn(context, store, name):
        if config.snapshots:
            design = make_design(config.preset, read_snapshots(config.snapshots), config.changes)
            releases.keep(store.home, releases.create(store.home, config.preset, design, name))
        release = releases.load(store.home, name)
        built = build_release(store, release, context.log.info)
    for warning in built.warnings:
        context.log.warning(warning)
    publication = store.publish()
    partitions = [partition_of(name, cut) for cut in release.cuts]
    for table in (TEMPEL_PLANS, TEMPEL_FILTERS, TEMPEL_MENTIONS, TEMPEL_ENTITIES):
        versions = store.lake.versions(table.name, partitions)
        yield dg.MaterializeResult(
            asset_key=table.name,
            metadata={**_facts(versions), "published": publication.left == 0, "cuts": len(versions)},
        )
    (row,) = store.lake.versions(TEMPEL_RELEASES.name, [name])
    told = read_parquet(row.paths()).to_pylist()[0]
    facts = {
        "is_equal": told["is_equal"],
        "shortfall": told["shortfall"],
        "seconds": round(time.monotonic() - began, 2),
    }
    if built.warnings:
        facts["warning"] = "; ".join(built.warnings)
    yield dg.MaterializeResult(
        asset_key=TEMPEL_RELEASES.name, metadata={**_facts([row]), **facts, "design": told["design"]}
    )
    (numbers,) = store.lake.versions(TEMPEL_STATISTICS.name, [name])
    figures = read_parquet(numbers.paths())
    rows = figures.to_pylist()
    pictures = {
        "figures": dg.MetadataValue.md(plot_figures(rows)),
        "table_1": _table_1(rows),
        "lowest_overlap": _lowest(rows),
    }
    yield dg.MaterializeResult(asset_key=TEMPEL_STATISTICS.name, metadata={**_facts([numbers]), **pictures})


def _facts(versions: Sequence[Version]) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "dagster/row_count": sum(one.rows for one in versions),
        "bytes": sum(file.bytes for one in versions for file in one.files),
    }
    if versions:
        facts["sample"] = sample_of(versions[-1])
    return facts


def _table_1(rows: Sequence[dict[str, Any]]) -> dg.MetadataValue:
    import pyarrow as pa

    found = [
        {"cut": str(row["cut"]), "entities and subset": row["series"], "what": row["label"], "n": int(row["value"])}
        for row in rows
        if row["figure"] == "table_1"
    ]
    return table_of(pa.Table.from_pylist(found))


def _lowest(rows: Sequence[dict[str, Any]]) -> dg.MetadataValue:
    import pyarrow as pa

    found = sorted((row["value"], row["label"]) for row in rows if row["figure"] == "drift")
    listed = [{"overlap": f"{value:.3f}", "entity": label} for value, label in found]
    return table_of(pa.Table.from_pylist(listed))
