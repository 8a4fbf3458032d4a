"""Asset checks made of the promises of releases: each looks only at the releases of its run."""

import dagster as dg

from tempkb.benchmarks.promises import Promise, broken
from tempkb.benchmarks.register import is_registered, release_names
from tempkb.partitions import RELEASES
from tempkb.store.store import Store

_PARTITION = "dagster/partition"
_FIRST, _LAST = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"


def check_of(promise: Promise) -> dg.AssetChecksDefinition:
    """Return the asset check of a promise."""

    @dg.asset_check(asset=promise.about.name, name=promise.name, description=promise.meaning)
    def check(context: dg.AssetCheckExecutionContext, store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
        names = _releases_of(context, store)
        withdrawn = [name for name in names if not is_registered(store.home, name)]
        if withdrawn:
            # The step that withdrew it has failed the run and says why; this check has nothing to look at.
            said = {"not_checked": f"withdrawn: {', '.join(withdrawn)}"}
            return dg.AssetCheckResult(passed=False, severity=dg.AssetCheckSeverity.WARN, metadata=said)
        rows = broken(store, promise, names)
        is_warning = promise.is_warning or promise.may_fade
        severity = dg.AssetCheckSeverity.WARN if is_warning else dg.AssetCheckSeverity.ERROR
        examples = [str(row) for row in rows[:5]] or ["none"]
        parts = {name: sample.said for name in names if (sample := promise.sample_of(store, name))}
        seen = {"looked_at": parts} if parts else {}
        return dg.AssetCheckResult(
            passed=not rows, severity=severity, metadata={"broken": len(rows), "examples": examples, **seen}
        )

    return check


def _releases_of(context: dg.AssetCheckExecutionContext, store: Store) -> list[str]:
    """The releases of a run, by its tags: partitions of checks are a preview in Dagster 1.13.

    A check that somebody runs by itself is of no partition, and looks at all releases.
    """
    tags = context.run.tags
    if _PARTITION in tags:
        return [tags[_PARTITION]]
    if _FIRST in tags:
        keys = list(context.instance.get_dynamic_partitions(RELEASES.name or ""))
        ends = [tags[_FIRST], tags[_LAST]]
        # A step before may have withdrawn an end of the range.
        return keys[keys.index(ends[0]) : keys.index(ends[1]) + 1] if {*ends} <= {*keys} else ends
    return release_names(store.home)
