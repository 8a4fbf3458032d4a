"""Tables of the dumps: which files there are, and which pages today's tables know."""

import pyarrow as pa

from tempkb.store.tables import INSTANT, Column, Family, Rule, Table

WIKI = Column("wiki", pa.string(), "database name of the wiki, such as simplewiki")
DUMP_ID = Column("dump_id", pa.string(), "dump the row comes from: <wiki>-<YYYYMMDD>, or <wiki>-<hash> without a date")

ENTITY_ID_SOURCE = Column(
    "entity_id_source",
    pa.string(),
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
        Column("file_name", pa.string(), "name of the file"),
        Column("kind", pa.string(), "history (pages with revisions), entities (Wikidata) or the name of an SQL table"),
        Column("dump_date", pa.date32(), "day of the dump; null when neither folder nor name tells"),
        Column(
            "horizon", INSTANT, "first instant the dump knows nothing of: its date, else just after its last revision"
        ),
        Column("size_bytes", pa.int64(), "size on disk"),
        Column("checksum", pa.string(), "sha256 of the file as it lies on disk"),
        Column("status", pa.string(), "complete, or damaged when a pass over it found a loss"),
        Column("reason", pa.string(), "where it is damaged and how; null when complete"),
        Column("n_pages", pa.int64(), "pages, or entities, read in the last pass; null before the first"),
        Column("n_revision_elements", pa.int64(), "<revision> tags counted in the bytes; null before the first pass"),
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
        Column("page_id", pa.int64(), "number of the page; moves keep it"),
        Column("namespace", pa.int32(), "number of the namespace on the dump's day"),
        Column("title", pa.string(), "title on the dump's day: spaces, no namespace prefix"),
        Column("entity_id", pa.string(), "Wikidata item (QID) linked on the dump's day; null when none or unknown"),
        ENTITY_ID_SOURCE,
        Column("is_redirect", pa.bool_(), "does the page redirect on the dump's day?"),
        Column("redirect_namespace", pa.int32(), "namespace of the redirect's target; null when none or unknown"),
        Column("redirect_title", pa.string(), "title of the redirect's target; null when none or unknown"),
        Column("is_disambiguation", pa.bool_(), "marked as disambiguation; null when there is no page_props table"),
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
        Column("namespace", pa.int32(), "number of the namespace; 0 holds the articles"),
        Column("name", pa.string(), "its name in the wiki's language; empty for the articles"),
        Column("is_case_sensitive", pa.bool_(), "does the first letter of a title count?"),
    ),
    key=("namespace",),
    family=Family.DUMP,
    partitioned_by="dump",
    partition_columns=("dump_id",),
)

TABLES = (DUMP_FILES, PAGES, NAMESPACES)
