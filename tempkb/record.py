"""The record that defines a home: `home.toml`, written once, with a checksum at its end and a copy in the lake.

Missing values would silently be replaced by the defaults, and another salt would
hash the contributors of later windows differently. So a record that was changed or
is missing is an error. It is never repaired automatically: the message names the
copy, from which a user can restore it.
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

from tempkb.errors import SettingsError
from tempkb.store.locks import locked

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
_HEAD = "# What defines this home; written once by tempkb, with its sum at the end. Another value needs another home."
_SUM = re.compile(rb'sum = "[0-9a-f]{64}"\n')


class _OddError(Exception):
    """A record was changed since it was written; the message says what was found."""


def read_record(path: Path) -> dict[str, Any]:
    """Return the values in `home.toml` of the home at `path`; empty if nothing has been written yet.

    Raises:
        SettingsError: it was changed, is missing, belongs to another home according to the copy in the lake, or is
            that of a home of another layout.
    """
    copy = _read_copy(path)
    try:
        record = _read(path / _NAME)
    except _OddError as error:
        raise _refused(path, str(error), copy) from None
    if record is None:
        if copy:
            raise _refused(path, "no such file", copy)
        return {}
    layout = record.pop("layout", 1)
    if layout != LAYOUT:
        raise SettingsError(
            f"home {path}: found layout {layout}, but this version of tempkb expects layout {LAYOUT}; build the home "
            "anew in another folder (TEMPKB_HOME=...), or use the version of tempkb that wrote it"
        )
    other = [key for key in sorted(record.keys() & (copy or {}).keys()) if record[key] != (copy or {})[key]]
    if other:
        raise _refused(path, "the record of another home: other values of " + ", ".join(other), copy)
    return record


def write_record(path: Path, values: Mapping[str, Any]) -> None:
    """Write the record that defines a home, with a new salt; an existing record is kept.

    Args:
        path: of the home, which exists.
        values: those of `IDENTITY`.
    """
    lines = [
        _HEAD,
        *_lines({"layout": LAYOUT} | {key: values[key] for key in IDENTITY} | {SALT: secrets.token_hex(16)}),
    ]
    draft = path / f"{_NAME}.{os.getpid()}.draft"
    draft.write_bytes(_summed("\n".join(lines) + "\n"))
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
            _replace(record, _summed(_without_sum(record.read_bytes()) + "\n".join(_lines(new)) + "\n"))
            copy_record(path)


def copy_record(path: Path) -> None:
    """Copy the record to the lake, always with a checksum.

    Raises:
        SettingsError: the record was changed since it was written; the copy stays as it is.
    """
    written, copy = (path / _NAME).read_bytes(), _copy_of(path)
    try:
        _parsed(written)
    except _OddError as error:
        raise _refused(path, str(error), _read_copy(path)) from None
    summed = _summed(_without_sum(written))
    if not copy.exists() or copy.read_bytes() != summed:
        copy.parent.mkdir(exist_ok=True)
        _replace(copy, summed)


def copy_fault(path: Path) -> str:
    """Say what is wrong with the lake's copy of the record of a home, and what to type; empty if nothing is."""
    if _read_copy(path) is not None or not (path / _NAME).exists():
        return ""
    copied = f"cp {shlex.quote(str(path / _NAME))} {shlex.quote(str(_copy_of(path)))}"
    return f"{_copy_of(path)}: found no copy, or an altered one; expected what is in {path / _NAME}: {copied}"


def digest_of(path: Path) -> str:
    """Return a digest of what defines a home and of its salt, which it does not tell; empty if nothing was written."""
    record = read_record(path)
    defining = {key: toml(record[key]) for key in (*IDENTITY, SALT) if key in record}
    return hashlib.sha256(json.dumps(defining).encode()).hexdigest()[:16] if record else ""


def damaged_record(path: Path, found: str) -> SettingsError:
    """Return the error for a record with an invalid value."""
    return _refused(path, found, _read_copy(path))


def toml(value: object) -> str:
    """Return a value in TOML syntax."""
    if isinstance(value, date):
        return value.isoformat()
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def _copy_of(path: Path) -> Path:
    return path / "lake" / _NAME


def _read_copy(path: Path) -> dict[str, Any] | None:
    """Return the values in the copy; None also if the copy is damaged, which matters only when it is needed."""
    try:
        return _read(_copy_of(path))
    except _OddError:
        return None


def _read(file: Path) -> dict[str, Any] | None:
    """Return the values in a record or its copy; None if the file does not exist."""
    try:
        written = file.read_bytes()
    except FileNotFoundError:
        return None
    return _parsed(written)


def _parsed(written: bytes) -> dict[str, Any]:
    """Return the values in the bytes of a record or its copy."""
    if not written.strip():
        raise _OddError("an empty file")
    try:
        record = tomllib.loads(written.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _OddError(f"invalid TOML ({error})") from None
    if SALT in record and "sum" not in record and not written.startswith(_HEAD.encode()):
        return {"layout": "0 (a record without a checksum)"}
    if _SUM.search(written) is None or _summed(_without_sum(written)) != written:
        raise _OddError("lines that do not match their checksum")
    del record["sum"]
    return record


def _refused(path: Path, found: str, copy: Mapping[str, Any] | None) -> SettingsError:
    record = path / _NAME
    if copy:
        mend = f"The lake has a copy: cp {shlex.quote(str(_copy_of(path)))} {shlex.quote(str(record))}"
    else:
        mend = (
            "Restore it from a copy of your own; the lake has none, and the salt with which contributors are hashed "
            "is nowhere else"
        )
    return SettingsError(f"{record}: found {found}; expected what tempkb wrote when the home was made. {mend}")


def _lines(values: Mapping[str, Any]) -> list[str]:
    return [f"{key} = {toml(value)}" for key, value in values.items()]


def _without_sum(written: bytes) -> str:
    return _SUM.sub(b"", written).decode()


def _summed(written: str) -> bytes:
    data = written.encode()
    return data + b'sum = "' + hashlib.sha256(data).hexdigest().encode() + b'"\n'


def _replace(file: Path, data: bytes) -> None:
    draft = file.with_name(f"{file.name}.{os.getpid()}.draft")
    draft.write_bytes(data)
    draft.replace(file)
