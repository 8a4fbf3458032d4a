"""Tables of the room: every revision, the winning texts, and what stood at each cut."""

from tempkb.dumps.tables import DUMP_ID, ENTITY_ID_SOURCE, ITEM_HAS_A_SOURCE, WIKI
from tempkb.store.tables import Column, Family, Rule, Table
from tempkb.store.types import BOOL, DATE, FLOAT64, INSTANT, INT32, INT64, STRING

REVISION_LOG = Table(
    name="revision_log",
    meaning="Every revision of every page, without its text, by the window in which it was saved.",
    columns=(
        WIKI,
        DUMP_ID,
        Column("window_start", DATE, "first day of the window of the edit; the first also holds all before"),
        Column("page_id", INT64, "number of the page"),
        Column("revision_id", INT64, "number of the revision"),
        Column("parent_id", INT64, "revision it was made from; null for the first or when unknown"),
        Column("revision_timestamp", INSTANT, "when it was saved"),
        Column("contributor", STRING, "u<account number>, or x<keyed hash> of name or address; null when hidden"),
        Column("text_sha1", STRING, "MediaWiki's base-36 SHA-1 of the main text; null when suppressed or unknown"),
        Column("text_bytes", INT64, "UTF-8 length of the main text; null when suppressed or unknown"),
        Column("is_minor", BOOL, "marked as a minor edit"),
        Column("is_suppressed", BOOL, "its text is hidden from the public"),
    ),
    key=("page_id", "revision_id"),
    family=Family.WINDOW,
    partitioned_by="window",
    partition_columns=("window_start",),
    rules=(
        Rule(
            "sized_or_suppressed",
            "a suppressed revision shows neither hash nor length",
            "is_suppressed AND (text_sha1 IS NOT NULL OR text_bytes IS NOT NULL)",
        ),
    ),
)

STABLE_SNAPSHOTS = Table(
    name="stable_snapshots",
    meaning="For each page and cut, the revision whose text stood longest in the days before the cut.",
    columns=(
        WIKI,
        DUMP_ID,
        Column("window_start", DATE, "first day of the window that ends at the cut"),
        Column("cut", DATE, "midnight UTC of this day: the first instant not in the snapshot"),
        Column("page_id", INT64, "number of the page"),
        Column("namespace", INT32, "number of the namespace at the cut"),
        Column("title", STRING, "title at the cut: spaces, no namespace prefix"),
        Column("title_source", STRING, "move_comment (a move's summary tells it) or today (the dump's own title)"),
        Column("revision_id", INT64, "last revision before the cut that carried the winning text"),
        Column("revision_timestamp", INSTANT, "when that revision was saved"),
        Column("page_created_at", INSTANT, "first revision of the page, whatever it held"),
        Column("article_since", INSTANT, "first text in the main namespace, neither redirect nor blank; null: none"),
        Column("stability_rule", STRING, "how the winner was chosen: standing, or tempel (looks past the cut)"),
        Column("standing_seconds", INT64, "time the winning text stood inside the lookback interval, all spells"),
        Column("standing_share", FLOAT64, "that time as a fraction of the interval"),
        Column("last_stood_at", INSTANT, "end of its last spell, at most the cut"),
        Column("n_revisions_in_interval", INT64, "revisions saved inside the lookback interval"),
        Column("n_revisions", INT64, "revisions saved before the cut"),
        Column("n_contributors", INT64, "distinct known contributors before the cut"),
        Column("text_sha1", STRING, "MediaWiki's base-36 SHA-1 of the winning text; null when hidden or unknown"),
        Column("has_text", BOOL, "the dump gave the text, so page_wikitexts has it (until a rebuild hides it)"),
        Column("is_blank", BOOL, "the winning text is empty or white space: nothing else stood"),
        Column("redirect_namespace", INT32, "namespace of the winning redirect's target; null: not a redirect"),
        Column("redirect_title", STRING, "title of the winning redirect's target; null when not a redirect"),
        Column("redirect_section", STRING, "part of that page it points to; null: the whole page, or no redirect"),
        Column("is_disambiguation", BOOL, "the winning text carries a disambiguation template or magic word"),
        Column("entity_id", STRING, "Wikidata item (QID) linked on the dump's day; null when none or unknown"),
        ENTITY_ID_SOURCE,
    ),
    key=("page_id",),
    family=Family.WINDOW,
    partitioned_by="window",
    partition_columns=("window_start",),
    rules=(
        # TempEL's rule lets a revision saved exactly at the cut win, and one that did not stand in the interval.
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
            "a page is created no later than its winner",
            "page_created_at > revision_timestamp OR article_since >= cut::TIMESTAMP",
        ),
        Rule(
            "counted",
            "counts agree with one another",
            "n_revisions < 1 OR n_revisions_in_interval > n_revisions OR n_contributors > n_revisions",
        ),
        ITEM_HAS_A_SOURCE,
    ),
    code_version="3",
)

PAGE_WIKITEXTS = Table(
    name="page_wikitexts",
    meaning="Raw wikitext of every revision that won at some cut, each once, by the quarter it was saved in.",
    columns=(
        WIKI,
        DUMP_ID,
        Column("quarter", DATE, "first day of the quarter in which the revision was saved"),
        Column("page_id", INT64, "number of the page"),
        Column("revision_id", INT64, "number of the revision"),
        Column("revision_timestamp", INSTANT, "when it was saved"),
        Column("wikitext", STRING, "the main slot's text as people wrote it", is_bulk=True),
    ),
    key=("page_id", "revision_id"),
    family=Family.WINDOW,
    partitioned_by="quarter of the revision",
    partition_columns=("quarter",),
    persist="view",
    row_group_rows=1024,
)

REBUILD_CHANGES = Table(
    name="rebuild_changes",
    meaning="What the last rebuild of a window has changed, page by page, and why.",
    columns=(
        WIKI,
        DUMP_ID,
        Column("previous_dump_id", STRING, "dump from which the window was built before"),
        Column("window_start", DATE, "first day of the window that was rebuilt"),
        Column("cut", DATE, "midnight UTC of this day: the end of the window"),
        Column("page_id", INT64, "number of the page"),
        Column("title", STRING, "title at the cut; null when no snapshot had the page"),
        Column(
            "change",
            STRING,
            "deleted (the page is gone from the dump), removed (revisions are), suppressed (texts are hidden), "
            "imported (revisions have come), merged (revisions stand under another page), left or come (the page, in "
            "the snapshot), winner_changed, item_changed (another Wikidata item, for one after a merge of items)",
        ),
        Column("n_revisions", INT64, "revisions of the window that this is about; 0 when about the snapshot"),
        Column("other_page_id", INT64, "of merged: the page (the first, if several) where revisions stand now"),
        Column("old_revision_id", INT64, "winner before; null when the page was in no snapshot"),
        Column("revision_id", INT64, "winner now; null when the page is in no snapshot"),
        Column("old_entity_id", STRING, "Wikidata item before; null when none or unknown"),
        Column("entity_id", STRING, "Wikidata item now; null when none or unknown"),
    ),
    key=("page_id", "change"),
    family=Family.WINDOW,
    partitioned_by="window",
    partition_columns=("window_start",),
    tells_of_a_run=True,
)

TABLES = (REVISION_LOG, PAGE_WIKITEXTS, STABLE_SNAPSHOTS, REBUILD_CHANGES)
