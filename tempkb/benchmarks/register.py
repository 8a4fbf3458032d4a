"""The register of a home's releases: a JSON file each, written down before anything is built."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tempkb.errors import DesignError
from tempkb.settings import Home


def write_entry(home: Home, benchmark: str, name: str, said: Mapping[str, Any]) -> None:
    """Write a release down, whole or not at all."""
    path = entry_path(home, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
    draft.write_text(json.dumps({"benchmark": benchmark, "name": name, **said}, indent=1) + "\n", "utf-8")
    draft.replace(path)


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


def _read(home: Home, name: str) -> dict[str, Any]:
    path = entry_path(home, name)
    if not path.exists():
        raise DesignError(f"release {name!r}: no such release; there: {', '.join(release_names(home)) or 'none'}")
    said: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return said
