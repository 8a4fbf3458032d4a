"""Asset checks made of the promises of releases: each looks only at the releases of its run."""

from collections.abc import Sequence

import dagster as dg

from tempkb.benchmarks.promises import Promise, broken
from tempkb.benchmarks.register import is_registered
from tempkb.partitions import RELEASES
from tempkb.store.store import Store

_PARTITION = "dagster/partition"


def check_of(promise: Promise) -> dg.AssetChecksDefinition:
    """Return the asset check of a promise."""

    @dg.asset_check(asset=promise.about.name, name=promise.name, description=promise.meaning, partitions_def=RELEASES)
    def check(context: dg.AssetCheckExecutionContext, store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
        names = _releases_of(context)
        withdrawn = [name for name in names if not is_registered(store.home, name)]
        if withdrawn:
            # The step that withdrew it has failed the run and says why; this check has nothing to look at.
            said = {"not_checked": f"withdrawn: {', '.join(withdrawn)}"}
            return dg.AssetCheckResult(passed=False, severity=dg.AssetCheckSeverity.WARN, metadata=said)
        rows = broken(store, promise, names)
        is_warning = promise.is_warning or promise.may_fade
        severity = dg.AssetCheckSeverity.WARN if is_warning else dg.AssetCheckSeverity.ERROR
        examples = [str(row) for row in rows[:5]] or ["none"]
        return dg.AssetCheckResult(
            passed=not rows, severity=severity, metadata={"broken": len(rows), "examples": examples}
        )

    return check


def _releases_of(context: dg.AssetCheckExecutionContext) -> Sequence[str]:
    """The releases of a run. Dagster itself refuses to name one whose partition an earlier step has deleted."""
    one = context.run.tags.get(_PARTITION)
    return [one] if one else context.partition_keys
