"""The work of one worker: finds the sentences of pages that are new in a window, and the spans of texts.

Rows are written to a file for each window. No more than a few pages, or some texts of a file, are in memory at a time.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tempkb.benchmarks.ecbd.chunking import Chunker, NoChunker, open_chunker
from tempkb.benchmarks.ecbd.harvest import first_seen
from tempkb.benchmarks.ecbd.sentences import Place, Splitter, sentencex_splitter, split_paragraph
from tempkb.core.files import open_parquet, parquet_writer
from tempkb.core.filtering import LeftOut
from tempkb.core.windows import Granularity, window_of
from tempkb.engine.items import Report
from tempkb.models.corpora.spans import known_of, spans_of
from tempkb.models.corpora.tables import DATED_TEXTS, HOME
from tempkb.store.memory import spilling_to, view_files
from tempkb.wiki.mentions.tables import PAGE_LINKS, PAGE_TEXTS

EARLIER, AGAIN = "seen in an earlier window", "seen before in the window"
"""Why a text is left out of a window."""
MEMORY = "1GB"
"""What DuckDB may take; the rest it writes to a folder."""

_PARAGRAPHS = 4_096  # whose sentences are remembered, since most are the same from window to window
_ROWS = 1 << 10
Row = dict[str, Any]


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
        return open_chunker(
            self.chunker, self.spacy_model, self.language, lambda _why: None, named_by="--spacy-model NAME"
        )


@dataclass(frozen=True)
class Pages:
    """Pages whose sentences one worker dates.

    Attributes:
        ranges: first page, last page, and code points of their texts.
        firsts: file with the first window of each text, by page.
    """

    number: int
    ranges: Sequence[tuple[int, ...]]
    firsts: Path
    texts: Sequence[Path]
    links: Sequence[Path]
    earliest: date
    phrases: Phrases


@dataclass(frozen=True)
class Texts:
    """Texts of a user's own to which one worker gives spans: a file with the columns of `OWN`."""

    number: int
    corpus: str
    file: Path
    granularity: Granularity
    phrases: Phrases


@dataclass
class Dated:
    """What a worker has found, by window: a file of rows, and what is left out."""

    files: dict[str, Path] = field(default_factory=dict)
    left_out: dict[str, LeftOut] = field(default_factory=lambda: defaultdict(LeftOut))


class _Writing:
    """Writes rows to a file for each window."""

    def __init__(self, folder: Path) -> None:
        self.dated, self._folder, self._writers = Dated(), folder, dict[str, pq.ParquetWriter]()

    def __enter__(self) -> "_Writing":
        return self

    def __exit__(self, *_error: object) -> None:
        for writer in self._writers.values():
            writer.close()

    def write(self, rows: Iterable[Row]) -> None:
        by_window = defaultdict[str, list[Row]](list)
        for row in rows:
            by_window[row["window_start"].isoformat()].append(row)
        for window, own in by_window.items():
            if window not in self._writers:
                path = self.dated.files[window] = self._folder / f"{window}.parquet"
                self._writers[window] = parquet_writer(path, DATED_TEXTS.schema, compression="zstd")
            self._writers[window].write_table(pa.Table.from_pylist(own, DATED_TEXTS.schema))


def date_pages(pages: Pages, folder: Path, report: Report) -> Dated:
    """Write the sentences of some pages that are first seen in a window that is due."""
    chunker, done = pages.phrases.open(), 0
    split = lru_cache(_PARAGRAPHS)(sentencex_splitter(pages.phrases.language))
    with spilling_to(folder, MEMORY) as connection, _Writing(folder) as out:
        connection.execute("SET threads = 1")
        view_files(connection, "firsts", [pages.firsts])
        view_files(connection, "texts", pages.texts, PAGE_TEXTS.schema)
        view_files(connection, "links", pages.links, PAGE_LINKS.schema)
        for first, last, n_chars in pages.ranges:
            reader = connection.sql(_TEXTS_OF, params={"first": first, "last": last}).to_arrow_reader(_ROWS)
            versions = (row for batch in reader for row in batch.to_pylist())
            found = [
                {**row, "is_since_first_window": row["window_start"] == pages.earliest}
                for _, own in groupby(versions, itemgetter("page_id"))
                for row in first_rows(list(own), split, out.dated.left_out)
            ]
            out.write(_with_spans(found, chunker, lambda text: [Place(0, len(text))]))
            report(done := done + n_chars)
    return out.dated


def first_rows(versions: Sequence[Row], split: Splitter, left_out: Mapping[str, LeftOut]) -> Iterator[Row]:
    """Yield the sentences of a page that none of its texts of earlier windows contains.

    Args:
        versions: the texts of the page, oldest first, each with its first window; those that are due with their
            paragraphs and links.
        left_out: counts by window what is not new.
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
    if not found:
        return
    since = first_seen([text for _, _, text in found], ((one["window_start"], text) for text, one in texts.items()))
    kept = set[str]()
    for (one, place, text), day in zip(found, since, strict=True):
        if day < one["window_start"] or text in kept:
            reason = EARLIER if day < one["window_start"] else AGAIN
            left_out[one["window_start"].isoformat()].add(reason, f"{text} (page {one['page_id']})")
            continue
        kept.add(text)
        inside = (link for link in one["links"] or () if place.start <= link["start"] and link["end"] <= place.end)
        yield {
            **known_of(text),
            **{name: one[name] for name in ("window_start", "page_id", "revision_id", "entity_id")},
            "corpus": HOME,
            "start_char": place.start,
            "links": [(link["start"] - place.start, link["end"] - place.start) for link in inside],
        }


def date_texts(texts: Texts, folder: Path, report: Report) -> Dated:
    """Write the texts of a file of a user's own by window, with their spans."""
    chunker, split = texts.phrases.open(), sentencex_splitter(texts.phrases.language)
    with open_parquet(texts.file) as source, _Writing(folder) as out:
        for batch in source.iter_batches(_ROWS):
            rows = [
                {
                    **known_of(one["text"]),
                    "corpus": texts.corpus,
                    "window_start": window_of(one["day"], texts.granularity).start,
                    "day": one["day"],
                    "is_since_first_window": False,
                    "links": (),
                }
                for one in batch.to_pylist()
            ]
            out.write(_with_spans(rows, chunker, lambda text: split_paragraph(text, Place(0, len(text)), split)))
        report(source.metadata.num_rows)
    return out.dated


def _with_spans(rows: Sequence[Row], chunker: Chunker, places_of: Callable[[str], Sequence[Place]]) -> Iterator[Row]:
    """Yield rows with their spans; noun phrases are looked for in the sentences of their texts."""
    places = [(number, place) for number, row in enumerate(rows) for place in places_of(row["text"])]
    phrases = defaultdict[int, list[tuple[int, int]]](list)
    parsed = chunker.chunks(rows[number]["text"][place.start : place.end] for number, place in places)
    for (number, place), chunks in zip(places, parsed, strict=True):
        named = (one for one in chunks if one.is_proper and not one.is_pronoun and not one.is_cut)
        phrases[number] += [(place.start + one.start, place.start + one.end) for one in named]
    for number, row in enumerate(rows):
        yield {**row, "spans": spans_of(row["text"], row.pop("links"), phrases[number])}


_TEXTS_OF = """
    WITH own AS (FROM firsts WHERE page_id BETWEEN $first AND $last), linked AS (
        SELECT page_id, revision_id, list({start: start_char, 'end': end_char} ORDER BY start_char) AS links
        FROM links SEMI JOIN (FROM own WHERE is_due) AS own USING (page_id, revision_id)
        WHERE page_id BETWEEN $first AND $last AND kind IN ('page', 'section') AND target_title <> ''
        GROUP BY page_id, revision_id
    )
    SELECT own.page_id, own.revision_id, own.window_start, own.entity_id, texts.text,
           CASE WHEN is_due THEN texts.paragraphs END AS paragraphs, linked.links
    FROM own JOIN texts ON texts.page_id = own.page_id AND texts.revision_id = own.revision_id
    LEFT JOIN linked ON linked.page_id = own.page_id AND linked.revision_id = own.revision_id
    WHERE texts.page_id BETWEEN $first AND $last
    ORDER BY own.page_id, own.window_start, own.revision_id
"""
