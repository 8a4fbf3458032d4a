"""The parts of the methods that both benchmarks of facts share, promises among them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

from tempkb.benchmarks.fact_queries.building import build_queries, build_spells
from tempkb.benchmarks.fact_queries.card import shown_of_queries
from tempkb.benchmarks.fact_queries.design import Design, Release, make_design
from tempkb.benchmarks.fact_queries.prompt_building import Tables, build_prompts
from tempkb.benchmarks.fact_queries.spells import partition_of
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES, FACT_SPELLS, FACT_SUBJECTS
from tempkb.benchmarks.methods import Closing, Made, Options, Step, Versions
from tempkb.benchmarks.prompt_steps import shows_of_prompts
from tempkb.benchmarks.sources import newest_wikidata
from tempkb.benchmarks.work import ReleaseWork
from tempkb.core.files import read_parquet
from tempkb.core.windows import refuse_unended
from tempkb.core.wording import counted
from tempkb.engine.tasks import Shows
from tempkb.store.listings import Sheet
from tempkb.store.plain import plain_rows
from tempkb.store.promises import Promise
from tempkb.store.store import Store
from tempkb.store.tables import Table
from tempkb.wiki.wikidata.tables import FACTS, UNDATED_STATEMENTS, WIKIDATA_ENTITIES

EVERY_STATEMENT_EXISTS = Promise(
    "every_statement_exists",
    "Every statement of a validity interval is in the facts of the release's dump, with its object.",
    FACT_SPELLS,
    """
    SELECT release, fact_id
    FROM (SELECT release, dump_id, subject_id, relation, object_id, unnest(members).fact_id AS fact_id FROM fact_spells)
    ANTI JOIN facts USING (dump_id, subject_id, relation, object_id, fact_id)
    """,
    (FACTS,),
)


def no_subject_in_two_splits(queries: Table) -> Promise:
    """Return the promise that the queries of either benchmark keep subjects apart."""
    return Promise(
        "no_subject_is_in_two_splits",
        "A subject is in the same split in all relations and windows.",
        queries,
        f"""
        SELECT release, subject_id, list(DISTINCT split) FROM {queries.name}
        GROUP BY release, subject_id HAVING count(DISTINCT split) > 1
        """,
    )


def every_answer_asked(queries: Table, prompts: Table) -> Promise:
    """Return the promise that the prompts of either benchmark are of its answers."""
    return Promise(
        "every_answer_is_asked",
        "Every answer of every query, and nothing else, has a prompt with the role current and variant undated.",
        prompts,
        rf"""
        WITH answered AS (
            SELECT DISTINCT release, query_id, one.entity_id AS object_id
            FROM (SELECT release, query_id, unnest(answers) AS one FROM {queries.name})
            WHERE regexp_matches(one.label, '\S')
        )
        SELECT coalesce(a.release, p.release), coalesce(a.query_id, p.item_id), coalesce(a.object_id, p.target_id)
        FROM answered AS a
        FULL JOIN (FROM {prompts.name} WHERE role = 'current' AND variant = 'undated') AS p
        ON p.release = a.release AND p.item_id = a.query_id AND p.target_id = a.object_id
        WHERE a.query_id IS NULL OR p.item_id IS NULL
        """,
        (queries,),
    )


def design_of(benchmark: str) -> Callable[[Store, Options], Design]:
    """Return the function that makes a design of a benchmark from options."""

    def design(store: Store, options: Options) -> Design:
        dump_id = options["dump_id"] or newest_wikidata(store)
        made = make_design(
            benchmark,
            options["preset"],
            dump_id,
            options["windows"],
            options["granularity"],
            options["templates"],
            options["changes"],
        )
        refuse_unended(options["windows"], made.windows(), datetime.now(UTC).date(), "{first}..{end}")
        return made

    return design


def shared_partitions(release: Release) -> Mapping[str, Sequence[str]]:
    """Return the partitions of the tables that both benchmarks have."""
    return {table.name: [release.name] for table in (FACT_SUBJECTS, FACT_SPELLS, FACT_RELEASES)}


def window_partitions(release: Release) -> list[str]:
    """Return the partitions of a table that has one for each window of a release, oldest first."""
    return [partition_of(release.name, window) for window in release.design.windows()]


def spells_step(benchmark: str) -> Step:
    """Return the step that chooses a release's subjects and joins their facts."""
    return Step(
        f"{benchmark}_spells",
        (
            Made(
                FACT_SUBJECTS,
                (FACTS, UNDATED_STATEMENTS, WIKIDATA_ENTITIES),
            ),
            Made(
                FACT_SPELLS,
                (FACTS, UNDATED_STATEMENTS, WIKIDATA_ENTITIES),
            ),
            Made(FACT_RELEASES, (FACT_SPELLS,)),
        ),
        build_spells,
        (EVERY_STATEMENT_EXISTS,),
        _shows_of_spells,
    )


def queries_step(table: Table) -> Step:
    """Return the step that writes the queries of every window of a release."""

    def shows(_store: Store, _release: Release, versions: Versions) -> Shows:
        return {table.name: shown_of_queries(versions[table.name])}

    made = Made(table, (FACT_SPELLS, FACT_SUBJECTS))
    return Step(table.name, (made,), partial(build_queries, table), (no_subject_in_two_splits(table),), shows)


def prompts_step(
    tables: Tables,
    sources: tuple[Table, ...],
    further: Callable[[ReleaseWork], None] = lambda _work: None,
) -> Step:
    """Return the step that writes the prompts of every window of a release, which is its last one.

    Args:
        sources: tables from which the prompts are made, besides subjects, spells and queries. They include what the
            step before writes, so that this one is the last: with several last steps, one would continue after another
            has failed.
        further: writes prompts that belong to no window.
    """
    prompts = tables.prompts

    def build(work: ReleaseWork) -> None:
        build_prompts(tables, work)
        further(work.branch())

    return Step(
        prompts.name,
        (Made(prompts, (tables.queries, FACT_SPELLS, FACT_SUBJECTS, *sources)),),
        build,
        (every_answer_asked(tables.queries, prompts),),
        shows_of_prompts(prompts),
    )


def closing_of(store: Store, release: Release, queries: Table, further: Sequence[Sheet] = ()) -> Closing:
    """Return the closing screen of a release of facts: its queries by relation."""
    (row,) = plain_rows(store.read(FACT_RELEASES.name, release=release.name))
    rows_of_queries = store.read(queries.name, release=release.name)
    n_subjects = Counter(store.read(FACT_SUBJECTS.name, release=release.name)["relation"].to_pylist())
    n_queries = Counter(rows_of_queries["relation"].to_pylist())
    rows = [(relation, n_subjects[relation], n_queries[relation]) for relation in sorted(n_subjects)]
    return Closing(
        f"{counted(rows_of_queries.num_rows, 'query', 'queries')} by {row['granularity']}, "
        f"{row['study_from']} to {row['study_to']}, from {', '.join(row['dump_ids'])}",
        (Sheet(("relation", "subjects", "queries"), rows), *further),
        "date, query, list_transform(answers, lambda one: one.label) AS answers",
        queries.name,
    )


def _shows_of_spells(_store: Store, _release: Release, versions: Versions) -> Shows:
    (row,) = plain_rows(read_parquet(versions[FACT_RELEASES.name][0].paths()))
    return {FACT_RELEASES.name: {"design": row["design"]}}
