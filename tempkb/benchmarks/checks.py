"""Judges promises of releases; only those of a run. No Dagster here."""

from tempkb.benchmarks.benchmark import Benchmark
from tempkb.benchmarks.promises import broken
from tempkb.benchmarks.register import is_registered, releases_of
from tempkb.store.promises import Promise, Subject, Verdict
from tempkb.store.store import Store


def judged(benchmark: Benchmark, promise: Promise, store: Store, subject: Subject) -> Verdict:
    """Return whether releases keep a promise; all releases of the benchmark if the subject names none."""
    names = list(releases_of(store.home, benchmark.name) if subject.partitions is None else subject.partitions)
    gone = [name for name in names if not is_registered(store.home, name)]
    if gone:
        # The step that has failed says why nothing of the release was kept; there are no rows to check.
        return Verdict(False, {"not_checked": f"not built: {', '.join(gone)}"}, is_warning=True)
    return promise.verdict(broken(store, promise, names))
