"""Tables of the room: all revisions, the chosen revision of each page at each cut, and their texts."""

from tempkb.engine.room import Room
from tempkb.store.columns import columns, rules
from tempkb.store.tables import table_of_quarters, table_of_windows
from tempkb.wiki.dumps.tables import ITEM_HAS_A_SOURCE

REVISION_LOG = table_of_windows(
    name="revision_log",
    meaning="Every revision of every page, without its text, by the window in which it was saved.",
    columns=columns("""
        wiki, dump_id
        window_start DATE: first day of the window in which it was saved; the first window also holds everything earlier
        page_id, revision_id
        parent_id BIGINT: id of the revision on which it is based; null for the first or if unknown
        revision_timestamp
        contributor VARCHAR: u<account number>, or x<keyed hash> of the name or IP address; null if hidden
        text_sha1 VARCHAR: MediaWiki's base-36 SHA-1 of the main text; null if suppressed or unknown
        text_bytes BIGINT: UTF-8 length of the main text; null if suppressed or unknown
        is_minor BOOLEAN: is it marked as a minor edit?
        is_suppressed BOOLEAN: is its text hidden from the public?
    """),
    key=("page_id", "revision_id"),
    rules=rules("""
        sized_or_suppressed: a suppressed revision shows neither hash nor length
            is_suppressed AND (text_sha1 IS NOT NULL OR text_bytes IS NOT NULL)
    """),
)

STABLE_SNAPSHOTS = table_of_windows(
    name="stable_snapshots",
    meaning="For each page and cut, the revision whose text was current longest in the days before the cut.",
    columns=columns("""
        wiki, dump_id, window_start, cut, page_id
        namespace INTEGER: namespace number at the cut
        title
        title_source VARCHAR: move_comment (from the summary of a move) or today (the title in the dump)
        revision_id BIGINT: chosen revision: the last one before the cut with the chosen text
        revision_timestamp, page_created_at, article_since
        stability_rule VARCHAR: rule of the choice: standing, or tempel (looks past the cut)
        standing_seconds BIGINT: seconds for which the chosen text was current in the lookback interval, all spells
            added up
        standing_share DOUBLE: standing_seconds as a fraction of the lookback interval
        last_stood_at TIMESTAMPTZ: end of the chosen text's last spell, at most the cut
        n_revisions_in_interval BIGINT: number of revisions saved in the lookback interval
        n_revisions, n_contributors
        text_sha1 VARCHAR: MediaWiki's base-36 SHA-1 of the chosen text; null if hidden or unknown
        has_text BOOLEAN: did the dump have the text? Then page_wikitexts has it, until a rebuild finds it suppressed
        is_blank BOOLEAN: is the chosen text empty or white space? Only if the interval had no other text
        redirect_namespace INTEGER: namespace of the redirect's target; null if the chosen text is not a redirect
        redirect_title VARCHAR: title of the redirect's target; null if the chosen text is not a redirect
        redirect_section VARCHAR: section of the redirect's target; null if it is the whole page, or not a redirect
        is_disambiguation BOOLEAN: does the chosen text have a disambiguation template or magic word?
        entity_id, entity_id_source
    """),
    key=("page_id",),
    # TempEL's rule may choose a revision saved exactly at the cut, and one that was not current in the interval.
    rules=rules("""
        before_the_cut: no revision at or after its cut
            revision_timestamp > cut::TIMESTAMP OR (revision_timestamp = cut::TIMESTAMP AND stability_rule = 'standing')
        stood_inside: standing time lies inside the interval and before the cut
            standing_seconds < 0 OR standing_share > 1 OR last_stood_at > cut::TIMESTAMP
            OR (standing_seconds = 0 AND stability_rule = 'standing')
        born_before: a page is created no later than its chosen revision
            page_created_at > revision_timestamp OR article_since >= cut::TIMESTAMP
        counted: counts agree with one another
            n_revisions < 1 OR n_revisions_in_interval > n_revisions OR n_contributors > n_revisions
    """)
    + ITEM_HAS_A_SOURCE,
    code_version="4",
)

PAGE_WIKITEXTS = table_of_quarters(
    name="page_wikitexts",
    meaning="Raw wikitext of every chosen revision, each once, by the quarter in which the revision was saved.",
    columns=columns("""
        wiki, dump_id, quarter, page_id, revision_id, revision_timestamp
        wikitext VARCHAR (bulk): text of the main slot as stored by the wiki
    """),
    key=("page_id", "revision_id"),
    persist="view",
    row_group_rows=1024,
)

REBUILD_CHANGES = table_of_windows(
    name="rebuild_changes",
    meaning="Changes that the last rebuild of a window made, page by page, and their kinds.",
    columns=columns("""
        wiki, dump_id
        previous_dump_id VARCHAR: dump from which the window was built before the rebuild
        window_start DATE: first day of the window that was rebuilt
        cut DATE: midnight UTC of this day: the end of the window
        page_id
        title VARCHAR: title at the cut; null if no snapshot had the page
        change VARCHAR: deleted (the dump no longer has the page), removed (it has the page, but no longer these
            revisions), suppressed (texts are hidden), imported (revisions were added), merged (revisions now belong to
            another page), left or come (the page left or entered the snapshot), winner_changed (another revision is
            chosen), item_changed (another Wikidata item, as after a merge of items)
        n_revisions BIGINT: number of revisions of the window that are affected; 0 if only the snapshot is
        other_page_id BIGINT: for merged: the page (the first, if several) to which revisions now belong
        old_revision_id BIGINT: chosen revision before; null if the snapshot did not have the page
        revision_id BIGINT: chosen revision now; null if the snapshot does not have the page
        old_entity_id VARCHAR: Wikidata item before; null if none or unknown
        entity_id VARCHAR: Wikidata item now; null if none or unknown
    """),
    key=("page_id", "change"),
    tells_of_a_run=True,
)

TABLES = (REVISION_LOG, PAGE_WIKITEXTS, STABLE_SNAPSHOTS, REBUILD_CHANGES)

ALL = frozenset(one.name for one in TABLES if one is not REBUILD_CHANGES)
"""Names of the tables for which a dump's history is read."""


ROOM = Room("revisions", TABLES, (), "tempkb.wiki.revisions.steps")
