"""The released rules of choosing and joining facts, with their faults.

TempLAMA's and DynamicTempLAMA's code (`templama.py`, `create_templates.py`) differ
only in how missing parts of dates are filled. Facts that began before `min_year` and
are still open are dropped. A fact inside another one shortens it, and a gap between
two facts of one object is bridged. An end that is known to the year is set to the
month in which the study ends. Ties of popularity are broken by the item's number
here, because the order of the released file of facts is not known.
"""

from calendar import monthrange
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any, NamedTuple

import duckdb

from tempkb.benchmarks.fact_queries.design import TEMPLAMA, Design
from tempkb.benchmarks.fact_queries.selection import split_subjects
from tempkb.benchmarks.work import make_table
from tempkb.core.filtering import LeftOut

# As in the released code: a date is year * 10000 + month * 100 + day, with 0 for unknown parts.
_NO_START, _NO_END = 0, 21_000_000
_LAST_YEAR = 2100


class Fact(NamedTuple):
    """A fact in the released code's form; `start` and `end` are numbers YYYYMMDD, or None."""

    subject: str
    relation: str
    object: str
    start: int | None
    end: int | None
    fact_id: str = ""


def chosen_facts(
    facts: Iterable[Fact], n_statements: Mapping[str, int], most: int, min_year: int
) -> dict[tuple[str, str], list[Fact]]:
    """Return the joined facts of the subjects that the released code chooses, by (relation, subject), in its order.

    Args:
        facts: facts of subjects and objects with a page; their order breaks ties of popularity.
        n_statements: number of statements by subject, its popularity.
        most: the largest number of subjects of a relation.
        min_year: a fact must begin or end in this year or later.
    """
    by_relation: dict[str, dict[str, list[Fact]]] = {}
    for fact in facts:
        if any(day is not None and day // 10_000 >= min_year for day in (fact.start, fact.end)):
            by_relation.setdefault(fact.relation, {}).setdefault(fact.subject, []).append(fact)
    chosen: dict[tuple[str, str], list[Fact]] = {}
    for relation, by_subject in by_relation.items():
        popular = sorted(by_subject, key=lambda subject: -n_statements.get(subject, 0))
        joined = ((subject, resolve_objects(by_subject[subject])) for subject in popular)
        # The released code counts rows and not objects, so one object twice is enough.
        several = [(subject, rows) for subject, rows in joined if len(rows) > 1]
        chosen |= {(relation, subject): rows for subject, rows in several[:most]}
    return chosen


def resolve_objects(facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts of one subject, joined as by `resolve_objects` of the released code."""
    ordered = sorted(facts, key=lambda one: (one.start or _NO_START, one.end or _NO_END))
    joined: list[Fact] = []
    for fact in ordered:
        last = joined[-1] if joined else None
        if last and last.object == fact.object and last.start != last.end and fact.start != fact.end:
            joined[-1] = last._replace(end=fact.end)
        else:
            joined.append(fact)
    return joined


def years_of(fact: Fact) -> tuple[date | None, date | None]:
    """Return the days [from, to) by TempLAMA's rule: whole years, the last one included; None for a missing date."""
    start = date(fact.start // 10_000, 1, 1) if fact.start else None
    end = date(fact.end // 10_000 + 1, 1, 1) if fact.end else None
    return start, end


def days_of(fact: Fact, first: date, last: date) -> tuple[date, date]:
    """Return the days [from, to) by DynamicTempLAMA's rule: missing parts are filled from the study's edges.

    So an end of 2020 is 30 June 2020 in a study that ends in June.

    Args:
        first: first day of the study, for missing parts of the start.
        last: last day of the study, for missing parts of the end.
    """
    # If the study ends with a month, an end is filled with day 31, which `_filled` limits to the month's last day.
    nominal = last.replace(day=1), 31 if (last + timedelta(days=1)).day == 1 else last.day
    start = _filled(fact.start, first.year, first.month, first.day)
    end = _filled(fact.end, nominal[0].year, nominal[0].month, nominal[1])
    return start, end + timedelta(days=1)


def _filled(day: int | None, year: int, month: int, number: int) -> date:
    if day is not None:
        year, month, number = day // 10_000, day // 100 % 100 or month, day % 100 or number
    return date(year, month, min(number, monthrange(year, month)[1]))


def join_as_released(connection: duckdb.DuckDBPyConnection, design: Design, benchmark: str) -> LeftOut:
    """Make the tables `spells` and `subjects` by the released rules, from the tables `usable` and `named`."""
    facts = _read_facts(connection)
    popular: dict[str, int] = dict(connection.execute("SELECT entity_id, n_statements FROM named").fetchall())
    chosen = chosen_facts(facts, popular, design.max_subjects, design.min_year)
    spells, subjects = [], []
    ranks: dict[str, int] = {}
    for (relation, subject), rows in chosen.items():
        ranks[relation] = ranks.get(relation, 0) + 1
        subjects.append((relation, subject, popular[subject], ranks[relation], len({one.object for one in rows})))
        spells += _spell_rows(rows, design, benchmark)
    make_table(connection, "released_subjects", _SUBJECTS, subjects)
    make_table(connection, "released_spells", _SPELLS, spells)
    connection.execute(
        """
        CREATE OR REPLACE TEMP TABLE chosen AS
        SELECT r.*, n.label, n.label AS asked_as, count(*) OVER (PARTITION BY relation, n.label) > 1 AS is_ambiguous
        FROM released_subjects AS r JOIN named AS n ON n.entity_id = r.subject_id
        """
    )
    split_subjects(connection, design)
    connection.execute(
        """
        CREATE OR REPLACE TEMP TABLE spells AS
        SELECT any_value(u.wiki) OVER () AS wiki, any_value(u.dump_id) OVER () AS dump_id, r.*,
               n.label AS object_label, n.aliases AS object_aliases, u.start_precision, u.end_precision, u.start_kind,
               'released' AS end_kind,
               [{'fact_id': r.fact_id, 'interval_no': u.interval_no, 'certain_from': NULL::DATE,
                 'certain_to': NULL::DATE}] AS members
        FROM released_spells AS r JOIN last_intervals AS u USING (fact_id)
        JOIN named AS n ON n.entity_id = r.object_id
        """
    )
    return LeftOut.of([("has one row, or is not among the most popular", _n_subjects(facts) - len(chosen), "")])


_SUBJECTS = "relation VARCHAR, subject_id VARCHAR, popularity BIGINT, popularity_rank INTEGER, n_objects INTEGER"
_SPELLS = """
    subject_id VARCHAR, relation VARCHAR, object_id VARCHAR, spell_no SMALLINT, answer_order INTEGER, valid_from DATE,
    valid_to DATE, fact_id VARCHAR
"""


def _read_facts(connection: duckdb.DuckDBPyConnection) -> list[Fact]:
    """The facts with dates as numbers, by subject; of several intervals of a statement, only the last."""
    connection.execute(
        """
        CREATE OR REPLACE TEMP TABLE last_intervals AS
        FROM usable QUALIFY row_number() OVER (PARTITION BY fact_id ORDER BY interval_no DESC) = 1
        """
    )
    number = """CASE WHEN {0}_kind = 'value' AND year({1}) BETWEEN 1 AND {2} THEN CASE {0}_precision
        WHEN 'day' THEN year({1}) * 10000 + month({1}) * 100 + day({1})
        WHEN 'month' THEN year({1}) * 10000 + month({1}) * 100
        WHEN 'year' THEN year({1}) * 10000 END END"""
    start = number.format("start", "valid_from", _LAST_YEAR)
    end = number.format("end", "(certain_to - 1)", _LAST_YEAR)
    rows = connection.execute(
        f"SELECT subject_id, relation, object_id, {start}, {end}, fact_id FROM last_intervals "
        "ORDER BY subject_number, relation, fact_id"
    ).fetchall()
    return [Fact(*row) for row in rows]


def _spell_rows(rows: Sequence[Fact], design: Design, benchmark: str) -> list[tuple[Any, ...]]:
    found: dict[str, int] = {}
    spells = []
    for order, one in enumerate(rows, 1):
        found[one.object] = found.get(one.object, 0) + 1
        days = years_of(one) if benchmark == TEMPLAMA else days_of(one, design.first, design.end - timedelta(days=1))
        spells.append((one.subject, one.relation, one.object, found[one.object], order, *days, one.fact_id))
    return spells


def _n_subjects(facts: Iterable[Fact]) -> int:
    return len({(one.relation, one.subject) for one in facts})
