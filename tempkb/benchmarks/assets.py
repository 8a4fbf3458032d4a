"""What the assets of all benchmarks share: a release that was withdrawn leaves no partition in Dagster either."""

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from tempkb.benchmarks.register import is_registered
from tempkb.partitions import RELEASES
from tempkb.store.store import Store


@contextmanager
def forgetting_withdrawn(context: dg.AssetExecutionContext, store: Store, name: str) -> Iterator[None]:
    """Let Dagster forget the partition of a release when a block fails and leaves no release of that name."""
    try:
        yield
    except BaseException:
        if not is_registered(store.home, name):
            context.instance.delete_dynamic_partition(RELEASES.name or "", name)
        raise
