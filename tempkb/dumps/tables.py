"""Tables of the dumps: which files there are, and which pages today's tables know."""

from tempkb.store.tables import Column, Family, Rule, Table
from tempkb.store.types import BOOL, DATE, INSTANT, INT32, INT64, STRING

WIKI = Column("wiki", STRING, "database name of the wiki, such as simplewiki")
DUMP_ID = Column("dump_id", STRING, "dump the row comes from: <wiki>-<YYYYMMDD>, or <wiki>-<hash> without a date")

ENTITY_ID_SOURCE = Column(
    "entity_id_source",
    STRING,
    "what tells the item: page_props, or sitelink (the Wikidata dump nearest in time); null without an item",
)
PAGE_PROPS, SITELINK = "page_props", "sitelink"
ITEM_HAS_A_SOURCE = Rule(
    "item_has_a_source",
    "an item comes with its source, page_props or sitelink, and without an item there is none",
    "(entity_id IS NULL) <> (entity_id_source IS NULL) OR entity_id_source NOT IN ('page_props', 'sitelink')",
)

DUMP_FILES = Table(
    name="dump_files",
    meaning="Files of each dump that tempkb knows of, with what became of them.",
    columns=(
        WIKI,
        DUMP_ID,
        Column("file_name", STRING, "name of the file"),
        Column("kind", STRING, "history (pages with revisions), entities (Wikidata) or the name of an SQL table"),
        Column("dump_date", DATE, "day of the dump; null when neither folder nor name tells"),
        Column(
            "horizon", INSTANT, "first instant the dump knows nothing of: its date, else just after its last revision"
        ),
        Column("size_bytes", INT64, "size on disk"),
        Column("checksum", STRING, "sha256 of the file as it lies on disk"),
        Column("status", STRING, "complete, or damaged when a pass over it found a loss"),
        Column("reason", STRING, "where it is damaged and how; null when complete"),
        Column("n_pages", INT64, "pages, or entities, read in the last pass; null before the first"),
        Column("n_revision_elements", INT64, "<revision> tags counted in the bytes; null before the first pass"),
    ),
    key=("dump_id", "file_name"),
    family=Family.DUMP,
    partitioned_by="dump",
    partition_columns=("dump_id",),
    rules=(Rule("known_status", "status is complete or damaged", "status NOT IN ('complete', 'damaged')"),),
)

PAGES = Table(
    name="pages",
    meaning="Pages as a dump's own day knows them, with their Wikidata items.",
    columns=(
        WIKI,
        DUMP_ID,
        Column("page_id", INT64, "number of the page; moves keep it"),
        Column("namespace", INT32, "number of the namespace on the dump's day"),
        Column("title", STRING, "title on the dump's day: spaces, no namespace prefix"),
        Column("entity_id", STRING, "Wikidata item (QID) linked on the dump's day; null when none or unknown"),
        ENTITY_ID_SOURCE,
        Column("is_redirect", BOOL, "does the page redirect on the dump's day?"),
        Column("redirect_namespace", INT32, "namespace of the redirect's target; null when none or unknown"),
        Column("redirect_title", STRING, "title of the redirect's target; null when none or unknown"),
        Column("is_disambiguation", BOOL, "marked as disambiguation; null when there is no page_props table"),
    ),
    key=("page_id",),
    family=Family.DUMP,
    partitioned_by="dump",
    partition_columns=("dump_id",),
    rules=(ITEM_HAS_A_SOURCE,),
    code_version="2",
)

NAMESPACES = Table(
    name="namespaces",
    meaning="Namespaces of the wiki, as the head of the dump's first history file gives them.",
    columns=(
        WIKI,
        DUMP_ID,
        Column("namespace", INT32, "number of the namespace; 0 holds the articles"),
        Column("name", STRING, "its name in the wiki's language; empty for the articles"),
        Column("is_case_sensitive", BOOL, "does the first letter of a title count?"),
    ),
    key=("namespace",),
    family=Family.DUMP,
    partitioned_by="dump",
    partition_columns=("dump_id",),
)

TABLES = (DUMP_FILES, PAGES, NAMESPACES)
