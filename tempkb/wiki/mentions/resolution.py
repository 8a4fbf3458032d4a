"""Resolves links at a cut and counts them, in SQL over the lake's files; no row passes through Python."""

from collections.abc import Iterator
from functools import partial

import duckdb
import pyarrow as pa

from tempkb.core.filtering import LeftOut
from tempkb.engine.steps import Work

# MediaWiki follows one redirect only, and bots shorten chains later. Chains up to this length are followed as if they
# were shortened already.
LONGEST_CHAIN = 8


def resolve(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the table `links_at_cut`: all links of the snapshot's articles, with their targets at the cut.

    `reason` says why a link is not a mention; it is null for mentions. Needs the
    views `snapshot` (stable_snapshots of one window) and `links` (page_links of all
    quarters up to its cut).
    """
    connection.execute(
        """
        CREATE OR REPLACE TEMP TABLE page AS
        SELECT wiki, dump_id, window_start, cut, page_id, revision_id, namespace, title, redirect_namespace,
               redirect_title, redirect_section, is_blank, is_disambiguation, entity_id,
               redirect_title IS NULL AND NOT is_blank AND namespace = 0 AS is_article
        FROM snapshot
        """
    )
    # Two pages may have the same title at a cut, if a page was moved without a comment. An article is preferred to a
    # redirect, and then the page with the smaller number.
    connection.execute(
        """
        CREATE OR REPLACE TEMP TABLE named AS
        SELECT namespace, title, arg_min(page_id, (NOT is_article, is_blank, page_id)) AS page_id
        FROM page GROUP BY namespace, title
        """
    )
    connection.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE redirected AS
        WITH RECURSIVE chain(page_id, stop, hops, to_section) AS (
            SELECT page_id, page_id, 0, false FROM page WHERE redirect_title IS NOT NULL
            UNION ALL
            SELECT chain.page_id, named.page_id, chain.hops + 1, chain.to_section OR page.redirect_section IS NOT NULL
            FROM chain JOIN page ON page.page_id = chain.stop
            JOIN named ON named.namespace = page.redirect_namespace AND named.title = page.redirect_title
            WHERE page.redirect_title IS NOT NULL AND chain.hops < {LONGEST_CHAIN}
        )
        SELECT chain.page_id, chain.stop AS target_page_id, chain.to_section
        FROM chain JOIN page ON page.page_id = chain.stop
        WHERE page.redirect_title IS NULL
        """
    )
    connection.execute(
        """
        CREATE OR REPLACE TEMP TABLE links_at_cut AS
        SELECT source.wiki, source.dump_id, source.window_start, source.cut,
               source.page_id AS source_page_id, source.revision_id AS source_revision_id, source.title AS source_title,
               links.start_char, links.end_char, links.surface, links.target_title,
               target.page_id AS target_page_id, target.entity_id AS target_entity_id,
               CASE WHEN redirect.page_id IS NULL THEN 'no' WHEN redirected.to_section THEN 'section' ELSE 'page' END
                   AS via_redirect,
               source.is_disambiguation AS source_is_disambiguation,
               target.is_disambiguation AS target_is_disambiguation,
               CASE
                   WHEN links.kind = 'interwiki' THEN 'leads to another wiki'
                   WHEN links.kind = 'invalid' THEN 'names no possible title'
                   WHEN links.target_namespace <> 0 THEN 'leads out of the articles'
                   WHEN links.kind = 'section' THEN 'names a section'
                   WHEN named.page_id IS NULL THEN 'red link'
                   WHEN target.page_id IS NULL THEN 'redirect that leads nowhere'
                   WHEN target.page_id = source.page_id THEN 'leads to its own page'
                   WHEN NOT target.is_article THEN 'leads to a page that is no article'
               END AS reason
        FROM links JOIN page AS source USING (page_id, revision_id)
        LEFT JOIN named ON links.kind = 'page' AND named.namespace = links.target_namespace
             AND named.title = links.target_title
        LEFT JOIN page AS redirect ON redirect.page_id = named.page_id AND redirect.redirect_title IS NOT NULL
        LEFT JOIN redirected ON redirected.page_id = named.page_id
        LEFT JOIN page AS target ON target.page_id = CASE
             WHEN redirect.page_id IS NULL THEN named.page_id ELSE redirected.target_page_id END
        WHERE source.is_article
        """
    )


def mentions(work: Work) -> Iterator[pa.Table]:
    """Return the mentions of a window, from links, texts and its snapshot; links that are none are left out."""
    resolve(work.connection)
    count_left_out(work.connection, work.left_out)
    return work.rows(
        "SELECT * EXCLUDE (source_title, reason) FROM links_at_cut WHERE reason IS NULL "
        "ORDER BY source_page_id, start_char"
    )


# A link through a redirect to a section names a part of a page. It stays a mention, but is not counted in the index.
_INVERTED_INDEX = """
    SELECT any_value(wiki) AS wiki, any_value(dump_id) AS dump_id, any_value(window_start) AS window_start,
           any_value(cut) AS cut, target_page_id, lower(surface) AS surface, source_page_id,
           count(*) AS n_mentions, count(*) FILTER (WHERE via_redirect = 'no') AS n_direct
    FROM mentions WHERE via_redirect <> 'section' GROUP BY target_page_id, lower(surface), source_page_id
    ORDER BY target_page_id, surface, source_page_id
"""

_MENTION_PRIORS = """
    WITH counted AS (
        SELECT any_value(wiki) AS wiki, any_value(dump_id) AS dump_id, any_value(window_start) AS window_start,
               any_value(cut) AS cut, surface, target_page_id,
               sum(n_mentions)::BIGINT AS n_links, sum(n_direct)::BIGINT AS n_direct
        FROM inverted_index GROUP BY surface, target_page_id
    ), shared AS (
        SELECT *, n_links::DOUBLE / sum(n_links) OVER (PARTITION BY surface)::DOUBLE AS prior FROM counted
    )
    SELECT *, dense_rank() OVER (PARTITION BY target_page_id ORDER BY prior DESC)::INTEGER AS rank_in_entity,
           dense_rank() OVER (PARTITION BY surface ORDER BY prior DESC)::INTEGER AS rank_in_surface
    FROM shared ORDER BY surface, target_page_id
"""

_ENTITY_POPULARITY = """
    WITH counted AS (
        SELECT target_page_id AS page_id, sum(n_links)::BIGINT AS n_inlinks, count(*) AS n_surfaces
        FROM mention_priors GROUP BY target_page_id
    ), everything AS (SELECT sum(n_inlinks) AS n FROM counted)
    SELECT wiki, dump_id, window_start, cut, page_id, coalesce(n_inlinks, 0) AS n_inlinks,
           coalesce(n_surfaces, 0) AS n_surfaces,
           CASE WHEN n > 0 THEN coalesce(n_inlinks, 0)::DOUBLE / n::DOUBLE ELSE 0 END AS entity_prior,
           n_revisions, n_contributors
    FROM snapshot LEFT JOIN counted USING (page_id) CROSS JOIN everything
    WHERE namespace = 0 AND redirect_title IS NULL AND NOT is_blank
    ORDER BY page_id
"""
inverted_index = partial(Work.rows, query=_INVERTED_INDEX)
mention_priors = partial(Work.rows, query=_MENTION_PRIORS)
entity_popularity = partial(Work.rows, query=_ENTITY_POPULARITY)


def count_left_out(connection: duckdb.DuckDBPyConnection, left_out: LeftOut) -> None:
    """Count the links that are not mentions, and the articles of windows that were built without texts.

    Needs the table `links_at_cut`, and the views `snapshot` and `texts` (page_texts of the same quarters).
    """
    for reason, n, example in connection.execute(
        """
        SELECT reason, count(*), min(format('{} in {}: {} -> {}', cut, source_title, surface, target_title))
        FROM links_at_cut WHERE reason IS NOT NULL GROUP BY reason ORDER BY reason
        """
    ).fetchall():
        left_out.add(reason, example, n)
    n, example = connection.execute(
        """
        SELECT count(*), min(format('{} at {}', title, cut)) FROM snapshot
        WHERE has_text AND redirect_title IS NULL AND NOT is_blank AND namespace = 0
          AND revision_id NOT IN (SELECT revision_id FROM texts)
        """
    ).fetchall()[0]
    left_out.add("article_without_text", example or "", n)
