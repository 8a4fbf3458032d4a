"""Declares the room's tables: readable texts and links by revision, and mentions, priors and popularity by cut."""

from tempkb.dumps.tables import DUMP_ID, WIKI
from tempkb.store.tables import Column, Rule, table_of_quarters, table_of_windows
from tempkb.store.types import BOOL, DATE, FLOAT64, INSTANT, INT8, INT32, INT64, STRING, list_of, struct_of
from tempkb.wikitext.template_tables import table_version

# Raised when the cleaner gives other texts or links for the same wikitext.
CLEANER_VERSION = 7
_TEXTS_VERSION = f"{CLEANER_VERSION}.{table_version()}"

_QUARTER = Column("quarter", DATE, "first day of the quarter in which the revision was saved")
_WINDOW = Column("window_start", DATE, "first day of the window that ends at the cut")
_CUT = Column("cut", DATE, "midnight UTC of this day: the first instant not in the snapshot")

SECTION = struct_of(
    ("level", INT8),
    ("title", STRING),
    ("start_char", INT32),
    ("body_start_char", INT32),
    ("end_char", INT32),
)
PARAGRAPH = struct_of(("kind", STRING), ("start_char", INT32), ("end_char", INT32))
HOLE = struct_of(("offset_char", INT32), ("kind", STRING), ("name", STRING))

PAGE_TEXTS = table_of_quarters(
    name="page_texts",
    meaning="The readable text of every winning revision. Each is cleaned once.",
    columns=(
        WIKI,
        DUMP_ID,
        _QUARTER,
        Column("page_id", INT64, "number of the page"),
        Column("revision_id", INT64, "number of the revision"),
        Column("revision_timestamp", INSTANT, "when it was saved; ages in the text are computed for this day"),
        Column("text", STRING, "one line per heading, paragraph and list item; empty for redirects", is_bulk=True),
        Column("n_chars", INT32, "number of code points of the text"),
        Column(
            "n_words",
            INT32,
            "number of words, separated by white space; in scripts without spaces each character is one",
        ),
        Column("sections", list_of(SECTION), "the lead (level 0), then each heading, with the span of its section"),
        Column("paragraphs", list_of(PARAGRAPH), "spans of the lines that are not headings; kind is prose or list"),
        Column(
            "holes",
            list_of(HOLE),
            "places where something that readers see was left out of a line, in order: offset in the text, kind "
            "(template, formula, file, extension, argument or markup), and name of the template or tag",
        ),
        Column(
            "n_unbalanced", INT32, "number of braces and brackets without a partner, which were repaired by a guess"
        ),
    ),
    key=("page_id", "revision_id"),
    persist="view",
    row_group_rows=1024,
    code_version=_TEXTS_VERSION,
)

PAGE_LINKS = table_of_quarters(
    name="page_links",
    meaning="The links in the readable texts, as written and with their spans. mentions has their targets at each cut.",
    columns=(
        WIKI,
        DUMP_ID,
        _QUARTER,
        Column("page_id", INT64, "page with the link"),
        Column("revision_id", INT64, "revision with the link"),
        Column("start_char", INT32, "offset of the surface in page_texts.text, in code points"),
        Column("end_char", INT32, "offset of the first code point after the surface"),
        Column("surface", STRING, "the text that readers see: text[start_char:end_char]"),
        Column("target", STRING, "the target as written, without brackets and label"),
        Column("kind", STRING, "page, section (a section of a page), interwiki (another wiki) or invalid (no title)"),
        Column("target_namespace", INT32, "namespace of the target"),
        Column("target_title", STRING, "normalised title of the target; empty for a section of the same page"),
        Column("target_section", STRING, "section that the target names; null if it names none"),
    ),
    key=("page_id", "revision_id", "start_char"),
    rules=(
        Rule(
            "surface_fills_its_span",
            "a span is as long as its surface",
            "end_char - start_char <> length(surface) OR start_char < 0 OR surface = ''",
        ),
        Rule(
            "known_kind",
            "kind is page, section, interwiki or invalid",
            "kind NOT IN ('page', 'section', 'interwiki', 'invalid')",
        ),
    ),
    code_version=_TEXTS_VERSION,
)

MENTIONS = table_of_windows(
    name="mentions",
    meaning="Links from one article to another, resolved at the cut, with redirects followed.",
    columns=(
        WIKI,
        DUMP_ID,
        _WINDOW,
        _CUT,
        Column("source_page_id", INT64, "article with the mention"),
        Column("source_revision_id", INT64, "its winning revision at the cut"),
        Column("start_char", INT32, "offset of the surface in that revision's readable text, in code points"),
        Column("end_char", INT32, "offset of the first code point after the surface"),
        Column("surface", STRING, "the text that readers see"),
        Column("target_title", STRING, "title that the link names, before redirects are followed"),
        Column("target_page_id", INT64, "article to which it leads at the cut"),
        Column("target_entity_id", STRING, "Wikidata item of that article, as linked on the dump's day"),
        Column(
            "via_redirect",
            STRING,
            "no (the link names the article itself), page (it leads there through redirects), or section (a redirect "
            "leads to a section, so the link does not mean the whole article)",
        ),
        Column("source_is_disambiguation", BOOL, "true if the article with the mention is a disambiguation page"),
        Column("target_is_disambiguation", BOOL, "true if the article to which it leads is a disambiguation page"),
    ),
    key=("source_page_id", "start_char"),
    rules=(
        Rule("no_page_mentions_itself", "links of a page to itself are left out", "source_page_id = target_page_id"),
        Rule("known_redirect", "via_redirect is no, page or section", "via_redirect NOT IN ('no', 'page', 'section')"),
    ),
    code_version="2",
)

_SURFACE = Column("surface", STRING, "the surface in lower case")

INVERTED_INDEX = table_of_windows(
    name="inverted_index",
    meaning="For each entity and surface at the cut, the articles that mention the entity with this surface, and how "
    "often. Mentions of a section (via_redirect = section) are not counted.",
    columns=(
        WIKI,
        DUMP_ID,
        _WINDOW,
        _CUT,
        Column("target_page_id", INT64, "article that is mentioned"),
        _SURFACE,
        Column("source_page_id", INT64, "article that mentions it"),
        Column("n_mentions", INT64, "number of its mentions with this surface"),
        Column("n_direct", INT64, "number of these that name the article itself, not a redirect"),
    ),
    key=("target_page_id", "surface", "source_page_id"),
    code_version="2",
)

MENTION_PRIORS = table_of_windows(
    name="mention_priors",
    meaning="The probability that a surface means an entity at the cut: P(entity | surface), equation 1 of TempEL.",
    columns=(
        WIKI,
        DUMP_ID,
        _WINDOW,
        _CUT,
        _SURFACE,
        Column("target_page_id", INT64, "article that is mentioned"),
        Column("n_links", INT64, "number of mentions of the article with this surface"),
        Column("n_direct", INT64, "number of these that name the article itself, not a redirect"),
        Column("prior", FLOAT64, "n_links as a share of all mentions with this surface"),
        Column("rank_in_entity", INT32, "dense rank of the prior among the article's surfaces; 1 is the highest"),
        Column("rank_in_surface", INT32, "dense rank of the prior among the surface's articles; 1 is the highest"),
    ),
    key=("surface", "target_page_id"),
    rules=(Rule("is_a_share", "a prior lies in (0, 1]", "prior <= 0 OR prior > 1 OR n_direct > n_links"),),
    code_version="2",
)

ENTITY_POPULARITY = table_of_windows(
    name="entity_popularity",
    meaning="How often each article is mentioned at the cut, and how often it was edited before it.",
    columns=(
        WIKI,
        DUMP_ID,
        _WINDOW,
        _CUT,
        Column("page_id", INT64, "article"),
        Column("n_inlinks", INT64, "number of its mentions in other articles"),
        Column("n_surfaces", INT64, "number of distinct surfaces of these mentions, in lower case"),
        Column("entity_prior", FLOAT64, "n_inlinks as a share of all mentions in the snapshot"),
        Column("n_revisions", INT64, "number of revisions that were saved before the cut"),
        Column("n_contributors", INT64, "number of distinct known contributors before the cut"),
    ),
    key=("page_id",),
    code_version="2",
)

TABLES = (PAGE_TEXTS, PAGE_LINKS, MENTIONS, INVERTED_INDEX, MENTION_PRIORS, ENTITY_POPULARITY)
