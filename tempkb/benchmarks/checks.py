"""Makes asset checks from the promises of releases; each checks only the releases of its run."""

import dagster as dg

from tempkb.benchmarks.assets import partitions_of_benchmark
from tempkb.benchmarks.benchmark import Benchmark
from tempkb.benchmarks.promises import Promise, broken
from tempkb.benchmarks.register import is_registered, releases_of
from tempkb.store.store import Store


def checks_of_benchmark(benchmark: Benchmark) -> list[dg.AssetChecksDefinition]:
    """Return the asset checks of a benchmark, one for each promise of its steps."""
    return [check_of(benchmark, promise) for step in benchmark.loaded().steps for promise in step.promises]


def check_of(benchmark: Benchmark, promise: Promise) -> dg.AssetChecksDefinition:
    """Return the asset check of a promise; without a partition, it checks all releases."""

    @dg.asset_check(
        asset=dg.AssetKey(benchmark.key_of(promise.about)),
        name=promise.name,
        description=promise.meaning,
        partitions_def=partitions_of_benchmark(benchmark),
    )
    def check(context: dg.AssetCheckExecutionContext, store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
        names = list(context.partition_keys) if context.has_partition_key else releases_of(store.home, benchmark.name)
        withdrawn = [name for name in names if not is_registered(store.home, name)]
        if withdrawn:
            # The step that withdrew the release has failed the run and says why; there are no rows to check.
            reason = {"not_checked": f"withdrawn: {', '.join(withdrawn)}"}
            return dg.AssetCheckResult(passed=False, severity=dg.AssetCheckSeverity.WARN, metadata=reason)
        rows = broken(store, promise, names)
        is_warning = promise.is_warning or promise.may_fade
        severity = dg.AssetCheckSeverity.WARN if is_warning else dg.AssetCheckSeverity.ERROR
        examples = [str(row) for row in rows[:5]] or ["none"]
        parts = {name: sample.description for name in names if (sample := promise.sample_of(store, name))}
        checked = {"looked_at": parts} if parts else {}
        return dg.AssetCheckResult(
            passed=not rows, severity=severity, metadata={"broken": len(rows), "examples": examples, **checked}
        )

    return check
