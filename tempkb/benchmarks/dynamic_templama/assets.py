"""When DynamicTempLAMA's tables are made: once per release, from its spells."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from tempkb.benchmarks.dynamic_templama.building import build_changes, count_tokens
from tempkb.benchmarks.dynamic_templama.tables import ANSWER_TOKENS, DYNAMIC_TEMPLAMA_CHANGES, DYNAMIC_TEMPLAMA_QUERIES
from tempkb.benchmarks.fact_queries import releases
from tempkb.benchmarks.fact_queries.asking import told_of_queries
from tempkb.benchmarks.fact_queries.building import build_queries
from tempkb.benchmarks.fact_queries.plots import plot_bars
from tempkb.benchmarks.fact_queries.tables import FACT_SPELLS, FACT_SUBJECTS
from tempkb.partitions import RELEASES
from tempkb.store.lake import Version
from tempkb.store.materialise import facts_of, markdown, sample_of
from tempkb.store.memory import in_memory, view_files
from tempkb.store.store import Store

_CHANGES = ("unchanged", "updated", "new", "deleted", "undatable")


class TokenizerConfig(dg.Config):
    """By which tokenizer tokens are counted.

    Attributes:
        tokenizer: path of a `tokenizer.json`.
    """

    tokenizer: str


@dg.asset(
    partitions_def=RELEASES,
    group_name="dynamic_templama",
    deps=[FACT_SPELLS.name, FACT_SUBJECTS.name],
    kinds={"parquet", "duckdb"},
    owners=["team:tempkb"],
    code_version=DYNAMIC_TEMPLAMA_QUERIES.code_version,
)
def dynamic_templama_queries(
    context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]
) -> dg.MaterializeResult[None]:
    """DynamicTempLAMA: for each subject, relation and window the question and all its answers. Key `query_id`."""
    began = time.monotonic()
    release = releases.load(store.home, context.partition_key)
    versions = build_queries(store, release, DYNAMIC_TEMPLAMA_QUERIES, context.log.info)
    facts = _facts(versions, store, began)
    told = told_of_queries(versions)
    return dg.MaterializeResult(metadata={**facts, **{name: dg.MetadataValue.md(text) for name, text in told.items()}})


@dg.asset(
    partitions_def=RELEASES,
    group_name="dynamic_templama",
    deps=[DYNAMIC_TEMPLAMA_QUERIES.name, FACT_SPELLS.name],
    kinds={"parquet", "duckdb"},
    owners=["team:tempkb"],
    code_version=DYNAMIC_TEMPLAMA_CHANGES.code_version,
)
def dynamic_templama_changes(
    context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]
) -> dg.MaterializeResult[None]:
    """What became of each answer from one window to the next. Key `subject_id, relation, object_id`."""
    began = time.monotonic()
    release = releases.load(store.home, context.partition_key)
    versions = build_changes(store, release, context.log.info)
    facts = _facts(versions, store, began)
    if versions:
        facts["picture"] = dg.MetadataValue.md(_picture(versions, [one.label for one in release.design.windows()[1:]]))
        facts["sample"] = dg.MetadataValue.md(_sample(store, release.name, versions))
    return dg.MaterializeResult(metadata=facts)


@dg.asset(
    partitions_def=RELEASES,
    group_name="dynamic_templama",
    deps=[FACT_SPELLS.name],
    kinds={"parquet", "duckdb"},
    owners=["team:tempkb"],
    code_version=ANSWER_TOKENS.code_version,
)
def answer_tokens(
    context: dg.AssetExecutionContext, config: TokenizerConfig, store: dg.ResourceParam[Store]
) -> dg.MaterializeResult[None]:
    """How many tokens the answers of a release have, by tokenizer. Key `tokenizer, object_id`."""
    release = releases.load(store.home, context.partition_key)
    version = count_tokens(store, release, Path(config.tokenizer))
    facts = facts_of(version, store.publish())
    return dg.MaterializeResult(metadata={**facts, "sample": dg.MetadataValue.md(sample_of(version))})


def _facts(versions: Sequence[Version], store: Store, began: float) -> dict[str, Any]:
    publication = store.publish()
    return {
        "dagster/row_count": sum(one.rows for one in versions), "windows": len(versions),
        "seconds": round(time.monotonic() - began, 2), "published": publication.left == 0,
    }  # fmt: skip


def _picture(versions: Sequence[Version], dates: Sequence[str]) -> str:
    with in_memory() as connection:
        view_files(connection, "changes", [path for one in versions for path in one.paths()])
        counted = connection.execute("SELECT change, window_start, sum(n_times) FROM changes GROUP BY ALL").fetchall()
    starts = sorted({row[1] for row in counted})
    by_key = {(change, start): int(n) for change, start, n in counted}
    shown = [date for date, one in zip(dates, versions, strict=True) if one.rows]
    series = {change: [by_key.get((change, start), 0) for start in starts] for change in _CHANGES}
    return plot_bars("Answers by what became of them", shown, series)


def _sample(store: Store, release: str, versions: Sequence[Version]) -> str:
    """Ten changes, with names."""
    with in_memory() as connection:
        view_files(connection, "changes", [path for one in versions for path in one.paths()])
        view_files(connection, "spells", store.lake.files(FACT_SPELLS.name, [release]))
        view_files(connection, "subjects", store.lake.files(FACT_SUBJECTS.name, [release]))
        rows = connection.sql(
            """
            WITH named AS (SELECT object_id, any_value(object_label) AS object FROM spells GROUP BY object_id)
            SELECT window_start, s.label AS subject, relation, n.object, change, change_detail,
                   len(previous_object_ids) AS answers_before
            FROM changes JOIN subjects AS s USING (subject_id, relation) JOIN named AS n USING (object_id)
            WHERE change <> 'unchanged' ORDER BY hash(subject_id, relation, window_start), n.object LIMIT 10
            """
        ).to_arrow_table()
    return markdown(rows) if rows.num_rows else "(nothing changed)"
