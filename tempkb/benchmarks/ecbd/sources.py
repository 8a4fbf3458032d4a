"""What a build reads, views over tables and articles, and what it has found so far, in files: memory sets no limit."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from typing import Any

import duckdb
import pyarrow as pa

from tempkb.benchmarks.ecbd.design import Design
from tempkb.benchmarks.ecbd.matching import Article, Name
from tempkb.benchmarks.work import ReleaseWork
from tempkb.core.errors import DesignError
from tempkb.core.files import parquet_writer
from tempkb.core.windows import window_ending
from tempkb.store.memory import view_files
from tempkb.store.plain import plain_rows
from tempkb.wiki.mentions.steps import quarters_of
from tempkb.wiki.mentions.tables import ENTITY_POPULARITY, MENTIONS, PAGE_LINKS, PAGE_TEXTS
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS
from tempkb.wiki.wikidata.tables import ENTITY_CLASSES, ENTITY_ORIGINS, SUBCLASSES, WIKIDATA_ENTITIES

_OF_TEXTS = {"texts": PAGE_TEXTS, "links": PAGE_LINKS}
_OF_DUMP = {
    "entities": WIKIDATA_ENTITIES,
    "origins": ENTITY_ORIGINS,
    "classes": ENTITY_CLASSES,
    "subclass_edges": SUBCLASSES,
}
# Number of articles whose texts are in memory at a time.
_ARTICLES = 200


def view_sources(work: ReleaseWork) -> None:
    """Make the views `snapshot`, `snapshots` (of all windows up to it), `texts`, `links`, `mentions` and `popularity`.

    If the design has a dump, also make `entities`, `origins`, `classes` and `subclass_edges`.

    Raises:
        DesignError: no window ends at the cut, or the study begins on or after the day of the dump.
        ContractError: a table is not built, or is older than its sources.
    """
    store, design = work.store, work.release.design
    window = window_ending(design.cut, store.home.settings.granularity)
    work.read(STABLE_SNAPSHOTS, window.key, "snapshot")
    work.read(MENTIONS, window.key, "mentions", current=True)
    work.read(ENTITY_POPULARITY, window.key, "popularity", current=True)
    earlier = [key for key in store.lake.partitions(STABLE_SNAPSHOTS.name) if key <= window.key]
    work.read(STABLE_SNAPSHOTS, earlier, "snapshots")
    for name, table in _OF_TEXTS.items():
        work.read(table, quarters_of(store, design.cut, table), name)
    if design.dump_id:
        for name, table in _OF_DUMP.items():
            work.read(table, design.dump_id, name, current=True)
        _refuse_future(work.connection, design)


def _refuse_future(connection: duckdb.DuckDBPyConnection, design: Design) -> None:
    (day,) = connection.execute("SELECT max(dump_date) FROM entities").fetchall()[0]
    if day is not None and design.first >= day:
        raise DesignError(
            f"windows: the study begins on {design.first}, but {design.dump_id} is of {day} and contains nothing "
            "later; begin earlier, or take a later dump"
        )


Earlier = list[tuple[Any, str]]
"""The texts of an article up to the cut, each with the start of its first window, oldest first."""


def read_articles(
    connection: duckdb.DuckDBPyConnection, names: Mapping[int, Mapping[str, Name]]
) -> Iterator[tuple[Article, Earlier]]:
    """Yield the article of each chosen entity, with its texts at all cuts up to the release's, by page.

    Needs the table `chosen` and the views of `view_sources`.

    Args:
        names: the names of the entity, in order, by page number.
    """
    own_titles = titles_that_lead_to(connection)
    for page_id, texts in groupby(_text_rows(connection), key=itemgetter("page_id")):
        earlier: Earlier = []
        current: dict[str, Any] = {}
        for row in texts:
            earlier.append((row["window_start"], row["text"]))
            current = row if row["is_current"] else current
        paragraphs = [(one["kind"], one["start_char"], one["end_char"]) for one in current["paragraphs"]]
        links = [(one["start_char"], one["end_char"], one["target_title"]) for one in current["links"] or ()]
        titles = frozenset((current["title"], *own_titles.get(page_id, ())))
        holes = [one["offset_char"] for one in current["holes"]]
        yield (
            Article(page_id, current["title"], current["text"], paragraphs, links, titles, names[page_id], holes),
            earlier,
        )


def _text_rows(connection: duckdb.DuckDBPyConnection) -> Iterator[dict[str, Any]]:
    """Each text of each chosen article, by page and age; a few articles at a time, since DuckDB cannot spill texts."""
    connection.execute(
        """
        CREATE OR REPLACE TEMP TABLE text_windows AS
        SELECT page_id, revision_id, min(s.window_start) AS window_start
        FROM snapshots AS s SEMI JOIN chosen USING (page_id)
        WHERE s.redirect_title IS NULL AND NOT s.is_blank GROUP BY page_id, revision_id
        """
    )
    pages = [page for (page,) in connection.execute("SELECT page_id FROM chosen ORDER BY page_id").fetchall()]
    for at in range(0, len(pages), _ARTICLES):
        some = pages[at : at + _ARTICLES]
        # Files are in the order of pages, so only the parts with these pages are read.
        reader = connection.sql(_TEXTS_OF, params={"first": some[0], "last": some[-1]}).to_arrow_reader(_ARTICLES)
        for batch in reader:
            yield from plain_rows(batch)


_TEXTS_OF = """
    WITH linked AS (
        SELECT page_id, revision_id,
               list({start_char: start_char, end_char: end_char, target_title: target_title}
                    ORDER BY start_char) AS links
        FROM links SEMI JOIN chosen USING (page_id, revision_id)
        WHERE page_id BETWEEN $first AND $last AND kind IN ('page', 'section') AND target_title <> ''
        GROUP BY page_id, revision_id
    )
    SELECT text_windows.page_id, text_windows.window_start, texts.text, chosen.title,
           text_windows.revision_id = chosen.revision_id AS is_current,
           CASE WHEN is_current THEN texts.paragraphs END AS paragraphs,
           CASE WHEN is_current THEN texts.holes END AS holes, linked.links
    FROM text_windows JOIN chosen USING (page_id)
    JOIN texts ON texts.page_id = text_windows.page_id AND texts.revision_id = text_windows.revision_id
    LEFT JOIN linked ON linked.page_id = text_windows.page_id AND linked.revision_id = text_windows.revision_id
    WHERE text_windows.page_id BETWEEN $first AND $last AND texts.page_id BETWEEN $first AND $last
    ORDER BY text_windows.page_id, text_windows.window_start, text_windows.revision_id
"""


def titles_that_lead_to(connection: duckdb.DuckDBPyConnection) -> dict[int, list[str]]:
    """Return the titles that redirect to each article of `chosen`, not to a section of it, by page number."""
    rows = connection.execute(
        """
        SELECT c.page_id, list(s.title ORDER BY s.title)
        FROM snapshot AS s JOIN chosen AS c ON c.title = s.redirect_title
        WHERE s.redirect_namespace = 0 AND s.namespace = 0 AND s.redirect_section IS NULL GROUP BY c.page_id
        """
    ).fetchall()
    return dict(rows)


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
