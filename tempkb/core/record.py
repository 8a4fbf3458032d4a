"""The record that defines a home: `home.toml`, written once, with a checksum at its end and a copy in the lake.

Missing values would silently be replaced by the defaults, and another salt would hash the contributors of later windows
differently. So a record that was changed or is missing is an error, and is never repaired automatically: the message
names the copy, from which a user can restore it.
"""

import hashlib
import json
import os
import re
import secrets
import shlex
import tomllib
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from tempkb.core.errors import SettingsError
from tempkb.core.files import replace_whole
from tempkb.core.locks import locked

# What distinguishes one home from another; everything else may change from run to run.
IDENTITY = (
    "wiki",
    "namespaces",
    "granularity",
    "first_window",
    "lookback_days",
    "stability_rule",
    "dropped_sections",
    "pages",
)
# What the tables of Wikidata are made with; recorded when the first of them is made.
OF_WIKIDATA = ("languages", "wikidata_items", "classes")
SALT = "contributor_salt"
LAYOUT = 2
"""How a home's folders and files are laid out. A record without a line `layout` is one of layout 1."""

_NAME = "home.toml"
_COPY = f"lake/{_NAME}"
_HEAD = "# What defines this home; written once by tempkb, with its sum at the end. Another value needs another home.\n"
_SUM = re.compile(rb'sum = "[0-9a-f]{64}"\n')
_ABSENT = "no such file"


def read_record(path: Path) -> dict[str, Any]:
    """Return the values in `home.toml` of the home at `path`; empty if nothing has been written yet.

    Raises:
        SettingsError: it was changed, is missing, belongs to another home according to the copy in the lake, or is
            that of a home of another layout.
    """
    (record, found), (copy, _) = _read(path / _NAME), _read(path / _COPY)
    if record is None:
        if copy is None and found == _ABSENT:
            return {}
        raise damaged_record(path, found)
    layout = record.pop("layout", 1)
    if layout != LAYOUT:
        raise SettingsError(
            f"home {path}: found layout {layout}, but this version of tempkb expects layout {LAYOUT}; build the home "
            "anew in another folder (TEMPKB_HOME=...), or use the version of tempkb that wrote it"
        )
    if other := [key for key, value in sorted((copy or {}).items()) if record.get(key, value) != value]:
        raise damaged_record(path, "the record of another home: other values of " + ", ".join(other))
    return record


def write_record(path: Path, values: Mapping[str, Any]) -> None:
    """Write the record that defines a home, with a new salt; an existing record is kept.

    Args:
        path: of the home, which exists.
        values: those of `IDENTITY`.
    """
    held = {"layout": LAYOUT} | {key: values[key] for key in IDENTITY} | {SALT: secrets.token_hex(16)}
    draft = path / f"{_NAME}.{os.getpid()}.draft"
    draft.write_bytes(_summed(_HEAD + _lines(held)))
    try:
        # A hard link fails if the name exists, so of two first writers one wins and the records do not mix.
        os.link(draft, path / _NAME)
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def add_to_record(path: Path, values: Mapping[str, Any]) -> None:
    """Add the values that the existing record of a home does not have yet, and update its copy."""
    record = path / _NAME
    # Of two processes that add the same lines at once, the second would give the record each of them twice.
    with locked(path / f"{_NAME}.lock"):
        held = read_record(path)
        new = {key: value for key, value in values.items() if key not in held}
        if new:
            replace_whole(record, _summed(_SUM.sub(b"", record.read_bytes()).decode() + _lines(new)))
            copy_record(path)


def copy_record(path: Path) -> None:
    """Copy the record to the lake.

    Raises:
        SettingsError: the record was changed since it was written; the copy stays as it is.
    """
    record, found = _read(path / _NAME)
    if record is None:
        raise damaged_record(path, found)
    if _read(path / _COPY)[0] != record:
        replace_whole(path / _COPY, (path / _NAME).read_bytes())


def copy_fault(path: Path) -> str:
    """Say what is wrong with the lake's copy of the record of a home, and what to type; empty if nothing is."""
    record, copy = path / _NAME, path / _COPY
    if _read(copy)[0] is not None or not record.exists():
        return ""
    copied = f"cp {shlex.quote(str(record))} {shlex.quote(str(copy))}"
    return f"{copy}: found no copy, or an altered one; expected what is in {record}: {copied}"


def digest_of(path: Path) -> str:
    """Return a digest of what defines a home and of its salt, which it does not tell; empty if nothing was written."""
    record = read_record(path)
    defining = {key: toml(record[key]) for key in (*IDENTITY, SALT) if key in record}
    return hashlib.sha256(json.dumps(defining).encode()).hexdigest()[:16] if record else ""


def damaged_record(path: Path, found: str) -> SettingsError:
    """Return the error for a record that is not what tempkb wrote, or has an invalid value."""
    record, copy = path / _NAME, path / _COPY
    if _read(copy)[0]:
        mend = f"The lake has a copy: cp {shlex.quote(str(copy))} {shlex.quote(str(record))}"
    else:
        mend = (
            "Restore it from a copy of your own; the lake has none, and the salt with which contributors are hashed "
            "is nowhere else"
        )
    return SettingsError(f"{record}: found {found}; expected what tempkb wrote when the home was made. {mend}")


def toml(value: object) -> str:
    """Return a value in TOML syntax."""
    if isinstance(value, date):
        return value.isoformat()
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def _read(file: Path) -> tuple[dict[str, Any] | None, str]:
    """Return the values in a record or its copy, None if it is not as it was written; and what was found instead."""
    try:
        written = file.read_bytes()
        record = tomllib.loads(written.decode())
    except FileNotFoundError:
        return None, _ABSENT
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        return None, f"invalid TOML ({error})"
    if _SUM.search(written) is None or _summed(_SUM.sub(b"", written).decode()) != written:
        return None, "lines that do not match their checksum" if written.strip() else "an empty file"
    del record["sum"]
    return record, ""


def _lines(values: Mapping[str, Any]) -> str:
    return "".join(f"{key} = {toml(value)}\n" for key, value in values.items())


def _summed(written: str) -> bytes:
    data = written.encode()
    return data + b'sum = "' + hashlib.sha256(data).hexdigest().encode() + b'"\n'
