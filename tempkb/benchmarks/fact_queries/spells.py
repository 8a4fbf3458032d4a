"""Joins facts that overlap or touch to spells, and makes the queries of a window from them. Pure, except for files.

A *pair* is a subject with a relation, a *thing* is a pair with an object, and a *spell* is one interval of a thing;
gaps are kept. All three are numbered by their rows, in key order, so that a window is a mask over arrays and not a
join. All objects that hold in a window are answers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tempkb.benchmarks.fact_queries.design import TEMPLAMA, Release
from tempkb.benchmarks.fact_queries.prompts import Template
from tempkb.benchmarks.fact_queries.selection import PRECISIONS
from tempkb.benchmarks.fact_queries.tables import DATED_ANSWER
from tempkb.core.files import read_parquet
from tempkb.core.windows import Window
from tempkb.store.tables import Table
from tempkb.wiki.wikidata.late import is_provisional
from tempkb.wiki.wikidata.views import MAX_DAY, MIN_DAY


def join_spells(connection: duckdb.DuckDBPyConnection) -> None:
    """Make the table `spells` from the table `usable`.

    Facts that overlap or touch become one spell, from the earliest first day to the
    latest last day. Between two spells of an object there is at least one day
    without it. Of starts on the same day the finest date is used, and likewise of
    ends. Unlike in the released rule, gaps are not bridged and spells do not shrink.
    """
    connection.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE spells AS
        WITH begun AS (
            SELECT *, possible_from > max(possible_to) OVER earlier AS is_apart
            FROM usable
            WINDOW earlier AS (PARTITION BY subject_number, relation, object_number
                               ORDER BY possible_from, possible_to, fact_id, interval_no
                               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
        ), numbered AS (
            SELECT *, 1 + count(*) FILTER (WHERE is_apart) OVER (
                PARTITION BY subject_number, relation, object_number
                ORDER BY possible_from, possible_to, fact_id, interval_no) AS spell_no
            FROM begun
        )
        SELECT any_value(wiki) AS wiki, any_value(dump_id) AS dump_id, any_value(subject_id) AS subject_id, relation,
               any_value(object_id) AS object_id, spell_no, subject_number, object_number,
               any_value(object_label) AS object_label, any_value(object_aliases) AS object_aliases,
               min(possible_from) AS possible_from, max(possible_to) AS possible_to,
               nullif(min(possible_from), {MIN_DAY}) AS valid_from, nullif(max(possible_to), {MAX_DAY}) AS valid_to,
               {PRECISIONS}[arg_min(start_fineness, (possible_from, -start_fineness))] AS start_precision,
               {PRECISIONS}[arg_max(end_fineness, (possible_to, end_fineness))] AS end_precision,
               arg_min(start_kind, (possible_from, -start_fineness, start_kind)) AS start_kind,
               arg_max(final_end_kind, (possible_to, end_fineness, final_end_kind)) AS end_kind,
               list({{
                   'fact_id': fact_id, 'interval_no': interval_no,
                   'certain_from': CASE WHEN start_kind = 'novalue' THEN DATE '0001-01-01' ELSE certain_from END,
                   'certain_to': certain_to
               }} ORDER BY possible_from, possible_to, fact_id, interval_no) AS members
        FROM numbered GROUP BY subject_number, relation, object_number, spell_no
        """
    )
    connection.execute(
        """
        CREATE OR REPLACE TEMP TABLE spells AS
        SELECT *, row_number() OVER (
            PARTITION BY subject_number, relation ORDER BY possible_from, possible_to, object_number, spell_no
        ) AS answer_order
        FROM spells
        """
    )


Numbers = np.ndarray
_FOREVER = np.iinfo(np.int32).max
_EPOCH = date(1970, 1, 1).toordinal()
_FINENESS = {"century": 1, "decade": 2, "year": 3, "month": 4, "day": 5}


@dataclass(frozen=True)
class Study:
    """Spells of a release.

    Attributes:
        pairs: rows of `fact_subjects`, by subject and relation.
        pair, thing: pair and thing of each spell, int64 [spells].
        begins, ends: first day on which a spell may hold, and first on which it no longer can, in days since 1970.
        start_fineness, end_fineness: 5 day, 4 month, 3 year, 2 decade, 1 century; 0 without a date.
        answer_order: position of a spell among the spells of its pair.
        answers: each spell's object with its names.
        members: (spell, certain from, certain to) of each statement.
        pair_of_thing, object_of_thing, number_of_thing: the pair, the object and the object's number of each thing.
    """

    pairs: pa.Table
    dump_date: date
    pair: Numbers
    thing: Numbers
    begins: Numbers
    ends: Numbers
    start_fineness: Numbers
    end_fineness: Numbers
    knows_start: Numbers
    answer_order: Numbers
    answers: pa.StructArray
    members: tuple[Numbers, Numbers, Numbers]
    pair_of_thing: Numbers
    object_of_thing: pa.Array
    number_of_thing: Numbers

    @cached_property
    def in_answer_order(self) -> Numbers:
        """Spells, ordered by pair and then by position among its answers."""
        return np.lexsort((self.answer_order, self.pair))

    @cached_property
    def latest_start_first(self) -> Numbers:
        """Spells, the latest start first."""
        return np.argsort(-self.begins, kind="stable")

    @cached_property
    def earliest_end_first(self) -> Numbers:
        """Spells, the earliest end first."""
        return np.argsort(self.ends, kind="stable")

    @cached_property
    def things_by_number(self) -> Numbers:
        """Things, ordered by pair and then by the numbers of their objects."""
        return np.lexsort((self.number_of_thing, self.pair_of_thing))

    def holding(self, window: Window, answers: str) -> Numbers:
        """Return for each spell whether it holds in a window, for some reading (`possible`) or all (`certain`)."""
        start, end = _day(window.start), _day(window.end)
        if answers == "possible":
            held: Numbers = (self.begins < end) & (self.ends > start)
            return held
        spell, certain_from, certain_to = self.members
        certain = spell[(certain_from < end) & (certain_to > start)]
        counted: Numbers = np.bincount(certain, minlength=len(self.pair)) > 0
        return counted

    def ages(self, spells: Numbers, window: Window) -> pa.Array:
        """Return how many days before a window some spells began; 0 if they begin later, null if not known."""
        days = np.maximum(_day(window.start) - self.begins[spells].astype(np.int64), 0)
        return pa.array(days, pa.int32(), mask=~self.knows_start[spells], safe=False)

    def things_of(self, spells: Numbers) -> Numbers:
        """Return for each thing whether one of the given spells belongs to it."""
        found: Numbers = np.zeros(len(self.pair_of_thing), bool)
        found[self.thing[spells]] = True
        return found

    def query_texts(self, templates: Mapping[Template, int]) -> pa.Table:
        """Return the query texts of all pairs, in the order of their ids.

        Columns: before_date and behind_date (the parts of the id around the date), pair, template_no, query.
        """
        by_relation: dict[str, list[tuple[Template, int]]] = {}
        for template, number in templates.items():
            by_relation.setdefault(template.relation, []).append((template, number))
        rows = []
        columns = (self.pairs[name].to_pylist() for name in ("subject_id", "relation", "asked_as"))
        for at, (subject, relation, name) in enumerate(zip(*columns, strict=True)):
            for template, number in by_relation[relation]:
                suffix = f"_{number}" if number > 1 else ""
                rows.append((f"{subject}_{relation}_", suffix, at, number, template.ask(name)))
        rows.sort()
        types = (pa.string(), pa.string(), pa.int32(), pa.int16(), pa.string())
        arrays = [pa.array(values, kind) for values, kind in zip(zip(*rows, strict=True), types, strict=True)]
        return pa.Table.from_arrays(arrays, names=["before_date", "behind_date", "pair", "template_no", "query"])


def read_study(spells: Sequence[Path], subjects: Sequence[Path], releases: Sequence[Path]) -> Study:
    """Return a release's tables as arrays.

    Args:
        spells: files of `fact_spells`, in key order.
    """
    rows = read_parquet(list(spells))
    pairs = read_parquet(list(subjects)).sort_by([("subject_id", "ascending"), ("relation", "ascending")])
    (dump_date,) = read_parquet(list(releases), columns=["dump_date"])["dump_date"].to_pylist()
    pair = _numbers(rows, ("subject_id", "relation"))
    thing = _numbers(rows, ("subject_id", "relation", "object_id"))
    first = np.flatnonzero(np.diff(thing, prepend=-1))
    objects = rows["object_id"].combine_chunks()
    answers = pa.StructArray.from_arrays(
        [objects, rows["object_label"].combine_chunks(), rows["object_aliases"].combine_chunks()],
        ["entity_id", "label", "aliases"],
    )
    of_thing = objects.take(pa.array(first))
    return Study(
        pairs,
        dump_date,
        pair,
        thing,
        _days(rows["valid_from"], -_FOREVER),
        _days(rows["valid_to"], _FOREVER),
        _fineness(rows["start_precision"]),
        _fineness(rows["end_precision"]),
        _knows_start(rows),
        rows["answer_order"].to_numpy(),
        answers,
        _members(rows["members"].combine_chunks()),
        pair[first],
        of_thing,
        np.array([int(one[1:]) for one in of_thing.to_pylist()], np.int64),
    )


def _numbers(table: pa.Table, names: Sequence[str]) -> Numbers:
    """Number the groups of rows that are equal in some columns; the rows are ordered by these."""
    changes = np.zeros(table.num_rows, bool)
    for name in names:
        codes = table[name].combine_chunks().dictionary_encode().indices.to_numpy()
        changes[1:] |= codes[1:] != codes[:-1]
    counted: Numbers = np.cumsum(changes)
    return counted


def _days(column: pa.ChunkedArray, missing: int) -> Numbers:
    days: Numbers = column.cast(pa.int32()).fill_null(missing).to_numpy()
    return days


def _fineness(column: pa.ChunkedArray) -> Numbers:
    encoded = column.combine_chunks().dictionary_encode()
    values = np.array([_FINENESS[one] for one in encoded.dictionary.to_pylist()] + [0], np.int8)
    # A null has no index; it gets the last value, which is 0.
    found: Numbers = values[encoded.indices.fill_null(len(values) - 1).to_numpy(zero_copy_only=False)]
    return found


def _knows_start(spells: pa.Table) -> Numbers:
    """For each spell, whether its start is known; the released rules fill in the study's first day if it is not."""
    is_read = _fineness(spells["start_precision"]) >= _FINENESS["year"]
    is_released = pc.equal(spells["end_kind"], "released").to_numpy()
    is_given = pc.and_(pc.is_valid(spells["valid_from"]), pc.equal(spells["start_kind"], "value")).to_numpy()
    known: Numbers = is_given & (is_read | ~is_released)
    return known


def _members(members: pa.ListArray) -> tuple[Numbers, Numbers, Numbers]:
    """The statements of all spells as flat arrays: spell, certain from, certain to."""
    spell = np.repeat(np.arange(len(members)), members.value_lengths().to_numpy(zero_copy_only=False))
    flat = members.flatten()
    certain_from = _days(pa.chunked_array([flat.field("certain_from")]), _FOREVER)
    certain_to = _days(pa.chunked_array([flat.field("certain_to")]), -_FOREVER)
    return spell, certain_from, certain_to


def _day(day: date) -> int:
    return day.toordinal() - _EPOCH


def partition_of(release: str, window: Window) -> str:
    """Return the partition of a release and window in the lake."""
    return f"{release}.{window.key}"


def make_queries(study: Study, texts: pa.Table, release: Release, window: Window, table: Table) -> pa.Table:
    """Return the queries of a window in key order.

    An object with two spells in the window is one answer; by the released rule of
    DynamicTempLAMA it is two.

    Args:
        texts: the result of `study.query_texts` for the release's templates.
    """
    design = release.design
    spells = study.in_answer_order[study.holding(window, design.answers)[study.in_answer_order]]
    if design.rules != "paper" or release.benchmark == TEMPLAMA:
        spells = _first_of_each(spells, study.thing)
    pairs = study.pair[spells]
    starts = np.flatnonzero(np.diff(pairs, prepend=-1))
    offsets = pa.array(np.append(starts, len(pairs)), pa.int32())
    plain = study.answers.take(pa.array(spells))
    dated = pa.StructArray.from_arrays([*plain.flatten(), study.ages(spells, window)], fields=list(DATED_ANSWER.arrow))
    answers = pa.ListArray.from_arrays(offsets, dated)
    place = np.full(study.pairs.num_rows, -1)
    place[pairs[starts]] = np.arange(len(starts))
    place_of_query = place[texts["pair"].to_numpy()]
    is_answered = place_of_query >= 0
    rows = texts.filter(pa.array(is_answered))
    return table.conform(_rows(study, rows, answers.take(pa.array(place_of_query[is_answered])), release, window))


def _first_of_each(spells: Numbers, thing: Numbers) -> Numbers:
    _, first = np.unique(thing[spells], return_index=True)
    kept: Numbers = spells[np.sort(first)]
    return kept


def _rows(study: Study, texts: pa.Table, answers: pa.ListArray, release: Release, window: Window) -> pa.Table:
    about = study.pairs.take(texts["pair"])
    n = texts.num_rows
    ids = pc.binary_join_element_wise(texts["before_date"], pa.scalar(window.label), texts["behind_date"], "")
    columns = {
        "wiki": about["wiki"],
        "dump_id": about["dump_id"],
        "release": about["release"],
        "window_start": pa.repeat(pa.scalar(window.start), n),
        "query_id": ids,
        "template_no": texts["template_no"],
        "subject_id": about["subject_id"],
        "relation": about["relation"],
        "date": pa.repeat(window.label, n),
        "query": texts["query"],
        "answers": answers,
        "split": about["split"],
        "granularity": pa.repeat(str(release.design.granularity), n),
        "is_provisional": pa.repeat(is_provisional(window.end, study.dump_date), n),
    }
    return pa.table(columns)
