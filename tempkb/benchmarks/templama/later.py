"""Asks about later years (section 3.2 of the paper): the last known answers, and the queries of table 9, year by year.

No release stores these prompts, which would outnumber all others: SQL makes them of those that it stores, when models
are asked and when scores are read. So releases of before have them, too.
"""

from tempkb.benchmarks.fact_queries.prompts import UNDATED
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES
from tempkb.benchmarks.reading import MODELS, SCORES
from tempkb.benchmarks.templama.tables import FUTURE, FUTURE_RELATION_QUERIES, TEMPLAMA_PROMPTS
from tempkb.core.estimates_sql import ALL, MEAN, end_of_window, estimates
from tempkb.core.prompts import PROMPT_ID
from tempkb.store.tables import View

MOST_FACTS, N_YEARS = 1000, 10
"""Of how many subjects and relations of a release models are asked, and until how many years after its last window."""
LEAST_OF_SET = 0.9
"""Which part of a closed set must have a score for an entropy over it."""

VARIANTS = {
    "later_dated": "a query with each object that its subject has in the release, after the date of a year",
    "later_in_year": "the same behind In YEAR, in place of the date",
    "future_dated": "a query about the future with an answer of its closed set, after the date of a year",
    "future_in_year": "the same behind In YEAR, in place of the date",
}
"""The meaning of each variant that no release stores."""

_FACT = "regexp_extract(item_id, '^[^_]+_[^_]+')"
# By the first template, since the ids of queries of others end with its number.
_ANSWERS = f"""
    SELECT DISTINCT release, window_start, {_FACT} AS fact, target_id, target, left_context, right_context, cluster_id,
           split, item_id AS query_id
    FROM {TEMPLAMA_PROMPTS.name}
    WHERE variant = '{UNDATED}' AND role = 'current' AND regexp_full_match(item_id, '[^_]+_[^_]+_[^_]+')
"""

LATER_PROMPTS = View(
    name="later_prompts",
    meaning="Prompts about each year from that of a release's first window to ten years after its last, which are made "
    "of templama_prompts and asked for by their variant alone (tempkb score --variant later_dated). "
    f"{'; '.join(f'{name}: {meaning}' for name, meaning in VARIANTS.items())}. item_id is the subject and relation "
    f"(Q42_P54; {MOST_FACTS:,} of the test split, chosen by hash, by the first template) or future.<query_no>, and "
    "window_start the first day of the year.",
    query=f"""
    WITH answers AS ({_ANSWERS}), asked AS (
        SELECT DISTINCT release, fact AS item_id, target_id, left_context, target, right_context, 'current' AS role,
               cluster_id, split, 'later' AS kind
        FROM (FROM answers WHERE split = 'test'
              QUALIFY dense_rank() OVER (PARTITION BY release ORDER BY md5(fact), fact) <= {MOST_FACTS})
        UNION ALL BY NAME
        SELECT release, item_id, target_id, left_context, target, right_context, role, cluster_id, split,
               'future' AS kind
        FROM {TEMPLAMA_PROMPTS.name} WHERE variant = '{FUTURE}'
    ), years AS (
        SELECT release, unnest(range(min(year(window_start)), max(year(window_start)) + {N_YEARS + 1})) AS year
        FROM answers GROUP BY release
    ), worded AS (
        SELECT * REPLACE (concat('year: ', year, ' ', left_context) AS left_context), kind || '_dated' AS variant
        FROM asked JOIN years USING (release)
        UNION ALL BY NAME
        SELECT * REPLACE (concat('In ', year, ', ', regexp_replace(left_context, '^The ', 'the ')) AS left_context),
               kind || '_in_year' AS variant
        FROM asked JOIN years USING (release)
    )
    SELECT release, make_date(year, 1, 1) AS window_start, year::SMALLINT AS year, item_id, target_id, variant,
           {PROMPT_ID} AS prompt_id, left_context, target, right_context, role, NULL::VARCHAR AS stands_for_id,
           cluster_id, split
    FROM worded
    """,
    needs=(TEMPLAMA_PROMPTS.name,),
)

WHEN = "when"
WHEN_PROMPTS = View(
    name="when_prompts",
    meaning="Prompts that ask for the year in which a subject had an object, as CronQuestions' simple questions about "
    "time do: a query of the first template with its object, and in the year behind it. They are made of "
    f"templama_prompts and asked for by their variant alone (tempkb score --variant {WHEN}). item_id is the subject, "
    "relation and object (Q42_P54_Q7), of the test split; target_id is the year, of which several may be right; "
    "window_start is the first day of the first.",
    query=f"""
    WITH worded AS (
        SELECT DISTINCT release, concat(fact, '_', target_id) AS item_id, year(window_start)::VARCHAR AS target,
               min(window_start) OVER (PARTITION BY release, fact, target_id) AS window_start,
               concat(left_context, target, rtrim(right_context, '.'), ' in the year ') AS left_context,
               '.' AS right_context, cluster_id, split
        FROM ({_ANSWERS}) WHERE split = 'test'
    )
    SELECT release, window_start, item_id, target AS target_id, '{WHEN}' AS variant, NULL::VARCHAR AS subset,
           {PROMPT_ID} AS prompt_id, left_context, target, right_context, 'current' AS role,
           NULL::VARCHAR AS stands_for_id, cluster_id, split
    FROM worded
    """,
    needs=(TEMPLAMA_PROMPTS.name,),
)

# A model's own last window is the last that it certainly knows to its end.
_LAST = f"""
    SELECT m.model, w.release, max(w.window_start) AS window_start
    FROM {MODELS} AS m JOIN (
        SELECT DISTINCT release, window_start, granularity
        FROM {TEMPLAMA_PROMPTS.name} JOIN (SELECT release, granularity FROM {FACT_RELEASES.name}) USING (release)
        WHERE window_start IS NOT NULL
    ) AS w ON {end_of_window("w.window_start", "w.granularity")} <= m.knows_certainly_until
    GROUP BY m.model, w.release
"""
_JUDGED = "judged_answers"  # declared in a later room
_OF = "release, model, scorer, variant"
_LABELS = (*_OF.split(", "), "split", "metric", "aggregate")
_LIKELIHOODS = f"""
    WITH answers AS MATERIALIZED ({_ANSWERS}), kinds AS (
        SELECT release, fact, CASE count(DISTINCT target_id) WHEN 1 THEN 'single' ELSE 'multiple' END AS kind
        FROM answers GROUP BY ALL
    ), scored AS MATERIALIZED (
        SELECT p.release, s.model, s.scorer, p.variant, p.item_id AS fact, p.target_id, p.cluster_id, p.split, p.year,
               p.year - year(l.window_start) AS years_after, l.window_start, s.log_prob_nats
        FROM (FROM {LATER_PROMPTS.name} WHERE variant LIKE 'later%') AS p JOIN {SCORES} AS s USING (prompt_id)
        JOIN ({_LAST}) AS l ON l.model = s.model AND l.release = p.release
        WHERE s.status = 'scored' AND years_after BETWEEN 0 AND {N_YEARS}
    ), at_last AS (
        SELECT *, max(log_prob_nats) OVER (PARTITION BY {_OF}, fact) AS most FROM scored WHERE years_after = 0
    ), known AS (
        -- Of several answers that to which the model gives most.
        SELECT s.*, a.query_id FROM at_last AS s JOIN answers AS a USING (release, window_start, fact, target_id)
        QUALIFY row_number() OVER (PARTITION BY {_OF}, fact ORDER BY log_prob_nats DESC, target_id) = 1
    ), judged AS (
        SELECT DISTINCT release, model, item_id AS query_id, true AS is_right
        FROM {_JUDGED} WHERE benchmark = 'templama' AND exact_match = 1
    ), chosen AS (
        SELECT {_OF}, fact, target_id, log_prob_nats AS known_nats, kind,
               unnest(['{ALL}'] || CASE WHEN log_prob_nats >= most THEN ['first'] ELSE [] END
                      || CASE WHEN is_right THEN ['right'] ELSE [] END) AS condition
        FROM known JOIN kinds USING (release, fact) LEFT JOIN judged USING (release, model, query_id)
    )
    SELECT {_OF}, split, 'difference of log-probabilities' AS metric, '{MEAN}' AS aggregate, kind, condition,
           years_after, year, '{MEAN}' AS form, cluster_id AS cluster, count(*) AS n,
           sum(log_prob_nats - known_nats) AS s, count(*) AS items
    FROM chosen JOIN scored USING ({_OF}, fact, target_id) GROUP BY ALL
"""

FUTURE_LIKELIHOODS = View(
    name="future_likelihoods",
    meaning="The paper's figure 3: the mean difference between the log-probability (nats) of the last answer that a "
    "model knows when it is asked about a later year, and that in its last year: the last window that it certainly "
    "knows to its end. Of several answers of that window the one counts to which the model gives most. kind is single "
    "if the subject has one object in the release, else multiple. condition: right, if an answer of the model to the "
    "query of that window is an exact match; first, if no other object that the subject has in the release gets more "
    "in that year; or all. Standard errors are by subject. Asked for by tempkb score --variant later_dated (models "
    "that were told the year) or --variant later_in_year.",
    query=estimates(_LIKELIHOODS, (*_LABELS, "kind", "condition", "years_after", "year")),
    needs=(TEMPLAMA_PROMPTS.name, FACT_RELEASES.name, LATER_PROMPTS.name, MODELS, SCORES),
    optional=(_JUDGED,),
)

_ENTROPIES = f"""
    WITH scored AS (
        SELECT release, model, scorer, variant, item_id, year, log_prob_nats,
               log_prob_nats - max(log_prob_nats) OVER (PARTITION BY {_OF}, item_id, year) AS less
        FROM (FROM {LATER_PROMPTS.name} WHERE variant LIKE 'future%') JOIN {SCORES} USING (prompt_id)
        WHERE status = 'scored'
    ), entropies AS (
        SELECT {_OF}, item_id, year, count(*) AS n_answers,
               ln(sum(exp(less))) - sum(less * exp(less)) / sum(exp(less)) AS entropy
        FROM scored GROUP BY ALL
    )
    SELECT e.release, e.model, e.scorer, e.variant, '{ALL}' AS split, 'entropy' AS metric, '{MEAN}' AS aggregate,
           e.year, q.change_class,
           unnest(['{ALL}', q.answer_set]) AS answer_set,
           e.year - year(l.window_start) AS years_after, '{MEAN}' AS form, e.item_id AS cluster, 1 AS n, e.entropy AS s,
           1 AS items
    FROM entropies AS e JOIN {FUTURE_RELATION_QUERIES.name} AS q
    ON q.release = e.release AND e.item_id = '{FUTURE}.' || q.query_no
        AND e.n_answers >= {LEAST_OF_SET} * len(q.answers)
    LEFT JOIN ({_LAST}) AS l ON l.model = e.model AND l.release = e.release
"""

FUTURE_ENTROPIES = View(
    name="future_entropies",
    meaning="The paper's figure 4: the mean entropy (nats) of a model's choice among the closed set of answers of the "
    "queries about the future, by how often the answer changes, set (all: both) and year. The probabilities of the "
    f"answers of a set are renormalised over it; a query counts if {LEAST_OF_SET:.0%} of its set have a score. "
    "years_after is the number of years after that of the last window that the model certainly knows to its end (null: "
    "not known). Standard errors are by query. Asked for by tempkb score --variant future_dated or --variant "
    "future_in_year; --window A..B chooses the years.",
    query=estimates(_ENTROPIES, (*_LABELS, "change_class", "answer_set", "year", "years_after")),
    needs=(TEMPLAMA_PROMPTS.name, FACT_RELEASES.name, FUTURE_RELATION_QUERIES.name, LATER_PROMPTS.name, MODELS, SCORES),
)
