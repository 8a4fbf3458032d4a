"""The register of a home's releases: a JSON file each, written down before anything is built.

An entry says what was asked for and, in `built`, what was last built whole, so
that a run that fails can put the entry back.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tempkb.errors import DesignError
from tempkb.settings import Home
from tempkb.store.lake import Lake
from tempkb.store.tables import Table

_BUILT = "built"
_OF_WINDOW = re.compile(r"\.\d{4}-\d\d-\d\d")


def write_entry(home: Home, benchmark: str, name: str, said: Mapping[str, Any]) -> None:
    """Write a release down as it is asked for; what was built of it before is kept in mind."""
    built = _read(home, name)[_BUILT] if is_registered(home, name) else None
    _write(home, name, {"benchmark": benchmark, "name": name, **said, _BUILT: built})


def mark_built(home: Home, name: str) -> None:
    """Note that all that was asked for is built; a release that nobody wrote down has no entry to mark."""
    if is_registered(home, name):
        entry = _read(home, name)
        _write(home, name, {**entry, _BUILT: _asked(entry)})


def is_built(home: Home, name: str) -> bool:
    """Is all that was asked for built?"""
    entry = _read(home, name)
    return bool(entry[_BUILT] == _asked(entry))


def was_built(home: Home, name: str) -> bool:
    """Was a release ever built whole, if perhaps not all that is asked for by now?"""
    return is_registered(home, name) and _read(home, name)[_BUILT] is not None


def take_back(home: Home, name: str) -> bool:
    """Put an entry back to what was last built; False, and the entry is gone, when nothing was."""
    built = _read(home, name)[_BUILT] if is_registered(home, name) else None
    if built is None:
        strike(home, name)
        return False
    _write(home, name, {**built, _BUILT: built})
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
    """Take back a release of which nothing could be built."""
    entry_path(home, name).unlink(missing_ok=True)


def is_registered(home: Home, name: str) -> bool:
    """Is there a release of that name?"""
    return entry_path(home, name).exists()


def release_names(home: Home) -> list[str]:
    """Names of all releases of a home, sorted."""
    return sorted(path.stem for path in (home.path / "releases").glob("*.json"))


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
    return table.partitioned_by.split(" and ")[0] == "release"


def partitions_of_release(lake: Lake, table: Table, name: str) -> list[str]:
    """Partitions of a table that belong to a release: one of its name, or one for each of its windows or cuts."""
    if table.partitioned_by == "release":
        return [name] if lake.current(table.name, name) else []
    return _of_release(lake.partitions(table.name), table, name)


def lost_of_release(lake: Lake, table: Table, name: str) -> list[str]:
    """Partitions of a release that were found damaged and are not built again yet."""
    return _of_release(lake.lost(table.name), table, name)


def _of_release(keys: Iterable[str], table: Table, name: str) -> list[str]:
    if not is_of_releases(table):
        return []
    if table.partitioned_by == "release":
        return [key for key in keys if key == name]
    return [key for key in keys if key.startswith(name) and _OF_WINDOW.fullmatch(key[len(name) :])]


def _asked(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != _BUILT}


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
