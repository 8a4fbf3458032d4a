"""The work of one worker: reads wikitexts, and writes readable texts and links to files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tempkb.filtering import LeftOut
from tempkb.mentions.tables import HOLE, PAGE_LINKS, PAGE_TEXTS, PARAGRAPH, SECTION
from tempkb.store.parquet import open_parquet, parquet_writer
from tempkb.store.types import StructOf
from tempkb.titles import Site
from tempkb.wikitext.article import Article, read_article
from tempkb.wikitext.counting import count_words
from tempkb.wikitext.redirects import redirect_target
from tempkb.wikitext.wikis import words_table

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
