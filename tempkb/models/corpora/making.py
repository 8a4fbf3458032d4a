"""Makes dated texts: of the wiki all windows that are due in one pass over its pages, of a user's own from files.

Workers find the rows of a range of pages, or of some texts of a file, and write them by window; each window is then
sorted by text. Names of months are known in English only; in other languages a date is its year.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import lru_cache, partial
from itertools import groupby, islice, tee
from operator import itemgetter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from pyarrow import dataset

from tempkb.benchmarks.chunking import Chunker, open_chunker
from tempkb.benchmarks.sentences import Place, Splitter, first_seen, sentencex_splitter, split_paragraph
from tempkb.core.errors import ContractError, SettingsError
from tempkb.core.files import open_parquet, parquet_writer, sum_of
from tempkb.core.filtering import LeftOut
from tempkb.core.windows import Granularity, window_of
from tempkb.engine.choose import map_items
from tempkb.engine.items import Report
from tempkb.engine.progress import Meter
from tempkb.engine.steps import Log, bring
from tempkb.engine.tasks import Done, Order
from tempkb.models.corpora.files import SCHEMA, read_texts
from tempkb.models.corpora.requests import CorpusRequest
from tempkb.models.corpora.steps import CORPORA, MEMORY, keys_of, require_fit, windows_up_to
from tempkb.models.corpora.tables import DATED_TEXTS, HOME, SPAN_KINDS, SPLITS, TRAIN, partition_of, parts_of
from tempkb.store.drafts import Exclusion, Provenance
from tempkb.store.memory import spilling_to, view_files
from tempkb.store.store import Store
from tempkb.store.tables import Table
from tempkb.store.versions import Version
from tempkb.wiki.mentions.steps import STEPS as MENTIONS_STEPS
from tempkb.wiki.mentions.steps import quarters_in
from tempkb.wiki.mentions.tables import PAGE_LINKS, PAGE_TEXTS
from tempkb.wiki.revisions.steps import STEPS as REVISIONS_STEPS
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS
from tempkb.wiki.wikidata.scope import language_of_wiki

Row = dict[str, Any]
Rows = Callable[[Path], Iterable[Row]]
"""Gives a worker its rows with their links and without other spans; it may write to a folder."""
Phrases = Callable[[], Chunker]

_CHARS = 16_000_000  # of the texts that a worker gets
_PARAGRAPHS = 4_096  # whose sentences are remembered, since most are the same from window to window
_ROWS = 1 << 10
_HELD_OUT = dict(enumerate(SPLITS[1:]))
_SHARES = 50  # one of so many texts is for validation, and one for the test
_DAY = r"(?:3[01]|[12]?\d)"
_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
# Neither a part of a longer number nor an amount of money.
_DATE = re.compile(
    rf"(?<![\w.,$£€])(?:{_DAY}\s{_MONTH},?\s|{_MONTH}\s(?:{_DAY},\s)?)?(?P<year>1\d{{3}}|20\d\d)(?!\w|[.,]\d)"
)
_FOLDERS = dataset.partitioning(pa.schema([("window", pa.string())]))
_FIRSTS = """
    WITH firsts AS (
        SELECT page_id, revision_id, min(window_start) AS window_start,
               arg_min({entity: entity_id, is_article: namespace = 0 AND NOT is_disambiguation}, window_start) AS page
        FROM snapshots WHERE redirect_title IS NULL AND NOT is_blank GROUP BY page_id, revision_id
    ), marked AS (
        SELECT page_id, revision_id, window_start, page.entity AS entity_id,
               window_start = $earliest::DATE AS is_since_first_window,
               page.is_article AND list_contains($due::DATE[], window_start) AS is_due FROM firsts
    )
    SELECT marked.*, n_chars FROM marked JOIN texts USING (page_id, revision_id)
    SEMI JOIN (SELECT page_id FROM marked WHERE is_due) AS due USING (page_id) ORDER BY page_id
"""
_RANGES = """
    SELECT min(page_id), max(page_id) FROM (
        SELECT page_id, sum(sum(n_chars)) OVER (ORDER BY page_id) // $chars AS share FROM firsts GROUP BY page_id
    ) GROUP BY share ORDER BY share
"""
_EACH_ONCE = """
    FROM found QUALIFY row_number() OVER (PARTITION BY text_id ORDER BY page_id, start_char, day) = 1 ORDER BY text_id
"""
_AGAIN = """
    SELECT 'seen before in the window', sum(n)::BIGINT, min(text)
    FROM (SELECT count(*) - 1 AS n, min(text) AS text FROM found GROUP BY text_id HAVING n > 0)
"""
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


def make(order: Order) -> Done:
    """Make the windows of the wiki's corpus that are due, or read a corpus of a user's own."""
    (name,), store, files = order.keys, order.store, order.words.get("files") or ()
    require_fit(name, files)
    request = CorpusRequest.of({one: word for one, word in order.said.items() if one != "files"})
    held = store.lake.versions(DATED_TEXTS.name, keys_of(store.lake, name))
    said: dict[str, Any] = {"chunker": "auto", "spacy_model": "en_core_web_sm"} | (held[0].settings if held else {})
    said = {one: getattr(request, one) or said[one] for one in ("chunker", "spacy_model")}
    language = language_of_wiki(store.home.settings)
    phrases, notes = partial(open_chunker, said["chunker"], said["spacy_model"], language), list[str]()
    said["phrases"] = phrases(notes.append).name
    done = (_add if files else _make_home)(order, request, phrases, said)
    done.notes = notes
    return done


def _make_home(order: Order, request: CorpusRequest, phrases: Phrases, said: Mapping[str, Any]) -> Done:
    store, built = order.store, order.store.lake.keys(STABLE_SNAPSHOTS.name)
    first, end = request.windows or (date.min, date.max)
    keys = [partition_of(HOME, key) for key in built if first <= date.fromisoformat(key) < end]
    if not keys:
        there = f"there are {built[0]} to {built[-1]}" if built else "none is"
        raise SettingsError(f"corpus make: no window that is asked for is built; {there}. Build some: tempkb build")
    step = replace(
        CORPORA,
        make_all=partial(make_windows, phrases, said),
        is_complete=lambda _store, one: one.settings["phrases"] == said["phrases"],
    )
    brought = bring(store, (*REVISIONS_STEPS, *MENTIONS_STEPS, step), step, keys, order.log)
    return Done(brought.versions, brought.bad)


def make_windows(
    phrases: Phrases,
    said: Mapping[str, Any],
    store: Store,
    keys: Sequence[str],
    provenance: Callable[[Table, str], Provenance],
    log: Log,
) -> list[Version]:
    """Write the sentences that are first seen in some windows, in one pass over the pages; return their versions."""
    windows, due = windows_up_to(store, max(keys)), [parts_of(key)[1] for key in keys]
    made = {key: provenance(DATED_TEXTS, key) for key in keys}
    quarters = sorted({quarter for window in windows for quarter in quarters_in(store, window)})
    texts, links = (store.lake.files(table.name, quarters) for table in (PAGE_TEXTS, PAGE_LINKS))
    with store.lake.staging() as folder, spilling_to(folder, MEMORY) as connection:
        view_files(connection, "snapshots", store.lake.files(STABLE_SNAPSHOTS.name, windows), STABLE_SNAPSHOTS.schema)
        view_files(connection, "texts", texts, PAGE_TEXTS.schema)
        firsts = folder / "firsts.parquet"
        connection.sql(_FIRSTS, params={"due": due, "earliest": windows[0]}).write_parquet(str(firsts))
        view_files(connection, "firsts", [firsts])
        ranges = connection.execute(_RANGES, {"chars": _CHARS}).fetchall()
        rows = partial(rows_of_pages, firsts, texts, links, language_of_wiki(store.home.settings))
        made = {key: replace(one, settings={**one.settings, **said}) for key, one in made.items()}
        return _written(store, connection, made, phrases, [partial(rows, one) for one in ranges], folder, log)


def _add(order: Order, _request: CorpusRequest, phrases: Phrases, said: Mapping[str, Any]) -> Done:
    """Read files, and write their texts by window; nothing is written if there is anything odd in them."""
    (name,), store, done = order.keys, order.store, Done()
    files, granularity = [Path(one) for one in order.words["files"]], store.home.settings.granularity
    inputs = {f"{number} {path.name}": sum_of(path) for number, path in enumerate(files, 1) if path.is_file()}
    with store.lake.staging() as folder, spilling_to(folder, MEMORY) as connection:
        parts, windows = list[Rows](), set[str]()
        for texts in (some for path in files for some in read_texts(path)):
            piece = folder / f"{len(parts)}.parquet"
            with parquet_writer(piece, SCHEMA) as writer:
                writer.write_table(pa.Table.from_pylist(texts, SCHEMA))
            windows |= {window_of(day, granularity).key for day in {one["day"] for one in texts}}
            parts.append(partial(rows_of_texts, piece, name, granularity))
        settings = {**said, "files": [str(path.resolve()) for path in files], "windows": sorted(windows)}
        made = {partition_of(name, one): Provenance(inputs, settings) for one in settings["windows"]}
        done.add(*_written(store, connection, made, phrases, parts, folder, order.log))
    for key in {*keys_of(store.lake, name)} - {*made}:
        store.lake.remove(DATED_TEXTS.name, key)
    return done


def _written(
    store: Store,
    connection: duckdb.DuckDBPyConnection,
    made: Mapping[str, Provenance],
    phrases: Phrases,
    parts: Sequence[Rows],
    folder: Path,
    log: Log,
) -> list[Version]:
    """Let workers find the rows of partitions; write these one after the other, each text of a window once."""
    found, written, work = list[Path](), list[Version](), partial(date_part, phrases)
    with Meter("dating texts", len(parts), log, "parts") as meter:
        for one in map_items(store.home.settings, work, parts, folder / "parts", meter.at, (date_part.__module__,)):
            if one.result is None:
                raise ContractError(f"{DATED_TEXTS.name}: {one.failure}. Nothing was written.")
            found.append(one.result)
    for key, provenance in made.items():
        files = [path for one in found for path in (one / parts_of(key)[1]).glob("*.parquet")]
        view_files(connection, "found", files, DATED_TEXTS.schema)
        left_out = [Exclusion(*one) for one in LeftOut.of(connection.execute(_AGAIN).fetchall()).rows()]
        rows = map(DATED_TEXTS.conform, connection.sql(_EACH_ONCE).to_arrow_reader(_ROWS))
        written.append(store.write(DATED_TEXTS, key, rows, provenance, left_out, folder))
    return written


def date_part(phrases: Phrases, rows: Rows, folder: Path, report: Report) -> Path:
    """Write rows with their spans to files, by window; return the folder that has a folder of each."""
    own, same = tee(rows(folder))
    parsed = zip(own, phrases().chunks(row["text"] for row in same), strict=True)
    schema, written = DATED_TEXTS.schema.append(pa.field("window", pa.string())), folder / "rows"

    def batches() -> Iterator[pa.RecordBatch]:
        while some := list(islice(parsed, _ROWS)):
            for row, chunks in some:
                names = [(one.start, one.end) for one in chunks if one.is_proper and not one.is_cut]
                row |= {"spans": spans_of(row["text"], row.pop("links"), names), "window": str(row["window_start"])}
            yield pa.RecordBatch.from_pylist([row | known_of(row["text"]) for row, _ in some], schema)

    dataset.write_dataset(
        batches(), written, schema=schema, format="parquet", partitioning=_FOLDERS, min_rows_per_group=_ROWS
    )
    report(1)
    return written


def rows_of_pages(
    firsts: Path, texts: Sequence[Path], links: Sequence[Path], language: str, pages: tuple[int, int], folder: Path
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
        found = connection.sql(_TEXTS_OF, params=dict(zip(("first", "last"), pages, strict=True)))
        versions = (row for batch in found.to_arrow_reader(_ROWS) for row in batch.to_pylist())
        for _, own in groupby(versions, itemgetter("page_id")):
            yield from first_rows(list(own), split)


def first_rows(versions: Sequence[Row], split: Splitter) -> Iterator[Row]:
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
    columns = {*DATED_TEXTS.column_names()} - {"text"}
    for (one, place, text), day in zip(found, since, strict=True):
        if day == one["window_start"]:
            links = [(link["start"] - place.start, link["end"] - place.start) for link in one["links"] or ()]
            yield {name: value for name, value in one.items() if name in columns} | {
                "corpus": HOME,
                "text": text,
                "start_char": place.start,
                "links": [(start, end) for start, end in links if start >= 0 and end <= len(text)],
            }


def rows_of_texts(file: Path, corpus: str, granularity: Granularity, _folder: Path) -> Iterator[Row]:
    """Yield texts of a user's own, from a file of them with their days."""
    with open_parquet(file) as source:
        for one in (row for batch in source.iter_batches(_ROWS) for row in batch.to_pylist()):
            start: date = window_of(one["day"], granularity).start
            yield {**one, "corpus": corpus, "window_start": start, "is_since_first_window": False, "links": ()}


def known_of(text: str) -> Row:
    """Return the columns of a text that follow from it alone."""
    text_id = hashlib.sha256(text.encode()).hexdigest()[:32]
    years = sorted({int(found["year"]) for found in _DATE.finditer(text)})
    return {"text_id": text_id, "years": years, "split": _HELD_OUT.get(int(text_id[:8], 16) % _SHARES, TRAIN)}


def spans_of(text: str, links: Iterable[tuple[int, int]], names: Iterable[tuple[int, int]]) -> list[Row]:
    """Return the spans of a text in order, its dates among them; of those that overlap the longest, then the first.

    Args:
        links: first code point of each, and the one behind its last.
        names: noun phrases that are names.

    >>> text = "On 12 March 2021 and March 12, 2021, not May 3"
    >>> [text[one["start_char"] : one["end_char"]] for one in spans_of(text, (), ())]
    ['12 March 2021', 'March 12, 2021']
    """
    dates = [found.span() for found in _DATE.finditer(text)]
    every = [(*place, rank) for rank, places in enumerate((links, dates, names)) for place in places]
    is_taken, taken = bytearray(len(text)), list[Row]()
    for start, end, rank in sorted(every, key=lambda one: (one[0] - one[1], one[0], one[2])):
        if is_taken.find(1, start, end) < 0:
            is_taken[start:end] = b"\1" * (end - start)
            taken.append({"start_char": start, "end_char": end, "kind": SPAN_KINDS[rank]})
    return sorted(taken, key=itemgetter("start_char"))
