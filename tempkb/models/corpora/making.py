"""Makes dated texts: of the wiki all windows that are due in one pass over its pages, of a user's own from files.

Workers write the rows of a range of pages, or of some texts of a file; these are then sorted by window and text.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from tempkb.benchmarks.chunking import FALLBACK, MODEL
from tempkb.core.errors import ContractError, SettingsError
from tempkb.core.files import parquet_writer, sum_of
from tempkb.core.filtering import LeftOut
from tempkb.core.windows import window_of
from tempkb.engine.choose import map_items
from tempkb.engine.progress import Meter
from tempkb.engine.steps import Log, bring
from tempkb.engine.tasks import Done, Order
from tempkb.models.corpora.dating import MEMORY, Counts, Part, Phrases, date_part, rows_of_pages, rows_of_texts
from tempkb.models.corpora.files import read_texts
from tempkb.models.corpora.requests import CorpusRequest, require_fit
from tempkb.models.corpora.steps import CORPORA, versions_of, windows_up_to
from tempkb.models.corpora.tables import DATED_TEXTS, HOME, partition_of, parts_of
from tempkb.store.drafts import Exclusion, Provenance
from tempkb.store.memory import spilling_to, view_files
from tempkb.store.quoting import literal
from tempkb.store.store import Store
from tempkb.store.tables import Table
from tempkb.store.versions import Version
from tempkb.wiki.mentions.steps import STEPS as MENTIONS_STEPS
from tempkb.wiki.mentions.tables import PAGE_LINKS, PAGE_TEXTS
from tempkb.wiki.revisions.steps import STEPS as REVISIONS_STEPS
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS
from tempkb.wiki.wikidata.scope import language_of_wiki

_CHARS = 16_000_000  # of the texts that a worker gets
_ROWS = 1 << 14
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
    SEMI JOIN (SELECT page_id FROM marked WHERE is_due) AS due USING (page_id)
"""
_SORTED = "FROM found ORDER BY window_start, text_id, page_id, start_char, day"
_SHARES = """
    SELECT min(page_id), max(page_id) FROM (
        SELECT page_id, sum(sum(n_chars)) OVER (ORDER BY page_id) // $chars AS share FROM firsts GROUP BY page_id
    ) GROUP BY share ORDER BY share
"""


def make(order: Order) -> Done:
    """Make the windows of the wiki's corpus that are due, or read a corpus of a user's own."""
    (name,), store, files = order.keys, order.store, order.words.get("files") or ()
    require_fit(name, files)
    request = CorpusRequest.of({one: word for one, word in order.said.items() if one != "files"})
    made = next((one.settings for one in versions_of(store.lake, name)), {})
    phrases = Phrases(
        request.chunker or made.get("chunker", "auto"),
        request.spacy_model or made.get("spacy_model") or MODEL,
        language_of_wiki(store.home.settings),
    )
    by = phrases.open().name
    settings = {"chunker": phrases.chunker, "spacy_model": phrases.spacy_model, "phrases": by}
    done = _add(order, phrases, settings) if files else _make_home(order, request, phrases, settings)
    if phrases.chunker == "auto" and by.endswith(FALLBACK):
        done.notes = [f"noun phrases are found by {by}, since {phrases.spacy_model} is not installed or does not fit"]
    return done


def _make_home(order: Order, request: CorpusRequest, phrases: Phrases, settings: dict[str, Any]) -> Done:
    store, built = order.store, order.store.lake.keys(STABLE_SNAPSHOTS.name)
    first, end = request.windows or (date.min, date.max)
    keys = [partition_of(HOME, key) for key in built if first <= date.fromisoformat(key) < end]
    if not keys:
        there = f"there are {built[0]} to {built[-1]}" if built else "none is"
        raise SettingsError(f"corpus make: no window that is asked for is built; {there}. Build some: tempkb build")
    step = replace(
        CORPORA,
        make_all=partial(make_windows, phrases, settings),
        is_complete=lambda _store, one: one.settings.get("phrases") == settings["phrases"],
    )
    brought = bring(store, (*REVISIONS_STEPS, *MENTIONS_STEPS, step), step, keys, order.log)
    return Done(brought.versions, brought.bad)


def make_windows(
    phrases: Phrases,
    settings: dict[str, Any],
    store: Store,
    keys: Sequence[str],
    provenance: Callable[[Table, str], Provenance],
    log: Log,
) -> list[Version]:
    """Write the sentences that are first seen in some windows, in one pass over the pages; return their versions."""
    due = sorted(parts_of(key)[1] for key in keys)
    windows = windows_up_to(store, partition_of(HOME, due[-1]))
    made = {key: provenance(DATED_TEXTS, key) for key in keys}
    made = {key: replace(one, settings={**one.settings, **settings}) for key, one in made.items()}
    read = sorted({tuple(name.split(" ")) for one in made.values() for name in one.inputs})
    texts, links = (
        store.lake.files(table.name, [key for name, key in read if name == table.name])
        for table in (PAGE_TEXTS, PAGE_LINKS)
    )
    with store.lake.staging() as folder, spilling_to(folder, MEMORY) as connection:
        view_files(connection, "snapshots", store.lake.files(STABLE_SNAPSHOTS.name, windows), STABLE_SNAPSHOTS.schema)
        view_files(connection, "texts", texts, PAGE_TEXTS.schema)
        firsts = folder / "firsts.parquet"
        connection.execute(f"CREATE TEMP TABLE firsts AS {_FIRSTS}", {"due": due, "earliest": windows[0]})
        connection.execute(f"COPY (FROM firsts ORDER BY ALL) TO {literal(firsts)} (FORMAT parquet)")
        shares = connection.execute(_SHARES, {"chars": _CHARS}).fetchall()
        connection.execute("DROP TABLE firsts")
        rows = partial(rows_of_pages, firsts, texts, links, phrases.language)
        return _written(store, connection, made, [Part(partial(rows, one), phrases) for one in shares], folder, log)


def _add(order: Order, phrases: Phrases, settings: dict[str, Any]) -> Done:
    """Read files, and write their texts by window; nothing is written if there is anything odd in them."""
    (name,), store, done = order.keys, order.store, Done()
    files, granularity = [Path(one) for one in order.words["files"]], store.home.settings.granularity
    inputs = {f"{number} {path.name}": sum_of(path) for number, path in enumerate(files, 1)}
    with store.lake.staging(f"corpus-{name}") as folder, spilling_to(folder, MEMORY) as connection:
        parts, windows = list[Part](), set[str]()
        for batch in (one for path in files for one in read_texts(path)):
            piece = folder / f"{len(parts)}.parquet"
            with parquet_writer(piece, batch.schema) as writer:
                writer.write_batch(batch)
            windows |= {window_of(day, granularity).key for day in batch["day"].unique().to_pylist()}
            parts.append(Part(partial(rows_of_texts, piece, name, granularity), phrases))
        said = {**settings, "files": [str(path.resolve()) for path in files], "windows": sorted(windows)}
        made = {partition_of(name, one): Provenance(inputs, said) for one in windows}
        done.add(*_written(store, connection, made, parts, folder, order.log))
    return done


def _written(
    store: Store,
    connection: duckdb.DuckDBPyConnection,
    made: Mapping[str, Provenance],
    parts: Sequence[Part],
    folder: Path,
    log: Log,
) -> list[Version]:
    """Let workers find the rows of partitions; write them in order, each text of a window once."""
    found: list[tuple[Path, Counts]] = []
    with Meter("dating texts", len(parts), log, "parts") as meter:
        settings, preload = store.home.settings, (date_part.__module__,)
        for outcome in map_items(settings, date_part, parts, folder / "parts", meter.at, preload):
            if outcome.result is None:
                raise ContractError(f"{DATED_TEXTS.name}: {outcome.failure}. Nothing was written.")
            found.append(outcome.result)
    left_out = defaultdict[str, LeftOut](LeftOut)
    # In the order of the parts, whose folders have numbers, not in that in which these ended.
    for _, counts in sorted(found, key=itemgetter(0)):
        for window, counted in counts.items():
            left_out[window].merge(counted)
    view_files(connection, "found", [path for path, _ in found], DATED_TEXTS.schema)
    corpus, written = parts_of(next(iter(made)))[0], dict[str, Version]()
    # So that a run which is killed leaves no corpus of two kinds of files that looks whole.
    for old in versions_of(store.lake, corpus) if corpus != HOME else ():
        if old.partition not in made:
            store.lake.remove(old.table, old.partition)

    def write(key: str, batches: Iterable[pa.RecordBatch]) -> None:
        counts = left_out[parts_of(key)[1]]
        # What was left out is asked for after the rows, with which it is counted.
        counted = (Exclusion(*row) for row in counts.rows())
        written[key] = store.write(DATED_TEXTS, key, _each_once(batches, counts), made[key], counted, folder)

    for window, own in groupby(_by_window(connection.sql(_SORTED).to_arrow_reader(_ROWS)), itemgetter(0)):
        write(partition_of(corpus, window), (batch for _, batch in own))
    for key in made.keys() - written.keys():
        write(key, ())
    return list(written.values())


def _by_window(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the rows of each window, which are sorted by it."""
    for batch in batches:
        for day in batch["window_start"].unique():
            yield str(day), batch.filter(pc.equal(batch["window_start"], day))


def _each_once(batches: Iterable[pa.RecordBatch], left_out: LeftOut) -> Iterator[pa.Table]:
    """Yield sorted rows without those whose text is that of the row before."""
    last = pa.nulls(1, pa.string())
    for batch in batches:
        ids = batch["text_id"]
        is_new = pc.fill_null(pc.not_equal(ids, pa.concat_arrays([last, ids[:-1]])), True)
        again = batch.filter(pc.invert(is_new))
        left_out.add("seen before in the window", str(again["text"][0]) if again.num_rows else "", again.num_rows)
        yield pa.Table.from_batches([batch.filter(is_new)])
        last = ids[-1:]
