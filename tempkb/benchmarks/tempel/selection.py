"""Chooses the mentions of a plan, and the pool of candidates: SQL over the lake, contexts in Python."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from datetime import UTC, date, datetime

import duckdb
import pyarrow as pa

from tempkb.benchmarks.tempel.design import Design
from tempkb.benchmarks.tempel.similarity import bare_surface, bare_title, folded, normalised_distances, overlap_type
from tempkb.benchmarks.tempel.tables import TEMPEL_MENTIONS
from tempkb.store.quoting import literal
from tempkb.wiki.wikitext.counting import words_before, words_behind

_BATCH_ROWS = 1 << 13
_COMPUTED = (
    "context_left",
    "context_right",
    "n_holes",
    "target",
    "ed_men_title",
    "ed_men_bare_title",
    "overlap_type",
    "snapshot",
)


def choose_mentions(
    connection: duckdb.DuckDBPyConnection, design: Design, release: str, cut: date
) -> Iterator[pa.Table]:
    """Yield the rows of `tempel_mentions` for a cut, in key order.

    Needs the table `usable`, the views `kept` (of this cut), `snapshot` and `texts`,
    and the registered table `assigned`. An entity's quota is filled from its
    surfaces in turn, and a surface's share from the articles in turn, so that no
    single surface or article dominates.

    Only surfaces that the filters keep at this cut are numbered, because the plan
    counted only these; a surface that passes at another cut only has no share in
    the quota. The joins after the numbering add columns and lose no row, because
    `usable` and `kept` contain only rows that they find.
    """
    query = f"""
        WITH offered AS (
            SELECT usable.*, assigned.subset, assigned.category, assigned.quota
            FROM usable JOIN assigned ON assigned.page_id = usable.target_page_id AND assigned.surface = usable.key
            SEMI JOIN kept ON kept.page_id = usable.target_page_id AND kept.surface = usable.key
        ), in_source AS (
            SELECT *, row_number() OVER (
                PARTITION BY target_page_id, subset, key, source_page_id
                ORDER BY md5(concat_ws('|', {design.seed}, source_page_id, start_char)), start_char) AS nth_in_source
            FROM offered
        ), in_surface AS (
            SELECT *, row_number() OVER (
                PARTITION BY target_page_id, subset, key
                ORDER BY nth_in_source, md5(concat_ws('|', {design.seed}, target_page_id, source_page_id)),
                         source_page_id
            ) AS nth_of_surface
            FROM in_source
        ), in_subset AS (
            SELECT *, row_number() OVER (
                PARTITION BY target_page_id, subset
                ORDER BY nth_of_surface, md5(concat_ws('|', {design.seed}, target_page_id, key)), key) AS nth
            FROM in_surface
        ), surfaces_left AS (SELECT page_id, count(*) AS nr_dist_mens FROM kept GROUP BY page_id)
        SELECT m.wiki, m.dump_id, {literal(release)} AS release, m.cut, m.subset, m.category, m.surface AS mention,
               m.target_page_id, target.entity_id AS target_qid, target.title AS target_title,
               target_text.n_words AS target_len, target_text.n_chars AS target_len_chars,
               target.revision_id AS target_revision_id, target.page_created_at AS target_creation_date,
               target.revision_timestamp AS target_revision_date, target.article_since AS target_article_since,
               date_diff('second', target.article_since, m.cut::TIMESTAMPTZ) // 86400 AS age_at_cut_days,
               m.source_page_id AS anchor_page_id, m.source_revision_id AS anchor_revision_id,
               anchor.title AS anchor_title, anchor.entity_id AS anchor_qid, m.start_char, m.end_char,
               anchor_text.n_words AS anchor_len, anchor_text.n_chars AS anchor_len_chars,
               anchor.page_created_at AS anchor_creation_date, anchor.revision_timestamp AS anchor_revision_date,
               m.via_redirect, kept.men_prior, kept.rank_in_entity AS men_prior_rank, kept.rank_in_surface,
               kept.avg_men_prior, kept.ent_prior, kept.nr_inlinks, surfaces_left.nr_dist_mens,
               kept.n_links AS nr_mens_per_ent, m.quota AS nr_mens_extracted,
               anchor_text.text AS anchor_text, target_text.text AS target_text,
               coalesce([hole.offset_char FOR hole IN anchor_text.holes], []) AS anchor_holes
        FROM in_subset AS m
        JOIN kept ON kept.page_id = m.target_page_id AND kept.surface = m.key
        JOIN surfaces_left ON surfaces_left.page_id = m.target_page_id
        JOIN snapshot AS target ON target.page_id = m.target_page_id
        JOIN snapshot AS anchor ON anchor.page_id = m.source_page_id
        JOIN texts AS anchor_text
             ON anchor_text.page_id = anchor.page_id AND anchor_text.revision_id = anchor.revision_id
        LEFT JOIN texts AS target_text
             ON target_text.page_id = target.page_id AND target_text.revision_id = target.revision_id
        WHERE m.nth <= m.quota
        ORDER BY m.target_page_id, m.source_page_id, m.start_char
    """
    for batch in connection.sql(query).to_arrow_reader(_BATCH_ROWS):
        yield _with_texts(pa.Table.from_batches([batch]), design, cut)


def _with_texts(rows: pa.Table, design: Design, cut: date) -> pa.Table:
    """Add the columns that are computed from texts: contexts, the target's first words, distances, overlap types."""
    mentions, titles = rows["mention"].to_pylist(), rows["target_title"].to_pylist()
    anchors = rows["anchor_text"].to_pylist()
    spans = list(zip(rows["start_char"].to_pylist(), rows["end_char"].to_pylist(), strict=True))
    columns = {name: rows[name] for name in rows.schema.names}
    columns["context_left"] = [
        words_before(text, start, design.context_words) for text, (start, _) in zip(anchors, spans, strict=True)
    ]
    columns["context_right"] = [
        words_behind(text, end, design.context_words) for text, (_, end) in zip(anchors, spans, strict=True)
    ]
    columns["n_holes"] = [
        bisect_right(offsets, end + len(right)) - bisect_left(offsets, start - len(left))
        for offsets, (start, end), left, right in zip(
            rows["anchor_holes"].to_pylist(), spans, columns["context_left"], columns["context_right"], strict=True
        )
    ]
    columns["target"] = [words_behind(text or "", 0, design.target_words) for text in rows["target_text"].to_pylist()]
    columns["ed_men_title"] = normalised_distances(
        [folded(mention) for mention in mentions], [folded(title) for title in titles]
    )
    columns["ed_men_bare_title"] = normalised_distances(
        [bare_surface(mention) for mention in mentions], [bare_title(title) for title in titles]
    )
    columns["overlap_type"] = [overlap_type(*pair) for pair in zip(mentions, titles, strict=True)]
    columns["snapshot"] = [datetime(cut.year, cut.month, cut.day, tzinfo=UTC)] * rows.num_rows
    schema = TEMPEL_MENTIONS.schema
    return pa.table(
        {
            name: pa.array(columns[name], schema.field(name).type) if name in _COMPUTED else columns[name]
            for name in schema.names
        }
    ).cast(schema)


def pool_sql(design: Design, release: str) -> str:
    """Return the SQL for the rows of `tempel_entities`; it needs `snapshot`, `texts`, `of_plan` and `list_pages`."""
    is_paper = design.rules == "paper"
    # The released pools contain lists, disambiguation pages and former redirects; all of them have an item.
    where = "entity_id IS NOT NULL" if is_paper else "NOT is_list AND NOT is_disambiguation"
    return f"""
        WITH article AS (
            SELECT snapshot.* EXCLUDE (n_revisions), texts.n_words, texts.n_chars,
                   list_pages.page_id IS NOT NULL AS is_list
            FROM snapshot LEFT JOIN texts USING (page_id, revision_id) LEFT JOIN list_pages USING (page_id)
            WHERE namespace = 0 AND redirect_title IS NULL AND NOT is_blank
        )
        SELECT wiki, dump_id, {literal(release)} AS release, cut, page_id, entity_id, title, revision_id,
               revision_timestamp, page_created_at, article_since, n_words, n_chars, of_plan.category, is_list,
               is_disambiguation
        FROM article LEFT JOIN of_plan USING (page_id) WHERE {where} ORDER BY page_id
    """
