"""Declares the views over the room's tables: what is left out of the readable texts, and links that lead nowhere."""

from tempkb.mentions.tables import PAGE_LINKS, PAGE_TEXTS
from tempkb.revisions.tables import STABLE_SNAPSHOTS
from tempkb.store.tables import View

HOLE_SOURCES = View(
    name="hole_sources",
    meaning="What is left out of the lines of page_texts, by kind and name. Those that damage the most lines come "
    "first; their templates are the first to add to the cleaner's tables.",
    query=f"""
    WITH damaged AS (
        SELECT wiki, page_id, revision_id, line.start_char AS start_char, hole
        FROM (SELECT wiki, page_id, revision_id, unnest(paragraphs) AS line, holes FROM {PAGE_TEXTS.name}
              WHERE len(holes) > 0) AS lines,
             unnest(holes) AS found(hole)
        WHERE hole.offset_char BETWEEN line.start_char AND line.end_char
    )
    SELECT wiki, hole.kind AS kind, hole.name AS name, count(*) AS n_holes,
           count(DISTINCT (page_id, revision_id, start_char)) AS n_lines,
           count(DISTINCT page_id) AS n_pages, min(page_id) AS example_page_id
    FROM damaged GROUP BY wiki, kind, name ORDER BY n_lines DESC, n_holes DESC, kind, name
    """,
    needs=(PAGE_TEXTS.name,),
)

HOLE_SHARES = View(
    name="hole_shares",
    meaning="How many lines of page_texts (paragraphs and list items) have a hole, something left out, by wiki.",
    query=f"""
    SELECT wiki, count(*) AS n_texts, sum(len(paragraphs))::BIGINT AS n_lines, sum(n_damaged)::BIGINT AS n_damaged,
           sum(n_damaged) / nullif(sum(len(paragraphs)), 0) AS damaged_share
    FROM (
        SELECT wiki, paragraphs, len([one FOR one IN paragraphs IF len(
            [hole FOR hole IN holes IF hole.offset_char BETWEEN one.start_char AND one.end_char]) > 0]) AS n_damaged
        FROM {PAGE_TEXTS.name} WHERE n_chars > 0
    )
    GROUP BY wiki ORDER BY wiki
    """,
    needs=(PAGE_TEXTS.name,),
)

RED_LINKS = View(
    name="red_links",
    meaning="Links of articles whose title no page has at the cut, which mentions leaves out: mentions of what has no "
    "article yet, never will, or is misspelt. became_article_at is the first later cut that is built at which an "
    "article has the title; null if none has. Choose a cut, since each has its own rows.",
    query=f"""
    WITH articles AS (
        SELECT * FROM {STABLE_SNAPSHOTS.name} WHERE namespace = 0 AND redirect_title IS NULL AND NOT is_blank
    ), red AS (
        SELECT s.wiki, s.dump_id, s.window_start, s.cut, s.page_id AS source_page_id,
               s.revision_id AS source_revision_id, start_char, end_char, surface, target_title
        FROM articles AS s JOIN (
            SELECT wiki, page_id, revision_id, start_char, end_char, surface, target_title
            FROM {PAGE_LINKS.name} WHERE kind = 'page' AND target_namespace = 0
        ) USING (wiki, page_id, revision_id)
        ANTI JOIN (
            SELECT wiki, cut, title AS target_title FROM {STABLE_SNAPSHOTS.name} WHERE namespace = 0
        ) USING (wiki, cut, target_title)
    ), named AS (SELECT wiki, cut, title FROM articles WHERE title IN (SELECT target_title FROM red))
    SELECT red.*, named.cut AS became_article_at
    FROM red ASOF LEFT JOIN named
      ON named.wiki = red.wiki AND named.title = red.target_title AND named.cut > red.cut
    """,
    needs=(PAGE_LINKS.name, STABLE_SNAPSHOTS.name),
)

VIEWS = (HOLE_SOURCES, HOLE_SHARES, RED_LINKS)
