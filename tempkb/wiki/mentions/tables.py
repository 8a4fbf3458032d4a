"""Declares the room's tables and views: texts and links by revision, mentions, priors and popularity by cut."""

from tempkb.engine.room import Room
from tempkb.store.columns import columns, rules
from tempkb.store.tables import View, table_of_quarters, table_of_windows
from tempkb.store.types import INT8, INT32, STRING, struct_of
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS
from tempkb.wiki.wikitext.template_tables import table_version

# Raised when the cleaner gives other texts or links for the same wikitext.
CLEANER_VERSION = 7
_TEXTS_VERSION = f"{CLEANER_VERSION}.{table_version()}"

SECTION = struct_of(
    ("level", INT8), ("title", STRING), ("start_char", INT32), ("body_start_char", INT32), ("end_char", INT32)
)
PARAGRAPH = struct_of(("kind", STRING), ("start_char", INT32), ("end_char", INT32))
HOLE = struct_of(("offset_char", INT32), ("kind", STRING), ("name", STRING))

_columns = columns.with_types(HOLE=HOLE, PARAGRAPH=PARAGRAPH, SECTION=SECTION).extended("""
    surface VARCHAR: the surface in lower case
    end_char INTEGER: offset of the first code point after the surface
    target_page_id BIGINT: article that is mentioned
    n_direct BIGINT: number of these that name the article itself, not a redirect
""")

PAGE_TEXTS = table_of_quarters(
    name="page_texts",
    meaning="The readable text of every winning revision. Each is cleaned once.",
    columns=_columns("""
        wiki, dump_id, quarter, page_id, revision_id
        revision_timestamp TIMESTAMPTZ: when it was saved; ages in the text are computed for this day
        text VARCHAR (bulk): one line per heading, paragraph and list item; empty for redirects
        n_chars
        n_words INTEGER: number of words, separated by white space; in scripts without spaces each character is one
        sections SECTION[]: the lead (level 0), then each heading, with the span of its section
        paragraphs PARAGRAPH[]: spans of the lines that are not headings; kind is prose or list
        holes HOLE[]: places where something that readers see was left out of a line, in order: offset in the text, kind
            (template, formula, file, extension, argument or markup), and name of the template or tag
        n_unbalanced INTEGER: number of braces and brackets without a partner, which were repaired by a guess
    """),
    key=("page_id", "revision_id"),
    persist="view",
    row_group_rows=1024,
    code_version=_TEXTS_VERSION,
)

PAGE_LINKS = table_of_quarters(
    name="page_links",
    meaning="The links in the readable texts, as written and with their spans. mentions has their targets at each cut.",
    columns=_columns("""
        wiki, dump_id, quarter, page_id, revision_id
        start_char INTEGER: offset of the surface in page_texts.text, in code points
        end_char
        surface VARCHAR: the text that readers see: text[start_char:end_char]
        target VARCHAR: the target as written, without brackets and label
        kind VARCHAR: page, section (a section of a page), interwiki (another wiki) or invalid (no title)
        target_namespace INTEGER: namespace of the target
        target_title VARCHAR: normalised title of the target; empty for a section of the same page
        target_section VARCHAR: section that the target names; null if it names none
    """),
    key=("page_id", "revision_id", "start_char"),
    rules=rules("""
        surface_fills_its_span: a span is as long as its surface
            end_char - start_char <> length(surface) OR start_char < 0 OR surface = ''
        known_kind: kind is page, section, interwiki or invalid
            kind NOT IN ('page', 'section', 'interwiki', 'invalid')
    """),
    code_version=_TEXTS_VERSION,
)

MENTIONS = table_of_windows(
    name="mentions",
    meaning="Links from one article to another, resolved at the cut, with redirects followed.",
    columns=_columns("""
        wiki, dump_id, window_start, cut
        source_page_id BIGINT: article with the mention
        source_revision_id BIGINT: its winning revision at the cut
        start_char INTEGER: offset of the surface in that revision's readable text, in code points
        end_char
        surface VARCHAR: the text that readers see
        target_title VARCHAR: title that the link names, before redirects are followed
        target_page_id BIGINT: article to which it leads at the cut
        target_entity_id VARCHAR: Wikidata item of that article, as linked on the dump's day
        via_redirect VARCHAR: no (the link names the article itself), page (it leads there through redirects), or
            section (a redirect leads to a section, so the link does not mean the whole article)
        source_is_disambiguation BOOLEAN: true if the article with the mention is a disambiguation page
        target_is_disambiguation BOOLEAN: true if the article to which it leads is a disambiguation page
    """),
    key=("source_page_id", "start_char"),
    rules=rules("""
        no_page_mentions_itself: links of a page to itself are left out
            source_page_id = target_page_id
        known_redirect: via_redirect is no, page or section
            via_redirect NOT IN ('no', 'page', 'section')
    """),
    code_version="2",
)

INVERTED_INDEX = table_of_windows(
    name="inverted_index",
    meaning="For each entity and surface at the cut, the articles that mention the entity with this surface, and how "
    "often. Mentions of a section (via_redirect = section) are not counted.",
    columns=_columns("""
        wiki, dump_id, window_start, cut, target_page_id, surface
        source_page_id BIGINT: article that mentions it
        n_mentions BIGINT: number of its mentions with this surface
        n_direct
    """),
    key=("target_page_id", "surface", "source_page_id"),
    code_version="2",
)

MENTION_PRIORS = table_of_windows(
    name="mention_priors",
    meaning="The probability that a surface means an entity at the cut: P(entity | surface), equation 1 of TempEL.",
    columns=_columns("""
        wiki, dump_id, window_start, cut, surface, target_page_id
        n_links BIGINT: number of mentions of the article with this surface
        n_direct
        prior DOUBLE: n_links as a share of all mentions with this surface
        rank_in_entity INTEGER: dense rank of the prior among the article's surfaces; 1 is the highest
        rank_in_surface INTEGER: dense rank of the prior among the surface's articles; 1 is the highest
    """),
    key=("surface", "target_page_id"),
    rules=rules("""
        is_a_share: a prior lies in (0, 1]
            prior <= 0 OR prior > 1 OR n_direct > n_links
    """),
    code_version="2",
)

ENTITY_POPULARITY = table_of_windows(
    name="entity_popularity",
    meaning="How often each article is mentioned at the cut, and how often it was edited before it.",
    columns=_columns("""
        wiki, dump_id, window_start, cut, page_id, n_inlinks
        n_surfaces BIGINT: number of distinct surfaces of these mentions, in lower case
        entity_prior DOUBLE: n_inlinks as a share of all mentions in the snapshot
        n_revisions, n_contributors
    """),
    key=("page_id",),
    code_version="2",
)

TABLES = (PAGE_TEXTS, PAGE_LINKS, MENTIONS, INVERTED_INDEX, MENTION_PRIORS, ENTITY_POPULARITY)


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


ROOM = Room("mentions", TABLES, VIEWS, "tempkb.wiki.mentions.steps")
