"""Makes sure that a release is built completely or not at all. Does not use Dagster.

Several steps of a run write many partitions of a release. If a step fails, a release
that was built before is restored, and of a new one nothing is kept: no entry in the
register, and no rows in the lake or in DuckDB.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tempkb.benchmarks.register import (
    STEP,
    absent_of_release,
    alone,
    held_places,
    is_built,
    is_registered,
    mark_built,
    partitions_of_release,
    take_back,
    was_built,
)
from tempkb.errors import DesignError, StoredDamageError, TempkbError
from tempkb.store.store import Store
from tempkb.store.versions import Version

Place = tuple[str, str]  # table and partition


@contextmanager
def whole_or_nothing(store: Store, name: str) -> Iterator[None]:
    """Undo what a block has written of a release if it fails; the error then also says what remains of the release.

    The block also runs for releases that are built. It then writes nothing, and a
    failure removes nothing. Two runs of one release wait for one another, and the
    second finds what the first has written.

    Raises:
        DesignError: the release is not in the register.
    """
    with alone(store.home, name, STEP):
        if not is_registered(store.home, name):
            raise DesignError(
                f"release {name!r}: is not in the register; perhaps an earlier run failed and withdrew it; request it "
                "again: tempkb release"
            )
        before = _versions(store, name)
        try:
            yield
        except BaseException as error:
            outcome = _undo(store, name, before)
            if isinstance(error, TempkbError):
                error.args = (f"{error}. {outcome}",)
            raise


def finish(store: Store, name: str) -> None:
    """Record that a requested release is built, and its versions.

    Raises:
        DesignError: the release was removed from the register in the meantime.
    """
    versions = _versions(store, name)
    mark_built(store.home, name, {place: version.version for place, version in versions.items()})


def withdraw_unbuilt(store: Store, name: str) -> bool:
    """Withdraw a requested release that was never built, or a requested extension of it.

    This is for runs that ended before their steps could do so.

    Returns:
        Whether something was withdrawn: False if the release is built, or is not in the register.
    """
    with alone(store.home, name, STEP):
        if not is_registered(store.home, name) or is_built(store.home, name):
            return False
        _undo(store, name, _versions(store, name))
        return True


def _undo(store: Store, name: str, before: dict[Place, Version]) -> str:
    stays = was_built(store.home, name)
    held = held_places(store.home, name)
    # Versions that existed before may be what a killed run has left of an extension.
    is_whole = stays and is_built(store.home, name)
    kept = {place: one for place, one in before.items() if is_whole or place in held}
    for table, partition in _versions(store, name).keys() - kept.keys():
        store.lake.remove(table, partition)
    faults = [fault for version in kept.values() if (fault := _put_back(store, version))]
    # The entry is removed last, because rows without an entry would be taken for those of a new release of that name.
    take_back(store.home, name)
    return (
        ". ".join([_restored(store, name, held, kept), *faults]) if stays else f"Nothing was kept of release {name!r}"
    )


def _put_back(store: Store, version: Version) -> str:
    """Restore an earlier version; return what is wrong if it was damaged in the meantime."""
    if store.lake.current(*_place(version)) == version:
        return ""
    try:
        store.lake.restore(version)
    except StoredDamageError as error:
        now, _ = store.lake.examine(*_place(version))
        # The version that the failed run has written must not be taken for the earlier one.
        if now is not None and now.version != version.version:
            store.lake.remove(*_place(version))
        return str(error)
    return ""


def _restored(
    store: Store, name: str, held: Mapping[tuple[str, str], str], kept: Mapping[tuple[str, str], Version]
) -> str:
    """A sentence about the state of a release that was built before."""
    absent = [f"{table} {partition}" for table, partition, _ in absent_of_release(store.home, store.lake, name)]
    if absent:
        return (
            f"Release {name!r} stays as it was, without {', '.join(absent)}, lost to damage; build that again: "
            f"tempkb release finish {name}"
        )
    # Versions that were added after the last build, such as counted tokens, are not in `held`.
    other = {table for (table, key), one in kept.items() if held.get((table, key), "") not in ("", one.version)}
    if other:
        return f"Release {name!r} stays as it was except {', '.join(sorted(other))}; type it again to write these again"
    return f"Release {name!r} stays exactly as it was"


def _place(version: Version) -> Place:
    return version.table, version.partition


def _versions(store: Store, name: str) -> dict[Place, Version]:
    """The current versions of a release, by table and partition."""
    return {
        _place(version): version
        for table in store.tables.values()
        for version in store.lake.versions(table.name, partitions_of_release(store.lake, table, name))
    }
