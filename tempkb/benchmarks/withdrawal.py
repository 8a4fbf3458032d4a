"""A release is built whole or not at all. Knows nothing of Dagster.

What is written of a release lies in many partitions, in several steps of a run.
When a step fails, a release that was built before is put back as it was, and of
a new one nothing stays: no register entry, no rows in the lake or in DuckDB.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from tempkb.benchmarks.register import partitions_of_release, take_back, was_built
from tempkb.errors import TempkbError
from tempkb.store.lake import Version
from tempkb.store.store import Store


@contextmanager
def whole_or_nothing(store: Store, name: str) -> Iterator[None]:
    """Undo what a block has written of a release, if it fails; the error then says what became of the release.

    The block also runs for releases that stand; it writes nothing then, and a
    failure takes nothing away.

    Args:
        store: of the home.
        name: of the release, which is in the register.
    """
    before = _versions(store, name)
    try:
        yield
    except BaseException as error:
        said = _undo(store, name, before)
        if isinstance(error, TempkbError):
            error.args = (f"{error}. {said}",)
        raise


def withdraw_unbuilt(store: Store, name: str) -> None:
    """Take back a release that was asked for but never built, or what an extension of it asked for.

    For runs that ended before any of their steps could.
    """
    _undo(store, name, _versions(store, name))


def _undo(store: Store, name: str, before: dict[tuple[str, str], Version]) -> str:
    stays = was_built(store.home, name)
    for table, partition in _versions(store, name):
        if not stays or (table, partition) not in before:
            store.lake.remove(table, partition)
    if stays:
        for version in before.values():
            store.lake.restore(version)
    # The entry goes last: rows without one would be taken for those of a new release of that name.
    take_back(store.home, name)
    store.publish()
    return f"Release {name!r} stays exactly as it was" if stays else f"Nothing was kept of release {name!r}"


def _versions(store: Store, name: str) -> dict[tuple[str, str], Version]:
    """What stands of a release, by table and partition."""
    return {
        (version.table, version.partition): version
        for table in store.tables.values()
        for version in store.lake.versions(table.name, partitions_of_release(store.lake, table, name))
    }
