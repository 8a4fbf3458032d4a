"""Reads texts of a user's own, a batch at a time: JSON lines or Parquet with the columns text and date."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from tempkb.core.errors import SettingsError
from tempkb.core.files import open_parquet
from tempkb.core.wording import shortened
from tempkb.store.plain import plain_values

OWN = pa.schema([("text", pa.string()), ("day", pa.date32())])

_BATCH_CHARS, _BATCH_TEXTS = 16_000_000, 100_000
_MOST_CHARS = 1_000_000
_MOST_BYTES = 1 << 24  # of a line
_PARQUET = b"PAR1"
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?P<time>[T ].+)?")
_SHOWN = 60  # characters of what was found
_EXPECTED = {
    "text": f"a text of 1 to {_MOST_CHARS:,} characters",
    "date": "a day that has come, YYYY-MM-DD, or an instant of ISO 8601",
}


class _Line(msgspec.Struct):
    text: Any = None
    date: Any = None


def read_texts(path: Path) -> Iterator[pa.RecordBatch]:
    """Yield the texts of a file with their days, some million characters at a time; instants count in UTC.

    Raises:
        SettingsError: the file has no text, or something else; the message names the first line or row.
    """
    rows, n_chars, is_empty, today = list[dict[str, Any]](), 0, True, datetime.now(UTC).date()
    for place, text, day in _rows_of(path):
        rows.append({"text": _text(place, text), "day": _day(place, day, today)})
        n_chars, is_empty = n_chars + len(text), False
        if n_chars >= _BATCH_CHARS or len(rows) >= _BATCH_TEXTS:
            yield pa.RecordBatch.from_pylist(rows, OWN)
            rows, n_chars = [], 0
    if is_empty:
        raise SettingsError(f"{path}: found no text; expected lines of JSON, or Parquet, with text and date")
    yield pa.RecordBatch.from_pylist(rows, OWN)


def _rows_of(path: Path) -> Iterator[tuple[str, Any, Any]]:
    """Yield place, text and date of each text."""
    try:
        with path.open("rb") as handle:
            is_parquet = handle.read(len(_PARQUET)) == _PARQUET
        yield from _of_parquet(path) if is_parquet else _of_lines(path)
    except (OSError, pa.ArrowException) as error:
        raise SettingsError(
            f"{path}: cannot be read ({error}); expected lines of JSON, or a whole Parquet file"
        ) from None


def _of_lines(path: Path) -> Iterator[tuple[str, Any, Any]]:
    decoder = msgspec.json.Decoder(_Line)
    with path.open("rb") as handle:
        for number, line in enumerate(iter(lambda: handle.readline(_MOST_BYTES), b""), 1):
            place, line = f"{path}, line {number:,}", line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
            if not line.strip():
                continue
            try:
                found = decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                shown = line[:_SHOWN].decode("utf-8", "replace").strip()
                why = f"found {shown!r} ({error}); expected one JSON object"
                raise SettingsError(f'{place}: {why}, such as {{"text": "...", "date": "2021-01-31"}}') from None
            yield place, found.text, found.date


def _of_parquet(path: Path) -> Iterator[tuple[str, Any, Any]]:
    with open_parquet(path) as file:
        if lacking := {"text", "date"} - {*file.schema_arrow.names}:
            raise SettingsError(f"{path}: found no column {min(lacking)}; expected columns text and date")
        number = 0
        for batch in file.iter_batches(1 << 12, columns=["text", "date"]):
            days = batch["date"]
            if pa.types.is_timestamp(days.type):
                days = days.cast(pa.timestamp("us", days.type.tz), safe=False)
            for text, day in zip(batch["text"].to_pylist(), plain_values(days), strict=True):
                number += 1
                yield f"{path}, row {number:,}", text, day


def _text(place: str, text: Any) -> str:
    if not isinstance(text, str) or not text.strip() or len(text) > _MOST_CHARS:
        raise _odd(place, "text", text)
    return text


def _day(place: str, given: Any, today: date) -> date:
    """The day of what a file has: a day, an instant, or either as text."""
    written = _DATE.fullmatch(given) if isinstance(given, str) else None
    try:
        day = (datetime if written["time"] else date).fromisoformat(given) if written else given
        day = day.astimezone(UTC) if isinstance(day, datetime) and day.tzinfo else day
        day = day.date() if isinstance(day, datetime) else day
    except (ValueError, OverflowError):
        day = None
    if not isinstance(day, date) or day > today:
        raise _odd(place, "date", given)
    return day


def _odd(place: str, name: str, given: Any) -> SettingsError:
    said = f"{len(given):,} characters" if isinstance(given, str) and len(given) > _MOST_CHARS else repr(given)
    found = f"no {name}" if given is None else f"{name} {shortened(said, _SHOWN)}"
    return SettingsError(f"{place}: found {found}; expected {_EXPECTED[name]}. Nothing was read")
