"""Declares the views over the room's tables: what is left out of the readable texts, and by which templates."""

from tempkb.mentions.tables import PAGE_TEXTS
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

VIEWS = (HOLE_SOURCES, HOLE_SHARES)
