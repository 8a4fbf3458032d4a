"""What the room's tables promise to one another, over the lake. No Dagster here."""

from collections.abc import Iterable
from typing import Any

from tempkb.revisions.tables import REVISION_LOG, STABLE_SNAPSHOTS
from tempkb.store.memory import asking
from tempkb.store.promises import Promise, Subject
from tempkb.store.quoting import file_names
from tempkb.store.store import Store
from tempkb.windows import window_of_key

_LATE_WINNERS = """
    SELECT window_start, page_id, revision_id FROM snapshots
    WHERE revision_timestamp > cut::TIMESTAMP OR (revision_timestamp = cut::TIMESTAMP AND stability_rule = 'standing')
"""
_UNLOGGED_WINNERS = """
    WITH built AS (SELECT unnest($starts::DATE[]) AS start, unnest($ends::DATE[]) AS stop)
    SELECT s.window_start, s.page_id, s.revision_id
    FROM read_parquet($files) AS s
    WHERE EXISTS (FROM built WHERE s.revision_timestamp >= start AND s.revision_timestamp < stop)
      AND NOT EXISTS (FROM read_parquet($log) AS l WHERE l.page_id = s.page_id AND l.revision_id = s.revision_id)
"""


def unlogged_winners(store: Store, subject: Subject) -> Iterable[tuple[Any, ...]] | None:
    """Return window, page and revision of each winner in some snapshots that the log lacks.

    The log is looked at whole: a text may have won that is older than its window. Windows without a log are left out;
    which those are is told by the partitions of the log, since a window without an edit has no row there.
    """
    snapshots = [
        key
        for key in store.lake.partitions(STABLE_SNAPSHOTS.name)
        if subject.partitions is None or key in subject.partitions
    ]
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
        "no_revision_at_or_after_its_cut",
        "No winner was saved at or after the instant that its snapshot does not include; TempEL's rule includes it.",
        STABLE_SNAPSHOTS,
        _LATE_WINNERS,
        {"snapshots": STABLE_SNAPSHOTS},
        shown=_in_words,
    ),
    Promise(
        "winners_are_in_the_log",
        "Every winner stands in the log, as far as the window of its edit is built.",
        STABLE_SNAPSHOTS,
        finds=unlogged_winners,
        shown=_in_words,
    ),
)
