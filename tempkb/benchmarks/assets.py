"""What the assets of all benchmarks share: what their partitions are, and that a withdrawn release leaves none."""

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from tempkb.benchmarks.register import is_registered
from tempkb.benchmarks.withdrawal import withdraw_unbuilt
from tempkb.errors import TempkbError
from tempkb.partitions import RELEASES
from tempkb.store.store import Store

_PARTITIONS = (
    " A partition is a release, made by `tempkb release`. While there is none, Dagster's graph shows 0 partitions in "
    "green, though nothing was built."
)


def explained(spec: dg.AssetSpec) -> dg.AssetSpec:
    """Say of an asset whose partitions are releases what its colour means before there is one."""
    return spec.replace_attributes(description=f"{spec.description}{_PARTITIONS}")


@contextmanager
def forgetting_withdrawn(context: dg.AssetExecutionContext, store: Store, name: str) -> Iterator[None]:
    """Let Dagster forget the partition of a release when a block fails and leaves no release of that name.

    A run over several releases ends with the first that fails: what its steps have
    begun of the others is taken back as well, so that none is left half built.
    """
    keys = context.partition_keys
    try:
        yield
    except BaseException as error:
        others = [key for key in keys if key != name and withdraw_unbuilt(store, key)]
        for key in keys:
            if not is_registered(store.home, key):
                context.instance.delete_dynamic_partition(RELEASES.name or "", key)
        if others and isinstance(error, TempkbError):
            error.args = (f"{error}. Not built either, since the run ended here: {', '.join(others)}",)
        raise
