"""Map a function over items on the engine that the settings name."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tempkb.engine import cluster, local
from tempkb.engine.items import ItemT, Outcome, Report, ResultT, Work
from tempkb.settings import Settings


def map_items(
    settings: Settings,
    work: Work[ItemT, ResultT],
    items: Sequence[ItemT],
    folder: Path,
    report: Report = lambda _done: None,
    preload: Sequence[str] = (),
) -> Iterator[Outcome[ItemT, ResultT]]:
    """Yield an outcome per item, in the order in which they end.

    Args:
        settings: which engine, with how many workers, where.
        work: a function of a module, since it is sent to other processes.
        items: what to work on.
        folder: each item gets a folder of its own below it.
        report: called with the sum of bytes done over all items.
        preload: modules that local workers share from the start.
    """
    if settings.engine == "local":
        return local.map_items(work, items, folder, settings.workers, report, preload)
    # By default `workers` is what this machine has, which says nothing about a cluster.
    asked = not settings.ray_address or "workers" in settings.model_fields_set
    return cluster.map_items(work, items, folder, settings.workers if asked else None, report, settings.ray_address)
