"""Is it so? Checks that compare the room's tables with one another, over the lake: of what their run has made."""

from collections.abc import Sequence
from typing import Any

import dagster as dg

from tempkb.mentions.checking import NOT_COUNTED, PRIORS_THAT_DO_NOT_ADD_UP, misplaced_surfaces
from tempkb.mentions.tables import INVERTED_INDEX, MENTION_PRIORS, MENTIONS, PAGE_LINKS
from tempkb.partitions import windows_of_run
from tempkb.store.promises import broken
from tempkb.store.store import Store
from tempkb.store.tables import Table


@dg.asset_check(asset=PAGE_LINKS.name)
def surfaces_stand_in_their_texts(
    context: dg.AssetCheckExecutionContext, store: dg.ResourceParam[Store]
) -> dg.AssetCheckResult:
    """Every surface of the quarters that the run has written is what the clean text holds at its span."""
    return _result(list(misplaced_surfaces(store, _quarters_of_run(context, store))))


@dg.asset_check(asset=MENTION_PRIORS.name)
def priors_of_a_surface_add_up(
    context: dg.AssetCheckExecutionContext, store: dg.ResourceParam[Store]
) -> dg.AssetCheckResult:
    """At each cut the priors of a surface sum to one, and links are as many as mentions of whole articles."""
    return _of_windows(context, store, PRIORS_THAT_DO_NOT_ADD_UP, priors=MENTION_PRIORS, mentions=MENTIONS)


@dg.asset_check(asset=INVERTED_INDEX.name)
def the_index_counts_every_mention(
    context: dg.AssetCheckExecutionContext, store: dg.ResourceParam[Store]
) -> dg.AssetCheckResult:
    """At each cut the index holds as many mentions as there are of whole articles."""
    return _of_windows(context, store, NOT_COUNTED, index_of_mentions=INVERTED_INDEX, mentions=MENTIONS)


def _of_windows(
    context: dg.AssetCheckExecutionContext, store: Store, query: str, **tables: Table
) -> dg.AssetCheckResult:
    """Ask a question of the windows that the run is about."""
    return _result(
        broken(store, query, tables, lambda table: windows_of_run(context.run, store.lake.partitions(table.name)))
    )


def _quarters_of_run(context: dg.AssetCheckExecutionContext, store: Store) -> list[str]:
    """The quarters that the run's own step says it has written; all when no step of this run has said so."""
    event = context.instance.get_latest_materialization_event(dg.AssetKey(PAGE_LINKS.name))
    told = event.asset_materialization if event is not None and event.run_id == context.run.run_id else None
    if told is not None and "quarters" in told.metadata:
        return [str(key) for key in told.metadata["quarters"].value]
    return store.lake.partitions(PAGE_LINKS.name)


def _result(rows: Sequence[tuple[Any, ...]]) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(
        passed=not rows, metadata={"broken": len(rows), "examples": [str(row) for row in rows[:5]] or ["none"]}
    )
