"""A release is built whole or not at all. Knows nothing of Dagster.

What is written of a release lies in many partitions, in several steps of a run.
When a step fails, a release that was built before is put back as it was, and of
a new one nothing stays: no register entry, no rows in the lake or in DuckDB.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tempkb.benchmarks.register import (
    STEP,
    absent_of_release,
    alone,
    held_versions,
    is_built,
    is_registered,
    mark_built,
    partitions_of_release,
    take_back,
    was_built,
)
from tempkb.errors import DesignError, StoredDamageError, TempkbError
from tempkb.store.lake import Version
from tempkb.store.store import Store


@contextmanager
def whole_or_nothing(store: Store, name: str) -> Iterator[None]:
    """Undo what a block has written of a release, if it fails; the error then says what became of the release.

    The block also runs for releases that stand; it writes nothing then, and a
    failure takes nothing away. Two runs of one release take turns: the second finds
    what the first has written.

    Args:
        store: of the home.
        name: of the release, which is in the register.

    Raises:
        DesignError: it is not, or not any more.
    """
    with alone(store.home, name, STEP):
        if not is_registered(store.home, name):
            raise DesignError(
                f"release {name!r}: is not in the register, so perhaps a run before this one has failed and taken it "
                "back; ask for it again: tempkb release"
            )
        before = _versions(store, name)
        try:
            yield
        except BaseException as error:
            said = _undo(store, name, before)
            if isinstance(error, TempkbError):
                error.args = (f"{error}. {said}",)
            raise


def finish(store: Store, name: str) -> None:
    """Note that all that was asked for of a release is built, and which versions that is.

    Raises:
        DesignError: the release was taken out of the register meanwhile.
    """
    versions = _versions(store, name)
    mark_built(store.home, name, {_key(*place): version.version for place, version in versions.items()})


def withdraw_unbuilt(store: Store, name: str) -> bool:
    """Take back a release that was asked for but never built, or what an extension of it asked for.

    For runs that ended before any of their steps could. A release that is built, or that nobody asked for, stays as
    it is, and False is returned.
    """
    with alone(store.home, name, STEP):
        if not is_registered(store.home, name) or is_built(store.home, name):
            return False
        _undo(store, name, _versions(store, name))
        return True


def _undo(store: Store, name: str, before: dict[tuple[str, str], Version]) -> str:
    stays = was_built(store.home, name)
    held = held_versions(store.home, name) if stays else None
    # What stood before may itself be what a run that was killed has left of an extension.
    own = held if stays and not is_built(store.home, name) else None
    kept = {place: one for place, one in before.items() if stays and (own is None or _key(*place) in own)}
    for table, partition in _versions(store, name).keys() - kept.keys():
        if held and (lost := held.get(_key(table, partition))):
            # The release lacked it before this run began, and lacks it again.
            store.lake.lose_again(table, partition, lost)
        else:
            store.lake.remove(table, partition)
    faults = [fault for version in kept.values() if (fault := _put_back(store, version))]
    # The entry goes last: rows without one would be taken for those of a new release of that name.
    take_back(store.home, name)
    store.publish()
    return ". ".join([_said(store, name, held, kept), *faults]) if stays else f"Nothing was kept of release {name!r}"


def _put_back(store: Store, version: Version) -> str:
    """Make a version that stood before the current one again; return what is wrong if it was damaged meanwhile."""
    if store.lake.current(*_place(version)) == version:
        return ""
    try:
        store.lake.restore(version)
    except StoredDamageError as error:
        now, _ = store.lake.examine(*_place(version))
        # What the run that failed has written in its place must not be taken for it.
        if now is not None and now.version != version.version:
            store.lake.lose_again(*_place(version), version.version)
        return str(error)
    return ""


def _said(store: Store, name: str, held: Mapping[str, str] | None, kept: Mapping[tuple[str, str], Version]) -> str:
    """What became of a release that was built before."""
    absent = [f"{table} {partition}" for table, partition, _ in absent_of_release(store.home, store.lake, name)]
    if absent:
        return (
            f"Release {name!r} stays as it was, without {', '.join(absent)}, lost to damage; build that again: "
            f"tempkb release finish {name}"
        )
    # What was added behind the last building, such as counted tokens, is not among what is held.
    other = {
        table for (table, key), one in kept.items() if held and held.get(_key(table, key), "") not in ("", one.version)
    }
    if other:
        return f"Release {name!r} stays as it was but for {', '.join(sorted(other))}; typing it again writes these anew"
    return f"Release {name!r} stays exactly as it was"


def _place(version: Version) -> tuple[str, str]:
    return version.table, version.partition


def _key(table: str, partition: str) -> str:
    return f"{table} {partition}"


def _versions(store: Store, name: str) -> dict[tuple[str, str], Version]:
    """What stands of a release, by table and partition."""
    return {
        _place(version): version
        for table in store.tables.values()
        for version in store.lake.versions(table.name, partitions_of_release(store.lake, table, name))
    }
