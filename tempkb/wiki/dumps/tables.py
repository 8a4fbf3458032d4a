"""Tables of the dumps that Wikimedia publishes: their files, and the pages and namespaces of their day."""

from tempkb.engine.room import Room
from tempkb.store.columns import columns, rules
from tempkb.store.tables import table_of_dumps

PAGE_PROPS, SITELINK = "page_props", "sitelink"
ITEM_HAS_A_SOURCE = rules("""
    item_has_a_source: an item comes with its source, page_props or sitelink, and without an item there is none
        (entity_id IS NULL) <> (entity_id_source IS NULL) OR entity_id_source NOT IN ('page_props', 'sitelink')
""")

DUMP_FILES = table_of_dumps(
    name="dump_files",
    meaning="Files of each registered dump, with the result of reading them.",
    columns=columns("""
        wiki, dump_id
        file_name VARCHAR: name of the file
        kind VARCHAR: history (pages with revisions), entities (Wikidata) or the name of an SQL table
        dump_date DATE: day of the dump; null if neither folder nor file name gives it
        horizon TIMESTAMPTZ: first instant that the dump does not cover: its date, else just after its last revision
        size_bytes BIGINT: size in bytes
        checksum VARCHAR: SHA-256 of the file as stored
        status VARCHAR: complete, or damaged if reading it found a loss
        reason VARCHAR: where and how it is damaged; null if complete
        n_pages BIGINT: pages or entities in the file, from its last reading; null before the first
        n_revision_elements BIGINT: <revision> tags counted in the bytes; null before the first reading
    """),
    key=("dump_id", "file_name"),
    rules=rules("""
        known_status: status is complete or damaged
            status NOT IN ('complete', 'damaged')
    """),
)

PAGES = table_of_dumps(
    name="pages",
    meaning="Pages as of a dump's day, with their Wikidata items.",
    columns=columns("""
        wiki, dump_id, page_id
        namespace INTEGER: namespace number on the dump's day
        title VARCHAR: title on the dump's day, with spaces and without namespace prefix
        entity_id, entity_id_source
        is_redirect BOOLEAN: is the page a redirect on the dump's day?
        redirect_namespace INTEGER: namespace of the redirect's target; null if none or unknown
        redirect_title VARCHAR: title of the redirect's target; null if none or unknown
        is_disambiguation BOOLEAN: is it marked as a disambiguation page? null without a page_props table
    """),
    key=("page_id",),
    rules=ITEM_HAS_A_SOURCE,
    code_version="2",
)

NAMESPACES = table_of_dumps(
    name="namespaces",
    meaning="Namespaces of the wiki, from the header of the dump's first history file.",
    columns=columns("""
        wiki, dump_id
        namespace INTEGER: namespace number; 0 holds the articles
        name VARCHAR: name in the wiki's language; empty for the articles
        is_case_sensitive BOOLEAN: is the case of a title's first letter significant?
    """),
    key=("namespace",),
)

TABLES = (DUMP_FILES, PAGES, NAMESPACES)


ROOM = Room("dumps", TABLES, (), "tempkb.wiki.dumps.steps")
