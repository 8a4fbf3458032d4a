"""Selects the spans that become items, with their splits, limits per window, and random definitions."""

import duckdb
import pyarrow as pa

from tempkb.benchmarks.ecbd.design import Design
from tempkb.benchmarks.ecbd.random_definitions import Item, choose_definitions
from tempkb.benchmarks.ecbd.splits import split_entities
from tempkb.benchmarks.ecbd.staging import staged
from tempkb.benchmarks.temp_tables import make_table
from tempkb.benchmarks.work import ReleaseWork
from tempkb.filtering import LeftOut

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
