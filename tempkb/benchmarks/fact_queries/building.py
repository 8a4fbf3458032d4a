"""Builds a release's subjects, spells and queries from a Wikidata dump's tables. Does not use Dagster.

A release is frozen: a partition that is built is never written again.
"""

import json
from datetime import date

import duckdb

from tempkb.benchmarks.fact_queries.design import Design
from tempkb.benchmarks.fact_queries.released import join_as_released
from tempkb.benchmarks.fact_queries.selection import (
    NO_STATEMENT,
    NO_WORDING,
    choose_subjects,
    name_entities,
    relations_without,
    select_facts,
    use_templates,
)
from tempkb.benchmarks.fact_queries.spells import Study, join_spells, make_queries, partition_of, read_study
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES, FACT_SPELLS, FACT_SUBJECTS
from tempkb.benchmarks.work import ReleaseWork
from tempkb.core.errors import DesignError
from tempkb.core.filtering import LeftOut
from tempkb.store.tables import Table
from tempkb.wiki.mentions.tables import ENTITY_POPULARITY
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS
from tempkb.wiki.wikidata.tables import FACTS, UNDATED_STATEMENTS, WIKIDATA_ENTITIES

_SOURCES = {"facts": FACTS, "undated": UNDATED_STATEMENTS, "entities": WIKIDATA_ENTITIES}


def build_spells(work: ReleaseWork) -> None:
    """Choose the subjects of a release and join their facts to spells, unless that is done already.

    Raises:
        DesignError: the study extends beyond the dump, or there are no subjects.
        ContractError: the dump was not read.
    """
    release, design, connection = work.release, work.release.design, work.connection
    if all(work.stands(table, release.name) for table in (FACT_SUBJECTS, FACT_SPELLS, FACT_RELEASES)):
        work.log(f"{release.name}: its subjects and validity intervals are built already")
        return
    for name, table in _SOURCES.items():
        work.read(table, design.dump_id, name, current=True)
    if design.popularity == "inlinks":
        _count_inlinks(work)
    dump_date = _day_of(connection, design)
    use_templates(connection, design)
    relations = relations_without(connection, design)
    name_entities(connection, design)
    facts = select_facts(connection, design)
    if design.rules == "paper":
        subjects = join_as_released(connection, design, release.benchmark)
    else:
        join_spells(connection)
        subjects = choose_subjects(connection, design)
    subjects.merge(relations)
    work.log(_summary(connection, release.name))
    _refuse_nothing(connection, facts, subjects, release.name)
    examples = [(reason, relations.examples.get(reason)) for reason in (NO_STATEMENT, NO_WORDING)]
    if left_out := [f"left out: {found[0]} ({reason})" for reason, found in examples if found]:
        work.warnings.append("; ".join(left_out))
    for table, query, counted in (
        (FACT_SUBJECTS, _SUBJECTS, subjects),
        (FACT_SPELLS, _spells_sql(design), facts),
    ):
        work.write(table, release.name, work.rows(query, release=release.name), counted)
    row = {
        "wiki": work.store.home.wiki,
        "release": release.name,
        "benchmark": release.benchmark,
        "preset": release.preset,
        "granularity": str(design.granularity),
        "study_from": design.first,
        "study_to": design.end,
        "dump_ids": [design.dump_id],
        "dump_date": dump_date,
        "design": json.dumps(design.to_json(), sort_keys=True),
    }
    work.write(FACT_RELEASES, release.name, [row])


def build_queries(table: Table, work: ReleaseWork) -> None:
    """Write the queries of those windows of a release that are not built yet.

    Raises:
        ContractError: the release's subjects and spells are not built.
    """
    release = work.release
    study = read_release(work)
    texts = study.query_texts(release.design.numbered_templates())
    for window in release.design.windows():
        partition = partition_of(release.name, window)
        if not work.stands(table, partition):
            work.write(table, partition, make_queries(study, texts, release, window, table))


def read_release(work: ReleaseWork) -> Study:
    """Return the spells of a release as arrays.

    Raises:
        ContractError: the release's subjects and spells are not built.
    """
    spells, subjects, releases = (
        work.read(table, work.release.name)[0].paths() for table in (FACT_SPELLS, FACT_SUBJECTS, FACT_RELEASES)
    )
    return read_study(spells, subjects, releases)


def _day_of(connection: duckdb.DuckDBPyConnection, design: Design) -> date:
    """The dump's day; refuse a study that ends after it."""
    (day,) = connection.execute("SELECT max(dump_date) FROM entities").fetchall()[0]
    if day is None:
        raise DesignError(f"dump {design.dump_id}: has no item with a page in the wiki, so there are no queries")
    if design.end > day:
        raise DesignError(
            f"windows: the study ends on {design.end}, after the day of {design.dump_id} ({day}); expected no later "
            "day, since the dump does not cover it. End it earlier, or take a later dump"
        )
    found: date = day
    return found


def _count_inlinks(work: ReleaseWork) -> None:
    """Make the table `inlinks(entity_id, n_inlinks)` from the popularity and the snapshot of the newest window."""
    windows = work.store.lake.partitions(ENTITY_POPULARITY.name)
    if not windows:
        raise DesignError(
            "popularity: inlinks need entity_popularity, which is not built; build it, or take statements"
        )
    work.read(ENTITY_POPULARITY, windows[-1], "counted")
    work.read(STABLE_SNAPSHOTS, windows[-1], "snapshot")
    work.connection.execute(
        """
        CREATE OR REPLACE TEMP TABLE inlinks AS
        SELECT entity_id, max(n_inlinks) AS n_inlinks FROM counted JOIN snapshot USING (page_id)
        WHERE entity_id IS NOT NULL GROUP BY entity_id
        """
    )


def _refuse_nothing(connection: duckdb.DuckDBPyConnection, facts: LeftOut, subjects: LeftOut, name: str) -> None:
    (n,) = connection.execute("SELECT count(*) FROM subjects").fetchall()[0]
    if not n:
        counted = (*facts.counts.items(), *subjects.counts.items())
        reasons = "; ".join(f"{n} x {reason}" for reason, n in counted) or "no fact at all"
        raise DesignError(f"{name}: no subject is left ({reasons}). Take another dump, study or min_objects")


def _summary(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    facts, spells, subjects = connection.execute(
        "SELECT (SELECT count(*) FROM usable), (SELECT count(*) FROM spells), (SELECT count(*) FROM subjects)"
    ).fetchall()[0]
    return f"{name}: {facts:,} facts make {spells:,} spells; {subjects:,} pairs of subject and relation are chosen"


_SUBJECTS = """
    SELECT e.wiki, e.dump_id, $release AS release, s.relation, s.subject_id, s.label, s.asked_as, s.is_ambiguous,
           s.popularity, s.popularity_rank, s.n_objects, s.split
    FROM subjects AS s, (SELECT any_value(wiki) AS wiki, any_value(dump_id) AS dump_id FROM entities) AS e
    ORDER BY relation, subject_id
"""


def _spells_sql(design: Design) -> str:
    aliases = "object_aliases" if design.aliases else "[]::VARCHAR[] AS object_aliases"
    columns = ", ".join(
        aliases if name == "object_aliases" else name for name in FACT_SPELLS.column_names() if name != "release"
    )
    return f"""
        SELECT $release AS release, {columns} FROM spells SEMI JOIN subjects USING (subject_id, relation)
        JOIN (SELECT entity_id AS object_id, n_statements AS object_statements FROM named) USING (object_id)
        ORDER BY subject_id, relation, object_id, spell_no
    """
