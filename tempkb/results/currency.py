"""Says of which versions results are made, and whether these are still the present ones."""

from collections.abc import Collection, Mapping

from tempkb.results.tables import ALL, MADE_FROM
from tempkb.store.lake import Lake
from tempkb.store.store import Store
from tempkb.store.versions import Version


def present_inputs(lake: Lake, table: str) -> Mapping[str, str]:
    """Return the present versions of all that a table of results is made from, by table and partition."""
    return {f"{name} {one.partition}": one.version for name in MADE_FROM[table] for one in lake.versions(name)}


def is_current(lake: Lake, version: Version) -> bool:
    """Return whether a table of results would be made from the same versions now."""
    return version.inputs == present_inputs(lake, version.table)


def asked_of(store: Store, names: Collection[str]) -> list[str]:
    """Return the tables of results that are among some names, or that views among them show."""
    shown = {need for name in names if name in store.views for need in store.views[name].needs}
    return [name for name in MADE_FROM if name in {*names, *shown}]


def are_due(store: Store, names: Collection[str]) -> str:
    """Return which tables of results, of those asked for, do not follow from the present scores, and what to type.

    Empty if there is none.

    Args:
        store: of the home.
        names: of tables, and of views over them.
    """
    due = [name for name in asked_of(store, names) if not _is_made(store.lake, name)]
    if not due:
        return ""
    are, them = ("is", "it") if len(due) == 1 else ("are", "them")
    named = " and ".join(filter(None, (", ".join(due[:-1]), due[-1])))
    return f"{named} {are} not of the present scores; compute {them} again: tempkb results"


def _is_made(lake: Lake, table: str) -> bool:
    version = lake.current(table, ALL)
    return version is not None and is_current(lake, version)
