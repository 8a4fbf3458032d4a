"""SQL of what is read of scores of facts, for the benchmarks that ask for facts."""

from tempkb.benchmarks.fact_queries.prompts import OBJECT_LAST, UNDATED
from tempkb.benchmarks.fact_queries.tables import FACT_SPELLS
from tempkb.benchmarks.prompting import Prompting
from tempkb.benchmarks.reading import NUMBERS, SCORES, Part
from tempkb.core.estimates_sql import end_of_window
from tempkb.store.tables import Table
from tempkb.wiki.wikidata.tables import FACTS, UNDATED_STATEMENTS, WIKIDATA_ENTITIES

HAS_SUBJECT = "variant NOT LIKE 'no_subject%'"
"""SQL: does a prompt about a fact name its subject?"""
WORDING = "replace(replace(variant, 'no_subject_', ''), 'no_subject', 'undated')"
"""SQL: the wording of a prompt about a fact, the same with and without the subject: undated or object_last."""
FIRST_WORDING = "wording DESC"
"""SQL: the order in which wordings are preferred where an object may count once: undated, then object_last."""
WORDINGS = (UNDATED, OBJECT_LAST)
"""The same of variants that name the subject and no date."""
ONCE = "once"
"""Value of `variant` in rows in which each object counts in one wording: the query as it is, or the object last."""


def items_of(benchmark: str, queries: Table) -> Part:
    """Return on which days the answers of queries rest.

    An object that came back was right before, so its first spell counts; one without a known start may be of any age.
    """
    return Part(
        f"""
        WITH told AS (
            SELECT subject_id, relation, object_id, dump_date FROM {FACTS.name}
            UNION ALL SELECT subject_id, relation, object_id, dump_date FROM {UNDATED_STATEMENTS.name}
        ), first_told AS (
            SELECT subject_id, relation, object_id, min(dump_date) AS having_day FROM told GROUP BY ALL
        ), statements AS (
            SELECT f.subject_id, f.relation, f.object_id, f.having_day, max(d.dump_date) AS lacking_day
            FROM first_told AS f LEFT JOIN (SELECT entity_id, dump_date FROM {WIKIDATA_ENTITIES.name}) AS d
            ON d.entity_id = f.subject_id AND d.dump_date < f.having_day
            GROUP BY ALL
        ), origins AS (
            SELECT release, subject_id, relation, object_id,
                   CASE WHEN count(*) = count(valid_from) THEN min(valid_from) END AS origin_day
            FROM {FACT_SPELLS.name} GROUP BY ALL
        ), answers AS (
            SELECT release, query_id AS item_id, window_start, subject_id, relation,
                   unnest(list_distinct(list_transform(answers, lambda one: one.entity_id))) AS target_id
            FROM {queries.name}
        )
        SELECT '{benchmark}' AS benchmark, a.release, a.item_id, a.target_id, a.window_start, o.origin_day,
               NULL::DATE AS evidence_day, NULL::DATE AS statement_day, s.lacking_day, s.having_day
        FROM answers AS a
        JOIN origins AS o ON o.release = a.release AND o.subject_id = a.subject_id AND o.relation = a.relation
            AND o.object_id = a.target_id
        LEFT JOIN statements AS s
        ON s.subject_id = a.subject_id AND s.relation = a.relation AND s.object_id = a.target_id
        WHERE o.origin_day IS NOT NULL
        """,
        (queries.name, FACT_SPELLS.name, FACTS.name, UNDATED_STATEMENTS.name, WIKIDATA_ENTITIES.name),
    )


def facts_of(queries: Table, prompting: Prompting) -> Part:
    """Return the scores of the answers of queries, by the first template of their relation."""
    prompts = prompting.table.name
    return Part(
        f"""
        SELECT s.model, s.scorer, {NUMBERS}, q.release, q.subject_id, q.relation, p.target_id AS object_id,
               q.window_start, {end_of_window("q.window_start", "q.granularity")} AS window_end, {WORDING} AS wording,
               -s.log_prob_nats AS nats, s.n_tokens
        FROM {prompts} AS p JOIN {SCORES} AS s USING (prompt_id)
        JOIN {queries.name} AS q ON q.release = p.release AND q.query_id = p.item_id
        WHERE s.status = 'scored' AND s.n_tokens > 0 AND p.role = 'current' AND p.variant IN ('undated', 'object_last')
          AND q.template_no = 1 AND ({prompting.is_by_own_template})
        """,
        (queries.name, prompts),
    )


def names_of(label: str, own: str, others: str) -> str:
    """Return SQL of a list with an object's label and its aliases: its own, or, if a release has none, others.

    Args:
        label: SQL of the label.
        own: SQL of the aliases that the release has.
        others: SQL of those in Wikidata's dump.
    """
    return f"list_prepend({label}, CASE WHEN len({own}) > 0 THEN {own} ELSE coalesce({others}, []) END)"


def answers_of(queries: Table) -> Part:
    """Return which names are right answers of queries: of all objects that hold in the window.

    Args:
        queries: the benchmark's table of queries.
    """
    return Part(
        f"""
        SELECT q.release, q.query_id AS item_id, q.one.entity_id AS target_id, q.window_start,
               NULL::VARCHAR AS subset, q.template_no,
               {names_of("q.one.label", "q.one.aliases", "w.aliases")} AS names
        FROM (SELECT release, query_id, window_start, template_no, dump_id, unnest(answers) AS one FROM {queries.name})
            AS q
        LEFT JOIN {WIKIDATA_ENTITIES.name} AS w ON w.dump_id = q.dump_id AND w.entity_id = q.one.entity_id
        """,
        (queries.name, WIKIDATA_ENTITIES.name),
    )
