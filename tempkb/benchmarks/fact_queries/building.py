"""Builds a release's subjects, spells and queries from a Wikidata dump's tables. Does not use Dagster.

A release is frozen: a partition that is built is never written again.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date

import duckdb
import pyarrow as pa

from tempkb.benchmarks.fact_queries.design import Design
from tempkb.benchmarks.fact_queries.queries import make_queries, partition_of
from tempkb.benchmarks.fact_queries.released import join_as_released
from tempkb.benchmarks.fact_queries.releases import Release
from tempkb.benchmarks.fact_queries.selection import name_entities, relations_without, select_facts, use_templates
from tempkb.benchmarks.fact_queries.spells import join_spells
from tempkb.benchmarks.fact_queries.study import Study, read_study
from tempkb.benchmarks.fact_queries.subjects import choose_subjects
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES, FACT_SPELLS, FACT_SUBJECTS
from tempkb.benchmarks.source_files import with_files
from tempkb.errors import ContractError, DesignError
from tempkb.mentions.tables import ENTITY_POPULARITY
from tempkb.revisions.tables import STABLE_SNAPSHOTS
from tempkb.store.drafts import Exclusion, Provenance
from tempkb.store.memory import spilling_to, view_files
from tempkb.store.store import Store
from tempkb.store.tables import Table
from tempkb.store.versions import Version
from tempkb.wikidata.steps import require_one_pass
from tempkb.wikidata.tables import FACTS, UNDATED_STATEMENTS, WIKIDATA_ENTITIES

Log = Callable[[str], None]
_BATCH_ROWS = 1 << 14
_SOURCES = {"facts": FACTS, "undated": UNDATED_STATEMENTS, "entities": WIKIDATA_ENTITIES}


def build_spells(store: Store, release: Release, log: Log) -> dict[str, Version]:
    """Choose the subjects of a release and join their facts to spells, unless that is done already.

    Raises:
        DesignError: the study extends beyond the dump, or there are no subjects.
        ContractError: the dump was not read.
    """
    built = {
        table.name: version
        for table in (FACT_SUBJECTS, FACT_SPELLS, FACT_RELEASES)
        if (version := store.lake.current(table.name, release.name)) is not None
    }
    if len(built) == 3:
        log(f"{release.name}: its subjects and spells are built already")
        return built
    design = release.design
    versions = {name: _need(store, table, design.dump_id) for name, table in _SOURCES.items()}
    require_one_pass(store, _SOURCES.values(), design.dump_id)
    counted = _newest_popularity(store) if design.popularity == "inlinks" else {}
    provenance = Provenance(with_files(store, (*versions.values(), *counted.values())), design.to_json())
    with store.lake.staging() as folder, spilling_to(folder) as connection:
        for name, version in versions.items():
            view_files(connection, name, version.paths())
        dump_date = _day_of(connection, design)
        use_templates(connection, design)
        relations_left_out = relations_without(connection, design)
        name_entities(connection, design)
        if counted:
            _count_inlinks(connection, counted)
        facts_left_out = select_facts(connection, design)
        if design.rules == "paper":
            subjects_left_out = join_as_released(connection, design, release.benchmark)
        else:
            join_spells(connection)
            subjects_left_out = choose_subjects(connection, design)
        subjects_left_out += relations_left_out
        log(_summary(connection, release.name))
        _refuse_nothing(connection, facts_left_out, subjects_left_out, release)
        for table, query, left_out in (
            (FACT_SUBJECTS, _subjects_sql(), subjects_left_out),
            (FACT_SPELLS, _spells_sql(design), facts_left_out),
        ):
            rows = _rows(connection, query, table, release.name)
            built[table.name] = store.write(table, release.name, rows, provenance, left_out)
    row = {
        "wiki": store.home.wiki,
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
    described = [pa.Table.from_pylist([row], FACT_RELEASES.schema)]
    built[FACT_RELEASES.name] = store.write(FACT_RELEASES, release.name, described, provenance)
    return built


def build_queries(store: Store, release: Release, table: Table, log: Log) -> list[Version]:
    """Write the queries of those windows of a release that are not built yet, and return the versions of all windows.

    Raises:
        ContractError: the release's subjects and spells are not built.
    """
    sources = [_need(store, one, release.name) for one in (FACT_SPELLS, FACT_SUBJECTS)]
    provenance = Provenance({f"{one.table} {one.partition}": one.version for one in sources}, release.design.to_json())
    study = read_release(store, release)
    texts = study.query_texts(release.design.numbered_templates())
    versions = []
    for window in release.design.windows():
        partition = partition_of(release.name, window)
        version = store.lake.current(table.name, partition)
        if version is None:
            rows = make_queries(study, texts, release, window, table)
            version = store.write(table, partition, [rows], provenance)
            log(f"{window.label}: {version.rows:,} queries")
        versions.append(version)
    return versions


def read_release(store: Store, release: Release) -> Study:
    """Return the spells of a release as arrays.

    Raises:
        ContractError: the release's subjects and spells are not built.
    """
    spells, subjects, releases = (
        _need(store, table, release.name).paths() for table in (FACT_SPELLS, FACT_SUBJECTS, FACT_RELEASES)
    )
    return read_study(spells, subjects, releases)


def _need(store: Store, table: Table, partition: str) -> Version:
    version = store.lake.current(table.name, partition)
    if version is None:
        built = ", ".join(store.lake.partitions(table.name)) or "none"
        raise ContractError(
            f"{table.name} of {partition} is not built; built: {built}. Build it first: tempkb build, then tempkb "
            "release"
        )
    return version


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


def _newest_popularity(store: Store) -> dict[str, Version]:
    """Return the popularity and the snapshot of the home's newest window, by their names in SQL."""
    windows = store.lake.partitions(ENTITY_POPULARITY.name)
    if not windows:
        raise DesignError(
            "popularity: inlinks need entity_popularity, which is not built; build it, or take statements"
        )
    tables = {"counted": ENTITY_POPULARITY, "snapshot": STABLE_SNAPSHOTS}
    return {name: _need(store, table, windows[-1]) for name, table in tables.items()}


def _count_inlinks(connection: duckdb.DuckDBPyConnection, versions: Mapping[str, Version]) -> None:
    """Make the table `inlinks(entity_id, n_inlinks)` from the popularity and the snapshot of a window."""
    for name, version in versions.items():
        view_files(connection, name, version.paths())
    connection.execute(
        """
        CREATE OR REPLACE TEMP TABLE inlinks AS
        SELECT entity_id, max(n_inlinks) AS n_inlinks FROM counted JOIN snapshot USING (page_id)
        WHERE entity_id IS NOT NULL GROUP BY entity_id
        """
    )


def _refuse_nothing(
    connection: duckdb.DuckDBPyConnection, facts: Sequence[Exclusion], subjects: Sequence[Exclusion], release: Release
) -> None:
    (n,) = connection.execute("SELECT count(*) FROM subjects").fetchall()[0]
    if not n:
        reasons = "; ".join(f"{one.n} x {one.reason}" for one in (*facts, *subjects) if one.n) or "no fact at all"
        raise DesignError(f"{release.name}: no subject is left ({reasons}). Take another dump, study or min_objects")


def _summary(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    facts, spells, subjects = connection.execute(
        "SELECT (SELECT count(*) FROM usable), (SELECT count(*) FROM spells), (SELECT count(*) FROM subjects)"
    ).fetchall()[0]
    return f"{name}: {facts:,} facts make {spells:,} spells; {subjects:,} pairs of subject and relation are chosen"


def _subjects_sql() -> str:
    return """
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


def _rows(connection: duckdb.DuckDBPyConnection, query: str, table: Table, release: str) -> Iterator[pa.Table]:
    for batch in connection.sql(query, params={"release": release}).to_arrow_reader(_BATCH_ROWS):
        yield table.conform(batch)
