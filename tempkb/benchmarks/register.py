"""The register of a home's releases: one JSON file per release, which is written before anything is built.

An entry has the requested release and, in `built`, the state that was last built
completely, so that a failed run can restore the entry. `held` names the versions that
belong to that state, so that rows of a killed run can be distinguished from them.

The row of a built release in a table of releases (`*_releases`), whose bytes are checked, is the truth
about its design: an entry that differs from it is refused, and written again from it.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

from tempkb.errors import ContractError, DesignError
from tempkb.settings import Home
from tempkb.store.files import replace_whole
from tempkb.store.lake import POINTER, Lake, is_slug
from tempkb.store.locks import LockTimeoutError, Patience, locked
from tempkb.store.memory import asking
from tempkb.store.owned import own
from tempkb.store.quoting import parquet
from tempkb.store.tables import Family, Table
from tempkb.store.versions import Version

# What only one program at a time may do with a release: a command, or a step of a run.
COMMAND, STEP = "command", "step"
LOOK = 2.0  # seconds to wait for others who hold a lock only to see whether a program is at work
_BUILT, _HELD = "built", "held"
_TABLES = "*_releases"
_OF_WINDOW = re.compile(r"\.(?:\d{4}-\d\d-\d\d|future)")
_WINDOW_AT_END = re.compile(rf"{_OF_WINDOW.pattern}$")


def partition_of(release: str, cut: date) -> str:
    """Return the partition of a release and cut in the lake."""
    return f"{release}.{cut:%Y-%m-%d}"


def write_entry(home: Home, benchmark: str, name: str, requested: Mapping[str, Any]) -> None:
    """Write the entry of a requested release; the record of what was built of it before is kept."""
    before = _read(home, name) if is_registered(home, name) else {_BUILT: None}
    kept = {key: before[key] for key in (_BUILT, _HELD) if key in before}
    _write(home, name, {"benchmark": benchmark, "name": name, **requested, **kept})


def mark_built(home: Home, name: str, held: Mapping[tuple[str, str], str]) -> None:
    """Record that the requested release is built.

    Args:
        held: the versions that belong to it, by table and partition, such as `tempel_mentions demo.2022-01-01`.

    Raises:
        DesignError: the release was removed from the register while it was built.
    """
    if not is_registered(home, name):
        raise DesignError(
            f"release {name!r}: was removed while it was being built, so nothing of it is kept; type the same again"
        )
    entry = _read(home, name)
    places = {" ".join(place): held[place] for place in sorted(held)}
    _write(home, name, {**_requested(entry), _BUILT: _requested(entry), _HELD: places})


def held_places(home: Home, name: str) -> dict[tuple[str, str], str]:
    """Return the versions that belong to the state that was last built, by table and partition; none if none was."""
    held: dict[str, str] = _read(home, name)[_HELD] if was_built(home, name) else {}
    return {(table, partition): version for place, version in held.items() for table, partition in [place.split(" ")]}


@contextmanager
def alone(home: Home, name: str, what: str, patience: Patience | None = None) -> Iterator[None]:
    """Hold the lock for a command or a step of a release.

    Args:
        what: `COMMAND` or `STEP`; a command has steps.
        patience: how long to wait for another program; None for as long as it takes.

    Raises:
        DesignError: another program still holds the lock.
    """
    path = entry_path(home, name)
    own(home.path, path.parent)
    try:
        with locked(path.with_name(f".{name}.{what}.lock"), patience):
            yield
    except LockTimeoutError:
        raise DesignError(
            f"release {name!r}: is being built by another program; wait for it, then type the same again"
        ) from None


def is_at_work(home: Home, name: str) -> bool:
    """Return whether a program is building or removing a release at this moment."""
    try:
        with alone(home, name, COMMAND, Patience(0)), alone(home, name, STEP, Patience(0)):
            return False
    except DesignError:
        return True


def unfinished_releases(home: Home) -> list[str]:
    """Return the names of the releases that are not built completely, sorted.

    Entries that cannot be read are not included; see `unreadable_entries`.
    """
    unreadable = unreadable_entries(home)
    return [name for name in release_names(home) if name not in unreadable and not is_built(home, name)]


def unreadable_entries(home: Home) -> dict[str, str]:
    """Return why entries cannot be read, in words, by the release's name."""
    found = {}
    for name in release_names(home):
        try:
            _read(home, name)
        except DesignError as error:
            found[name] = str(error)
    return found


def is_built(home: Home, name: str) -> bool:
    """Return whether a release is built as requested."""
    entry = _read(home, name)
    return bool(entry[_BUILT] == _requested(entry))


def require_built(home: Home, name: str) -> None:
    """Refuse a release that is not finished.

    Raises:
        DesignError: there is no such release, or a run of it was killed or is still at work.
    """
    if not is_built(home, name):
        raise DesignError(
            f"release {name!r}: is not finished, since a run of it was killed or is still at work; finish it: "
            f"tempkb release finish {name}"
        )


def require_whole(home: Home, lake: Lake, name: str) -> None:
    """Refuse a release that is not finished, or has lost a partition to damage.

    Raises:
        DesignError: there is no such release, or it is not complete.
    """
    require_built(home, name)
    absent = [f"{table} {partition}" for table, partition, _ in absent_of_release(home, lake, name)]
    if absent:
        raise DesignError(
            f"release {name!r}: found no {', '.join(absent)}, which belonged to it when it was built, since it was "
            f"damaged or removed; build it again: tempkb release finish {name}"
        )


def was_built(home: Home, name: str) -> bool:
    """Return whether a release was ever built completely, even if more was requested later."""
    return is_registered(home, name) and _read(home, name)[_BUILT] is not None


def built_entry(home: Home, name: str) -> dict[str, Any] | None:
    """Return the entry of a release as it was last built completely; None if it never was."""
    built: dict[str, Any] | None = _read(home, name)[_BUILT] if is_registered(home, name) else None
    return built


def take_back(home: Home, name: str) -> bool:
    """Restore an entry to what was last built. If nothing was built, remove the entry and return False."""
    built = built_entry(home, name)
    if built is None:
        strike(home, name)
        return False
    entry = _read(home, name)
    _write(home, name, {**built, **{key: entry[key] for key in (_BUILT, _HELD) if key in entry}})
    return True


def read_entry(home: Home, benchmark: str, name: str) -> dict[str, Any]:
    """Return the entry of a release of a benchmark.

    Raises:
        DesignError: there is no such release, or it is a release of another benchmark.
    """
    entry = _read(home, name)
    if entry["benchmark"] != benchmark:
        raise DesignError(f"release {name!r}: is one of {entry['benchmark']}; expected one of {benchmark}")
    return entry


def benchmark_of(home: Home, name: str) -> str:
    """Return the name of a release's benchmark.

    Raises:
        DesignError: there is no such release.
    """
    return str(_read(home, name)["benchmark"])


def strike(home: Home, name: str) -> None:
    """Remove a release from the register."""
    own(home.path, entry_path(home, name)).unlink(missing_ok=True)


def is_registered(home: Home, name: str) -> bool:
    """Return whether a release of that name is in the register."""
    return entry_path(home, name).exists()


def release_names(home: Home) -> list[str]:
    """Return the names of all releases of a home, sorted: of those with an entry, and of those with a row."""
    rows = home.lake.glob(f"{_TABLES}/*/{POINTER}")
    return sorted({path.stem for path in (home.path / "releases").glob("*.json")} | {path.parent.name for path in rows})


def releases_of(home: Home, benchmark: str) -> list[str]:
    """Return the names of the releases of a benchmark, sorted, without entries that cannot be read."""
    readable = sorted(set(release_names(home)) - unreadable_entries(home).keys())
    return [name for name in readable if benchmark_of(home, name) == benchmark]


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


def partitions_of_release(lake: Lake, table: Table, name: str) -> list[str]:
    """Return a release's partitions of a table: one with its name, or one for each of its windows or cuts."""
    if table.partitioned_by == "release":
        return [name] if lake.current(table.name, name) else []
    return keys_of_release(lake.partitions(table.name), table, name)


def need_version(home: Home, table: Table, name: str, cut: date) -> Version:
    """Return the current version of a release's table at a cut.

    Raises:
        ContractError: there is none; the message says whether it was lost to damage, removed, or never built.
    """
    lake, partition = Lake(home.lake), partition_of(name, cut)
    version, fault = lake.examine(table.name, partition)
    if version is not None and fault is None:
        return version
    if fault is not None or partition in lake.lost(table.name):
        why = f"was lost to damage; build it again: tempkb release finish {name}"
    elif is_at_work(home, name) or name not in release_names(home):
        why = "was removed meanwhile, or is being removed or built; wait for that, then type the same again"
    else:
        why = f"is not built; build it: tempkb release finish {name}"
    raise ContractError(f"{table.name} of {name} at {cut} {why}")


def lost_of_release(lake: Lake, table: Table, name: str) -> list[str]:
    """Return the partitions of a release that were found damaged and are not built again yet."""
    return keys_of_release(lake.lost(table.name), table, name)


def absent_of_release(home: Home, lake: Lake, name: str) -> list[tuple[str, str, str]]:
    """Return table, partition and version of everything that belongs to the last built state and is missing."""
    held = held_places(home, name)
    return [(table, key, version) for (table, key), version in held.items() if lake.current(table, key) is None]


def to_build_again(table: Table, partition: str) -> str:
    """Return the command that builds a damaged partition again, of a table of neither models nor linkers."""
    if table.family is Family.RESULT:
        return "tempkb results"
    if table.family is not Family.RELEASE:
        return "tempkb build"
    name = partition if table.partitioned_by == "release" else _WINDOW_AT_END.sub("", partition)
    # Tokens are counted by a command of its own, because the tokenizer must be named again.
    return f"tempkb release tokens {name} FILE" if table.name == "answer_tokens" else f"tempkb release finish {name}"


def keys_of_release(keys: Iterable[str], table: Table, name: str) -> list[str]:
    """Return those of some partitions of a table that belong to a release."""
    if table.family is not Family.RELEASE:
        return []
    if table.partitioned_by == "release":
        return [key for key in keys if key == name]
    return [key for key in keys if key.startswith(name) and _OF_WINDOW.fullmatch(key[len(name) :])]


def _requested(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in (_BUILT, _HELD)}


def _write(home: Home, name: str, entry: Mapping[str, Any]) -> None:
    """Write an entry atomically."""
    replace_whole(own(home.path, entry_path(home, name)), json.dumps(entry, indent=1).encode() + b"\n")


def told_by_table(home: Home, name: str) -> dict[str, Any] | None:
    """Return the requested entry of a release as its row in a table of releases has it; None without a whole row."""
    lake = Lake(home.lake)
    versions = [version for one in home.lake.glob(_TABLES) if (version := lake.current(one.name, name)) is not None]
    if not versions or versions[0].fault(sums=True) is not None:
        return None
    with asking() as memory:
        found = memory.execute(f"FROM {parquet(versions[0].places())}")
        row = dict(zip([column for column, *_ in found.description or ()], found.fetchone() or (), strict=True))
    benchmark = row.get("benchmark", versions[0].table.removesuffix(_TABLES[1:]))
    entry = {"benchmark": benchmark, "name": name, "preset": row["preset"], "design": json.loads(row["design"])}
    if "n_base_cuts" in row:
        entry |= {"added": [str(cut) for cut in row["cuts"][row["n_base_cuts"] :]], "made_from": row["made_from"] or ""}
    return entry


def _read(home: Home, name: str) -> dict[str, Any]:
    path, told = entry_path(home, name), told_by_table(home, name)
    if told is None and not path.exists():
        raise DesignError(f"release {name!r}: no such release; there: {', '.join(release_names(home)) or 'none'}")
    found = "another content than tempkb wrote"
    try:
        entry: dict[str, Any] = json.loads(path.read_text("utf-8"))
        if entry["name"] == name and isinstance(entry["benchmark"], str) and _agrees(entry, told or {}):
            return entry
    except FileNotFoundError:
        found = "no such file"
    except (ValueError, TypeError, KeyError, AttributeError):
        pass
    again = f"remove that file and type the command that made the release again, with --name {name}"
    if told is not None:
        again = f"write it again from the table of releases, which has its design: tempkb release finish {name}"
    raise DesignError(f"release {name!r}: {path}: found {found}; {again}")


def _agrees(entry: Mapping[str, Any], told: Mapping[str, Any]) -> bool:
    """Is a row as what an entry requests, or what was built by it? Either may lack fields of later designs."""
    states = [one for one in (_requested(entry), entry[_BUILT]) if one is not None]
    for state in states if told else ():
        own, other = state["design"].items(), told["design"].items()
        rest = told.keys() - {"design", "added"}
        if not (own <= other or own >= other) or any(state.get(key, told[key]) != told[key] for key in rest):
            return False
    # An extension that was killed may have been written to the table already, or not yet.
    return not told or told.get("added", []) in [state.get("added", []) for state in states]
