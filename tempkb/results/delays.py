"""How long one must wait for the facts of a window: after how many days which share of them is in Wikidata.

A fact is that a subject has an object by a relation, whatever its dates. Of a window that ended long before the newest
dump, the facts are taken that this dump has, and for each the dump that had it first. It was entered between that dump
and the last one that lacked it, though it had the subject, so that the share is Turnbull's estimate. Facts that a later
dump will have are not seen (right truncation), hence windows that ended at least two years before.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import groupby
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa

from tempkb.core.statistics.turnbull import Arrivals, turnbull
from tempkb.core.windows import Window, windows_until
from tempkb.engine.steps import Work
from tempkb.results.tables import ALL, DELAYS_SEED, DELAYS_YEARS, FACT_DELAYS
from tempkb.store.memory import in_memory, view_files
from tempkb.store.store import Store
from tempkb.wiki.wikidata.late import HOLDS
from tempkb.wiki.wikidata.scope import PROVISIONAL_DAYS, dump_dates
from tempkb.wiki.wikidata.tables import FACTS, WIKIDATA_ENTITIES
from tempkb.wiki.wikidata.views import POSSIBLE_FROM

SHARES = (0.5, 0.75, 0.9, 0.95, 0.99)
BEGUN, HOLDING = "begun", "holding"
MIN_DUMPS = 3
_GROUPS = 500  # of subjects, which are drawn together; without them a million subjects would not fit into memory

_ARRIVALS = f"""
    WITH held AS (
        SELECT subject_id, relation, object_id, dump_date, bool_or({POSSIBLE_FROM} >= $start) AS begins
        FROM {FACTS.name} WHERE dump_date > $start AND {HOLDS} GROUP BY ALL
    ), came AS (
        SELECT subject_id, relation, object_id, arg_max(begins, dump_date) AS begins, min(dump_date) AS came
        FROM held GROUP BY ALL HAVING max(dump_date) = $newest
    ), lacked AS (
        SELECT c.subject_id, relation, object_id, begins, came, max(d.dump_date) AS lacked
        FROM came AS c LEFT JOIN (SELECT entity_id, dump_date FROM {WIKIDATA_ENTITIES.name}) AS d
        ON d.entity_id = c.subject_id AND d.dump_date < c.came AND d.dump_date > $start GROUP BY ALL
    )
    SELECT relation, begins, (hash(subject_id) % {_GROUPS})::INTEGER AS subjects,
           greatest(0, coalesce(lacked - $end::DATE + 1, 0))::BIGINT AS first,
           greatest(0, came - $end::DATE)::BIGINT AS last, count(*) AS n
    FROM lacked GROUP BY ALL
"""
_SUBJECTS = f"""
    SELECT relation, count(DISTINCT subject_id) FILTER (WHERE {POSSIBLE_FROM} >= $start) AS {BEGUN},
           count(DISTINCT subject_id) AS {HOLDING}
    FROM {FACTS.name} WHERE dump_date = $newest AND {HOLDS} GROUP BY ROLLUP (relation)
"""


class Waiting(NamedTuple):
    """The facts of some relation, and when they came; no arrivals if there is a reason."""

    facts: str
    relation: str
    n_facts: int
    n_subjects: int
    arrivals: Arrivals | None
    reason: str | None


def fact_delays(work: Work) -> Iterator[pa.Table]:
    """Yield the rows of `fact_delays`."""
    rows = sorted(_rows(work.store), key=lambda row: [row[name] for name in FACT_DELAYS.key])
    yield pa.Table.from_pylist(rows, FACT_DELAYS.schema)


def _rows(store: Store) -> Iterator[Mapping[str, Any]]:
    dumps = sorted(dump_dates(store.lake).values())
    windows = _old_windows(store, dumps)
    about = {
        "n_windows": len(windows),
        "n_dumps": len(dumps),
        "newest_dump_date": max(dumps, default=None),
    }
    for one in _waiting(store, dumps, windows):
        at_90 = one.arrivals.by(PROVISIONAL_DAYS) if one.arrivals else (None, None)
        for share in SHARES:
            days, low, high = one.arrivals.days_to(share) if one.arrivals else (None, None, None)
            found = {"share": share, "days": days, "days_low": low, "days_high": high}
            yield {**about, **one._asdict(), **found, "least_at_90": at_90[0], "most_at_90": at_90[1]}


def _old_windows(store: Store, dumps: Sequence[date]) -> list[Window]:
    """The windows that ended long enough before the newest dump."""
    if not dumps:
        return []
    newest = dumps[-1]
    end = date(newest.year - DELAYS_YEARS, newest.month, min(newest.day, 28))
    return windows_until(store.home.settings.first_window, end, store.home.settings.granularity)


def _waiting(store: Store, dumps: Sequence[date], windows: Sequence[Window]) -> Iterator[Waiting]:
    reason = None
    if len(dumps) < MIN_DUMPS:
        reason = f"{len(dumps)} of at least {MIN_DUMPS} dumps of Wikidata were read"
    elif not windows:
        reason = f"no window ended {DELAYS_YEARS} years before the newest dump"
    if reason:
        yield from (Waiting(facts, ALL, 0, 0, None, reason) for facts in (BEGUN, HOLDING))
        return
    with in_memory() as connection:
        for table in (FACTS, WIKIDATA_ENTITIES):
            view_files(connection, table.name, store.lake.files(table.name), table.schema)
        rows = _counted(connection, windows, dumps[-1])
        between = {"start": windows[0].start, "end": windows[-1].end, "newest": dumps[-1]}
        found = connection.execute(_SUBJECTS, between).fetchall()
    n_subjects = {(BEGUN, relation or ALL): n for relation, n, _ in found}
    n_subjects |= {(HOLDING, relation or ALL): n for relation, _, n in found}
    for facts in (BEGUN, HOLDING):
        own = rows if facts == HOLDING else [row for row in rows if row[1]]
        yield _estimated(facts, ALL, own, n_subjects)
        # Of facts that hold, most began long before the window.
        for relation, group in groupby(sorted(own) if facts == BEGUN else (), key=lambda row: row[0]):
            yield _estimated(facts, relation, list(group), n_subjects)


def _counted(connection: duckdb.DuckDBPyConnection, windows: Sequence[Window], newest: date) -> list[tuple[Any, ...]]:
    """Facts by relation, whether they begin in the window, group of subjects, first and last day; with their number."""
    return [
        row
        for one in windows
        for row in connection.execute(_ARRIVALS, {"start": one.start, "end": one.end, "newest": newest}).fetchall()
    ]


def _estimated(facts: str, relation: str, rows: Sequence[tuple[Any, ...]], n_subjects: Mapping[Any, int]) -> Waiting:
    if not rows:
        return Waiting(facts, relation, 0, 0, None, "found no such facts")
    _, _, subjects, first, last, n = (np.array(column) for column in zip(*rows, strict=True))
    arrivals = turnbull(first, last, n, subjects, seed=DELAYS_SEED)
    return Waiting(facts, relation, int(n.sum()), n_subjects.get((facts, relation), 0), arrivals, None)
