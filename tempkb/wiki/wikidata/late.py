"""Measures late edits: compares what a dump says about a window with what each earlier dump that covers it said.

A benchmark that is built right after a window ends will still change, and these figures say how much. A window is
provisional until a dump 90 days past its end was read.

Only days within the window are compared: those on which a fact may have begun and
ended, by two dumps. A tenure that ended after the window is not a late edit; an end
within the window that was entered later is one. Of the ranks only `deprecated`
matters, because an office holder loses the rank `preferred` when the next one comes.
A merged item is an edit, because the statement then names another item. An item that an
earlier dump has and a later one lacks altogether is absent from that dump, which writers of
dumps leave items out of: its facts were neither removed nor added.
"""

from collections.abc import Iterator, Sequence
from datetime import date, timedelta

import duckdb
import pyarrow as pa

from tempkb.core.windows import Window, windows_until
from tempkb.engine.steps import Work
from tempkb.wiki.wikidata.scope import PROVISIONAL_DAYS, day_of, dump_dates
from tempkb.wiki.wikidata.tables import FACTS, LATE_EDITS, WIKIDATA_ENTITIES
from tempkb.wiki.wikidata.views import CERTAIN_FROM, MAX_DAY, POSSIBLE_FROM, POSSIBLE_TO, true_within

ALL = "all"
"""All relations together."""
ONE_DUMP, NO_FACTS = "no earlier dump covers the window", "no facts in the window"
"""Why there is no rate."""


def is_provisional(window_end: date, dump_date: date) -> bool:
    """Return whether a dump is too early for its facts of a window to be final: less than 90 days past the end."""
    return dump_date < window_end + timedelta(days=PROVISIONAL_DAYS)


def late_edits(work: Work) -> Iterator[pa.Table]:
    """Yield the rows of `late_edits` of a dump: it is compared, by window, with each earlier one that covers it."""
    settings, own = work.store.home.settings, day_of(work.store.lake, work.key)
    dumps = sorted({own, *(day for day in dump_dates(work.store.lake).values() if day <= own)})
    shared = {"wiki": work.store.home.wiki, "dump_id": work.key, "dump_date": own}
    find_absent(work.connection, dumps)
    rows = [
        {**shared, **row}
        for window in windows_until(settings.first_window, own, settings.granularity)
        for row in _of_window(work.connection, window, [day for day in dumps if window.end <= day], own)
    ]
    yield pa.Table.from_pylist(rows, LATE_EDITS.schema)


def find_absent(connection: duckdb.DuckDBPyConnection, days: Sequence[date]) -> None:
    """Make the table `absent`: items that dumps of some days lack, though an earlier one has them (day, entity_id)."""
    connection.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE absent AS
        SELECT day, entity_id
        FROM (SELECT entity_id, min(dump_date) AS since FROM {WIKIDATA_ENTITIES.name} GROUP BY ALL)
        JOIN (SELECT unnest($days) AS day) ON since < day
        ANTI JOIN (SELECT entity_id, dump_date AS day FROM {WIKIDATA_ENTITIES.name}) USING (entity_id, day)
        """,
        {"days": list(days)},
    )


def _of_window(
    connection: duckdb.DuckDBPyConnection, window: Window, days: Sequence[date], dump_date: date
) -> Iterator[dict[str, object]]:
    """Compare what the last of some dumps says about a window with what the others said, together and by relation."""
    about = {
        "window_start": window.start,
        "window_end": window.end,
        "is_provisional": is_provisional(window.end, dump_date),
    }
    values = {"start": window.start, "end": window.end, "dump_date": dump_date}
    if days == [dump_date]:
        ((n,),) = connection.execute(_COUNTED, values).fetchall()
        yield {**about, "earlier_dump_date": dump_date, "relation": ALL, "n_facts_now": n, "reason": ONE_DUMP}
        return
    found = connection.execute(_PAIRED, values | {"days": days[:-1]})
    names = [name for name, *_ in found.description or ()]
    rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    empty = dict.fromkeys(names, 0)
    for day in days[:-1]:
        own = [row for row in rows if row["earlier_dump_date"] == day]
        for row in own or [{**empty, "earlier_dump_date": day, "relation": ALL}]:
            n = row.pop("n")
            edited = row["n_added"] + row["n_removed"] + row["n_changed"]
            yield {**about, **row, "late_edit_rate": edited / n if n else None, "reason": None if n else NO_FACTS}


HOLDS = f"rank <> 'deprecated' AND {true_within('$start', '$end')}"
"""SQL: does a row of `facts` hold on some day of the window [$start, $end)?"""
_COUNTED = f"SELECT count(*) FROM {FACTS.name} WHERE dump_date = $dump_date AND {HOLDS}"
# The days on which a fact may begin and end, limited to the window. An end without a date says nothing about the
# window, so the content stays the same if a date after the window is entered later: the world changed, not the window.
_CONTENT = f"""hash(subject_id, relation, object_id, is_point,
    greatest({POSSIBLE_FROM}, $start), least(greatest({CERTAIN_FROM}, $start), $end),
    greatest(least(coalesce(certain_to, {MAX_DAY}), $end), $start), least({POSSIBLE_TO}, $end))"""
# A statement that was replaced by one with the same content, or whose intervals were renumbered, is not a change.
# If it names another object, it counts under the relation of both; relations of a statement never change.
_PAIRED = f"""
    WITH held AS (
        SELECT fact_id, interval_no, subject_id, relation, dump_date, {_CONTENT} AS content
        FROM {FACTS.name} WHERE (dump_date = $dump_date OR dump_date IN (SELECT unnest($days))) AND {HOLDS}
    ), sides AS (
        SELECT unnest($days) AS day, * EXCLUDE (dump_date), true AS is_now FROM held WHERE dump_date = $dump_date
        UNION ALL BY NAME SELECT dump_date AS day, * EXCLUDE (dump_date), false AS is_now FROM held
        WHERE dump_date < $dump_date
    ), paired AS (
        SELECT day, any_value(subject_id) AS entity_id, any_value(relation) AS relation,
               max(content) FILTER (WHERE is_now) AS now, max(content) FILTER (WHERE NOT is_now) AS before
        FROM sides GROUP BY day, fact_id, interval_no
    ), told AS (
        SELECT p.*, p.before IS NULL AND t.day IS NOT NULL AS is_absent_then,
               p.now IS NULL AND n.day IS NOT NULL AS is_absent_now
        FROM paired AS p LEFT JOIN absent AS t USING (day, entity_id)
        LEFT JOIN absent AS n ON n.day = $dump_date AND n.entity_id = p.entity_id
    ), replaced AS (
        SELECT day, relation, sum(n)::BIGINT AS n FROM (
            SELECT day, relation, least(count(now), count(before)) AS n FROM told
            WHERE (now IS NULL OR before IS NULL) AND NOT is_absent_then AND NOT is_absent_now
            GROUP BY day, relation, coalesce(now, before)
        ) GROUP BY ALL
    ), counted AS (
        SELECT day, relation, count(before) AS n_facts_then, count(now) AS n_facts_now,
               count(*) FILTER (WHERE before IS NULL AND NOT is_absent_then) AS n_added,
               count(*) FILTER (WHERE now IS NULL AND NOT is_absent_now) AS n_removed,
               count(*) FILTER (WHERE now <> before) AS n_changed,
               count(*) FILTER (WHERE is_absent_then) AS n_absent_then,
               count(*) FILTER (WHERE is_absent_now) AS n_absent_now
        FROM told GROUP BY ALL
    ), each AS (
        SELECT * EXCLUDE (n) REPLACE (n_added - coalesce(n, 0) AS n_added, n_removed - coalesce(n, 0) AS n_removed)
        FROM counted LEFT JOIN replaced USING (day, relation)
    )
    SELECT day AS earlier_dump_date, coalesce(relation, '{ALL}') AS relation,
           sum(n_facts_then)::BIGINT AS n_facts_then, sum(n_facts_now)::BIGINT AS n_facts_now,
           sum(n_added)::BIGINT AS n_added, sum(n_removed)::BIGINT AS n_removed, sum(n_changed)::BIGINT AS n_changed,
           sum(n_absent_then)::BIGINT AS n_absent_then, sum(n_absent_now)::BIGINT AS n_absent_now,
           (sum(n_facts_then) + sum(n_added) - sum(n_absent_now))::BIGINT AS n
    FROM each GROUP BY GROUPING SETS ((day, relation), (day)) ORDER BY day, relation
"""
