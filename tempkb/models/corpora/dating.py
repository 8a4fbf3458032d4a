"""The work of one worker: finds the sentences of pages that are new in a window, and the spans of texts."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from itertools import groupby, islice, tee
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa

from tempkb.benchmarks.chunking import Chunker, NoChunker, open_chunker
from tempkb.benchmarks.sentences import Place, Splitter, first_seen, sentencex_splitter, split_paragraph
from tempkb.core.files import open_parquet, parquet_writer
from tempkb.core.filtering import LeftOut
from tempkb.core.windows import Granularity, window_of
from tempkb.engine.items import Report
from tempkb.models.corpora.spans import known_of, spans_of
from tempkb.models.corpora.tables import DATED_TEXTS, HOME
from tempkb.store.memory import spilling_to, view_files
from tempkb.wiki.mentions.tables import PAGE_LINKS, PAGE_TEXTS

MEMORY = "1GB"
"""What DuckDB may take; the rest it writes to a folder."""

_PARAGRAPHS = 4_096  # whose sentences are remembered, since most are the same from window to window
_ROWS = 1 << 10
Row = dict[str, Any]
Counts = Mapping[str, LeftOut]
"""What is left out, by window."""


@dataclass(frozen=True)
class Phrases:
    """How the noun phrases of texts are found."""

    chunker: str
    spacy_model: str
    language: str

    def open(self) -> Chunker:
        """Return the chunker."""
        if self.chunker == "none":
            return NoChunker()
        return open_chunker(self.chunker, self.spacy_model, self.language, lambda _why: None)


@dataclass(frozen=True)
class Part:
    """What one worker gets.

    Attributes:
        rows: yields rows with their links, and without other spans; it may write to a folder, and counts what it leaves
            out.
    """

    rows: Callable[[Path, Counts], Iterator[Row]]
    phrases: Phrases


def date_part(part: Part, folder: Path, report: Report) -> tuple[Path, Counts]:
    """Write rows with their spans to a file; return it, and counts of what is left out."""
    path, left_out = folder / "rows.parquet", defaultdict[str, LeftOut](LeftOut)
    rows, same = tee(part.rows(folder, left_out))
    parsed = zip(rows, part.phrases.open().chunks(row["text"] for row in same), strict=True)
    with parquet_writer(path, DATED_TEXTS.schema, compression="zstd") as writer:
        while some := list(islice(parsed, _ROWS)):
            for row, chunks in some:
                named = [(one.start, one.end) for one in chunks if one.is_proper and not one.is_cut]
                row["spans"] = spans_of(row["text"], row.pop("links"), named)
            writer.write_table(pa.Table.from_pylist([row for row, _ in some], DATED_TEXTS.schema))
    report(1)
    return path, left_out


def rows_of_pages(
    firsts: Path,
    texts: Sequence[Path],
    links: Sequence[Path],
    language: str,
    pages: tuple[int, int],
    folder: Path,
    left_out: Counts,
) -> Iterator[Row]:
    """Yield the sentences of some pages that are first seen in a window that is due.

    Args:
        firsts: file with the first window of each text, and whether it is due.
        pages: numbers of the first and the last.
    """
    split = lru_cache(_PARAGRAPHS)(sentencex_splitter(language))
    with spilling_to(folder, MEMORY) as connection:
        view_files(connection, "firsts", [firsts])
        view_files(connection, "texts", texts, PAGE_TEXTS.schema)
        view_files(connection, "links", links, PAGE_LINKS.schema)
        reader = connection.sql(_TEXTS_OF, params=dict(zip(("first", "last"), pages, strict=True))).to_arrow_reader(
            _ROWS
        )
        versions = (row for batch in reader for row in batch.to_pylist())
        for _, own in groupby(versions, itemgetter("page_id")):
            yield from first_rows(list(own), split, left_out)


def first_rows(versions: Sequence[Row], split: Splitter, left_out: Counts) -> Iterator[Row]:
    """Yield the sentences of a page that none of its texts of earlier windows contains.

    Args:
        versions: the texts of the page, oldest first, each with its first window; those that are due with their
            paragraphs and links.
    """
    texts: dict[str, Row] = {}
    for one in versions:
        texts.setdefault(one["text"], one)
    found = [
        (one, place, text[place.start : place.end])
        for text, one in texts.items()
        for paragraph in one["paragraphs"] or ()
        if paragraph["kind"] == "prose"
        for place in split_paragraph(text, Place(paragraph["start_char"], paragraph["end_char"]), split)
    ]
    since = first_seen([text for *_, text in found], ((one["window_start"], text) for text, one in texts.items()))
    for (one, place, text), day in zip(found, since, strict=True):
        if day < one["window_start"]:
            example = f"{text} (page {one['page_id']})"
            left_out[str(one["window_start"])].add("seen in an earlier window", example)
            continue
        links = [(link["start"] - place.start, link["end"] - place.start) for link in one["links"] or ()]
        yield {
            **known_of(text),
            **{name: one[name] for name in DATED_TEXTS.column_names() if name in one and name != "text"},
            "corpus": HOME,
            "start_char": place.start,
            "links": [(start, end) for start, end in links if start >= 0 and end <= len(text)],
        }


def rows_of_texts(file: Path, corpus: str, granularity: Granularity, _folder: Path, _left_out: Counts) -> Iterator[Row]:
    """Yield texts of a user's own, from a file of them with their days."""
    with open_parquet(file) as source:
        for one in (row for batch in source.iter_batches(_ROWS) for row in batch.to_pylist()):
            start: date = window_of(one["day"], granularity).start
            known = {"corpus": corpus, "window_start": start, "is_since_first_window": False, "links": ()}
            yield {**known_of(one["text"]), "day": one["day"], **known}


_TEXTS_OF = """
    WITH own AS (FROM firsts WHERE page_id BETWEEN $first AND $last), linked AS (
        SELECT page_id, revision_id, list({start: start_char, 'end': end_char} ORDER BY start_char) AS links
        FROM links SEMI JOIN (FROM own WHERE is_due) AS own USING (page_id, revision_id)
        WHERE page_id BETWEEN $first AND $last AND kind IN ('page', 'section') AND target_title <> ''
        GROUP BY page_id, revision_id
    )
    SELECT own.*, texts.text, CASE WHEN is_due THEN texts.paragraphs END AS paragraphs, linked.links
    FROM own JOIN texts ON texts.page_id = own.page_id AND texts.revision_id = own.revision_id
    LEFT JOIN linked ON linked.page_id = own.page_id AND linked.revision_id = own.revision_id
    WHERE texts.page_id BETWEEN $first AND $last
    ORDER BY own.page_id, own.window_start, own.revision_id
"""
