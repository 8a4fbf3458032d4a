"""Tables of the room: clean texts, links as written, and what both mean at each cut."""

from tempkb.dumps.tables import DUMP_ID, WIKI
from tempkb.store.tables import Column, Family, Rule, Table
from tempkb.store.types import BOOL, DATE, FLOAT64, INSTANT, INT8, INT32, INT64, STRING, list_of, struct_of
from tempkb.wikitext.template_tables import table_version

# Raised when the cleaner gives other texts for the same wikitext.
CLEANER_VERSION = 2
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

PAGE_TEXTS = Table(
    name="page_texts",
    meaning="Readable text of every winning revision, each cleaned once, by the quarter it was saved in.",
    columns=(
        WIKI,
        DUMP_ID,
        _QUARTER,
        Column("page_id", INT64, "number of the page"),
        Column("revision_id", INT64, "number of the revision"),
        Column("revision_timestamp", INSTANT, "when it was saved; ages in the text are those of this day"),
        Column("text", STRING, "a line per heading, paragraph and list item; empty for redirects", is_bulk=True),
        Column("n_chars", INT32, "code points of the text"),
        Column("n_words", INT32, "its words: stretches without white space; in scripts without blanks each character"),
        Column("sections", list_of(SECTION), "the lead (level 0), then each heading with the span of its section"),
        Column("paragraphs", list_of(PARAGRAPH), "lines that are no headings: prose or list"),
        Column(
            "holes",
            list_of(HOLE),
            "where something that readers see was left out of a line, in order: its place in the text, the kind "
            "(template, formula, file, extension, argument, markup) and the template's or tag's name",
        ),
        Column("n_unbalanced", INT32, "braces and brackets without a partner, mended by guess"),
    ),
    key=("page_id", "revision_id"),
    family=Family.WINDOW,
    partitioned_by="quarter of the revision",
    partition_columns=("quarter",),
    persist="view",
    row_group_rows=1024,
    code_version=_TEXTS_VERSION,
)

PAGE_LINKS = Table(
    name="page_links",
    meaning="Links in the readable texts as written, with exact spans; not resolved, since targets change.",
    columns=(
        WIKI,
        DUMP_ID,
        _QUARTER,
        Column("page_id", INT64, "page that holds the link"),
        Column("revision_id", INT64, "revision that holds it"),
        Column("start_char", INT32, "where the surface begins in page_texts.text, in code points"),
        Column("end_char", INT32, "first code point behind it"),
        Column("surface", STRING, "what readers see: text[start_char:end_char]"),
        Column("target", STRING, "target as written, without what is around it"),
        Column("kind", STRING, "page, section (names a part), interwiki (another wiki), or invalid (no title)"),
        Column("target_namespace", INT32, "namespace the target names"),
        Column("target_title", STRING, "its title, normalised; empty when only a section is named"),
        Column("target_section", STRING, "the part that is named; null when none is"),
    ),
    key=("page_id", "revision_id", "start_char"),
    family=Family.WINDOW,
    partitioned_by="quarter of the revision",
    partition_columns=("quarter",),
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

MENTIONS = Table(
    name="mentions",
    meaning="Links from one article to another as they lead at the cut, redirects followed.",
    columns=(
        WIKI,
        DUMP_ID,
        _WINDOW,
        _CUT,
        Column("source_page_id", INT64, "article that mentions"),
        Column("source_revision_id", INT64, "its winning revision at the cut"),
        Column("start_char", INT32, "where the surface begins in that revision's clean text"),
        Column("end_char", INT32, "first code point behind it"),
        Column("surface", STRING, "what readers see"),
        Column("target_title", STRING, "title that the link names, before redirects"),
        Column("target_page_id", INT64, "article it leads to at the cut"),
        Column("target_entity_id", STRING, "Wikidata item of that article, linked on the dump's day"),
        Column(
            "via_redirect",
            STRING,
            "no (it names the article itself), page (it leads there through redirects), or section (one of these "
            "points at a part of a page, so the article as a whole is not what is meant)",
        ),
        Column("source_is_disambiguation", BOOL, "the page that mentions only lists what a name may mean"),
        Column("target_is_disambiguation", BOOL, "the page it leads to only lists what a name may mean"),
    ),
    key=("source_page_id", "start_char"),
    family=Family.WINDOW,
    partitioned_by="window",
    partition_columns=("window_start",),
    rules=(
        Rule("no_page_mentions_itself", "links to the own page are left out", "source_page_id = target_page_id"),
        Rule("known_redirect", "via_redirect is no, page or section", "via_redirect NOT IN ('no', 'page', 'section')"),
    ),
    code_version="2",
)

_SURFACE = Column("surface", STRING, "the surface in lower case: what is counted together")

INVERTED_INDEX = Table(
    name="inverted_index",
    meaning="For each entity and surface at the cut, the articles that mention it so, and how often; mentions of parts "
    "of an article (via_redirect = section) are not counted.",
    columns=(
        WIKI,
        DUMP_ID,
        _WINDOW,
        _CUT,
        Column("target_page_id", INT64, "article that is mentioned"),
        _SURFACE,
        Column("source_page_id", INT64, "article that mentions it"),
        Column("n_mentions", INT64, "how often it does so with this surface"),
        Column("n_direct", INT64, "of these, links that name the article itself, not a redirect"),
    ),
    key=("target_page_id", "surface", "source_page_id"),
    family=Family.WINDOW,
    partitioned_by="window",
    partition_columns=("window_start",),
    code_version="2",
)

MENTION_PRIORS = Table(
    name="mention_priors",
    meaning="How likely a surface means an entity at the cut: P(entity | surface), TempEL's equation 1.",
    columns=(
        WIKI,
        DUMP_ID,
        _WINDOW,
        _CUT,
        _SURFACE,
        Column("target_page_id", INT64, "article that is mentioned"),
        Column("n_links", INT64, "mentions of the article with this surface"),
        Column("n_direct", INT64, "of these, links that name the article itself, not a redirect"),
        Column("prior", FLOAT64, "n_links as a share of all mentions with this surface"),
        Column("rank_in_entity", INT32, "dense rank of the prior among the article's surfaces, 1 the highest"),
        Column("rank_in_surface", INT32, "dense rank of the prior among the surface's articles, 1 the highest"),
    ),
    key=("surface", "target_page_id"),
    family=Family.WINDOW,
    partitioned_by="window",
    partition_columns=("window_start",),
    rules=(Rule("is_a_share", "a prior lies in (0, 1]", "prior <= 0 OR prior > 1 OR n_direct > n_links"),),
    code_version="2",
)

ENTITY_POPULARITY = Table(
    name="entity_popularity",
    meaning="How often each article is mentioned and edited up to the cut.",
    columns=(
        WIKI,
        DUMP_ID,
        _WINDOW,
        _CUT,
        Column("page_id", INT64, "article"),
        Column("n_inlinks", INT64, "mentions of it in other articles"),
        Column("n_surfaces", INT64, "distinct surfaces of these, in lower case"),
        Column("entity_prior", FLOAT64, "n_inlinks as a share of all mentions in the snapshot"),
        Column("n_revisions", INT64, "revisions saved before the cut"),
        Column("n_contributors", INT64, "distinct known contributors before the cut"),
    ),
    key=("page_id",),
    family=Family.WINDOW,
    partitioned_by="window",
    partition_columns=("window_start",),
    code_version="2",
)

TABLES = (PAGE_TEXTS, PAGE_LINKS, MENTIONS, INVERTED_INDEX, MENTION_PRIORS, ENTITY_POPULARITY)
