"""Asset checks, made of promises: each looks only at the partitions of its run.

A check has the partitions of its asset, so that the UI shows a result for each
dump and each release. Checks of windows have none in Dagster: a run is over a
range of them, and a result for each would be more events than all others of the
run (docs/decisions.md). What they look at follows from the run all the same.
"""

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import dagster as dg

from tempkb.store.promises import Promise, Subject, Verdict
from tempkb.store.store import Store

_PARTITION = "dagster/partition"
_FIRST, _LAST = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"


def check_of(
    promise: Promise,
    partitions: dg.PartitionsDefinition[str] | None,
    asset: dg.AssetKey | None = None,
    judged: Callable[[Store, Subject], Verdict] | None = None,
) -> dg.AssetChecksDefinition:
    """Return the asset check of a promise.

    Args:
        partitions: those of the asset; None if it has none.
        asset: at which the check is shown; by default that of the promise's table.
        judged: takes the place of the promise's own judgement, where that needs to know more.
    """
    key, judge = asset or dg.AssetKey(promise.about.name), judged or promise.judged
    is_run_in_ranges = isinstance(partitions, dg.TimeWindowPartitionsDefinition)
    with warnings.catch_warnings():
        # Partitions of checks are a preview in Dagster 1.13; the version is pinned, and tests tell whether they work.
        warnings.simplefilter("ignore", dg.PreviewWarning)

        @dg.asset_check(
            asset=key,
            name=promise.name,
            description=promise.meaning,
            partitions_def=None if is_run_in_ranges else partitions,
        )
        def check(context: dg.AssetCheckExecutionContext, store: dg.ResourceParam[Store]):  # type: ignore[no-untyped-def]  # noqa: ANN202 - a generator of results
            keys = keys_of_run(context, partitions)
            facts = _facts_of_run(context, key) if promise.finds is not None else {}
            verdict = judge(store, Subject(keys, facts))
            severity = dg.AssetCheckSeverity.WARN if verdict.is_warning else dg.AssetCheckSeverity.ERROR
            if partitions is None or is_run_in_ranges or context.has_partition_key:
                yield dg.AssetCheckResult(passed=verdict.passed, severity=severity, metadata=verdict.facts)
                return
            # In a run over several partitions, or over none, Dagster 1.13 takes no `AssetCheckResult`.
            yield dg.Output(None)
            for partition in keys if keys is not None else (None,):
                yield dg.AssetCheckEvaluation(
                    asset_key=key,
                    check_name=promise.name,
                    passed=verdict.passed,
                    metadata=verdict.facts,
                    severity=severity,
                    partition=partition,
                )

    return check


def keys_of_run(
    context: dg.AssetCheckExecutionContext, partitions: dg.PartitionsDefinition[str] | None
) -> list[str] | None:
    """Return the partitions that the run of a check is about; None if it names none, and so is about all."""
    tags = context.run.tags
    if _PARTITION in tags:
        return [tags[_PARTITION]]
    if partitions is None or _FIRST not in tags:
        return None
    ends = [tags[_FIRST], tags[_LAST]]
    if not isinstance(partitions, dg.DynamicPartitionsDefinition):
        return list(partitions.get_partition_keys_in_range(dg.PartitionKeyRange(*ends)))
    keys = list(context.instance.get_dynamic_partitions(partitions.name or ""))
    # A step of the run may have taken an end of the range out.
    return keys[keys.index(ends[0]) : keys.index(ends[1]) + 1] if {*ends} <= {*keys} else ends


def _facts_of_run(context: dg.AssetCheckExecutionContext, asset: dg.AssetKey) -> Mapping[str, Any]:
    """What a step of this run has reported of an asset; nothing if none has made it."""
    event = context.instance.get_latest_materialization_event(asset)
    made = event.asset_materialization if event is not None and event.run_id == context.run.run_id else None
    return {name: value.value for name, value in made.metadata.items()} if made is not None else {}
