"""Tables of the dumps: their files, and the pages and namespaces of their day."""

from tempkb.store.tables import Column, Rule, table_of_dumps
from tempkb.store.types import BOOL, DATE, INSTANT, INT32, INT64, STRING

WIKI = Column("wiki", STRING, "database name of the wiki, such as simplewiki")
DUMP_ID = Column(
    "dump_id", STRING, "dump from which the row comes: <wiki>-<YYYYMMDD>, or <wiki>-<hash> if its date is unknown"
)

ENTITY_ID_SOURCE = Column(
    "entity_id_source",
    STRING,
    "source of the item: page_props, or sitelink (of the Wikidata dump nearest in time); null without an item",
)
PAGE_PROPS, SITELINK = "page_props", "sitelink"
ITEM_HAS_A_SOURCE = Rule(
    "item_has_a_source",
    "an item comes with its source, page_props or sitelink, and without an item there is none",
    "(entity_id IS NULL) <> (entity_id_source IS NULL) OR entity_id_source NOT IN ('page_props', 'sitelink')",
)

DUMP_FILES = table_of_dumps(
    name="dump_files",
    meaning="Files of each registered dump, with the result of reading them.",
    columns=(
        WIKI,
        DUMP_ID,
        Column("file_name", STRING, "name of the file"),
        Column("kind", STRING, "history (pages with revisions), entities (Wikidata) or the name of an SQL table"),
        Column("dump_date", DATE, "day of the dump; null if neither folder nor file name gives it"),
        Column(
            "horizon",
            INSTANT,
            "first instant that the dump does not cover: its date, else just after its last revision",
        ),
        Column("size_bytes", INT64, "size in bytes"),
        Column("checksum", STRING, "SHA-256 of the file as stored"),
        Column("status", STRING, "complete, or damaged if reading it found a loss"),
        Column("reason", STRING, "where and how it is damaged; null if complete"),
        Column("n_pages", INT64, "pages or entities in the file, from its last reading; null before the first"),
        Column("n_revision_elements", INT64, "<revision> tags counted in the bytes; null before the first reading"),
    ),
    key=("dump_id", "file_name"),
    rules=(Rule("known_status", "status is complete or damaged", "status NOT IN ('complete', 'damaged')"),),
)

PAGES = table_of_dumps(
    name="pages",
    meaning="Pages as of a dump's day, with their Wikidata items.",
    columns=(
        WIKI,
        DUMP_ID,
        Column("page_id", INT64, "page id; a move does not change it"),
        Column("namespace", INT32, "namespace number on the dump's day"),
        Column("title", STRING, "title on the dump's day, with spaces and without namespace prefix"),
        Column("entity_id", STRING, "Wikidata item (QID) linked on the dump's day; null if none or unknown"),
        ENTITY_ID_SOURCE,
        Column("is_redirect", BOOL, "is the page a redirect on the dump's day?"),
        Column("redirect_namespace", INT32, "namespace of the redirect's target; null if none or unknown"),
        Column("redirect_title", STRING, "title of the redirect's target; null if none or unknown"),
        Column("is_disambiguation", BOOL, "is it marked as a disambiguation page? null without a page_props table"),
    ),
    key=("page_id",),
    rules=(ITEM_HAS_A_SOURCE,),
    code_version="2",
)

NAMESPACES = table_of_dumps(
    name="namespaces",
    meaning="Namespaces of the wiki, from the header of the dump's first history file.",
    columns=(
        WIKI,
        DUMP_ID,
        Column("namespace", INT32, "namespace number; 0 holds the articles"),
        Column("name", STRING, "name in the wiki's language; empty for the articles"),
        Column("is_case_sensitive", BOOL, "is the case of a title's first letter significant?"),
    ),
    key=("namespace",),
)

TABLES = (DUMP_FILES, PAGES, NAMESPACES)
