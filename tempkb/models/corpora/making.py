"""Makes dated texts: of the wiki all windows that are due in one pass over its pages, of a user's own from files."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tempkb.benchmarks.ecbd.chunking import FALLBACK
from tempkb.benchmarks.ecbd.design import Design
from tempkb.core.errors import ContractError, SettingsError
from tempkb.core.files import parquet_writer, sum_of
from tempkb.core.filtering import LeftOut
from tempkb.core.options import options_of
from tempkb.engine.choose import map_items
from tempkb.engine.progress import Meter
from tempkb.engine.steps import Log, bring
from tempkb.engine.tasks import Done, Order
from tempkb.models.corpora.dating import AGAIN, MEMORY, Dated, Pages, Phrases, Texts, date_pages, date_texts
from tempkb.models.corpora.files import OWN, read_texts
from tempkb.models.corpora.requests import CorpusRequest, require_fit
from tempkb.models.corpora.steps import CORPORA, command_of, is_all_there, versions_of, windows_up_to
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

_RANGE_CHARS = 4_000_000  # of the texts that are in memory at a time
_ITEM_CHARS = 64_000_000  # least of a worker, of which there are so many for each that one works at a time:
_ITEMS_A_WORKER = 8
_ROWS = 1 << 14
_PRELOAD = (date_pages.__module__,)


_FIRSTS = """
    WITH firsts AS (
        SELECT page_id, revision_id, min(window_start) AS window_start,
               arg_min({entity_id: entity_id, is_article: namespace = 0 AND NOT is_disambiguation}, window_start)
                   AS page
        FROM snapshots WHERE redirect_title IS NULL AND NOT is_blank GROUP BY page_id, revision_id
    ), marked AS (
        SELECT page_id, revision_id, window_start, page.entity_id AS entity_id,
               page.is_article AND list_contains($due::DATE[], window_start) AS is_due FROM firsts
    )
    SELECT marked.*, n_chars FROM marked JOIN texts USING (page_id, revision_id)
    SEMI JOIN (SELECT page_id FROM marked WHERE is_due) AS due USING (page_id)
"""
_SORTED = "FROM found ORDER BY text_id, page_id, start_char, day"


def make(order: Order) -> Done:
    """Make the windows of the wiki's corpus that are due, or read a corpus of a user's own."""
    (name,), words = order.keys, dict(order.said)
    files = order.words.get("files") or ()
    words.pop("files", None)
    require_fit(name, files)
    request = CorpusRequest.of(words)
    phrases = _phrases(order.store, name, request)
    done = (
        _make_home(order, request, phrases)
        if name == HOME
        else _add(order, name, [Path(one) for one in files], phrases)
    )
    if phrases.chunker == "auto" and (found := phrases.open().name).endswith(FALLBACK):
        said = (
            f"noun phrases are found by {found}, since {phrases.spacy_model} is not installed, or of another language"
        )
        done.notes = [*done.notes, said]
    return done


def _phrases(store: Store, corpus: str, request: CorpusRequest) -> Phrases:
    """How noun phrases are to be found: as is asked, or else as in the windows that are made."""
    made = next((one.settings for one in versions_of(store.lake, corpus)), {})
    model = request.spacy_model or made.get("spacy_model") or options_of(Design)["spacy_model"].default
    language = language_of_wiki(store.home.settings)
    return Phrases(request.chunker or made.get("chunker", "auto"), model, language)


def _settings(phrases: Phrases) -> dict[str, Any]:
    """What a version keeps of how noun phrases were found."""
    return {"chunker": phrases.chunker, "spacy_model": phrases.spacy_model, "phrases": phrases.open().name}


def _make_home(order: Order, request: CorpusRequest, phrases: Phrases) -> Done:
    store, built = order.store, order.store.lake.keys(STABLE_SNAPSHOTS.name)
    first, end = request.windows or (date.min, date.max)
    wanted = [key for key in built if first <= date.fromisoformat(key) < end]
    if not wanted:
        there = f"there are {built[0]} to {built[-1]}" if built else "none is"
        raise SettingsError(f"corpus make: no window that is asked for is built; {there}. Build some: tempkb build")
    settings = _settings(phrases)
    step = replace(
        CORPORA,
        make_all=partial(make_windows, phrases, settings),
        is_complete=lambda _store, one: one.settings.get("phrases") == settings["phrases"],
    )
    keys = [partition_of(HOME, key) for key in wanted]
    brought = bring(store, (*REVISIONS_STEPS, *MENTIONS_STEPS, step), step, keys, order.log)
    return Done(brought.versions, brought.bad)


def make_windows(
    phrases: Phrases,
    settings: Mapping[str, Any],
    store: Store,
    keys: Sequence[str],
    provenance: Callable[[Table, str], Provenance],
    log: Log,
) -> list[Version]:
    """Write the sentences that are first seen in some windows, in one pass over the pages; return their versions."""
    due = sorted(parts_of(key)[1] for key in keys)
    windows = windows_up_to(store, partition_of(HOME, due[-1]))
    made = {key: provenance(DATED_TEXTS, key) for key in keys}
    quarters = {tuple(name.split(" ")) for one in made.values() for name in one.inputs}
    texts, links = (
        [path for name, key in sorted(quarters) if name == table.name for path in store.lake.files(name, [key])]
        for table in (PAGE_TEXTS, PAGE_LINKS)
    )
    with store.lake.staging() as folder, spilling_to(folder, MEMORY) as connection:
        view_files(connection, "snapshots", store.lake.files(STABLE_SNAPSHOTS.name, windows), STABLE_SNAPSHOTS.schema)
        view_files(connection, "texts", texts, PAGE_TEXTS.schema)
        firsts = folder / "firsts.parquet"
        connection.execute(f"CREATE TEMP TABLE firsts AS {_FIRSTS}", {"due": due})
        connection.execute(f"COPY (FROM firsts ORDER BY ALL) TO {literal(firsts)} (FORMAT parquet)")
        sizes = connection.execute("SELECT page_id, sum(n_chars) FROM firsts GROUP BY page_id ORDER BY page_id")
        shares = _shares(iter(sizes.fetchone, None), _RANGE_CHARS)
        ranges = [(share[0][0], share[-1][0], sum(n for _, n in share)) for share in shares]
        connection.execute("DROP TABLE firsts")
        total = sum(n for *_, n in ranges)
        least = max(_ITEM_CHARS, total // (_ITEMS_A_WORKER * store.home.settings.workers))
        items = [
            Pages(number, share, firsts, texts, links, date.fromisoformat(windows[0]), phrases)
            for number, share in enumerate(_shares(ranges, least))
        ]
        dated = _done(store, date_pages, items, Meter("dating sentences", total, log), folder)
        told = {key: replace(one, settings={**one.settings, **settings}) for key, one in made.items()}
        return [_write(store, connection, key, dated, told[key], folder) for key in sorted(keys)]


def _shares(sized: Iterable[tuple[int, ...]], most: int) -> Iterator[list[tuple[int, ...]]]:
    """Combine neighbours, whose sizes are their last numbers, to shares of up to so much, or of one."""
    share, total = list[tuple[int, ...]](), 0
    for one in sized:
        if share and total + one[-1] > most:
            yield share
            share, total = [], 0
        share.append(one)
        total += one[-1]
    if share:
        yield share


def _add(order: Order, name: str, files: Sequence[Path], phrases: Phrases) -> Done:
    store = order.store
    settings = _settings(phrases)
    inputs = {f"{number} {path.name}": sum_of(path) for number, path in enumerate(files, 1)}
    held = versions_of(store.lake, name)
    is_whole = all(is_all_there(store.lake, one) for one in held)
    if is_whole and any(one.inputs != inputs for one in held):
        raise SettingsError(
            f"corpus {name!r}: expected the files from which it was read ({command_of(store.lake, name)}); add others "
            f"under another name, or remove it first: tempkb corpus rm {name}"
        )
    done = Done()
    windows = [parts_of(one.partition)[1] for one in held]
    if held and is_whole and all({"windows": windows, **settings}.items() <= one.settings.items() for one in held):
        done.add(*held)
        done.notes = [f"corpus {name} is there already, of the same files; nothing to do"]
        return done
    said = {**settings, "files": [str(path.resolve()) for path in files]}
    done.add(*_read(store, name, files, phrases, Provenance(inputs, said), order.log))
    for one in held:
        if (one.table, one.partition) not in done.versions:
            store.lake.remove(one.table, one.partition)
    return done


def _read(
    store: Store, name: str, files: Sequence[Path], phrases: Phrases, provenance: Provenance, log: Log
) -> list[Version]:
    """Read files of a user's own, and write their texts by window; nothing is written if there is anything odd."""
    granularity = store.home.settings.granularity
    with store.lake.staging(f"corpus-{name}") as folder, spilling_to(folder, MEMORY) as connection:
        items: list[Texts] = []
        for number, batch in enumerate(one for path in files for one in read_texts(path)):
            piece = folder / f"{number}.parquet"
            with parquet_writer(piece, OWN) as writer:
                writer.write_batch(batch)
            items.append(Texts(number, name, piece, granularity, phrases))
        total = sum(pq.read_metadata(one.file).num_rows for one in items)
        dated = _done(store, date_texts, items, Meter("reading texts", total, log, "texts"), folder)
        windows = sorted({window for one in dated for window in one.files})
        made = replace(provenance, settings={**provenance.settings, "windows": windows})
        return [_write(store, connection, partition_of(name, one), dated, made, folder) for one in windows]


def _done(store: Store, work: Any, items: Sequence[Any], meter: Meter, folder: Path) -> list[Dated]:
    """Return what workers found, in the order of the items, not in that in which these ended."""
    found: dict[int, Dated] = {}
    with meter:
        for outcome in map_items(store.home.settings, work, items, folder / "items", meter.at, _PRELOAD):
            if outcome.result is None:
                raise ContractError(f"{DATED_TEXTS.name}: {outcome.failure}. Nothing was written.")
            found[outcome.item.number] = outcome.result
    return [found[number] for number in sorted(found)]


def _write(
    store: Store,
    connection: duckdb.DuckDBPyConnection,
    key: str,
    dated: Sequence[Dated],
    provenance: Provenance,
    folder: Path,
) -> Version:
    """Write a window, each text once."""
    _, window = parts_of(key)
    left_out = LeftOut()
    for one in dated:
        left_out.merge(one.left_out.get(window, LeftOut()))
    files = [one.files[window] for one in dated if window in one.files]
    view_files(connection, "found", files, DATED_TEXTS.schema)
    rows = _each_once(connection.sql(_SORTED).to_arrow_reader(_ROWS), left_out)
    counted = (Exclusion(*row) for row in left_out.rows())
    return store.write(DATED_TEXTS, key, rows, provenance, counted, folder)


def _each_once(batches: Iterable[pa.RecordBatch], left_out: LeftOut) -> Iterator[pa.Table]:
    """Yield sorted rows without those whose text is that of the row before."""
    last = pa.nulls(1, pa.string())
    for batch in batches:
        ids = batch["text_id"]
        is_new = pc.fill_null(pc.not_equal(ids, pa.concat_arrays([last, ids[:-1]])), True)
        kept = pa.Table.from_batches([batch.filter(is_new)])
        if kept.num_rows < batch.num_rows:
            example = batch.filter(pc.invert(is_new))["text"][0].as_py()
            left_out.add(AGAIN, example, batch.num_rows - kept.num_rows)
        yield kept
        last = ids[-1:]
