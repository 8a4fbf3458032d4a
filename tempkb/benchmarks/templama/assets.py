"""When TempLAMA's tables are made: once per release, from its spells."""

import time
from typing import Any

import dagster as dg
import pyarrow as pa

from tempkb.benchmarks.assets import forgetting_withdrawn
from tempkb.benchmarks.fact_queries import releases
from tempkb.benchmarks.fact_queries.assets import of_release, shown_of_queries
from tempkb.benchmarks.fact_queries.building import build_queries, finish_whole
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES, FACT_SPELLS, FACT_SUBJECTS
from tempkb.benchmarks.promises import require
from tempkb.benchmarks.templama.checks import OF_FUTURE_RELATIONS, OF_QUERIES
from tempkb.benchmarks.templama.future_relations import future_relation_rows
from tempkb.benchmarks.templama.tables import FUTURE_RELATION_QUERIES, TEMPLAMA_QUERIES
from tempkb.benchmarks.withdrawal import whole_or_nothing
from tempkb.store.assets import sample_of
from tempkb.store.drafts import Provenance
from tempkb.store.materialise import facts_of, facts_of_windows
from tempkb.store.store import Store


@of_release(
    TEMPLAMA_QUERIES,
    "TempLAMA: for each subject, relation and window the question and all its answers. Key `query_id`.",
    [FACT_SPELLS.name, FACT_SUBJECTS.name],
)
def templama_queries(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]) -> dg.MaterializeResult[None]:
    """Make it for each release of the run."""
    told: dict[str, Any] = {}
    for name in context.partition_keys:
        began = time.monotonic()
        release = releases.load(store.home, name)
        with forgetting_withdrawn(context, store, name), whole_or_nothing(store, name):
            versions = build_queries(store, release, TEMPLAMA_QUERIES, context.log.info)
            require(store, OF_QUERIES, name)
            _finish(store, release)
        facts = {**facts_of_windows(versions, store.publish()), "seconds": round(time.monotonic() - began, 2)}
        context.add_asset_metadata(facts, partition_key=name)
        told = {**facts, **shown_of_queries(versions)}
    return dg.MaterializeResult(metadata=told)


@of_release(
    FUTURE_RELATION_QUERIES,
    "TempLAMA's table 9: 86 questions about the future with closed sets of answers. Key `query_no`.",
    # Also of the queries: of several last steps, one would go on after another has withdrawn the release.
    [FACT_RELEASES.name, TEMPLAMA_QUERIES.name],
)
def future_relation_queries(
    context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]
) -> dg.MaterializeResult[None]:
    """Make it for each release of the run."""
    facts: dict[str, Any] = {}
    for name in context.partition_keys:
        release = releases.load(store.home, name)
        with forgetting_withdrawn(context, store, name), whole_or_nothing(store, name):
            version = store.lake.current(FUTURE_RELATION_QUERIES.name, name)
            if version is None:
                rows = future_relation_rows(store.home.wiki or "", name)
                told = pa.Table.from_pylist(rows, FUTURE_RELATION_QUERIES.schema)
                version = store.write(FUTURE_RELATION_QUERIES, name, [told], Provenance())
            require(store, OF_FUTURE_RELATIONS, name)
            _finish(store, release)
        facts = facts_of(version, store.publish())
        context.add_asset_metadata(facts, partition_key=name)
        facts["sample"] = sample_of(version)
    return dg.MaterializeResult(metadata=facts)


def _finish(store: Store, release: releases.Release) -> None:
    n_windows = len(release.design.windows())
    finish_whole(store, release, (TEMPLAMA_QUERIES, n_windows), (FUTURE_RELATION_QUERIES, 1))
