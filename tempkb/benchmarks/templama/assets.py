"""When TempLAMA's tables are made: once per release, from its spells."""

import time
from typing import Any

import dagster as dg
import pyarrow as pa

from tempkb.benchmarks.fact_queries import releases
from tempkb.benchmarks.fact_queries.asking import told_of_queries
from tempkb.benchmarks.fact_queries.building import build_queries
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES, FACT_SPELLS, FACT_SUBJECTS
from tempkb.benchmarks.templama.future_relations import future_relation_rows
from tempkb.benchmarks.templama.tables import FUTURE_RELATION_QUERIES, TEMPLAMA_QUERIES
from tempkb.partitions import RELEASES
from tempkb.store.drafts import Provenance
from tempkb.store.materialise import facts_of, sample_of
from tempkb.store.store import Store


@dg.asset(
    partitions_def=RELEASES,
    group_name="templama",
    deps=[FACT_SPELLS.name, FACT_SUBJECTS.name],
    kinds={"parquet", "duckdb"},
    owners=["team:tempkb"],
    code_version=TEMPLAMA_QUERIES.code_version,
)
def templama_queries(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]) -> dg.MaterializeResult[None]:
    """TempLAMA: for each subject, relation and window the question and all its answers. Key `query_id`."""
    began = time.monotonic()
    release = releases.load(store.home, context.partition_key)
    versions = build_queries(store, release, TEMPLAMA_QUERIES, context.log.info)
    publication = store.publish()
    facts: dict[str, Any] = {
        "dagster/row_count": sum(one.rows for one in versions), "windows": len(versions),
        "seconds": round(time.monotonic() - began, 2), "published": publication.left == 0,
    }  # fmt: skip
    told = told_of_queries(versions)
    return dg.MaterializeResult(metadata={**facts, **{name: dg.MetadataValue.md(text) for name, text in told.items()}})


@dg.asset(
    partitions_def=RELEASES,
    group_name="templama",
    deps=[FACT_RELEASES.name],
    kinds={"parquet", "duckdb"},
    owners=["team:tempkb"],
    code_version=FUTURE_RELATION_QUERIES.code_version,
)
def future_relation_queries(
    context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]
) -> dg.MaterializeResult[None]:
    """TempLAMA's table 9: 86 questions about the future with closed sets of answers. Key `query_no`."""
    name = context.partition_key
    version = store.lake.current(FUTURE_RELATION_QUERIES.name, name)
    if version is None:
        rows = future_relation_rows(store.home.wiki or "", name)
        told = pa.Table.from_pylist(rows, FUTURE_RELATION_QUERIES.schema)
        version = store.write(FUTURE_RELATION_QUERIES, name, [told], Provenance())
    facts = facts_of(version, store.publish())
    return dg.MaterializeResult(metadata={**facts, "sample": dg.MetadataValue.md(sample_of(version))})
