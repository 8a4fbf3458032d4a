"""Asset checks over the lake that compare the room's tables with one another."""

from typing import Any

import dagster as dg

from tempkb.partitions import windows_of_run
from tempkb.revisions.tables import REVISION_LOG, STABLE_SNAPSHOTS
from tempkb.store.memory import asking
from tempkb.store.quoting import file_names
from tempkb.store.store import Store
from tempkb.windows import window_of_key


@dg.asset_check(asset=STABLE_SNAPSHOTS.name)
def no_revision_at_or_after_its_cut(
    context: dg.AssetCheckExecutionContext, store: dg.ResourceParam[Store]
) -> dg.AssetCheckResult:
    """No chosen revision was saved at or after its cut; under TempEL's rule it may be saved exactly at the cut."""
    files = _snapshot_files(context, store)
    query = (
        "SELECT window_start, page_id, revision_id FROM read_parquet($files) "
        "WHERE revision_timestamp > cut::TIMESTAMP "
        "OR (revision_timestamp = cut::TIMESTAMP AND stability_rule = 'standing')"
    )
    return _result(_rows(query, files=files) if files else [])


@dg.asset_check(asset=STABLE_SNAPSHOTS.name)
def winners_are_in_the_log(
    context: dg.AssetCheckExecutionContext, store: dg.ResourceParam[Store]
) -> dg.AssetCheckResult:
    """Every chosen revision is in the log, if the window in which it was saved is built."""
    files, log = _snapshot_files(context, store), store.lake.files(REVISION_LOG.name)
    if not files or not log:
        return dg.AssetCheckResult(passed=True, metadata={"compared": 0})
    granularity = store.home.settings.granularity
    built = [window_of_key(key, granularity) for key in store.lake.partitions(REVISION_LOG.name)]
    query = """
        WITH built AS (SELECT unnest($starts::DATE[]) AS start, unnest($ends::DATE[]) AS stop)
        SELECT s.window_start, s.page_id, s.revision_id
        FROM read_parquet($files) AS s
        WHERE EXISTS (FROM built WHERE s.revision_timestamp >= start AND s.revision_timestamp < stop)
          AND NOT EXISTS (FROM read_parquet($log) AS l WHERE l.page_id = s.page_id AND l.revision_id = s.revision_id)
    """
    spans = {"starts": [str(window.start) for window in built], "ends": [str(window.end) for window in built]}
    return _result(_rows(query, files=files, log=file_names(log), **spans))


def _snapshot_files(context: dg.AssetCheckExecutionContext, store: Store) -> list[str]:
    """Return the files of the run's windows; of all windows if the run names none."""
    keys = windows_of_run(context.run, store.lake.partitions(STABLE_SNAPSHOTS.name))
    return file_names(store.lake.files(STABLE_SNAPSHOTS.name, keys))


def _rows(query: str, **values: Any) -> list[tuple[Any, ...]]:
    with asking() as memory:
        return memory.execute(query, values).fetchall()


def _result(broken: list[tuple[Any, ...]]) -> dg.AssetCheckResult:
    examples = [f"window {window}, page {page}, revision {revision}" for window, page, revision in broken[:5]]
    return dg.AssetCheckResult(passed=not broken, metadata={"broken": len(broken), "examples": examples or ["none"]})
