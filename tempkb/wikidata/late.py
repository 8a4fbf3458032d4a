"""Measures late edits: compares what a dump says about a window with what the first dump after the window said.

A benchmark that is built right after a window ends will still change, and these
rates say how much. A window is provisional until a dump 90 days past its end was read.

Only days within the window are compared: those on which a fact may have begun and
ended, by two dumps. A tenure that ended after the window is not a late edit; an end
within the window that was entered later is one. Of the ranks only `deprecated`
matters, because an office holder loses the rank `preferred` when the next one comes.
A merged item is an edit, because the statement then names another item.
"""

from datetime import date, timedelta

import duckdb
import pyarrow as pa

from tempkb.store.drafts import Provenance
from tempkb.store.lake import Lake, Version
from tempkb.store.memory import asking, spilling_to, view_files
from tempkb.store.quoting import file_names
from tempkb.store.store import Store
from tempkb.wikidata.membership import CERTAIN_FROM, MAX_DAY, POSSIBLE_FROM, POSSIBLE_TO, true_within
from tempkb.wikidata.tables import FACTS, LATE_EDITS, WIKIDATA_ENTITIES
from tempkb.windows import Window, windows_until

PROVISIONAL_DAYS = 90


def is_provisional(window_end: date, dump_date: date) -> bool:
    """Return whether a dump is too early for its facts of a window to be final: less than 90 days past the end."""
    return dump_date < window_end + timedelta(days=PROVISIONAL_DAYS)


def write_late_edits(store: Store, dump_id: str, dump_date: date) -> Version:
    """Write `late_edits` of a dump: compare it, window by window, with the first dump after each window."""
    settings = store.home.settings
    dumps = {day: name for name, day in dump_dates(store.lake).items() if day <= dump_date}
    dumps[dump_date] = dump_id
    windows = windows_until(settings.first_window, dump_date, settings.granularity)
    first = {window: min(day for day in dumps if day >= window.end) for window in windows}
    used = {dumps[day] for day in {*first.values(), dump_date}}
    versions = store.lake.versions(FACTS.name, sorted(used))
    provenance = Provenance(
        {f"{one.table} {one.partition}": one.version for one in versions}, {"provisional_days": PROVISIONAL_DAYS}
    )
    shared = {"wiki": store.home.wiki, "dump_id": dump_id, "dump_date": dump_date}
    with store.lake.staging() as folder, spilling_to(folder) as connection:
        view_files(connection, "facts", [path for one in versions for path in one.paths()], FACTS.schema)
        rows = [{**shared, **_compared(connection, window, day, dump_date)} for window, day in first.items()]
    return store.write(LATE_EDITS, dump_id, [pa.Table.from_pylist(rows, LATE_EDITS.schema)], provenance)


def dump_dates(lake: Lake) -> dict[str, date]:
    """Return the days of the Wikidata dumps that were read, by dump.

    A dump that describes no item of the home is not included, because no row gives its day.
    """
    days = {version.partition: day_of(version) for version in lake.versions(FACTS.name)}
    # A dump may have no dated statement about any of its items.
    undated = [name for name, day in days.items() if day is None]
    days |= {version.partition: day_of(version) for version in lake.versions(WIKIDATA_ENTITIES.name, undated)}
    return {name: day for name, day in days.items() if day is not None}


def day_of(version: Version) -> date | None:
    """Return the day of the dump from which a version of one of the room's tables was read; None if it has no rows."""
    with asking() as connection:
        query, paths = "SELECT max(dump_date) FROM read_parquet(?)", file_names(version.paths())
        found: date | None = connection.execute(query, [paths]).fetchall()[0][0]
        return found


def _compared(
    connection: duckdb.DuckDBPyConnection, window: Window, first_day: date, dump_date: date
) -> dict[str, object]:
    """Compare what two dumps say about a window. Often they are the same dump, and counting is enough."""
    query = _COUNTED if first_day == dump_date else _PAIRED
    values = {"start": window.start, "end": window.end, "first_day": first_day, "dump_date": dump_date}
    found = connection.execute(query, {name: values[name] for name in values if f"${name}" in query}).fetchall()[0]
    # If no fact holds in either dump, sums are null.
    then, now, added, removed, changed, n = (number or 0 for number in found)
    return {
        "window_start": window.start,
        "window_end": window.end,
        "first_dump_date": first_day,
        "n_facts_then": then,
        "n_facts_now": now,
        "n_added": added,
        "n_removed": removed,
        "n_changed": changed,
        "late_edit_rate": (added + removed + changed) / n if n else 0.0,
        "is_provisional": is_provisional(window.end, dump_date),
    }


_HOLDS = f"rank <> 'deprecated' AND {true_within('$start', '$end')}"
_COUNTED = f"SELECT count(*), count(*), 0, 0, 0, count(*) FROM facts WHERE dump_date = $dump_date AND {_HOLDS}"
# The days on which a fact may begin and end, limited to the window. An end without a date says nothing about the
# window, so the content stays the same if a date after the window is entered later: the world changed, not the window.
_CONTENT = f"""hash(subject_id, relation, object_id, is_point,
    greatest({POSSIBLE_FROM}, $start), least(greatest({CERTAIN_FROM}, $start), $end),
    greatest(least(coalesce(certain_to, {MAX_DAY}), $end), $start), least({POSSIBLE_TO}, $end))"""
# A statement that was replaced by one with the same content, or whose intervals were renumbered, is not a change.
_PAIRED = f"""
    WITH held AS (
        SELECT fact_id, interval_no, dump_date = $dump_date AS is_now, {_CONTENT} AS content
        FROM facts WHERE dump_date IN ($first_day, $dump_date) AND {_HOLDS}
    ), paired AS (
        SELECT max(content) FILTER (WHERE is_now) AS now, max(content) FILTER (WHERE NOT is_now) AS before
        FROM held GROUP BY fact_id, interval_no
    ), replaced AS (
        SELECT coalesce(sum(n), 0)::BIGINT AS n FROM (
            SELECT least(count(now), count(before)) AS n FROM paired WHERE now IS NULL OR before IS NULL
            GROUP BY coalesce(now, before)
        )
    )
    SELECT count(before), count(now), count(*) FILTER (WHERE before IS NULL) - any_value(replaced.n),
           count(*) FILTER (WHERE now IS NULL) - any_value(replaced.n), count(*) FILTER (WHERE now <> before),
           count(*) - any_value(replaced.n)
    FROM paired, replaced
"""
