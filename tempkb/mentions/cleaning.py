"""From wikitexts to clean texts and links, each revision once, whichever windows it won.

A quarter's texts grow as later windows find more winners in it, so a quarter is
cleaned by what is new in it. It is cleaned anew when the cleaner, its table of
templates or the sections to leave out have changed.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tempkb.dumps.sites import read_site
from tempkb.engine.local import map_items
from tempkb.engine.progress import Meter
from tempkb.errors import ContractError
from tempkb.mentions.tables import CLEANER_VERSION, PAGE_LINKS, PAGE_TEXTS, PARAGRAPH, SECTION
from tempkb.revisions.tables import PAGE_WIKITEXTS
from tempkb.store.drafts import Exclusion, Provenance
from tempkb.store.lake import Version
from tempkb.store.store import Store, read_files
from tempkb.store.tables import MANIFEST
from tempkb.titles import Site
from tempkb.wikitext.article import Article, read_article
from tempkb.wikitext.redirects import redirect_target, words_table
from tempkb.wikitext.templates import table_version

_BATCH_BYTES = 64 << 20
_PRELOAD = ("tempkb.mentions.cleaning",)
_NAMES_COUNTED = 500
Log = Callable[[str], None]


@dataclass(frozen=True)
class Piece:
    """Row groups of one file of `page_wikitexts`.

    Attributes:
        quarter: partition it belongs to.
        path: the file.
        row_groups: which of its row groups.
        n_bytes: their size, not compressed.
        done: numbers of revisions that are clean already.
        sites: per dump, the wiki as its head describes it.
        dropped_sections: headings whose sections are left out; None the standard ones.
    """

    quarter: str
    path: Path
    row_groups: tuple[int, ...]
    n_bytes: int
    done: frozenset[int]
    sites: Mapping[str, Site]
    dropped_sections: frozenset[str] | None


@dataclass
class Cleaned:
    """What a worker made of a piece: files in key order, and counts."""

    quarter: str
    texts: Path
    links: Path
    dropped: Counter[str] = field(default_factory=Counter)
    n_unbalanced: int = 0
    unbalanced_example: str = ""


Batch = tuple[Piece, ...]
"""What a worker does at a time: pieces of one quarter or of several small ones."""


def stale_quarters(store: Store) -> list[str]:
    """Return the quarters whose texts or links do not follow from what `page_wikitexts` holds now."""
    asked = cleaner_settings(store)
    stale = []
    for source in store.lake.versions(PAGE_WIKITEXTS.name):
        made = [store.lake.current(table.name, source.partition) for table in (PAGE_TEXTS, PAGE_LINKS)]
        if any(one is None or _made_from(one, asked) != source.version for one in made):
            stale.append(source.partition)
    return stale


def clean_quarters(store: Store, quarters: Sequence[str], log: Log) -> dict[tuple[str, str], Version]:
    """Bring texts and links of some quarters up to `page_wikitexts`.

    Returns:
        the versions written, by table and quarter.

    Raises:
        ContractError: a worker failed; its quarters keep what they had, the others are written.
    """
    sites = _Sites(store)
    plans = [_plan(store, source) for source in store.lake.versions(PAGE_WIKITEXTS.name, quarters)]
    batches = _batches([piece for plan in plans for piece in _pieces(store, plan, sites)])
    total = sum(piece.n_bytes for batch in batches for piece in batch)
    cleaned: dict[str, list[Cleaned]] = {plan.source.partition: [] for plan in plans}
    failed: dict[str, str] = {}
    with store.lake.staging() as folder, Meter("cleaning texts", total, log) as meter:
        done: dict[int, list[Cleaned]] = {}
        for outcome in map_items(clean_batch, batches, folder, store.home.settings.workers, meter.at, _PRELOAD):
            if outcome.result is None:
                failed |= {piece.quarter: outcome.failure for piece in outcome.item}
            else:
                done[batches.index(outcome.item)] = outcome.result
        # In the order of the pieces, whatever the order in which workers ended.
        for number in sorted(done):
            for one in done[number]:
                cleaned[one.quarter].append(one)
        versions: dict[tuple[str, str], Version] = {}
        for plan in plans:
            if plan.source.partition not in failed:
                versions |= _write(store, plan, cleaned[plan.source.partition])
    if failed:
        why = "; ".join(f"quarter {quarter}: {said}" for quarter, said in sorted(failed.items()))
        raise ContractError(f"{PAGE_TEXTS.name}: {why}. These quarters keep what they had.")
    return versions


class _Sites(dict[str, Site]):
    """The wiki as each dump's head describes it, read when first asked for."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store

    def __missing__(self, dump_id: str) -> Site:
        self[dump_id] = read_site(self._store, dump_id)
        return self[dump_id]


@dataclass(frozen=True)
class _Plan:
    """What is to be done in a quarter: all anew, or only what is not done yet."""

    source: Version
    is_fresh: bool
    done: frozenset[int]


def _plan(store: Store, source: Version) -> _Plan:
    settings = cleaner_settings(store)
    held = [store.lake.current(table.name, source.partition) for table in (PAGE_TEXTS, PAGE_LINKS)]
    is_fresh = all(one is not None and _made_from(one, settings) for one in held)
    return _Plan(source, is_fresh, _revisions_in(held[0]) if is_fresh else frozenset())


def _write(store: Store, plan: _Plan, cleaned: Sequence[Cleaned]) -> dict[tuple[str, str], Version]:
    """Write a quarter: what is new beside what stands, or all of it; what is gone from the wikitexts goes here, too."""
    quarter = plan.source.partition
    provenance = Provenance({f"{PAGE_WIKITEXTS.name} {quarter}": plan.source.version}, cleaner_settings(store))
    gone = pa.array(sorted(plan.done - _revisions_in(plan.source)) if plan.done else [], pa.int64())
    written = {}
    for table, paths in (
        (PAGE_TEXTS, [piece.texts for piece in cleaned]),
        (PAGE_LINKS, [piece.links for piece in cleaned]),
    ):
        rows = read_files(paths)
        exclusions = _exclusions(cleaned) if table is PAGE_TEXTS else []
        if plan.is_fresh:
            if len(gone):
                store.forget(table, quarter, "revision_id", gone, provenance)
            written[table.name, quarter] = store.add(table, quarter, rows, provenance, exclusions=exclusions)
        else:
            written[table.name, quarter] = store.write(table, quarter, rows, provenance, exclusions)
    return written


def _pieces(store: Store, plan: _Plan, sites: _Sites) -> Iterator[Piece]:
    asked = store.home.settings.dropped_sections
    dropped = None if asked == "standard" else frozenset(asked)
    for path in plan.source.paths():
        with pq.ParquetFile(path) as file:
            named = {dump_id: sites[dump_id] for dump_id in sorted(set(_distinct(file, "dump_id")))}
            groups: list[int] = []
            size = 0
            for group in range(file.metadata.num_row_groups):
                groups.append(group)
                size += file.metadata.row_group(group).total_byte_size
                if size >= _BATCH_BYTES or group + 1 == file.metadata.num_row_groups:
                    yield Piece(plan.source.partition, path, tuple(groups), size, plan.done, named, dropped)
                    groups, size = [], 0


def _batches(pieces: Sequence[Piece]) -> list[Batch]:
    """Put small pieces together: starting a process costs more than cleaning a small quarter."""
    batches: list[Batch] = []
    gathered: list[Piece] = []
    for piece in pieces:
        if gathered and sum(one.n_bytes for one in gathered) + piece.n_bytes > _BATCH_BYTES:
            batches.append(tuple(gathered))
            gathered = []
        gathered.append(piece)
    return [*batches, tuple(gathered)] if gathered else batches


def clean_batch(batch: Batch, folder: Path, report: Callable[[float], None] = lambda _done: None) -> list[Cleaned]:
    """Clean the revisions of some pieces that are not clean yet, and leave texts and links in `folder`."""
    cleaned, before = [], 0
    for number, piece in enumerate(batch):
        own = folder / str(number)
        own.mkdir()
        cleaned.append(_clean_piece(piece, own))
        before += piece.n_bytes
        report(before)
    return cleaned


def _clean_piece(piece: Piece, folder: Path) -> Cleaned:
    cleaned = Cleaned(piece.quarter, folder / "texts.parquet", folder / "links.parquet")
    other_wikis = frozenset(words_table()["interwiki"]) | frozenset(words_table()["languages"])
    with (
        pq.ParquetFile(piece.path) as source,
        pq.ParquetWriter(cleaned.texts, PAGE_TEXTS.schema, compression="lz4") as texts,
        pq.ParquetWriter(cleaned.links, PAGE_LINKS.schema, compression="lz4") as links,
    ):
        for group in piece.row_groups:
            rows = source.read_row_group(group)
            if piece.done:
                is_done = pc.is_in(rows["revision_id"], pa.array(sorted(piece.done), pa.int64()))
                rows = rows.filter(pc.invert(is_done))
            if rows.num_rows:
                of_texts, of_links = _read_rows(rows, piece, other_wikis, cleaned)
                texts.write_table(of_texts)
                links.write_table(of_links)
    return cleaned


def _read_rows(
    rows: pa.Table, piece: Piece, other_wikis: frozenset[str], cleaned: Cleaned
) -> tuple[pa.Table, pa.Table]:
    """Read some wikitexts; return the rows of texts and of links."""
    articles: list[Article] = []
    days: list[datetime] = rows["revision_timestamp"].to_pylist()
    dumps = rows["dump_id"].to_pylist()
    pages = rows["page_id"].to_pylist()
    for number, wikitext in enumerate(rows["wikitext"].to_pylist()):
        site = piece.sites[dumps[number]]
        if redirect_target(wikitext, site) is not None:
            articles.append(_EMPTY)
            continue
        article = read_article(wikitext, site, days[number].date(), piece.dropped_sections)
        articles.append(article)
        cleaned.dropped.update(article.dropped_templates)
        if article.unbalanced:
            cleaned.n_unbalanced += 1
            cleaned.unbalanced_example = cleaned.unbalanced_example or f"page {pages[number]}"
    return _texts(rows, articles), _links(rows, articles, piece.sites, other_wikis)


_EMPTY = Article("", (), (), ())


def _texts(rows: pa.Table, articles: Sequence[Article]) -> pa.Table:
    sections = [section for article in articles for section in article.sections]
    paragraphs = [paragraph for article in articles for paragraph in article.paragraphs]
    columns: dict[str, Any] = {name: rows[name] for name in rows.schema.names if name != "wikitext"}
    columns["text"] = pa.array([article.text for article in articles], pa.string())
    columns["n_chars"] = pa.array([len(article.text) for article in articles], pa.int32())
    columns["n_words"] = pa.array([len(article.text.split()) for article in articles], pa.int32())
    columns["sections"] = _lists(
        SECTION, [len(article.sections) for article in articles], list(zip(*sections, strict=True)), _SECTION_ORDER
    )
    columns["paragraphs"] = _lists(
        PARAGRAPH, [len(article.paragraphs) for article in articles], list(zip(*paragraphs, strict=True)), (0, 1, 2)
    )
    columns["n_unbalanced"] = pa.array([article.unbalanced for article in articles], pa.int32())
    return pa.table({name: columns[name] for name in PAGE_TEXTS.schema.names}).cast(PAGE_TEXTS.schema)


_SECTION_ORDER = (0, 1, 2, 3, 4)


def _lists(
    kind: pa.StructType, lengths: Sequence[int], columns: Sequence[Sequence[Any]], order: Sequence[int]
) -> pa.Array:
    """Lists of structs from columns: much faster than from a dictionary per struct."""
    offsets = [0]
    for length in lengths:
        offsets.append(offsets[-1] + length)
    arrays = [pa.array(columns[at] if columns else [], kind[number].type) for number, at in enumerate(order)]
    values = pa.StructArray.from_arrays(arrays, fields=list(kind))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)


def _links(
    rows: pa.Table, articles: Sequence[Article], sites: Mapping[str, Site], other_wikis: frozenset[str]
) -> pa.Table:
    at = [number for number, article in enumerate(articles) for _ in article.links]
    links = [link for article in articles for link in article.links]
    dumps = rows["dump_id"].to_pylist()
    # Most targets come again and again.
    known: dict[tuple[str, str], tuple[Any, ...]] = {}
    targets = []
    for number, link in zip(at, links, strict=True):
        key = (dumps[number], link.target)
        found = known.get(key)
        if found is None:
            target = sites[key[0]].read_target(link.target, other_wikis)
            found = known[key] = (target.kind, target.namespace, target.title, target.section)
        targets.append(found)
    kinds, namespaces, titles, sections = zip(*targets, strict=True) if targets else ((), (), (), ())
    taken = rows.select(["wiki", "dump_id", "quarter", "page_id", "revision_id"]).take(pa.array(at, pa.int64()))
    columns: dict[str, Any] = {name: taken[name] for name in taken.schema.names}
    starts, ends, surfaces, written = zip(*links, strict=True) if links else ((), (), (), ())
    columns |= {
        "start_char": pa.array(starts, pa.int32()), "end_char": pa.array(ends, pa.int32()),
        "surface": pa.array(surfaces, pa.string()), "target": pa.array(written, pa.string()),
        "kind": pa.array(kinds, pa.string()), "target_namespace": pa.array(namespaces, pa.int32()),
        "target_title": pa.array(titles, pa.string()), "target_section": pa.array(sections, pa.string()),
    }  # fmt: skip
    return pa.table({name: columns[name] for name in PAGE_LINKS.schema.names}).cast(PAGE_LINKS.schema)


def _exclusions(cleaned: Sequence[Cleaned]) -> list[Exclusion]:
    """What the cleaner left out: templates by name, the most frequent ones apart, and what it mended."""
    dropped: Counter[str] = Counter()
    for piece in cleaned:
        dropped.update(piece.dropped)
    ordered = sorted(dropped.items(), key=lambda pair: (-pair[1], pair[0]))
    found = [Exclusion(f"template: {name}", n, f"{{{{{name}}}}}") for name, n in ordered[:_NAMES_COUNTED]]
    rest = ordered[_NAMES_COUNTED:]
    if rest:
        found.append(Exclusion("template of another name", sum(n for _, n in rest), f"{{{{{rest[0][0]}}}}}"))
    unbalanced = sum(piece.n_unbalanced for piece in cleaned)
    examples = [piece.unbalanced_example for piece in cleaned if piece.unbalanced_example]
    return [*found, Exclusion("text with unbalanced markup, mended", unbalanced, examples[0] if examples else "")]


def cleaner_settings(store: Store) -> dict[str, Any]:
    """What decides how texts are cleaned: kept with each version, to tell stale ones."""
    return {
        "dropped_sections": store.home.settings.dropped_sections,
        "cleaner": CLEANER_VERSION,
        "templates": table_version(),
    }


def was_cleaned_with(version: Version, settings: Mapping[str, Any]) -> bool:
    """Does the manifest of a version say that these settings were in force?"""
    same = json.loads(json.dumps(settings))
    return all(json.loads(row["settings"]) == same for row in version.side_rows(MANIFEST.name))


def _made_from(version: Version, settings: Mapping[str, Any]) -> str:
    """The version of `page_wikitexts` that texts were made from; empty when the cleaner was another."""
    inputs = (row["sha256"] for row in version.side_rows(MANIFEST.name) if row["role"] == "input")
    return next(inputs, "") if was_cleaned_with(version, settings) else ""


def _revisions_in(version: Version | None) -> frozenset[int]:
    if version is None:
        return frozenset()
    return frozenset(
        number for rows in read_files(version.paths(), ["revision_id"]) for number in rows["revision_id"].to_pylist()
    )


def _distinct(file: pq.ParquetFile, column: str) -> Iterator[str]:
    for group in range(file.metadata.num_row_groups):
        yield from pc.unique(file.read_row_group(group, [column])[column]).to_pylist()
