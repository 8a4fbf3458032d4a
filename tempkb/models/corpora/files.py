"""Reads texts of a user's own, a batch at a time: JSON lines or Parquet with the columns text and date."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pyarrow as pa

from tempkb.core.errors import SettingsError
from tempkb.core.files import open_parquet
from tempkb.core.wording import shortened

_SCHEMA = pa.schema([("text", pa.string()), ("day", pa.date32())])
_BATCH_CHARS = 16_000_000
_MOST_CHARS = 100_000
_MOST_BYTES = 1 << 24  # of a line
_SHOWN = 60  # characters of what was found
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?P<time>[T ].+)?")
_EXPECTED = f"""text, of 1 to {_MOST_CHARS:,} characters, and date, a day that has come, as in \
{{"text": "It rained.", "date": "2021-01-31"}}"""


class _Line(msgspec.Struct):
    text: Annotated[str, msgspec.Meta(max_length=_MOST_CHARS, pattern=r"\S")]
    date: str


def read_texts(path: Path) -> Iterator[pa.RecordBatch]:
    """Yield the texts of a file with their days, some million characters at a time; instants count in UTC.

    Raises:
        SettingsError: the file has no text, or something else; the message names the first line or row.
    """
    rows, n_chars, is_empty, today = list[dict[str, Any]](), 0, True, datetime.now(UTC).date()
    for place, line in _lines_of(path):
        try:
            one = msgspec.json.decode(line, type=_Line) if isinstance(line, bytes) else msgspec.convert(line, _Line)
            rows.append({"text": one.text, "day": _day(one.date, today)})
        except (ValueError, OverflowError) as error:
            found = line.decode("utf-8", "replace").strip() if isinstance(line, bytes) else str(line)
            raise SettingsError(
                f"{path}, {place}: found {shortened(found, _SHOWN)} ({error}); expected {_EXPECTED}. Nothing was added"
            ) from None
        n_chars, is_empty = n_chars + len(one.text), False
        if n_chars >= _BATCH_CHARS:
            yield pa.RecordBatch.from_pylist(rows, _SCHEMA)
            rows, n_chars = [], 0
    if is_empty:
        raise SettingsError(f"{path}: found no text; expected lines of JSON, or Parquet, with {_EXPECTED}")
    if rows:
        yield pa.RecordBatch.from_pylist(rows, _SCHEMA)


def _lines_of(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the place and the content of each line that is not blank, or of each row."""
    try:
        with path.open("rb") as handle:
            if handle.peek(4)[:4] == b"PAR1":
                yield from _rows_of(path)
                return
            for number, line in enumerate(iter(lambda: handle.readline(_MOST_BYTES), b""), 1):
                if (bare := line.removeprefix(b"\xef\xbb\xbf")).strip():
                    yield f"line {number:,}", bare
    except (OSError, pa.ArrowException) as error:
        raise SettingsError(
            f"{path}: cannot be read ({error}); expected lines of JSON, or a whole Parquet file"
        ) from None


def _rows_of(path: Path) -> Iterator[tuple[str, Any]]:
    with open_parquet(path) as file:
        names, n = [one for one in ("text", "date") if one in file.schema_arrow.names], 0
        for batch in file.iter_batches(1 << 12, columns=names):
            rows = pa.RecordBatch.from_arrays([one.cast(pa.string()) for one in batch.columns], names).to_pylist()
            for n, row in enumerate(rows, n + 1):  # noqa: B020 - goes on counting
                yield f"row {n:,}", {name: value for name, value in row.items() if value is not None}


def _day(written: str, today: date) -> date:
    """The day of a day or an instant in words; a ValueError if it is none that has come."""
    form = _DATE.fullmatch(written)
    if form and form["time"]:
        instant = datetime.fromisoformat(written)
        return _day(str((instant.astimezone(UTC) if instant.tzinfo else instant).date()), today)
    if not form or (day := date.fromisoformat(written)) > today:
        raise ValueError(f"date {written!r}")
    return day
