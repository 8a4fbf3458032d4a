"""Writes what a build has found so far to files, so that memory does not limit the size of a release."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from tempkb.benchmarks.work import ReleaseWork
from tempkb.store.memory import view_files
from tempkb.store.parquet import parquet_writer

_FLUSH_ROWS = 1 << 13

STAGED_NAMES = pa.schema(
    [
        ("page_id", pa.int64()),
        ("name", pa.string()),
        ("kind", pa.string()),
        ("n_articles_elsewhere", pa.int32()),
        ("is_risky", pa.bool_()),
    ]
)
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


@contextmanager
def staged(work: ReleaseWork, name: str, schema: pa.Schema) -> Iterator[Callable[[Iterable[Mapping[str, Any]]], None]]:
    """Give what writes rows to a file; once all are written, they are the view `name`."""
    path, waiting = work.folder / f"{name}.parquet", list[Mapping[str, Any]]()
    with parquet_writer(path, schema, compression="zstd", compression_level=1) as writer:

        def extend(rows: Iterable[Mapping[str, Any]]) -> None:
            for row in rows:
                waiting.append(row)
                if len(waiting) >= _FLUSH_ROWS:
                    flush()

        def flush() -> None:
            writer.write_table(pa.Table.from_pylist(waiting, schema))
            waiting.clear()

        yield extend
        flush()
    view_files(work.connection, name, [path])
