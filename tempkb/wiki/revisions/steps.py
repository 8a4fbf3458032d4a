"""The steps and promises of the room: all tables of a dump's history are read once, in one pass (`building.py`)."""

from collections.abc import Iterable
from typing import Any

from tempkb.core.options import Option
from tempkb.core.windows import window_of_key
from tempkb.engine.steps import Source, Standing
from tempkb.engine.tasks import Task
from tempkb.store.memory import asking
from tempkb.store.promises import Promise, Subject, no_empty_window_between
from tempkb.store.quoting import file_names
from tempkb.store.store import Store
from tempkb.wiki.dumps.tables import DUMP_FILES, PAGES
from tempkb.wiki.revisions.losses import rests_on_lost
from tempkb.wiki.revisions.tables import PAGE_WIKITEXTS, REBUILD_CHANGES, REVISION_LOG, STABLE_SNAPSHOTS

_UNLOGGED_WINNERS = """
    WITH built AS (SELECT unnest($starts::DATE[]) AS start, unnest($ends::DATE[]) AS stop)
    SELECT s.window_start, s.page_id, s.revision_id
    FROM read_parquet($files) AS s
    WHERE EXISTS (FROM built WHERE s.revision_timestamp >= start AND s.revision_timestamp < stop)
      AND NOT EXISTS (FROM read_parquet($log) AS l WHERE l.page_id = s.page_id AND l.revision_id = s.revision_id)
"""
# A page that was turned into a redirect behind the last window is none in the snapshots: few pages of a wiki are.
_BEHIND_THE_LOG = 0.05
_TAKEN_FOR_ARTICLES = """
    SELECT s.window_start, s.page_id, s.revision_id, s.revision_timestamp, count(*) OVER (PARTITION BY s.window_start)
    FROM read_parquet($files) AS s JOIN read_parquet($pages) AS p USING (dump_id, page_id)
    WHERE p.is_redirect AND s.has_text
    QUALIFY s.redirect_title IS NULL AND NOT s.is_blank
"""
_NEVER_EDITED_SINCE = """
    SELECT window_start, page_id, revision_id FROM taken
    WHERE NOT EXISTS (
        FROM read_parquet($log) AS l
        WHERE l.page_id = taken.page_id AND l.revision_timestamp > taken.revision_timestamp
    )
    QUALIFY count(*) OVER (PARTITION BY window_start) > $share * n_redirects ORDER BY ALL
"""


def unrecognised_redirects(store: Store, subject: Subject) -> Iterable[tuple[Any, ...]] | None:
    """Return window, page and revision of redirects that some snapshots take for articles.

    MediaWiki says in the dump which pages are redirects; we read the word for it from the text. The two can be compared
    if no revision follows the chosen one in the log. Windows in which only a few of them differ are left out, since
    pages may have been edited behind the last window.
    """
    snapshots = [key for key in store.lake.partitions(STABLE_SNAPSHOTS.name) if subject.has(key)]
    files, pages = store.lake.files(STABLE_SNAPSHOTS.name, snapshots), store.lake.files(PAGES.name)
    log = store.lake.files(REVISION_LOG.name)
    if not files or not pages or not log:
        return None
    with asking() as memory:
        columns = "window_start, page_id, revision_id, revision_timestamp, n_redirects"
        taken = memory.sql(
            f"SELECT * FROM ({_TAKEN_FOR_ARTICLES}) AS found({columns})",
            params={"files": file_names(files), "pages": file_names(pages)},
        ).to_arrow_table()
        # The log is long, and most often there is nothing to look up in it.
        if not taken.num_rows:
            return []
        memory.register("taken", taken)
        return memory.execute(_NEVER_EDITED_SINCE, {"log": file_names(log), "share": _BEHIND_THE_LOG}).fetchall()


def unlogged_winners(store: Store, subject: Subject) -> Iterable[tuple[Any, ...]] | None:
    """Return window, page and revision of each chosen revision in some snapshots that is not in the log.

    The whole log is searched, since a chosen revision may be older than its window. Revisions of windows without a log
    are left out; the partitions of the log show which these are, since a window without an edit has no rows.
    """
    snapshots = [key for key in store.lake.partitions(STABLE_SNAPSHOTS.name) if subject.has(key)]
    files, log = store.lake.files(STABLE_SNAPSHOTS.name, snapshots), store.lake.files(REVISION_LOG.name)
    if not files or not log:
        return None
    granularity = store.home.settings.granularity
    built = [window_of_key(key, granularity) for key in store.lake.partitions(REVISION_LOG.name)]
    spans = {"starts": [str(window.start) for window in built], "ends": [str(window.end) for window in built]}
    with asking() as memory:
        return memory.execute(
            _UNLOGGED_WINNERS, {"files": file_names(files), "log": file_names(log), **spans}
        ).fetchall()


def _in_words(row: tuple[Any, ...]) -> str:
    window, page, revision = row
    return f"window {window}, page {page}, revision {revision}"


PROMISES = (
    Promise(
        "winners_are_in_the_log",
        "Every chosen revision is in the log, if the window in which it was saved is built.",
        STABLE_SNAPSHOTS,
        finds=unlogged_winners,
        shown=_in_words,
    ),
    Promise(
        "redirects_are_recognised",
        "Pages that the dump calls redirects are redirects in the snapshots, unless they were edited later; if not, "
        "a word for redirects is missing in tempkb's list for the wiki's language.",
        STABLE_SNAPSHOTS,
        finds=unrecognised_redirects,
        shown=_in_words,
        is_warning=True,
    ),
    no_empty_window_between(REVISION_LOG),
    no_empty_window_between(STABLE_SNAPSHOTS),
)


_LOG, _SNAPSHOTS = Source(REVISION_LOG), Source(STABLE_SNAPSHOTS)
STEPS = (
    Standing((REVISION_LOG,), (Source(DUMP_FILES),)),
    Standing(
        (STABLE_SNAPSHOTS,),
        (_LOG, Source(PAGES)),
        is_complete=lambda store, snapshot: not rests_on_lost(store, snapshot),
    ),
    Standing((PAGE_WIKITEXTS,), (_SNAPSHOTS,)),
    Standing((REBUILD_CHANGES,), (_LOG, _SNAPSHOTS)),
)
ACCOUNTED = (REVISION_LOG.name, "every_revision_element_is_accounted_for")
TASKS = (
    Task(
        "revisions",
        STEPS,
        "wiki.revisions.making.revisions",
        shown="wiki.revisions.making.over_windows",
        options=(
            Option("dump_id", "Build the windows from this dump; empty: from the earliest that reaches them."),
            Option("rebuild", "Also build windows that were built from another dump, and report what changed.", False),
            Option(
                "only_listed",
                "Use no dump in the folder without its publisher's list; set in runs that automation starts.",
                False,
            ),
            Option(
                "only_items",
                "Read no dump; update the Wikidata items of the built snapshots from `pages` and the Wikidata dumps "
                "that have been read.",
                False,
            ),
        ),
        is_skippable=True,
        is_divisible=True,
        promises=PROMISES,
        checks={ACCOUNTED: "Rows, exclusions and losses add up to the <revision> tags counted in the bytes."},
    ),
)
