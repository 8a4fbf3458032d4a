"""The register of a home's releases: a JSON file each, written down before anything is built.

An entry says what was asked for and, in `built`, what was last built whole, so
that a run that fails can put the entry back. `held` names the versions that
belong to it, so that what a killed run has left can be told from them.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tempkb.errors import DesignError
from tempkb.settings import Home
from tempkb.store.lake import Lake
from tempkb.store.locks import LockTimeoutError, Patience, locked
from tempkb.store.tables import Family, Table

# What two programs may not do to one release at a time: a whole command, a step of a run.
COMMAND, STEP = "command", "step"
LOOK = 2.0  # seconds for which others may hold a lock just to see whether somebody is at work
_BUILT, _HELD = "built", "held"
_OF_WINDOW = re.compile(r"\.\d{4}-\d\d-\d\d")
_WINDOW_AT_END = re.compile(rf"{_OF_WINDOW.pattern}$")


def write_entry(home: Home, benchmark: str, name: str, said: Mapping[str, Any]) -> None:
    """Write a release down as it is asked for; what was built of it before is kept in mind."""
    before = _read(home, name) if is_registered(home, name) else {_BUILT: None}
    kept = {key: before[key] for key in (_BUILT, _HELD) if key in before}
    _write(home, name, {"benchmark": benchmark, "name": name, **said, **kept})


def mark_built(home: Home, name: str, held: Mapping[str, str]) -> None:
    """Note that all that was asked for is built.

    Args:
        home: of the register.
        name: of the release.
        held: versions that belong to it by table and partition, as `tempel_mentions demo.2022-01-01`.

    Raises:
        DesignError: the release was taken out of the register while it was built.
    """
    if not is_registered(home, name):
        raise DesignError(
            f"release {name!r}: was removed while it was being built, so nothing of it is kept; type the same again"
        )
    entry = _read(home, name)
    _write(home, name, {**_asked(entry), _BUILT: _asked(entry), _HELD: dict(sorted(held.items()))})


def held_versions(home: Home, name: str) -> dict[str, str] | None:
    """Return the versions that belong to what was last built whole, by table and partition.

    None if nothing was built, or an earlier version of tempkb did not write them down.
    """
    found: dict[str, str] | None = _read(home, name).get(_HELD) if was_built(home, name) else None
    return found


def held_places(home: Home, name: str) -> dict[tuple[str, str], str]:
    """Return what `held_versions` says by table and partition apart; nothing where that is not known."""
    found = {}
    for place, version in (held_versions(home, name) or {}).items():
        table, _, partition = place.partition(" ")
        found[table, partition] = version
    return found


@contextmanager
def alone(home: Home, name: str, what: str, patience: Patience | None = None) -> Iterator[None]:
    """Let nobody else do the same to a release meanwhile.

    Args:
        home: of the register.
        name: of the release.
        what: is done, `COMMAND` or `STEP`; a command has steps.
        patience: how long to wait for whoever is at it; None: as long as it takes.

    Raises:
        DesignError: patience ran out.
    """
    path = entry_path(home, name)
    try:
        with locked(path.with_name(f".{name}.{what}.lock"), patience):
            yield
    except LockTimeoutError:
        raise DesignError(
            f"release {name!r}: is being built by another program; wait for it, then type the same again"
        ) from None


def is_at_work(home: Home, name: str) -> bool:
    """Does some program build or remove a release at this moment?"""
    try:
        with alone(home, name, COMMAND, Patience(0)), alone(home, name, STEP, Patience(0)):
            return False
    except DesignError:
        return True


def unfinished_releases(home: Home) -> list[str]:
    """Return the names of the releases of which not all that was asked for is built, sorted.

    Entries that cannot be read are left to `unreadable_entries`.
    """
    unreadable = unreadable_entries(home)
    return [name for name in release_names(home) if name not in unreadable and not is_built(home, name)]


def unreadable_entries(home: Home) -> dict[str, str]:
    """Return what is wrong with entries that are not what tempkb wrote, in words, by the release's name."""
    found = {}
    for name in release_names(home):
        try:
            _read(home, name)
        except DesignError as error:
            found[name] = str(error)
    return found


def is_built(home: Home, name: str) -> bool:
    """Is all that was asked for built?"""
    entry = _read(home, name)
    return bool(entry[_BUILT] == _asked(entry))


def require_built(home: Home, name: str) -> None:
    """Refuse a release that is not finished.

    Raises:
        DesignError: there is none of that name, or a run of it was killed or is still at work.
    """
    if not is_built(home, name):
        raise DesignError(
            f"release {name!r}: is not finished, since a run of it was killed or is still at work; finish it: "
            f"tempkb release finish {name}"
        )


def require_whole(home: Home, lake: Lake, name: str) -> None:
    """Refuse a release that is not finished, or of which something is lost to damage.

    Raises:
        DesignError: there is none of that name, or it is not whole.
    """
    require_built(home, name)
    absent = [f"{table} {partition}" for table, partition, _ in absent_of_release(home, lake, name)]
    if absent:
        raise DesignError(
            f"release {name!r}: found no {', '.join(absent)}, which it held when it was built, since it was damaged or "
            f"removed; build it again: tempkb release finish {name}"
        )


def was_built(home: Home, name: str) -> bool:
    """Was a release ever built whole, if perhaps not all that is asked for by now?"""
    return is_registered(home, name) and _read(home, name)[_BUILT] is not None


def built_entry(home: Home, name: str) -> dict[str, Any] | None:
    """Return what a release was when it was last built whole; None if it never was."""
    built: dict[str, Any] | None = _read(home, name)[_BUILT] if is_registered(home, name) else None
    return built


def take_back(home: Home, name: str) -> bool:
    """Put an entry back to what was last built; False, and the entry is gone, when nothing was."""
    built = built_entry(home, name)
    if built is None:
        strike(home, name)
        return False
    entry = _read(home, name)
    _write(home, name, {**built, **{key: entry[key] for key in (_BUILT, _HELD) if key in entry}})
    return True


def read_entry(home: Home, benchmark: str, name: str) -> dict[str, Any]:
    """Read a release of a benchmark.

    Raises:
        DesignError: there is none of that name, or it is of another benchmark.
    """
    said = _read(home, name)
    if said["benchmark"] != benchmark:
        raise DesignError(f"release {name!r}: is one of {said['benchmark']}; expected one of {benchmark}")
    return said


def benchmark_of(home: Home, name: str) -> str:
    """Which benchmark is a release of?

    Raises:
        DesignError: there is none of that name.
    """
    return str(_read(home, name)["benchmark"])


def check_entry(home: Home, name: str) -> None:
    """Read a release's entry.

    Raises:
        DesignError: it is not what tempkb wrote.
    """
    _read(home, name)


def strike(home: Home, name: str) -> None:
    """Take a release out of the register."""
    entry_path(home, name).unlink(missing_ok=True)


def is_registered(home: Home, name: str) -> bool:
    """Is there a release of that name?"""
    return entry_path(home, name).exists()


def release_names(home: Home) -> list[str]:
    """Names of all releases of a home, sorted."""
    return sorted(path.stem for path in (home.path / "releases").glob("*.json"))


def releases_of(home: Home, benchmark: str) -> list[str]:
    """Names of the releases of a benchmark, sorted; entries that cannot be read are of none."""
    unreadable = unreadable_entries(home)
    return [name for name in release_names(home) if name not in unreadable and benchmark_of(home, name) == benchmark]


def entry_path(home: Home, name: str) -> Path:
    """Where a release is written down.

    Raises:
        DesignError: the name cannot be a partition's.
    """
    known = all(sign.isascii() and (sign.isalnum() or sign in "._-") for sign in name)
    if not name or not known or name != name.lower():
        raise DesignError(
            f"release {name!r}: a name has lower-case letters, digits, dots, hyphens and underscores only"
        )
    return home.path / "releases" / f"{name}.json"


def is_of_releases(table: Table) -> bool:
    """Do the partitions of a table belong to releases?"""
    return table.family is Family.RELEASE


def partitions_of_release(lake: Lake, table: Table, name: str) -> list[str]:
    """Partitions of a table that belong to a release: one of its name, or one for each of its windows or cuts."""
    if table.partitioned_by == "release":
        return [name] if lake.current(table.name, name) else []
    return _of_release(lake.partitions(table.name), table, name)


def lost_of_release(lake: Lake, table: Table, name: str) -> list[str]:
    """Partitions of a release that were found damaged and are not built again yet."""
    return _of_release(lake.lost(table.name), table, name)


def absent_of_release(home: Home, lake: Lake, name: str) -> list[tuple[str, str, str]]:
    """Return table, partition and version of all that belongs to what was last built whole and is not there."""
    held = held_places(home, name)
    return [(table, key, version) for (table, key), version in held.items() if lake.current(table, key) is None]


def to_build_again(table: Table, partition: str) -> str:
    """What to type so that a partition that is damaged, or was set aside, is built again."""
    if not is_of_releases(table):
        return "tempkb build"
    name = partition if table.partitioned_by == "release" else _WINDOW_AT_END.sub("", partition)
    # No step of a release counts tokens: which tokenizer is to do it is said anew.
    return f"tempkb release tokens {name} FILE" if table.name == "answer_tokens" else f"tempkb release finish {name}"


def _of_release(keys: Iterable[str], table: Table, name: str) -> list[str]:
    if not is_of_releases(table):
        return []
    if table.partitioned_by == "release":
        return [key for key in keys if key == name]
    return [key for key in keys if key.startswith(name) and _OF_WINDOW.fullmatch(key[len(name) :])]


def _asked(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in (_BUILT, _HELD)}


def _write(home: Home, name: str, entry: Mapping[str, Any]) -> None:
    """Write an entry, whole or not at all."""
    path = entry_path(home, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
    draft.write_text(json.dumps(entry, indent=1) + "\n", "utf-8")
    draft.replace(path)


def _read(home: Home, name: str) -> dict[str, Any]:
    path = entry_path(home, name)
    if not path.exists():
        raise DesignError(f"release {name!r}: no such release; there: {', '.join(release_names(home)) or 'none'}")
    try:
        said: dict[str, Any] = json.loads(path.read_text("utf-8"))
        is_entry = said["name"] == name and isinstance(said["benchmark"], str)
    except (ValueError, TypeError, KeyError):
        is_entry = False
    if not is_entry:
        raise DesignError(
            f"release {name!r}: {path} holds something else than tempkb wrote there. What is built of the release is "
            f"whole; remove that file and type the command that made the release once more, with --name {name}"
        )
    # An entry that does not say what was built counts as built, so that no failure takes away what may be whole.
    return said if _BUILT in said else {**said, _BUILT: said}
