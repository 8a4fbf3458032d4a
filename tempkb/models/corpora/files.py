"""Reads texts of a user's own, some million characters at a time: JSON lines or Parquet with text and date."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
import pyarrow as pa

from tempkb.core.errors import SettingsError
from tempkb.core.files import open_parquet
from tempkb.core.wording import shortened

SCHEMA = pa.schema([("text", pa.string()), ("day", pa.date32())])
_CHARS = 16_000_000
_MOST_CHARS = 100_000
_MOST_BYTES = 1 << 24  # of a line
_SHOWN = 60  # characters of what was found
_EXPECTED = f"""text, of 1 to {_MOST_CHARS:,} characters, and date, a day that has come, as in \
{{"text": "It rained.", "date": "2021-01-31"}}"""


class _Line(msgspec.Struct):
    text: Annotated[str, msgspec.Meta(max_length=_MOST_CHARS, pattern=r"\S")]
    date: str


def read_texts(path: Path) -> Iterator[list[dict[str, Any]]]:
    """Yield the texts of a file with their days; instants count in UTC.

    Raises:
        SettingsError: the file has no text, or something else; the message names the first line or row.
    """
    texts, n_chars, place = list[dict[str, Any]](), 0, ""
    for place, line in _lines_of(path):
        try:
            one = msgspec.json.decode(line, type=_Line)
            texts.append({"text": one.text, "day": _day(one.date)})
        except (ValueError, OverflowError) as error:
            found = shortened(line.decode("utf-8", "replace").strip(), _SHOWN)
            raise SettingsError(
                f"{path}, {place}: found {found} ({error}); expected {_EXPECTED}. Nothing was added"
            ) from None
        n_chars += len(one.text)
        if n_chars >= _CHARS:
            yield texts
            texts, n_chars = [], 0
    if not place:
        raise SettingsError(f"{path}: found no text; expected lines of JSON, or Parquet, with {_EXPECTED}")
    if texts:
        yield texts


def _lines_of(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the place and the content of each line that is not blank, or of each row as such a line."""
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


def _rows_of(path: Path) -> Iterator[tuple[str, bytes]]:
    with open_parquet(path) as file:
        names, n = [one for one in ("text", "date") if one in file.schema_arrow.names], 0
        for batch in file.iter_batches(1 << 12, columns=names):
            rows = pa.RecordBatch.from_arrays([one.cast(pa.string()) for one in batch.columns], names).to_pylist()
            for n, row in enumerate(rows, n + 1):  # noqa: B020 - goes on counting
                yield f"row {n:,}", msgspec.json.encode(row)


def _day(written: str) -> date:
    """The day of a day or an instant in words; a ValueError if it is none that has come."""
    instant = datetime.fromisoformat(written)
    day = (instant.astimezone(UTC) if instant.tzinfo else instant).date()
    if day > datetime.now(UTC).date():
        raise ValueError(f"date {written!r}")
    return day
