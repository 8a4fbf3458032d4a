"""SQL of the scores of objects of changes and answers."""

from tempkb.benchmarks.dynamic_templama.tables import DYNAMIC_TEMPLAMA_PROMPTS, DYNAMIC_TEMPLAMA_QUERIES
from tempkb.benchmarks.fact_queries.reading import FIRST_WORDING, HAS_SUBJECT, WORDING
from tempkb.benchmarks.reading import SCORES

OBJECT_SCORES = f"""
    SELECT model, scorer, release, subject_id, relation, object_id, split, wording, log_prob_nats, n_tokens, n_chars,
           bare_nats
    FROM (
        SELECT s.model, s.scorer, release, subject_id, relation, object_id, split, wording,
               any_value(s.log_prob_nats) FILTER (WHERE has_subject) AS log_prob_nats,
               any_value(s.n_tokens) FILTER (WHERE has_subject) AS n_tokens,
               any_value(s.n_chars) FILTER (WHERE has_subject) AS n_chars,
               any_value(s.log_prob_nats) FILTER (WHERE NOT has_subject) AS bare_nats
        FROM (
            SELECT DISTINCT p.release, q.subject_id, q.relation, p.target_id AS object_id, p.split,
                   {WORDING} AS wording, {HAS_SUBJECT} AS has_subject, p.prompt_id
            FROM {DYNAMIC_TEMPLAMA_PROMPTS.name} AS p
            JOIN {DYNAMIC_TEMPLAMA_QUERIES.name} AS q ON q.release = p.release AND q.query_id = p.item_id
            WHERE p.role <> 'control' AND p.variant <> 'dated' AND q.template_no = 1
        ) JOIN {SCORES} AS s USING (prompt_id)
        WHERE s.status = 'scored' GROUP BY ALL
    )
    WHERE log_prob_nats IS NOT NULL
    QUALIFY row_number() OVER (
        PARTITION BY model, scorer, release, subject_id, relation, object_id ORDER BY {FIRST_WORDING}
    ) = 1
"""
"""SQL: the scores of the objects of DynamicTempLAMA's queries, each once, by the first template of its relation.

Undated prompts of one query and object are equal in all windows, so an object has its score also in windows in which
nobody asks for it, such as that in which it has left. `bare_nats` is the score without the subject.
"""
