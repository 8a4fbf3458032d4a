"""Finds the mentions of a snapshot that a release can use: TempEL's filters in the released order, in SQL.

List pages are found by Wikidata's classes, and by the words of titles in the wiki's language.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa
from duckdb.func import PythonUDFType

from tempkb.benchmarks.tempel.design import Design, Left
from tempkb.benchmarks.tempel.similarity import bare_surface, bare_title, normalised_distances
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
