"""Selects the spans that become items, with their splits, limits per window, and random definitions.

Entities are divided between dev and test, with the design's shares within every origin window. The definition of
another entity is one of the same release, window and split. By rendezvous hashing an added entity takes over only the
items that it wins, as long as the splits of the others do not change. A definition that contains the answer or the
mention as words would give it away, so the next one is taken. Nearly all definitions contain "of" or "the", so items
with such an answer may get none.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from tempkb.benchmarks.chance import Hashes, draw, rendezvous
from tempkb.benchmarks.chunking import Chunk
from tempkb.benchmarks.ecbd.design import Design
from tempkb.benchmarks.ecbd.matching import folded, holds
from tempkb.benchmarks.ecbd.released import Tokens, released_noun_spans, released_random_spans
from tempkb.benchmarks.ecbd.sources import staged
from tempkb.benchmarks.ecbd.spans import NP, RANDOM, Reach, Span, noun_spans, random_spans
from tempkb.benchmarks.sentences import Place
from tempkb.benchmarks.work import ReleaseWork, make_table
from tempkb.core.filtering import LeftOut


def split_entities(entities: Iterable[tuple[int, str]], dev_share: float, seed: int) -> Mapping[int, str]:
    """Return the split of each entity, by page number.

    Within a stratum the first ones in the order of their hashes are dev, so that an
    added entity moves at most one other.

    Args:
        entities: (page number, stratum); the stratum is the origin window, or `popular`.
        dev_share: share of each stratum that is dev.
    """
    strata: dict[str, list[int]] = {}
    for page, stratum in entities:
        strata.setdefault(stratum, []).append(page)
    splits: dict[int, str] = {}
    for stratum, pages in strata.items():
        pages.sort(key=lambda page: (draw(seed, "split", page), page))
        # A share that is not a whole number is rounded at random; otherwise all single entities would get one split.
        n_dev = int(len(pages) * dev_share + draw(seed, "rounding", stratum) / 2**64)
        splits |= {page: "dev" if at < n_dev else "test" for at, page in enumerate(pages)}
    return splits


_AT_A_TIME = 1 << 21  # scores, of 8 bytes each


@dataclass(frozen=True)
class Item:
    """An item that needs a definition of another entity."""

    cloze_id: str
    page_id: int
    answer: str
    mention: str


def choose_definitions(items: Sequence[Item], pool: Sequence[tuple[int, str]], seed: int) -> list[int | None]:
    """Return the page number of the article whose definition each item gets; None if every one would give it away.

    Args:
        items: the items of one window and split.
        pool: (page number, definition) of all entities of that window and split.
    """
    if len(pool) < 2:
        return [None] * len(items)
    candidates = np.array([draw(seed, "definition", page) for page, _ in pool], np.uint64)
    chosen: list[int | None] = []
    step = max(1, _AT_A_TIME // len(pool))
    for at in range(0, len(items), step):
        some = items[at : at + step]
        hashes = np.array([draw(seed, "item", one.cloze_id) for one in some], np.uint64)
        scores = rendezvous(hashes, candidates)
        chosen += [_first_fitting(item, row, pool) for item, row in zip(some, scores, strict=True)]
    return chosen


def tells(definition: str, answer: str, mention: str) -> bool:
    """Return whether a definition contains an answer or a mention as words, in any case.

    >>> tells("The Lamp is old.", "lamp", "Ida"), tells("Lamps are old.", "lamp", "Ida")
    (True, False)
    """
    text = folded(definition)
    return holds(text, folded(answer)) or holds(text, folded(mention))


def _first_fitting(item: Item, scores: Hashes, pool: Sequence[tuple[int, str]]) -> int | None:
    """The definition with the lowest score that fits. The first nearly always does, so the rest is sorted rarely."""

    def fits(at: int) -> bool:
        page, definition = pool[at]
        return page != item.page_id and not tells(definition, item.answer, item.mention)

    first = int(scores.argmin())
    if fits(first):
        return pool[first][0]
    return next((pool[at][0] for at in np.argsort(scores, kind="stable").tolist() if fits(at)), None)


_POPULAR = "popular"
_CHOSEN = pa.schema([("cloze_id", pa.string()), ("random_definition_page_id", pa.int64())])


def select_items(work: ReleaseWork, left_out: LeftOut) -> None:
    """Make the tables `items` and `random_definitions(cloze_id, random_definition_page_id)`; count what is left out.

    Needs `chosen` and the views `spans` and `entities_read`.
    """
    _split(work.connection, work.release.design)
    _cap(work.connection, work.release.design, left_out)
    _define(work, left_out)


def _split(connection: duckdb.DuckDBPyConnection, design: Design) -> None:
    entities = connection.execute(
        f"""
        SELECT page_id, coalesce(origin_window, '{_POPULAR}') FROM chosen
        SEMI JOIN spans USING (page_id) ORDER BY page_id
        """
    ).fetchall()
    splits = split_entities(entities, design.dev_share, design.seed)
    rows = [(page, stratum, splits[page]) for page, stratum in entities]
    make_table(connection, "splits", "page_id BIGINT, stratum VARCHAR, split VARCHAR", rows)


def _cap(connection: duckdb.DuckDBPyConnection, design: Design, left_out: LeftOut) -> None:
    """Keep items of each kind up to the design's limit and, if kinds are balanced, up to the number of the other kind.

    A release of one kind is not balanced: one without noun phrases, because no chunker reads its language, or without
    random spans, because the design wants none.
    """
    connection.execute(
        """
        CREATE OR REPLACE TEMP TABLE ranked AS
        WITH placed AS (
            SELECT spans.*, stratum, split,
                   row_number() OVER (PARTITION BY stratum, split, span_kind ORDER BY rank_hash, cloze_id) AS place
            FROM spans JOIN splits USING (page_id)
        ), counted AS (
            SELECT stratum, split, least(count(*) FILTER (WHERE span_kind = 'np'),
                                         count(*) FILTER (WHERE span_kind = 'random')) AS n_of_both
            FROM placed GROUP BY stratum, split
        )
        SELECT placed.*,
               $balance AND place > n_of_both AND (SELECT count(DISTINCT span_kind) FROM placed) = 2 AS is_unbalanced,
               $most > 0 AND place > $most AS is_beyond
        FROM placed JOIN counted USING (stratum, split)
        """,
        {"most": design.max_spans_per_window, "balance": design.balance_kinds},
    )
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE items AS SELECT * EXCLUDE (place, is_unbalanced, is_beyond) FROM ranked "
        "WHERE NOT is_unbalanced AND NOT is_beyond"
    )
    for reason, condition in (
        ("beyond max_spans_per_window", "is_beyond"),
        ("more of its kind than of the other (balance_kinds)", "is_unbalanced AND NOT is_beyond"),
    ):
        rows = connection.execute(
            f"SELECT stratum, count(*) FROM ranked WHERE {condition} GROUP BY stratum ORDER BY stratum"
        ).fetchall()
        for stratum, n in rows:
            left_out.add(reason, f"window {stratum}", n)


def _define(work: ReleaseWork, left_out: LeftOut) -> None:
    connection, pools = work.connection, dict[tuple[str, str], list[tuple[int, str]]]()
    for page, definition, *pool in connection.execute(
        "SELECT page_id, definition, stratum, split FROM entities_read JOIN splits USING (page_id) ORDER BY page_id"
    ).fetchall():
        pools.setdefault((pool[0], pool[1]), []).append((page, definition))
    with staged(work, "random_definitions", _CHOSEN) as extend:
        for (stratum, split), pool in sorted(pools.items()):
            items = [
                Item(*row)
                for row in connection.execute(
                    """
                    SELECT cloze_id, page_id, answer, s.mention FROM items JOIN sentences AS s
                    USING (page_id, sentence_start_char) WHERE stratum = $stratum AND split = $split ORDER BY cloze_id
                    """,
                    {"stratum": stratum, "split": split},
                ).fetchall()
            ]
            chosen = choose_definitions(items, pool, work.release.design.seed)
            extend(
                {"cloze_id": item.cloze_id, "random_definition_page_id": page}
                for item, page in zip(items, chosen, strict=True)
            )
            _account(chosen, f"window {stratum}, {split}", len(pool), left_out)


def _account(chosen: list[int | None], where: str, n_pool: int, left_out: LeftOut) -> None:
    lacking = sum(one is None for one in chosen)
    reason = (
        "no random definition: the window and split have no other entity"
        if n_pool < 2
        else "no random definition: every one holds the answer or the mention"
    )
    left_out.add(reason, where, lacking)


Row = dict[str, Any]


def spans_of(row: Mapping[str, Any], design: Design, language: str) -> Iterator[Row]:
    """Yield the spans of a sentence as rows.

    Args:
        row: page_id, sentence_start_char, sentence, the mention's offsets and the chunks.
    """
    sentence = row["sentence"]
    mention = Place(row["mention_start_char"], row["mention_end_char"])
    chunks = [Chunk(**one) for one in row["chunks"]]
    key = (row["page_id"], sentence)
    if design.rules == "released":
        tokens = Tokens(sentence, language)
        spans = [
            *released_noun_spans(tokens, mention, chunks),
            *released_random_spans(tokens, mention, design.seed, *key),
        ]
    else:
        reach = Reach(sentence, mention, design.limits, language)
        spans = [*noun_spans(reach, chunks), *random_spans(reach, design.seed, *key)]
    around = _chunk_around(mention, chunks)
    for span in spans:
        yield {
            "page_id": row["page_id"],
            "sentence_start_char": row["sentence_start_char"],
            "cloze_id": cloze_id(row["page_id"], sentence, span),
            "span_kind": span.kind,
            "np_type": span.np_type,
            "n_span_words": span.n_words,
            "n_words_after_mention": span.distance,
            "span_start_char": span.start,
            "span_end_char": span.end,
            "answer": sentence[span.start : span.end],
            "mention_chunk_start_char": around.start if around else None,
            "mention_chunk_end_char": around.end if around else None,
            "rank_hash": draw(design.seed, "span", row["page_id"], sentence, span.kind, span.start, span.end),
        }


def cloze_id(page_id: int, sentence: str, span: Span) -> str:
    """Return the id of an item, made of its page, kind, sentence and span, so that it is the same in every release."""
    content = f"{sentence}\x1f{span.start}\x1f{span.end}"
    digest = hashlib.blake2b(content.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return f"{page_id}-{span.kind}-{digest}"


def within_caps(spans: Sequence[Row], design: Design) -> tuple[list[Row], int]:
    """Return the spans of an entity that are kept, in the order of their hashes, and how many are dropped.

    If the design balances the kinds, spans are taken from both in turn, so that neither uses up the places.
    """
    ordered = sorted(spans, key=lambda one: (one["rank_hash"], one["cloze_id"]))
    most = design.max_spans_per_entity
    by_kind = [[one for one in ordered if one["span_kind"] == kind] for kind in (NP, RANDOM)]
    if design.caps == "separate":
        kept = [one for own in by_kind for one in own[:most]]
    elif design.balance_kinds:
        kept = [one for pair in zip_longest(*by_kind) for one in pair if one is not None][:most]
    else:
        kept = ordered[:most]
    return kept, len(ordered) - len(kept)


def _chunk_around(mention: Place, chunks: Sequence[Chunk]) -> Chunk | None:
    """The shortest noun phrase that contains the whole mention."""
    around = [one for one in chunks if one.start <= mention.start and mention.end <= one.end]
    return min(around, key=lambda one: (one.end - one.start, one.start), default=None)
