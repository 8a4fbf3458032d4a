"""Tables of the room: all revisions, the chosen revision of each page at each cut, and their texts."""

from tempkb.dumps.tables import DUMP_ID, ENTITY_ID_SOURCE, ITEM_HAS_A_SOURCE, WIKI
from tempkb.store.tables import Column, Rule, table_of_quarters, table_of_windows
from tempkb.store.types import BOOL, DATE, FLOAT64, INSTANT, INT32, INT64, STRING

REVISION_LOG = table_of_windows(
    name="revision_log",
    meaning="Every revision of every page, without its text, by the window in which it was saved.",
    columns=(
        WIKI,
        DUMP_ID,
        Column(
            "window_start",
            DATE,
            "first day of the window in which it was saved; the first window also holds everything earlier",
        ),
        Column("page_id", INT64, "page id"),
        Column("revision_id", INT64, "revision id"),
        Column("parent_id", INT64, "id of the revision on which it is based; null for the first or if unknown"),
        Column("revision_timestamp", INSTANT, "instant at which it was saved"),
        Column("contributor", STRING, "u<account number>, or x<keyed hash> of the name or IP address; null if hidden"),
        Column("text_sha1", STRING, "MediaWiki's base-36 SHA-1 of the main text; null if suppressed or unknown"),
        Column("text_bytes", INT64, "UTF-8 length of the main text; null if suppressed or unknown"),
        Column("is_minor", BOOL, "is it marked as a minor edit?"),
        Column("is_suppressed", BOOL, "is its text hidden from the public?"),
    ),
    key=("page_id", "revision_id"),
    rules=(
        Rule(
            "sized_or_suppressed",
            "a suppressed revision shows neither hash nor length",
            "is_suppressed AND (text_sha1 IS NOT NULL OR text_bytes IS NOT NULL)",
        ),
    ),
)

STABLE_SNAPSHOTS = table_of_windows(
    name="stable_snapshots",
    meaning="For each page and cut, the revision whose text was current longest in the days before the cut.",
    columns=(
        WIKI,
        DUMP_ID,
        Column("window_start", DATE, "first day of the window that ends at the cut"),
        Column("cut", DATE, "midnight UTC of this day: the first instant not in the snapshot"),
        Column("page_id", INT64, "page id"),
        Column("namespace", INT32, "namespace number at the cut"),
        Column("title", STRING, "title at the cut, with spaces and without namespace prefix"),
        Column("title_source", STRING, "move_comment (from the summary of a move) or today (the title in the dump)"),
        Column("revision_id", INT64, "chosen revision: the last one before the cut with the chosen text"),
        Column("revision_timestamp", INSTANT, "instant at which the chosen revision was saved"),
        Column("page_created_at", INSTANT, "instant of the page's first revision, whatever its content"),
        Column(
            "article_since",
            INSTANT,
            "instant of the first text in the main namespace, neither redirect nor blank; null if none",
        ),
        Column("stability_rule", STRING, "rule of the choice: standing, or tempel (looks past the cut)"),
        Column(
            "standing_seconds",
            INT64,
            "seconds for which the chosen text was current in the lookback interval, all spells added up",
        ),
        Column("standing_share", FLOAT64, "standing_seconds as a fraction of the lookback interval"),
        Column("last_stood_at", INSTANT, "end of the chosen text's last spell, at most the cut"),
        Column("n_revisions_in_interval", INT64, "number of revisions saved in the lookback interval"),
        Column("n_revisions", INT64, "number of revisions saved before the cut"),
        Column("n_contributors", INT64, "number of distinct known contributors before the cut"),
        Column("text_sha1", STRING, "MediaWiki's base-36 SHA-1 of the chosen text; null if hidden or unknown"),
        Column(
            "has_text",
            BOOL,
            "did the dump have the text? Then page_wikitexts has it, until a rebuild finds it suppressed",
        ),
        Column("is_blank", BOOL, "is the chosen text empty or white space? Only if the interval had no other text"),
        Column(
            "redirect_namespace", INT32, "namespace of the redirect's target; null if the chosen text is not a redirect"
        ),
        Column("redirect_title", STRING, "title of the redirect's target; null if the chosen text is not a redirect"),
        Column(
            "redirect_section",
            STRING,
            "section of the redirect's target; null if it is the whole page, or not a redirect",
        ),
        Column("is_disambiguation", BOOL, "does the chosen text have a disambiguation template or magic word?"),
        Column("entity_id", STRING, "Wikidata item (QID) linked on the dump's day; null if none or unknown"),
        ENTITY_ID_SOURCE,
    ),
    key=("page_id",),
    rules=(
        # TempEL's rule may choose a revision saved exactly at the cut, and one that was not current in the interval.
        Rule(
            "before_the_cut",
            "no revision at or after its cut",
            "revision_timestamp > cut::TIMESTAMP OR "
            "(revision_timestamp = cut::TIMESTAMP AND stability_rule = 'standing')",
        ),
        Rule(
            "stood_inside",
            "standing time lies inside the interval and before the cut",
            "standing_seconds < 0 OR standing_share > 1 OR last_stood_at > cut::TIMESTAMP OR "
            "(standing_seconds = 0 AND stability_rule = 'standing')",
        ),
        Rule(
            "born_before",
            "a page is created no later than its chosen revision",
            "page_created_at > revision_timestamp OR article_since >= cut::TIMESTAMP",
        ),
        Rule(
            "counted",
            "counts agree with one another",
            "n_revisions < 1 OR n_revisions_in_interval > n_revisions OR n_contributors > n_revisions",
        ),
        ITEM_HAS_A_SOURCE,
    ),
    code_version="4",
)

PAGE_WIKITEXTS = table_of_quarters(
    name="page_wikitexts",
    meaning="Raw wikitext of every chosen revision, each once, by the quarter in which the revision was saved.",
    columns=(
        WIKI,
        DUMP_ID,
        Column("quarter", DATE, "first day of the quarter in which the revision was saved"),
        Column("page_id", INT64, "page id"),
        Column("revision_id", INT64, "revision id"),
        Column("revision_timestamp", INSTANT, "instant at which it was saved"),
        Column("wikitext", STRING, "text of the main slot as stored by the wiki", is_bulk=True),
    ),
    key=("page_id", "revision_id"),
    persist="view",
    row_group_rows=1024,
)

REBUILD_CHANGES = table_of_windows(
    name="rebuild_changes",
    meaning="Changes that the last rebuild of a window made, page by page, and their kinds.",
    columns=(
        WIKI,
        DUMP_ID,
        Column("previous_dump_id", STRING, "dump from which the window was built before the rebuild"),
        Column("window_start", DATE, "first day of the window that was rebuilt"),
        Column("cut", DATE, "midnight UTC of this day: the end of the window"),
        Column("page_id", INT64, "page id"),
        Column("title", STRING, "title at the cut; null if no snapshot had the page"),
        Column(
            "change",
            STRING,
            "deleted (the dump no longer has the page), removed (it has the page, but no longer these revisions), "
            "suppressed (texts are hidden), imported (revisions were added), merged (revisions now belong to another "
            "page), left or come (the page left or entered the snapshot), winner_changed (another revision is chosen), "
            "item_changed (another Wikidata item, as after a merge of items)",
        ),
        Column("n_revisions", INT64, "number of revisions of the window that are affected; 0 if only the snapshot is"),
        Column("other_page_id", INT64, "for merged: the page (the first, if several) to which revisions now belong"),
        Column("old_revision_id", INT64, "chosen revision before; null if the snapshot did not have the page"),
        Column("revision_id", INT64, "chosen revision now; null if the snapshot does not have the page"),
        Column("old_entity_id", STRING, "Wikidata item before; null if none or unknown"),
        Column("entity_id", STRING, "Wikidata item now; null if none or unknown"),
    ),
    key=("page_id", "change"),
    tells_of_a_run=True,
)

TABLES = (REVISION_LOG, PAGE_WIKITEXTS, STABLE_SNAPSHOTS, REBUILD_CHANGES)

ALL = frozenset(one.name for one in TABLES if one is not REBUILD_CHANGES)
"""Names of the tables for which a dump's history is read."""
