"""When DynamicTempLAMA's tables are made: once per release, from its spells."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from tempkb.benchmarks.assets import forgetting_withdrawn
from tempkb.benchmarks.dynamic_templama.building import build_changes, count_tokens
from tempkb.benchmarks.dynamic_templama.checks import OF_CHANGES, OF_QUERIES
from tempkb.benchmarks.dynamic_templama.tables import (
    ANSWER_TOKENS,
    ARRIVALS,
    DYNAMIC_TEMPLAMA_CHANGES,
    DYNAMIC_TEMPLAMA_QUERIES,
)
from tempkb.benchmarks.fact_queries import releases
from tempkb.benchmarks.fact_queries.assets import of_release, shown_of_queries
from tempkb.benchmarks.fact_queries.building import build_queries, finish_whole
from tempkb.benchmarks.fact_queries.tables import FACT_SPELLS, FACT_SUBJECTS
from tempkb.benchmarks.plots import plot_bars
from tempkb.benchmarks.promises import require
from tempkb.benchmarks.withdrawal import whole_or_nothing
from tempkb.store.assets import glance_of, sample_of, table_of
from tempkb.store.lake import Version
from tempkb.store.materialise import facts_of, facts_of_windows
from tempkb.store.memory import in_memory, view_files
from tempkb.store.store import Store

_CHANGES = ("unchanged", "updated", "new", "deleted", "undatable")


class TokenizerConfig(dg.Config):
    """By which tokenizer tokens are counted.

    Attributes:
        tokenizer: path of a `tokenizer.json`.
    """

    tokenizer: str


@of_release(
    DYNAMIC_TEMPLAMA_QUERIES,
    "DynamicTempLAMA: for each subject, relation and window the question and all its answers. Key `query_id`.",
    [FACT_SPELLS.name, FACT_SUBJECTS.name],
)
def dynamic_templama_queries(
    context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]
) -> dg.MaterializeResult[None]:
    """Make it for each release of the run."""
    told: dict[str, Any] = {}
    for name in context.partition_keys:
        began = time.monotonic()
        release = releases.load(store.home, name)
        with forgetting_withdrawn(context, store, name), whole_or_nothing(store, name):
            versions = build_queries(store, release, DYNAMIC_TEMPLAMA_QUERIES, context.log.info)
            require(store, OF_QUERIES, name)
        facts = {**facts_of_windows(versions, store.publish()), "seconds": round(time.monotonic() - began, 2)}
        context.add_asset_metadata(facts, partition_key=name)
        told = {**facts, **shown_of_queries(versions)}
    return dg.MaterializeResult(metadata=told)


@of_release(
    DYNAMIC_TEMPLAMA_CHANGES,
    "What became of each answer from one window to the next; an update has a row of who arrives and one of who leaves. "
    "Key `subject_id, relation, object_id`.",
    [DYNAMIC_TEMPLAMA_QUERIES.name, FACT_SPELLS.name],
)
def dynamic_templama_changes(
    context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]
) -> dg.MaterializeResult[None]:
    """Make it for each release of the run."""
    told: dict[str, Any] = {}
    for name in context.partition_keys:
        began = time.monotonic()
        release = releases.load(store.home, name)
        with forgetting_withdrawn(context, store, name), whole_or_nothing(store, name):
            versions = build_changes(store, release, context.log.info)
            require(store, OF_CHANGES, name)
            n = len(release.design.windows())
            finish_whole(store, release, (DYNAMIC_TEMPLAMA_QUERIES, n), (DYNAMIC_TEMPLAMA_CHANGES, n - 1))
        told = {**facts_of_windows(versions, store.publish()), "seconds": round(time.monotonic() - began, 2)}
        context.add_asset_metadata(dict(told), partition_key=name)
        if versions:
            dates = [one.label for one in release.design.windows()[1:]]
            shown, series = _counts(versions, dates)
            told["glance"] = glance_of(shown, {one: counts for one, counts in series.items() if one != "unchanged"})
            told["picture"] = dg.MetadataValue.md(plot_bars("Answers by what became of them", shown, series))
            told["sample"] = _sample(store, name, versions)
    return dg.MaterializeResult(metadata=told)


@of_release(
    ANSWER_TOKENS,
    "How many tokens the answers of a release have, by tokenizer. Key `tokenizer, object_id`.",
    [FACT_SPELLS.name],
)
def answer_tokens(
    context: dg.AssetExecutionContext, config: TokenizerConfig, store: dg.ResourceParam[Store]
) -> dg.MaterializeResult[None]:
    """Make it for each release of the run."""
    facts: dict[str, Any] = {}
    for name in context.partition_keys:
        version = count_tokens(store, releases.load(store.home, name), Path(config.tokenizer))
        facts = facts_of(version, store.publish())
        context.add_asset_metadata(facts, partition_key=name)
        facts["sample"] = sample_of(version)
    return dg.MaterializeResult(metadata=facts)


def _counts(versions: Sequence[Version], dates: Sequence[str]) -> tuple[list[str], dict[str, list[int]]]:
    """The windows, and by what became of them the answers of each."""
    with in_memory() as connection:
        view_files(connection, "changes", [path for one in versions for path in one.paths()])
        counted = connection.execute(
            f"""
            SELECT change, window_start, coalesce(sum(n_times) FILTER (WHERE {ARRIVALS}), 0)
            FROM changes GROUP BY ALL
            """
        ).fetchall()
    starts = sorted({row[1] for row in counted})
    by_key = {(change, start): int(n) for change, start, n in counted}
    shown = [date for date, one in zip(dates, versions, strict=True) if one.rows]
    return shown, {change: [by_key.get((change, start), 0) for start in starts] for change in _CHANGES}


def _sample(store: Store, release: str, versions: Sequence[Version]) -> dg.MetadataValue:
    """Ten changes, with names."""
    with in_memory() as connection:
        view_files(connection, "changes", [path for one in versions for path in one.paths()])
        view_files(connection, "spells", store.lake.files(FACT_SPELLS.name, [release]))
        view_files(connection, "subjects", store.lake.files(FACT_SUBJECTS.name, [release]))
        rows = connection.sql(
            """
            WITH named AS (SELECT object_id, any_value(object_label) AS object FROM spells GROUP BY object_id)
            SELECT window_start, s.label AS subject, relation, n.object, change, change_detail, role,
                   paired_object_id, len(previous_object_ids) AS answers_before
            FROM changes JOIN subjects AS s USING (subject_id, relation) JOIN named AS n USING (object_id)
            WHERE change <> 'unchanged' ORDER BY hash(subject_id, relation, window_start), n.object LIMIT 10
            """
        ).to_arrow_table()
    return table_of(rows)
