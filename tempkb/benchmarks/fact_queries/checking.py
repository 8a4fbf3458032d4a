"""The promises of the benchmarks of facts, as queries that return what breaks them. Does not use Dagster."""

from tempkb.benchmarks.fact_queries.tables import FACT_SPELLS
from tempkb.store.promises import Promise
from tempkb.store.tables import Table
from tempkb.wikidata.tables import FACTS

EVERY_STATEMENT_EXISTS = Promise(
    "every_statement_exists",
    "Every statement of a spell is in the facts of the release's dump, with the spell's object.",
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
