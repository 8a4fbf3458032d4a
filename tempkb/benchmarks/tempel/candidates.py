"""Finds the mentions of a snapshot that a release can use, and chooses those of its plan and the pool of candidates.

TempEL's filters apply in the released order. List pages are found by Wikidata's classes, and by the words of titles in
the wiki's language. All of this is SQL over the lake; contexts are cut in Python.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

import duckdb
import pyarrow as pa
from duckdb.func import PythonUDFType

from tempkb.benchmarks.tempel.design import Design, Left
from tempkb.benchmarks.tempel.similarity import bare_surface, bare_title, folded, normalised_distances, overlap_type
from tempkb.benchmarks.tempel.tables import TEMPEL_MENTIONS
from tempkb.store.quoting import literal
from tempkb.wiki.wikitext.counting import words_before, words_behind
from tempkb.wiki.wikitext.page_kinds import list_title_pattern


@dataclass(frozen=True)
class Filter:
    """One filter: its hyperparameter, and the SQL condition under which a row is dropped."""

    name: str
    drops: str


def filters_of(design: Design) -> list[Filter]:
    """Return the filters of a design in the order of TempEL's code, on which figure 6 depends."""
    is_paper = design.rules == "paper"
    return [
        Filter("lists", "is_list"),
        # The paper says that disambiguation pages are left out, but its code has no filter for them.
        *([] if is_paper else [Filter("disambiguations", "is_disambiguation")]),
        *([Filter("no_item", "entity_id IS NULL")] if is_paper else []),
        Filter("min_nr_inlinks", f"nr_inlinks < {design.min_nr_inlinks}"),
        Filter("min_ent_prior", f"ent_prior < {design.min_ent_prior!r}"),
        Filter("max_ent_prior", f"ent_prior > {design.max_ent_prior!r}"),
        Filter("min_men_prior", f"men_prior < {design.min_men_prior!r}"),
        Filter("min_men_prior_rank", f"rank_in_surface < {design.min_men_prior_rank}"),
        Filter("max_men_prior", f"men_prior > {design.max_men_prior!r}"),
        Filter("ed_men_title", f"title_distance < {design.ed_men_title!r}"),
        Filter("min_mens_per_ent", f"n_links < {design.min_mens_per_ent}"),
        Filter("min_len_target_ent", f"target_words < {design.min_len_target_ent}"),
        # The code drops pages that were a redirect at any cut. By our rules a page that is a redirect at the cut is not
        # an article, and no mention leads to it.
        *([Filter("redirects", "was_redirect")] if is_paper else []),
    ]


def use_mentions(connection: duckdb.DuckDBPyConnection, design: Design) -> None:
    """Make the table `usable`: mentions of a cut that a release may contain, with `key`, the surface in lower case.

    Needs the views `mentions`, `snapshot` and `texts` of the cut, and its `list_pages`. Mentions are left out if their
    text is missing (suppressed since) or is not the snapshot's (built again since), because a planned mention must be
    found in its text later.
    """
    is_paper = design.rules == "paper"
    connection.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE usable AS
        SELECT mentions.*, lower(mentions.surface) AS key
        FROM mentions JOIN snapshot AS source
             ON source.page_id = mentions.source_page_id AND source.revision_id = mentions.source_revision_id
        SEMI JOIN texts ON texts.page_id = mentions.source_page_id AND texts.revision_id = mentions.source_revision_id
        WHERE {"via_redirect = 'no'" if is_paper else "via_redirect <> 'section' AND NOT source_is_disambiguation"}
          AND source.page_id NOT IN (SELECT page_id FROM list_pages)
        """
    )


def judge(connection: duckdb.DuckDBPyConnection, design: Design) -> None:
    """Make the table `judged`: every (surface, entity) of a cut, with a column per filter: whether it drops the row.

    Needs the tables `usable` and `list_pages`, the views `mention_priors`, `snapshot` and `texts` of the cut, and
    `redirect_pages(page_id)`, what was a redirect at any cut of the release, which the paper's rules drop.
    """
    _define_title_distance(connection)
    is_paper = design.rules == "paper"
    # TempEL drops links through redirects, so by its rules they are not counted.
    counted = "n_direct" if is_paper else "n_links"
    connection.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE priors AS
        WITH shared AS (
            SELECT surface, target_page_id AS page_id, {counted} AS n_links,
                   {counted}::DOUBLE / sum({counted}) OVER (PARTITION BY surface)::DOUBLE AS men_prior
            FROM mention_priors WHERE {counted} > 0
        )
        SELECT *, dense_rank() OVER (PARTITION BY page_id ORDER BY men_prior DESC)::INTEGER AS rank_in_entity,
               dense_rank() OVER (PARTITION BY surface ORDER BY men_prior DESC)::INTEGER AS rank_in_surface
        FROM shared
        """
    )
    # Means of priors are summed as whole numbers, so that the order of summing cannot change the last digit.
    connection.execute(
        """
        CREATE OR REPLACE TEMP TABLE entity AS
        WITH linked AS (
            SELECT page_id, sum(n_links)::BIGINT AS nr_inlinks,
                   (sum((men_prior * 1e15)::BIGINT)::DOUBLE / 1e15) / count(*)::DOUBLE AS avg_men_prior
            FROM priors GROUP BY page_id
        )
        SELECT linked.*, nr_inlinks::DOUBLE / (SELECT sum(nr_inlinks) FROM linked)::DOUBLE AS ent_prior FROM linked
        """
    )
    judged = ", ".join(f"({one.drops}) AS drops_{one.name}" for one in filters_of(design))
    connection.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE judged AS
        WITH offered AS (
            SELECT target_page_id AS page_id, key AS surface, count(*) AS n_usable FROM usable GROUP BY ALL
        ), described AS (
            SELECT priors.*, offered.n_usable, entity.nr_inlinks, entity.avg_men_prior, entity.ent_prior,
                   snapshot.title, snapshot.entity_id, snapshot.article_since, snapshot.page_created_at,
                   snapshot.is_disambiguation, list_pages.page_id IS NOT NULL AS is_list,
                   redirect_pages.page_id IS NOT NULL AS was_redirect, coalesce(texts.n_words, 0) AS target_words,
                   title_distance(priors.surface, snapshot.title) AS title_distance
            FROM offered JOIN priors USING (page_id, surface) JOIN entity USING (page_id) JOIN snapshot USING (page_id)
            LEFT JOIN texts ON texts.page_id = snapshot.page_id AND texts.revision_id = snapshot.revision_id
            LEFT JOIN redirect_pages ON redirect_pages.page_id = priors.page_id
            LEFT JOIN list_pages ON list_pages.page_id = priors.page_id
        )
        SELECT *, {judged} FROM described
        """
    )


def filter_counts(connection: duckdb.DuckDBPyConnection, design: Design) -> list[tuple[str, str, int, int]]:
    """Count what each filter drops: (filter, how, surfaces of entities, mentions).

    `in_order` counts what it drops of what the filters before it left, `alone` what it drops without other filters,
    and `only` what it drops and no other filter would. The filter `all` has the counts `offered` and `kept`.
    """
    names = [one.name for one in filters_of(design)]
    conditions = {("all", "offered"): "true", ("all", "kept"): _none_of(names)}
    for at, name in enumerate(names):
        conditions[name, "in_order"] = f"drops_{name} AND {_none_of(names[:at])}"
        conditions[name, "alone"] = f"drops_{name}"
        conditions[name, "only"] = f"drops_{name} AND {_none_of(names[:at] + names[at + 1 :])}"
    wanted = ", ".join(
        f"count(*) FILTER (WHERE {one}), coalesce(sum(n_usable) FILTER (WHERE {one}), 0)::BIGINT"
        for one in conditions.values()
    )
    row = connection.execute(f"SELECT {wanted} FROM judged").fetchall()[0]
    return [(*key, row[2 * at], row[2 * at + 1]) for at, key in enumerate(conditions)]


def left_by_filters(connection: duckdb.DuckDBPyConnection, design: Design) -> list[Left]:
    """Count what is offered, and then what each filter leaves for the next one. Needs the table `judged`."""
    names = [one.name for one in filters_of(design)]
    first_drop = " ".join(f"WHEN drops_{name} THEN {at}" for at, name in enumerate(names))
    rows = connection.execute(
        f"""
        WITH dropped AS (SELECT page_id, n_usable, CASE {first_drop} ELSE {len(names)} END AS by_filter FROM judged),
        entity AS (SELECT page_id, max(by_filter) AS by_filter FROM dropped GROUP BY page_id)
        SELECT by_filter, sum(n_usable)::BIGINT, count(*), 0 FROM dropped GROUP BY by_filter
        UNION ALL SELECT by_filter, 0, 0, count(*) FROM entity GROUP BY by_filter
        """
    ).fetchall()
    left = [Left("offered", "what is offered", *_beyond(rows, -1))]
    left += [Left(name, _described(name, design), *_beyond(rows, at)) for at, name in enumerate(names)]
    kept = f"SELECT count(DISTINCT page_id), count(*), coalesce(sum(n_usable), 0)::BIGINT FROM ({kept_sql(design)})"
    name = "min_nr_distinct_mentions_per_entity"
    return [*left, Left(name, _described(name, design), *connection.execute(kept).fetchall()[0])]


def _beyond(rows: Sequence[tuple[int, int, int, int]], at: int) -> tuple[int, int, int]:
    """Counts of the entities, surfaces and mentions that no filter up to a position drops."""
    remaining = [row for row in rows if row[0] > at]
    return sum(row[3] for row in remaining), sum(row[2] for row in remaining), sum(row[1] for row in remaining)


def _described(name: str, design: Design) -> str:
    return f"{name} {value}" if (value := getattr(design, name, None)) is not None else name


def kept_sql(design: Design) -> str:
    """Return the SQL for the rows that pass every filter, of entities that keep enough surfaces."""
    passes = _none_of([one.name for one in filters_of(design)])
    return f"""
        SELECT page_id, surface, n_links, n_usable, men_prior, rank_in_entity, rank_in_surface, nr_inlinks,
               avg_men_prior, ent_prior, title, entity_id, article_since, page_created_at
        FROM judged WHERE {passes}
        QUALIFY count(*) OVER (PARTITION BY page_id) >= {design.min_nr_distinct_mentions_per_entity}
        ORDER BY page_id, surface
    """


def _none_of(names: Sequence[str]) -> str:
    return " AND ".join(f"NOT drops_{name}" for name in names) or "true"


def _define_title_distance(connection: duckdb.DuckDBPyConnection) -> None:
    """Add the SQL function `title_distance` of a surface and a title, computed in C++ over whole columns."""

    def title_distance(surfaces: pa.ChunkedArray, titles: pa.ChunkedArray) -> pa.Array:
        left = [bare_surface(one) for one in surfaces.to_pylist()]
        right = [bare_title(one) for one in titles.to_pylist()]
        return pa.array(normalised_distances(left, right), pa.float64())

    known = connection.execute(
        "SELECT count(*) FROM duckdb_functions() WHERE function_name = 'title_distance'"
    ).fetchall()
    if not known[0][0]:
        connection.create_function(
            "title_distance", title_distance, ["VARCHAR", "VARCHAR"], "DOUBLE", type=PythonUDFType.ARROW
        )


# The released code has only this pattern, for every language.
_TITLES_OF_PAPER = "^List of "


def mark_lists(connection: duckdb.DuckDBPyConnection, design: Design, language: str) -> None:
    """Make the table `list_pages(page_id)`. By the paper's rules only titles count.

    Needs the view `snapshot`, and, unless the paper's rules are used, `list_items`.
    """
    is_paper = design.rules == "paper"
    by_class = "" if is_paper else "OR entity_id IN (SELECT entity_id FROM list_items)"
    connection.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE list_pages AS
        SELECT page_id FROM snapshot WHERE regexp_matches(title, $titles) {by_class}
        """,
        {"titles": _TITLES_OF_PAPER if is_paper else list_title_pattern(language)},
    )


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
