"""Runs a function over items with the engine that the settings name."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from tempkb.core.settings import Settings
from tempkb.engine import cluster, local
from tempkb.engine.items import ItemT, Outcome, Report, ResultT, Work


def map_items(
    settings: Settings,
    work: Work[ItemT, ResultT],
    items: Sequence[ItemT],
    folder: Path,
    report: Report = lambda _done: None,
    preload: Sequence[str] = (),
) -> Iterator[Outcome[ItemT, ResultT]]:
    """Yield one outcome per item, in the order in which items end.

    Args:
        settings: the engine, its number of workers, and its address.
        preload: modules that local workers share from the start.
    """
    if settings.engine == "local":
        return local.map_items(work, items, folder, settings.workers, report, preload)
    # The default of `workers` is the number of this machine's cores, which has no meaning for a cluster.
    is_set = not settings.ray_address or "workers" in settings.chosen
    return cluster.map_items(work, items, folder, settings.workers if is_set else None, report, settings.ray_address)
