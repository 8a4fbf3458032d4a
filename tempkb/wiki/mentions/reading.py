"""Makes readable texts and links from wikitexts, once for each revision, whichever windows it won.

Later windows find more winners in a quarter, so only the new revisions of a quarter are cleaned. All are cleaned
again if the cleaner, its tables of templates or the setting `dropped_sections` changed. Workers write what they have
read to files.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tempkb.core.errors import ContractError
from tempkb.core.files import open_parquet, parquet_writer
from tempkb.core.filtering import LeftOut
from tempkb.core.titles import Site
from tempkb.engine.choose import map_items
from tempkb.engine.progress import Meter
from tempkb.store.drafts import Exclusion, Provenance
from tempkb.store.store import Store, read_files
from tempkb.store.tables import Table
from tempkb.store.types import StructOf
from tempkb.store.versions import Version
from tempkb.wiki.dumps.pages import read_site
from tempkb.wiki.mentions.tables import HOLE, PAGE_LINKS, PAGE_TEXTS, PARAGRAPH, SECTION
from tempkb.wiki.revisions.tables import PAGE_WIKITEXTS
from tempkb.wiki.wikitext.article import Article, read_article
from tempkb.wiki.wikitext.counting import count_words
from tempkb.wiki.wikitext.page_kinds import redirect_target, words_table

OF_TEMPLATES = "template: "
"""The beginning of reasons that name a template that was left out."""


@dataclass(frozen=True)
class Piece:
    """Row groups of one file of `page_wikitexts`.

    Attributes:
        n_bytes: their uncompressed size.
        done: numbers of revisions that are clean already.
        sites: the namespaces and names of the wiki, by dump.
        dropped_sections: headings of sections that are left out; None for the standard ones.
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
    """A worker's result for a piece: files in key order, and counts of what was left out or repaired, by reason."""

    quarter: str
    texts: Path
    links: Path
    left_out: LeftOut = field(default_factory=LeftOut)


Batch = tuple[Piece, ...]
"""The pieces that a worker gets at a time, from one quarter or from several small ones."""


def clean_batch(batch: Batch, folder: Path, report: Callable[[float], None] = lambda _done: None) -> list[Cleaned]:
    """Clean the revisions of some pieces that are not clean yet, and write texts and links to files in `folder`."""
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
        open_parquet(piece.path) as source,
        parquet_writer(cleaned.texts, PAGE_TEXTS.schema, compression="lz4") as texts,
        parquet_writer(cleaned.links, PAGE_LINKS.schema, compression="lz4") as links,
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
        _count(cleaned.left_out, article, pages[number])
    return _texts(rows, articles), _links(rows, articles, piece.sites, other_wikis)


def _count(left_out: LeftOut, article: Article, page_id: int) -> None:
    """Count what the cleaner left out of an article or repaired; all reasons of `page_texts` are given here."""
    for name, n in article.dropped_templates.items():
        left_out.add(f"{OF_TEMPLATES}{name}", f"{{{{{name}}}}}", n)
    if article.unbalanced:
        left_out.add("text with unbalanced markup, mended", f"page {page_id}")


_EMPTY = Article("", (), (), ())


def _texts(rows: pa.Table, articles: Sequence[Article]) -> pa.Table:
    sections = [section for article in articles for section in article.sections]
    paragraphs = [paragraph for article in articles for paragraph in article.paragraphs]
    holes = [hole for article in articles for hole in article.holes]
    columns: dict[str, Any] = {name: rows[name] for name in rows.schema.names if name != "wikitext"}
    columns["text"] = pa.array([article.text for article in articles], pa.string())
    columns["n_chars"] = pa.array([len(article.text) for article in articles], pa.int32())
    columns["n_words"] = pa.array([count_words(article.text) for article in articles], pa.int32())
    columns["sections"] = _lists(
        SECTION, [len(article.sections) for article in articles], list(zip(*sections, strict=True)), _SECTION_ORDER
    )
    columns["paragraphs"] = _lists(
        PARAGRAPH, [len(article.paragraphs) for article in articles], list(zip(*paragraphs, strict=True)), (0, 1, 2)
    )
    columns["holes"] = _lists(
        HOLE, [len(article.holes) for article in articles], list(zip(*holes, strict=True)), (0, 1, 2)
    )
    columns["n_unbalanced"] = pa.array([article.unbalanced for article in articles], pa.int32())
    return pa.table({name: columns[name] for name in PAGE_TEXTS.schema.names}).cast(PAGE_TEXTS.schema)


_SECTION_ORDER = (0, 1, 2, 3, 4)


def _lists(kind: StructOf, lengths: Sequence[int], columns: Sequence[Sequence[Any]], order: Sequence[int]) -> pa.Array:
    """An array of lists of structs, made from columns, which is much faster than from one dictionary per struct."""
    offsets = [0]
    for length in lengths:
        offsets.append(offsets[-1] + length)
    fields = list(kind.arrow)
    arrays = [pa.array(columns[at] if columns else [], fields[number].type) for number, at in enumerate(order)]
    values = pa.StructArray.from_arrays(arrays, fields=fields)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)


def _links(
    rows: pa.Table, articles: Sequence[Article], sites: Mapping[str, Site], other_wikis: frozenset[str]
) -> pa.Table:
    at = [number for number, article in enumerate(articles) for _ in article.links]
    links = [link for article in articles for link in article.links]
    dumps = rows["dump_id"].to_pylist()
    # Most targets occur many times, so each is read once.
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
        "start_char": pa.array(starts, pa.int32()),
        "end_char": pa.array(ends, pa.int32()),
        "surface": pa.array(surfaces, pa.string()),
        "target": pa.array(written, pa.string()),
        "kind": pa.array(kinds, pa.string()),
        "target_namespace": pa.array(namespaces, pa.int32()),
        "target_title": pa.array(titles, pa.string()),
        "target_section": pa.array(sections, pa.string()),
    }
    return pa.table({name: columns[name] for name in PAGE_LINKS.schema.names}).cast(PAGE_LINKS.schema)


_BATCH_BYTES = 64 << 20
_PRELOAD = ("tempkb.wiki.mentions.reading",)
_NAMES_COUNTED = 500
Log = Callable[[str], None]
ProvenanceOf = Callable[[Table, str], Provenance]


def clean_quarters(store: Store, quarters: Sequence[str], provenance: ProvenanceOf, log: Log) -> list[Version]:
    """Write the texts and links of some quarters from `page_wikitexts`; return their versions.

    Raises:
        ContractError: a worker failed; its quarters keep their old versions, the others are written.
    """
    sites = _Sites(store)
    plans = [_plan(store, source, provenance) for source in store.lake.versions(PAGE_WIKITEXTS.name, quarters)]
    batches = _batches([piece for plan in plans for piece in _pieces(store, plan, sites)])
    total = sum(piece.n_bytes for batch in batches for piece in batch)
    cleaned: dict[str, list[Cleaned]] = {plan.source.partition: [] for plan in plans}
    failed: dict[str, str] = {}
    with store.lake.staging() as folder, Meter("cleaning texts", total, log) as meter:
        places = {_place_of(batch): number for number, batch in enumerate(batches)}
        done: dict[int, list[Cleaned]] = {}
        for outcome in map_items(store.home.settings, clean_batch, batches, folder, meter.at, _PRELOAD):
            if outcome.result is None:
                failed |= {piece.quarter: outcome.failure for piece in outcome.item}
            else:
                done[places[_place_of(outcome.item)]] = outcome.result
        # In the order of the pieces, not in the order in which the workers ended, so that the bytes are the same.
        for number in sorted(done):
            for one in done[number]:
                cleaned[one.quarter].append(one)
        whole = [plan for plan in plans if plan.source.partition not in failed]
        versions = [one for plan in whole for one in _write(store, plan, cleaned[plan.source.partition], provenance)]
    if failed:
        why = "; ".join(f"quarter {quarter}: {reason}" for quarter, reason in sorted(failed.items()))
        raise ContractError(f"{PAGE_TEXTS.name}: {why}. These quarters keep their old versions.")
    return versions


class _Sites(dict[str, Site]):
    """The namespaces and names of the wiki by dump, read from the lake when first needed."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store

    def __missing__(self, dump_id: str) -> Site:
        self[dump_id] = read_site(self._store, dump_id)
        return self[dump_id]


@dataclass(frozen=True)
class _Plan:
    """A quarter to clean, and its revisions that are clean already; with none, the quarter is written anew."""

    source: Version
    done: frozenset[int]


def _plan(store: Store, source: Version, provenance: ProvenanceOf) -> _Plan:
    settings = provenance(PAGE_TEXTS, source.partition).settings
    texts, links = (store.lake.current(table.name, source.partition) for table in (PAGE_TEXTS, PAGE_LINKS))
    if texts is None or links is None or texts.inputs != links.inputs:
        # A run was killed between the two tables, which are so made from different wikitexts. Nothing counts as clean.
        return _Plan(source, frozenset())
    tables = store.tables
    if not all(one.was_made_with(settings) and one.is_of_present_code(tables[one.table]) for one in (texts, links)):
        return _Plan(source, frozenset())
    done = _revisions_in(texts)
    # If texts were removed from the wikitexts, which is rare, the quarter is written anew.
    return _Plan(source, done if done <= _revisions_in(source) else frozenset())


def _write(store: Store, plan: _Plan, cleaned: Sequence[Cleaned], provenance: ProvenanceOf) -> Iterator[Version]:
    """Write a quarter: add the new revisions to the existing version, or write all of it."""
    for table, paths in (
        (PAGE_TEXTS, [piece.texts for piece in cleaned]),
        (PAGE_LINKS, [piece.links for piece in cleaned]),
    ):
        exclusions = _exclusions(cleaned) if table is PAGE_TEXTS else []
        made_from = provenance(table, plan.source.partition)
        write = partial(store.add, exclusions=exclusions) if plan.done else partial(store.write, exclusions=exclusions)
        yield write(table, plan.source.partition, read_files(paths), made_from)


def _pieces(store: Store, plan: _Plan, sites: _Sites) -> Iterator[Piece]:
    setting = store.home.settings.dropped_sections
    dropped = None if setting == "standard" else frozenset(setting)
    for path in plan.source.paths():
        with open_parquet(path) as file:
            named = {dump_id: sites[dump_id] for dump_id in sorted(set(_distinct(file, "dump_id")))}
            groups: list[int] = []
            size = 0
            for group in range(file.metadata.num_row_groups):
                groups.append(group)
                size += file.metadata.row_group(group).total_byte_size
                if size >= _BATCH_BYTES or group + 1 == file.metadata.num_row_groups:
                    yield Piece(plan.source.partition, path, tuple(groups), size, plan.done, named, dropped)
                    groups, size = [], 0


def _place_of(batch: Batch) -> tuple[Path, int]:
    """The place where a batch begins: its first file and row group."""
    return batch[0].path, batch[0].row_groups[0]


def _batches(pieces: Sequence[Piece]) -> list[Batch]:
    """Combine small pieces, because starting a process costs more than cleaning a small quarter."""
    batches: list[Batch] = []
    gathered: list[Piece] = []
    for piece in pieces:
        if gathered and sum(one.n_bytes for one in gathered) + piece.n_bytes > _BATCH_BYTES:
            batches.append(tuple(gathered))
            gathered = []
        gathered.append(piece)
    return [*batches, tuple(gathered)] if gathered else batches


def _exclusions(cleaned: Sequence[Cleaned]) -> list[Exclusion]:
    """Counts of what the cleaner left out or repaired, by reason; only the most frequent templates have their names."""
    left_out = LeftOut()
    for piece in cleaned:
        left_out.merge(piece.left_out)
    left_out.gather(OF_TEMPLATES, _NAMES_COUNTED, "template of another name")
    return [Exclusion(*row) for row in left_out.rows()]


def _revisions_in(version: Version) -> frozenset[int]:
    return frozenset(
        number for rows in read_files(version.paths(), ["revision_id"]) for number in rows["revision_id"].to_pylist()
    )


def _distinct(file: pq.ParquetFile, column: str) -> Iterator[str]:
    for group in range(file.metadata.num_row_groups):
        yield from pc.unique(file.read_row_group(group, [column])[column]).to_pylist()
