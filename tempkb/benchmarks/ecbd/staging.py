"""Writes what a build has found so far to files, so that memory does not limit the size of a release."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa

from tempkb.store.parquet import parquet_writer

_FLUSH_ROWS = 1 << 13

STAGED_ENTITIES = pa.schema(
    [("page_id", pa.int64()), ("definition", pa.string()), ("definition_sentences", pa.list_(pa.string()))]
)
STAGED_SENTENCES = pa.schema(
    [
        ("page_id", pa.int64()),
        ("sentence_start_char", pa.int32()),
        ("sentence_end_char", pa.int32()),
        ("sentence", pa.string()),
        ("sentence_since", pa.date32()),
        ("is_since_first_window", pa.bool_()),
        ("mention", pa.string()),
        ("mention_start_char", pa.int32()),
        ("mention_end_char", pa.int32()),
        ("mention_kind", pa.string()),
    ]
)
_CHUNK = pa.struct(
    [
        ("start", pa.int32()),
        ("end", pa.int32()),
        ("is_proper", pa.bool_()),
        ("is_pronoun", pa.bool_()),
        ("is_cut", pa.bool_()),
    ]
)
STAGED_PHRASES = pa.schema([("sentence", pa.string()), ("chunks", pa.list_(_CHUNK))])
STAGED_SPANS = pa.schema(
    [
        ("page_id", pa.int64()),
        ("sentence_start_char", pa.int32()),
        ("cloze_id", pa.string()),
        ("span_kind", pa.string()),
        ("np_type", pa.string()),
        ("n_span_words", pa.int32()),
        ("n_words_after_mention", pa.int32()),
        ("span_start_char", pa.int32()),
        ("span_end_char", pa.int32()),
        ("answer", pa.string()),
        ("mention_chunk_start_char", pa.int32()),
        ("mention_chunk_end_char", pa.int32()),
        ("rank_hash", pa.uint64()),
    ]
)


class Staged:
    """A file that is written row by row."""

    def __init__(self, path: Path, schema: pa.Schema, done: Callable[[], None]) -> None:
        self._schema, self._done = schema, done
        self._writer = parquet_writer(path, schema, compression="zstd", compression_level=1)
        self._waiting: list[Mapping[str, Any]] = []

    def __enter__(self) -> "Staged":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._flush()
        self._writer.close()
        if error is None:
            self._done()

    def append(self, row: Mapping[str, Any]) -> None:
        """Write a row."""
        self._waiting.append(row)
        if len(self._waiting) >= _FLUSH_ROWS:
            self._flush()

    def extend(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write rows."""
        for row in rows:
            self.append(row)

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_pylist(self._waiting, self._schema))
            self._waiting.clear()
