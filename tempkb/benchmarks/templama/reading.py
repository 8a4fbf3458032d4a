"""How models are asked about TempLAMA's queries, and what is read of their scores: perplexities of answers.

Queries that gain an answer and keep an older one are counted, since a model that learnt nothing still knows one. A
maximum over the answers of a query (as in exact match and F1) gives such a query the full score for last year's
answer, so it makes a stale model look adapted. On changes the unit is therefore the object: see
`dynamic_templama/preferences.py`.
"""

from tempkb.benchmarks.fact_queries.prompts import prompting_of
from tempkb.benchmarks.fact_queries.reading import (
    FIRST_WORDING,
    ONCE,
    WORDING,
    WORDINGS,
    answers_of,
    facts_of,
    items_of,
)
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES
from tempkb.benchmarks.reading import PERPLEXITY_METRIC, SCORES, Judging, Part, Reading
from tempkb.benchmarks.templama.later import (
    FUTURE_ENTROPIES,
    FUTURE_LIKELIHOODS,
    LATER_PROMPTS,
    VARIANTS,
    WHEN,
    WHEN_PROMPTS,
)
from tempkb.benchmarks.templama.tables import PROMPT_VARIANTS, TEMPLAMA_PROMPTS, TEMPLAMA_QUERIES
from tempkb.core.estimates_sql import ALL, EXP, estimates, pooled
from tempkb.store.tables import View

_IDS = "list_distinct(list_transform(answers, lambda one: one.entity_id))"

STALE_ANSWERS = View(
    name="stale_answers",
    meaning="How far the answers of one window still answer TempLAMA's queries in the next, by window (null: all "
    "windows): n_queries have answers in it and in the window before, n_gaining of them have a new answer, and "
    "n_keeping of these also have an answer of the window before. With a maximum over answers, a model that learnt "
    "nothing since can have the full score on the share keeps_one of the queries that gained an answer.",
    query=f"""
    WITH queries AS (
        SELECT release, window_start, subject_id, relation, {_IDS} AS ids,
               dense_rank() OVER (PARTITION BY release ORDER BY window_start) AS number
        FROM {TEMPLAMA_QUERIES.name} WHERE template_no = 1
    ), compared AS (
        SELECT now.release, now.window_start, len(list_intersect(now.ids, before.ids)) AS n_kept, len(now.ids) AS n_now
        FROM queries AS now JOIN queries AS before
        ON before.release = now.release AND before.number = now.number - 1
           AND before.subject_id = now.subject_id AND before.relation = now.relation
    ), counted AS (
        SELECT release, window_start, count(*) AS n_queries, count(*) FILTER (WHERE n_now > n_kept) AS n_gaining,
               count(*) FILTER (WHERE n_now > n_kept AND n_kept > 0) AS n_keeping
        FROM compared GROUP BY release, window_start
    )
    SELECT release, window_start, sum(n_queries)::BIGINT AS n_queries, sum(n_gaining)::BIGINT AS n_gaining,
           sum(n_keeping)::BIGINT AS n_keeping, sum(n_keeping) / nullif(sum(n_gaining), 0) AS keeps_one
    FROM counted GROUP BY GROUPING SETS ((release, window_start), (release))
    """,
    needs=(TEMPLAMA_QUERIES.name,),
)

_FURTHER = {**dict.fromkeys(VARIANTS, LATER_PROMPTS), WHEN: WHEN_PROMPTS}
PROMPTING = prompting_of(TEMPLAMA_PROMPTS, (*PROMPT_VARIANTS, *_FURTHER), _FURTHER)
"""How models are asked about TempLAMA's queries."""

_SUMS_OF_ANSWERS = f"""
    WITH scored AS (
        SELECT p.release, s.model, s.scorer, p.split, p.window_start, p.variant, p.item_id, p.target_id,
               p.cluster_id AS cluster, {WORDING} AS wording, s.log_prob_nats, s.n_tokens
        FROM {TEMPLAMA_PROMPTS.name} AS p JOIN {SCORES} AS s USING (prompt_id)
        ANTI JOIN (SELECT release, query_id FROM {TEMPLAMA_QUERIES.name} WHERE template_no > 1) AS q
            ON q.release = p.release AND q.query_id = p.item_id
        WHERE s.status = 'scored' AND s.n_tokens > 0 AND p.role = 'current'
            AND p.variant IN ('undated', 'object_last', 'dated')
    ), counted AS (
        FROM scored
        UNION ALL BY NAME
        SELECT * REPLACE ('{ONCE}' AS variant) FROM (FROM scored WHERE variant <> 'dated')
        QUALIFY row_number() OVER (
            PARTITION BY release, model, scorer, item_id, target_id ORDER BY {FIRST_WORDING}
        ) = 1
    )
    SELECT release, model, scorer, split, window_start, variant, cluster, {PERPLEXITY_METRIC} AS metric,
           'ppl_token' AS aggregate, '{EXP}' AS form, sum(n_tokens) AS n, sum(-log_prob_nats) AS s, count(*) AS items
    FROM counted GROUP BY ALL
"""
_ANSWER_KEYS = ("release", "model", "scorer", "variant", "metric", "aggregate", "form", "cluster")
_EVERY = {"split": f"'{ALL}'", "window_start": "NULL"}

TEMPLAMA_RESULTS = View(
    name="templama_results",
    meaning="Perplexities of the answers of TempLAMA's queries by window (null: all windows), split (all: all splits) "
    "and variant, with standard errors by subject. ppl_token is exp of the sum of the negative log-probabilities of "
    "all answers over the sum of their tokens, as far as the scorer counts them (span_end: with what ends the "
    "answer). variant: undated, object_last, dated, or once (each answer once: undated, or, if the scorer has no "
    "score for it, with the object last). Of a relation with several templates the first counts. Prompts without a "
    "score do not count; n_items is the number of answers that do.",
    query=estimates(
        pooled(_SUMS_OF_ANSWERS, _ANSWER_KEYS, _EVERY),
        ("release", "model", "scorer", "variant", "split", "window_start", "metric", "aggregate"),
    ),
    needs=(TEMPLAMA_PROMPTS.name, TEMPLAMA_QUERIES.name, SCORES),
)

_BY_WINDOW = Part(
    f"""
    SELECT t.*, r.granularity
    FROM {TEMPLAMA_RESULTS.name} AS t JOIN (SELECT release, granularity FROM {FACT_RELEASES.name}) AS r USING (release)
    WHERE t.window_start IS NOT NULL AND t.variant = '{ONCE}'
    """,
    (TEMPLAMA_RESULTS.name, FACT_RELEASES.name),
)

READING = Reading(
    views=(TEMPLAMA_RESULTS, STALE_ANSWERS, FUTURE_LIKELIHOODS, FUTURE_ENTROPIES),
    items=items_of("templama", TEMPLAMA_QUERIES),
    by_window=_BY_WINDOW,
    facts=facts_of(TEMPLAMA_QUERIES, PROMPTING),
    queries=TEMPLAMA_QUERIES,
    judging=Judging(answers_of(TEMPLAMA_QUERIES), WORDINGS),
    made={"templama_when": WHEN_PROMPTS},
)
"""What is read of the scores of TempLAMA's queries."""
