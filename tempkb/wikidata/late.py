"""How much of a window is entered late: what a dump knows of it against the first dump that could know it.

Somebody who builds a benchmark right after a window ends should know how much of
it will still change. A window stays provisional until a dump 90 days past its end.
"""

from collections.abc import Iterator, Mapping
from datetime import date, timedelta

import pyarrow as pa

from tempkb.store.drafts import Provenance
from tempkb.store.lake import Lake, Version
from tempkb.store.memory import in_memory, view_files
from tempkb.store.store import Store
from tempkb.wikidata.membership import true_within
from tempkb.wikidata.tables import FACTS, LATE_EDITS
from tempkb.windows import windows_until

PROVISIONAL_DAYS = 90


def is_provisional(window_end: date, dump_date: date) -> bool:
    """Is it too early to take what a dump knows of a window for final?"""
    return dump_date < window_end + timedelta(days=PROVISIONAL_DAYS)


def write_late_edits(store: Store, dump_id: str, dump_date: date) -> Version:
    """Write `late_edits` of a dump, against the dumps before it that were read."""
    settings = store.home.settings
    windows = windows_until(settings.first_window, dump_date, settings.granularity)
    dumps = {day: name for name, day in dump_dates(store.lake).items() if day <= dump_date}
    dumps[dump_date] = dump_id
    first = {window: min(day for day in dumps if day >= window.end) for window in windows}
    asked = [
        {"window_start": window.start, "window_end": window.end, "first_dump_date": day,
         "is_provisional": is_provisional(window.end, dump_date)}
        for window, day in first.items()
    ]  # fmt: skip
    used = {dumps[day] for day in {*first.values(), dump_date}}
    versions = store.lake.versions(FACTS.name, sorted(used))
    inputs = {f"{one.table} {one.partition}": one.version for one in versions}
    constants = {"wiki": store.home.wiki, "dump_id": dump_id, "dump_date": dump_date}
    rows = _compared(versions, asked, constants)
    return store.write(LATE_EDITS, dump_id, rows, Provenance(inputs, {"provisional_days": PROVISIONAL_DAYS}))


def dump_dates(lake: Lake) -> dict[str, date]:
    """Days of the Wikidata dumps that were read, by dump."""
    with in_memory() as connection:
        found = {}
        for version in lake.versions(FACTS.name):
            paths = [str(path) for path in version.paths()]
            told = connection.execute("SELECT max(dump_date) FROM read_parquet(?)", [paths]).fetchall()[0][0]
            if told is not None:
                found[version.partition] = told
        return found


def _compared(
    versions: list[Version], asked: list[dict[str, object]], constants: Mapping[str, object]
) -> Iterator[pa.Table]:
    if not asked:
        return
    schema = pa.schema([LATE_EDITS.schema.field(name) for name in asked[0]])
    with in_memory() as connection:
        view_files(connection, "facts", [path for one in versions for path in one.paths()], FACTS.schema)
        connection.register("windows", pa.Table.from_pylist(asked, schema))
        table = connection.sql(_COMPARED, params=constants).to_arrow_table()
        yield table.select(LATE_EDITS.column_names())


_COMPARED = f"""
    WITH said AS (
        SELECT w.window_start, f.dump_date, f.fact_id, f.interval_no,
               hash(subject_id, relation, object_id, valid_from, valid_to, certain_from, certain_to, start_kind,
                    end_kind, is_point, rank) AS content,
               f.dump_date = $dump_date AS is_now
        FROM windows AS w JOIN facts AS f ON f.dump_date IN (w.first_dump_date, $dump_date)
        WHERE rank <> 'deprecated' AND {true_within("w.window_start", "w.window_end")}
    ), paired AS (
        SELECT window_start, fact_id, interval_no,
               max(content) FILTER (WHERE is_now) AS now,
               max(content) FILTER (WHERE said.dump_date = w.first_dump_date) AS before
        FROM said JOIN windows AS w USING (window_start) GROUP BY window_start, fact_id, interval_no
    ), counted AS (
        SELECT window_start, count(before) AS n_facts_then, count(now) AS n_facts_now,
               count(*) FILTER (WHERE before IS NULL) AS n_added, count(*) FILTER (WHERE now IS NULL) AS n_removed,
               count(*) FILTER (WHERE now <> before) AS n_changed, count(*) AS n_all
        FROM paired GROUP BY window_start
    )
    SELECT $wiki AS wiki, $dump_id AS dump_id, $dump_date::DATE AS dump_date, w.*,
           coalesce(n_facts_then, 0) AS n_facts_then, coalesce(n_facts_now, 0) AS n_facts_now,
           coalesce(n_added, 0) AS n_added, coalesce(n_removed, 0) AS n_removed, coalesce(n_changed, 0) AS n_changed,
           CASE WHEN n_all > 0 THEN (n_added + n_removed + n_changed) / n_all ELSE 0.0 END::DOUBLE AS late_edit_rate
    FROM windows AS w LEFT JOIN counted USING (window_start) ORDER BY window_start
"""
