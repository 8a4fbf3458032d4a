"""The register of a home's releases: one file per release, with what was asked and, once it is built, its versions.

An entry is written before anything is built. The list of versions is written last, in one step, and does not change
unless the release is extended, or something is added to it. Whoever reads a release takes what the list names,
whatever `CURRENT` says. The file ends with its own checksum, so that nothing is built or read by an altered entry.
"""

import hashlib
import json
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Generic, TypeVar

from tempkb.benchmarks.benchmark import Benchmark, Design
from tempkb.core.errors import ContractError, DesignError, StoredDamageError
from tempkb.core.files import own, read_summed, real_folders, write_summed
from tempkb.core.locks import LockTimeoutError, Patience, locked
from tempkb.core.settings import Home
from tempkb.engine.steps import lacking_source
from tempkb.store.lake import Lake, is_slug
from tempkb.store.store import Store
from tempkb.store.tables import Family, Table
from tempkb.store.versions import Version

Place = tuple[str, str]
"""A table and a partition."""
LOOK = 2.0  # seconds to wait for others who hold a lock only to see whether a program is at work
_HELD: ContextVar[frozenset[Path]] = ContextVar("held", default=frozenset())


@dataclass(frozen=True)
class Entry:
    """What the register says of a release.

    Attributes:
        asked: benchmark, name, preset, design, and what else its benchmark notes.
        built: what was asked when it was last built completely; None if it never was.
        versions: the versions that were built then, and what was added to them, by table and partition.
    """

    asked: Mapping[str, Any]
    built: Mapping[str, Any] | None = None
    versions: Mapping[Place, str] = field(default_factory=dict)


def partition_of(release: str, cut: date) -> str:
    """Return the partition of a release and cut in the lake."""
    return f"{release}.{cut:%Y-%m-%d}"


def entry_path(home: Home, name: str) -> Path:
    """Return the path of a release's entry.

    Raises:
        DesignError: the name is not allowed.
    """
    if not is_slug(name):
        raise DesignError(
            f"release {name!r}: a name has lower-case letters, digits, dots, hyphens and underscores only, and does "
            "not begin with a dot or a hyphen"
        )
    return home.path / "releases" / f"{name}.json"


def entry_of(home: Home, name: str) -> Entry:
    """Return the entry of a release.

    Raises:
        DesignError: there is no such release, or its entry is missing or was altered.
    """
    path = entry_path(home, name)
    said = read_summed(path)
    if said is not None and said["name"] == name:
        versions = {(table, key): one for table, keys in said["versions"].items() for key, one in keys.items()}
        asked = {key: value for key, value in said.items() if key not in ("built", "versions")}
        return Entry(asked, said["built"], versions)
    if path.exists():
        found, first = "other content than tempkb wrote", f"rm {shlex.quote(str(path))} and "
    elif name in release_names(home):
        found, first = "no such file, though tables of the release are there", ""
    else:
        raise DesignError(f"release {name!r}: no such release; there: {', '.join(release_names(home)) or 'none'}")
    raise DesignError(
        f"release {name!r}: {path}: found {found}; expected its entry. Put a good copy of it back, or make the release "
        f"again: {first}the commands that made it, with --name {name}; or remove it: tempkb rm --release {name}"
    )


def entry_if_any(home: Home, name: str) -> Entry:
    """Return the entry of a release; of a name that is not in the register an empty one."""
    return entry_of(home, name) if is_registered(home, name) else Entry({})


def write_entry(home: Home, benchmark: str, name: str, requested: Mapping[str, Any]) -> None:
    """Write down what is asked of a release; what was built of it before is kept."""
    before = entry_if_any(home, name)
    _write(home, Entry({"benchmark": benchmark, "name": name, **requested}, before.built, before.versions))


def mark_built(store: Store, name: str) -> None:
    """List the present versions of a release, as those of what is asked.

    What was listed and is lost stays listed, so that it is missed until it is made again.
    """
    entry = entry_of(store.home, name)
    _write(store.home, Entry(entry.asked, entry.asked, {**entry.versions, **_current(store, name)}))


def as_listed(store: Store, name: str) -> str:
    """Let entry and lake be as the list of a release says; without a list nothing of it stays.

    Returns:
        A sentence about what there is of the release.
    """
    with alone(store.home, name):
        entry = entry_if_any(store.home, name)
        for place in sorted({*places_of_release(store, name), *entry.versions}):
            _point(store.lake, place, entry.versions.get(place, ""))
        # The entry goes last: rows without one would be taken for those of a release whose entry is lost.
        if entry.built is None:
            strike(store.home, name)
            return f"Nothing was kept of release {name!r}"
        if entry.asked != entry.built:
            _write(store.home, Entry(entry.built, entry.built, entry.versions))
        if lost := lost_parts(store, name):
            return (
                f"Release {name!r} stays as it was, without {', '.join(map(' '.join, lost))}, lost to damage; build "
                f"that again: tempkb release finish {name}"
            )
        return f"Release {name!r} stays exactly as it was"


def _point(lake: Lake, place: Place, listed: str) -> None:
    """Make a listed version the current one of a partition; without a whole one the partition is removed."""
    now, fault = lake.examine(*place)
    if listed == (now.version if now is not None else fault.version if fault is not None else ""):
        return
    version = lake.version(*place, listed) if listed else None
    with suppress(StoredDamageError):
        if version is not None:
            version.paths()
            lake.restore(version)
            return
    lake.remove(*place)


def strike(home: Home, name: str) -> None:
    """Remove a release from the register."""
    own(home.path, entry_path(home, name)).unlink(missing_ok=True)


@contextmanager
def alone(home: Home, name: str, patience: Patience | None = None) -> Iterator[None]:
    """Hold the lock of a release, as a command does and each step of a run; the steps of a command have it with that.

    Args:
        patience: how long to wait for another program; None for as long as it takes.

    Raises:
        DesignError: another program still holds the lock.
    """
    path = entry_path(home, name)
    if path in _HELD.get():
        yield
        return
    own(home.path, path.parent)
    try:
        with locked(path.with_name(f".{name}.lock"), patience):
            before = _HELD.set(_HELD.get() | {path})
            try:
                yield
            finally:
                _HELD.reset(before)
    except LockTimeoutError:
        raise DesignError(
            f"release {name!r}: is being built by another program; wait for it, then type the same again"
        ) from None


def is_at_work(home: Home, name: str) -> bool:
    """Return whether a program is building or removing a release at this moment."""
    try:
        with alone(home, name, Patience(0)):
            return False
    except DesignError:
        return True


def is_registered(home: Home, name: str) -> bool:
    """Return whether a release of that name is in the register."""
    return entry_path(home, name).exists()


def release_names(home: Home) -> list[str]:
    """Return the names of all releases of a home, sorted: of those with an entry, and of those with a row."""
    lake = Lake(home.lake)
    rows = (key for table in home.lake.glob("*_releases") for key in lake.keys(table.name))
    return sorted({path.stem for path in (home.path / "releases").glob("*.json")}.union(rows))


def entries(home: Home) -> tuple[dict[str, Entry], dict[str, str]]:
    """Return the entries of a home by the names of releases, sorted; and why others cannot be read, in words."""
    readable, unreadable = {}, {}
    for name in release_names(home):
        try:
            readable[name] = entry_of(home, name)
        except DesignError as error:
            unreadable[name] = str(error)
    return readable, unreadable


def releases_of(home: Home, benchmark: str) -> list[str]:
    """Return the names of the releases of a benchmark, sorted, without entries that cannot be read."""
    return [name for name, entry in entries(home)[0].items() if entry.asked["benchmark"] == benchmark]


def unfinished_releases(store: Store) -> list[str]:
    """Return the names of releases of which the lake has not what is asked, or not what the list says; sorted.

    A kill leaves such. What is only lost makes no release unfinished; entries that cannot be read are not included.
    """
    found = []
    for name, entry in entries(store.home)[0].items():
        lost = lost_places(store, name)
        whole = {place: version for place, version in entry.versions.items() if place not in lost}
        if entry.asked != entry.built or _current(store, name) != whole:
            found.append(name)
    return found


def read_entry(home: Home, benchmark: str, name: str) -> Mapping[str, Any]:
    """Return what is asked of a release of a benchmark.

    Raises:
        DesignError: there is no such release, or it is a release of another benchmark.
    """
    asked = entry_of(home, name).asked
    if asked["benchmark"] != benchmark:
        raise DesignError(f"release {name!r}: is one of {asked['benchmark']}; expected one of {benchmark}")
    return asked


def is_built(home: Home, name: str) -> bool:
    """Return whether a release is built as asked."""
    entry = entry_of(home, name)
    return entry.built == entry.asked


def require_whole(store: Store, name: str) -> None:
    """Refuse a release that is not finished, or has lost a partition to damage.

    Raises:
        DesignError: there is no such release, or it is not complete.
    """
    if not is_built(store.home, name):
        raise DesignError(
            f"release {name!r}: is not finished, since a run of it was killed or is still at work; finish it: "
            f"tempkb release finish {name}"
        )
    if lost := lost_parts(store, name):
        raise DesignError(
            f"release {name!r}: found no {', '.join(map(' '.join, lost))}, which belonged to it when it was built, "
            f"since it was damaged or removed; build it again: tempkb release finish {name}"
        )


def lost_places(store: Store, name: str) -> list[Place]:
    """Return the tables and partitions of which no whole version is there that the list of a release names."""
    versions = entry_if_any(store.home, name).versions
    return [place for place, version in versions.items() if store.lake.version(*place, version) is None]


def lost_parts(store: Store, name: str) -> list[Place]:
    """Return those of `lost_places` that are built with the release; what was added to it has commands of its own."""
    again = f"tempkb release finish {name}"
    return [place for place in lost_places(store, name) if to_build_again(store.tables[place[0]], place[1]) == again]


def release_versions(store: Store, table: Table, name: str, partitions: Collection[str] | None = None) -> list[Version]:
    """Return a release's versions of a table, sorted by partition: those in its list, unless they are lost.

    Of a release that this program builds, or that was never built, they are the current ones.

    Args:
        partitions: those of which versions are wanted; None for all of the release.
    """
    entry = entry_if_any(store.home, name)
    if entry.built is None or entry_path(store.home, name) in _HELD.get():
        keys = keys_of_release(store.lake.keys(table.name), table, name) if partitions is None else sorted(partitions)
        return store.lake.versions(table.name, keys)
    listed = {key: version for (one, key), version in sorted(entry.versions.items()) if one == table.name}
    keys = [key for key in listed if partitions is None or key in partitions]
    return [one for key in keys if (one := store.lake.version(table.name, key, listed[key])) is not None]


def release_version(store: Store, table: Table, name: str, partition: str) -> Version | None:
    """Return a release's version of a partition, as `release_versions` does; None if there is none, or it is lost."""
    return next(iter(release_versions(store, table, name, [partition])), None)


def release_files(store: Store, table: Table, name: str) -> list[Path]:
    """Return the data files of a release's versions of a table."""
    return [path for version in release_versions(store, table, name) for path in version.paths()]


def need_version(store: Store, table: Table, name: str, cut: date) -> Version:
    """Return the version of a release's table at a cut.

    Raises:
        ContractError: there is none.
    """
    partition = partition_of(name, cut)
    version = release_version(store, table, name, partition)
    if version is not None:
        return version
    if is_at_work(store.home, name) or not is_registered(store.home, name):
        raise ContractError(
            f"{table.name} of {name} at {cut} was removed meanwhile, or is being removed or built; wait for that, then "
            "type the same again"
        )
    how = f"build it first: {to_build_again(table, partition)}"
    raise lacking_source(f"release {name!r}", table, [partition], how)


def frozen_versions(store: Store) -> set[tuple[str, str, str]]:
    """Return table, partition and version of what releases list; of one whose entry cannot be read, of all there is."""
    readable, unreadable = entries(store.home)
    found = {(*place, version) for entry in readable.values() for place, version in entry.versions.items()}
    for table, key in (place for name in unreadable for place in places_of_release(store, name)):
        found |= {(table, key, folder.name) for folder in real_folders(store.lake.root / table / key)}
    return found


def to_build_again(table: Table, partition: str) -> str:
    """Return the command that builds a damaged partition again, of a table of neither models nor linkers."""
    if table.family is Family.RESULT:
        return "tempkb results"
    if table.family is not Family.RELEASE:
        return "tempkb build"
    name = table.owner_of(partition)
    # Tokens are counted by a command of its own, because the tokenizer must be named again.
    return f"tempkb release tokens {name} FILE" if table.name == "answer_tokens" else f"tempkb release finish {name}"


def keys_of_release(keys: Iterable[str], table: Table, name: str) -> list[str]:
    """Return those of some partitions of a table that belong to a release."""
    return [key for key in keys if table.family is Family.RELEASE and table.owner_of(key) == name]


def places_of_release(store: Store, name: str) -> list[Place]:
    """Return the partitions that carry a release's name, removed ones included, by table in the order of their keys."""
    return [
        (table.name, key)
        for table in store.tables.values()
        if table.family is Family.RELEASE
        for key in keys_of_release((one.name for one in real_folders(store.lake.root / table.name)), table, name)
    ]


def _current(store: Store, name: str) -> dict[Place, str]:
    found = {place: store.lake.current(*place) for place in places_of_release(store, name)}
    return {place: version.version for place, version in found.items() if version is not None}


def _write(home: Home, entry: Entry) -> None:
    tables: dict[str, dict[str, str]] = {}
    for table, key in sorted(entry.versions):
        tables.setdefault(table, {})[key] = entry.versions[table, key]
    path = own(home.path, entry_path(home, entry.asked["name"]))
    write_summed(path, {**entry.asked, "built": entry.built, "versions": tables})


OfDesign_co = TypeVar("OfDesign_co", bound=Design, covariant=True)


@dataclass(frozen=True)
class Release(Generic[OfDesign_co]):
    """A requested release.

    Attributes:
        name: its name, which is also the key of its partition.
        preset: the preset from which the design was made.
    """

    name: str
    benchmark: str
    preset: str
    design: OfDesign_co

    def to_entry(self) -> dict[str, Any]:
        """Return the values for the register, without name and benchmark."""
        return {"preset": self.preset, "design": self.design.to_json()}


AnyRelease = Release[Design]


def reader(design: type[OfDesign_co]) -> Callable[[Mapping[str, Any]], Release[OfDesign_co]]:
    """Return what reads an entry of the register, for a benchmark whose releases are no more than their designs."""

    def read_entry(entry: Mapping[str, Any]) -> Release[OfDesign_co]:
        return Release(entry["name"], entry["benchmark"], entry["preset"], design.from_json(entry["design"]))

    return read_entry


def default_name(benchmark: str, design: Design) -> str:
    """Return the name of a release for which none was given: benchmark, days, and a hash of the design."""
    digest = hashlib.sha256(json.dumps(design.to_json(), sort_keys=True).encode()).hexdigest()[:8]
    return "-".join([benchmark.replace("_", "-"), *(f"{day:%Y%m%d}" for day in design.days()), digest])


def create(home: Home, benchmark: Benchmark, preset: str, design: Design, name: str = "") -> AnyRelease:
    """Return a new release, or the existing one with this name if it has the same design.

    Args:
        name: the release's name; empty for `default_name`.

    Raises:
        DesignError: a release of another design or benchmark has this name.
    """
    name = name or default_name(benchmark.name, design)
    if is_registered(home, name):
        if entry_of(home, name).asked["benchmark"] != benchmark.name or load(home, benchmark, name).design != design:
            raise DesignError(f"release {name!r}: exists with another design; choose another --name")
        return load(home, benchmark, name)
    entry = {"name": name, "benchmark": benchmark.name, "preset": preset, "design": design.to_json()}
    return benchmark.loaded().read_entry(entry)


def keep(home: Home, release: AnyRelease) -> None:
    """Write a release to the register, from which the run that builds it reads it.

    Raises:
        DesignError: another program has changed the release since it was read.
    """
    entry = release.to_entry()
    if is_registered(home, release.name):
        _refuse_lost(read_entry(home, release.benchmark, release.name), entry, release.name)
    write_entry(home, release.benchmark, release.name, entry)


def load(home: Home, benchmark: Benchmark, name: str) -> AnyRelease:
    """Return a release of a benchmark from the register.

    Raises:
        DesignError: there is no such release, or it is a release of another benchmark.
    """
    return benchmark.loaded().read_entry(read_entry(home, benchmark.name, name))


def _refuse_lost(held: Mapping[str, Any], entry: Mapping[str, Any], name: str) -> None:
    """Refuse an entry without snapshots that another program has added in the meantime."""
    added = held.get("added", [])
    if added != entry.get("added", [])[: len(added)]:
        raise DesignError(f"release {name!r}: was extended by another program meanwhile; type the same again")
