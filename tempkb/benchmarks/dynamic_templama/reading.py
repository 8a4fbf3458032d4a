"""How models are asked about DynamicTempLAMA's queries, and what is read of their scores: perplexities of objects.

What models prefer where facts changed is read by `preferences.py`.
"""

from tempkb.benchmarks.dynamic_templama.preferences import (
    OBJECT_SCORES,
    OBJECT_SCORES_BY_ROLE,
    PREFERS_NEW,
    SCORED_CHANGES,
)
from tempkb.benchmarks.dynamic_templama.tables import (
    ARRIVALS,
    DYNAMIC_TEMPLAMA_CHANGES,
    DYNAMIC_TEMPLAMA_PROMPTS,
    DYNAMIC_TEMPLAMA_QUERIES,
)
from tempkb.benchmarks.dynamic_templama.views import CHANGES_AND_NAMES
from tempkb.benchmarks.fact_queries.prompts import VARIANTS, prompting_of
from tempkb.benchmarks.fact_queries.reading import ONCE, WORDINGS, answers_of, facts_of, items_of
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES
from tempkb.benchmarks.reading import NUMBERS, PERPLEXITY_METRIC, REASONS, SCORES, Aggregate, Judging, Part, Reading
from tempkb.core.estimates_sql import ALL, EXP, MEAN, end_of_window, estimates, pooled
from tempkb.store.tables import View

PROMPTING = prompting_of(DYNAMIC_TEMPLAMA_PROMPTS, VARIANTS)
"""How models are asked about DynamicTempLAMA's queries."""

_EVERY = {"split": f"'{ALL}'", "window_start": "NULL"}

_OBJECTS_IN_WINDOWS = f"""
    SELECT release, window_start, subject_id, relation, object_id, change FROM {DYNAMIC_TEMPLAMA_CHANGES.name}
    WHERE change <> 'undatable' AND {ARRIVALS}
    UNION ALL
    SELECT release, window_start, subject_id, relation, one.entity_id, '{ALL}'
    FROM (
        SELECT release, window_start, subject_id, relation, unnest(answers) AS one
        FROM {DYNAMIC_TEMPLAMA_QUERIES.name} WHERE template_no = 1
    )
"""
_CHANGES = f"""
    WITH scores AS ({OBJECT_SCORES}), measured AS (
        SELECT s.release, s.model, s.scorer, s.split, o.window_start, o.change, s.subject_id AS cluster,
               -s.log_prob_nats AS nats, s.n_tokens
        FROM ({_OBJECTS_IN_WINDOWS}) AS o JOIN scores AS s USING (release, subject_id, relation, object_id)
        WHERE s.n_tokens > 0
    )
"""
_SUMS_OF_TOKENS = f"""
    {_CHANGES}
    SELECT release, model, scorer, split, window_start, change, cluster, {PERPLEXITY_METRIC} AS metric,
           'ppl_token' AS aggregate, '{EXP}' AS form, sum(n_tokens) AS n, sum(nats) AS s, count(*) AS items
    FROM measured GROUP BY ALL
"""
_GROUPS_OF_CHANGES = ("release", "model", "scorer", "split", "window_start", "change", "metric", "aggregate")
_TOKENS_OF_CHANGES = estimates(
    pooled(
        _SUMS_OF_TOKENS,
        ("release", "model", "scorer", "change", "metric", "aggregate", "form", "cluster"),
        _EVERY,
    ),
    _GROUPS_OF_CHANGES,
)
# A day on which no window begins, since a join of groups finds no nulls.
_ALL_WINDOWS = "DATE '0001-01-01'"
_OF_MEDIANS = "release, model, scorer, split, place, change"
_BELOW = f"""
    SELECT {_OF_MEDIANS}, cluster, '{MEAN}' AS form, count(*) AS n, sum((ppl <= median)::INTEGER) AS s,
           count(*) AS items
    FROM (SELECT {_OF_MEDIANS}, median, unnest(clusters) AS cluster, unnest(ppls) AS ppl FROM medians) GROUP BY ALL
"""
# Woodruff's interval: the interval of the share of items at or below the median, with its clustered standard error,
# moved to one half, and read off the sorted items.
_MEDIANS = f"""
    {_CHANGES}, each AS (
        SELECT release, model, scorer, CASE WHEN by_split THEN split ELSE '{ALL}' END AS split,
               CASE WHEN by_window THEN window_start ELSE {_ALL_WINDOWS} END AS place, change, cluster,
               exp(nats / n_tokens) AS ppl
        FROM measured, (VALUES (true), (false)) AS a(by_split), (VALUES (true), (false)) AS b(by_window)
    ), medians AS (
        SELECT {_OF_MEDIANS}, median(ppl) AS median, list(ppl) AS ppls, list(cluster) AS clusters
        FROM each GROUP BY ALL
    ), shares AS ({estimates(_BELOW, _OF_MEDIANS.split(", "))}), ranked AS (
        SELECT *, list_sort(ppls) AS sorted, floor(n_items * (0.5 + low - value))::BIGINT AS first,
               floor(n_items * (0.5 + high - value))::BIGINT + 1 AS last
        FROM shares JOIN medians USING ({_OF_MEDIANS})
    )
    SELECT release, model, scorer, split, nullif(place, {_ALL_WINDOWS}) AS window_start, change,
           {PERPLEXITY_METRIC} AS metric, 'ppl_median' AS aggregate, median AS value, NULL::DOUBLE AS standard_error,
           CASE WHEN first >= 1 AND last <= n_items THEN sorted[first] END AS low,
           CASE WHEN first >= 1 AND last <= n_items THEN sorted[last] END AS high, n_items, n_clusters
    FROM ranked
"""

DYNAMIC_TEMPLAMA_RESULTS = View(
    name="dynamic_templama_results",
    meaning="Perplexities of the objects of DynamicTempLAMA by window (null: all windows), split (all: all splits) "
    "and change: unchanged, updated (the object that arrived), new, deleted (the object that left, scored by the "
    "query in which it held), and all for all answers of the window. ppl_median is the median over objects of exp of "
    "the mean negative log-probability of a token, as in the paper's table 2, whose code ignores the split and so "
    "shows the row all four times; its interval is Woodruff's, from the clustered standard error of the share of "
    "objects at or below the median, and a median has no standard error of its own. ppl_token is as in "
    "templama_results. Each object counts once in a window, undated or, if the scorer has no score for it, with the "
    "object last, by the first template of its relation. Clusters are subjects.",
    query=f"FROM ({_MEDIANS}) UNION ALL BY NAME FROM ({_TOKENS_OF_CHANGES})",
    needs=(
        DYNAMIC_TEMPLAMA_CHANGES.name,
        DYNAMIC_TEMPLAMA_QUERIES.name,
        DYNAMIC_TEMPLAMA_PROMPTS.name,
        SCORES,
    ),
)

_SHOWN = f"""release, model, scorer, split, '{ONCE}' AS variant, window_start, metric, aggregate, value, standard_error,
    low, high, n_items, n_clusters"""
_OF_CHANGES = "'prefers_new', 'prefers_new_raw', 'control_prefers_new', 'prefers_new_minus_control'"
_BY_WINDOW = Part(
    f"""
    SELECT t.*, r.granularity FROM (
        SELECT {_SHOWN} FROM {DYNAMIC_TEMPLAMA_RESULTS.name} WHERE change = '{ALL}' AND aggregate = 'ppl_token'
        UNION ALL
        SELECT {_SHOWN} FROM {PREFERS_NEW.name}
        WHERE pairs = '{ALL}' AND aggregate IN ({_OF_CHANGES})
    ) AS t JOIN (SELECT release, granularity FROM {FACT_RELEASES.name}) AS r USING (release)
    WHERE t.window_start IS NOT NULL
    """,
    (DYNAMIC_TEMPLAMA_RESULTS.name, PREFERS_NEW.name, FACT_RELEASES.name),
)
_CHANGED = Part(
    f"""
    SELECT model, {NUMBERS}, release, item_id, new_label, old_label, subject_id AS entity_id, relation,
           new_object_id, old_object_id, change_from AS window_start, change_to AS window_end, preference_nats
    FROM {SCORED_CHANGES.name} WHERE {PROMPTING.is_by_own_template}
    """,
    (SCORED_CHANGES.name,),
)

_CHANGED_ANSWERS = Part(
    f"""
    SELECT c.release, c.granularity, c.window_start, c.change, q.split, q.item_id, c.object_id AS target_id,
           c.subject_id AS cluster_id
    FROM {DYNAMIC_TEMPLAMA_CHANGES.name} AS c JOIN (
        SELECT release, subject_id, relation, split, one.entity_id AS object_id, min(query_id) AS item_id FROM (
            SELECT release, subject_id, relation, split, query_id, unnest(answers) AS one
            FROM {DYNAMIC_TEMPLAMA_QUERIES.name} WHERE template_no = 1
        ) GROUP BY ALL
    ) AS q USING (release, subject_id, relation, object_id)
    WHERE c.change <> 'undatable' AND {ARRIVALS}
    """,
    (DYNAMIC_TEMPLAMA_CHANGES.name, DYNAMIC_TEMPLAMA_QUERIES.name),
)

# A change happens in the window in which the new object begins; the old one has left on the first day of the next.
_AGGREGATE = Aggregate(
    name="prefers_new",
    is_share=True,
    clusters=("subject",),
    split="all",
    title="preference rate, % of the changes",
    label="preference rate: share of changes in which the new object is preferred",
    caption="Preference rate: share of changes in which the new object is preferred",
    coarse="of a change it is known in which window of the release it happened, not on which day",
    table=FACT_RELEASES.name,
    releases=f"""
    SELECT release, study_from, study_to, granularity FROM {FACT_RELEASES.name} WHERE benchmark = 'dynamic_templama'
    """,
    items=f"""
    SELECT hash(q.query_id, c.paired_object_id, c.object_id) AS item,
           coalesce(c.paired_window_start, c.window_start) AS from_day,
           greatest(c.window_start, {end_of_window("from_day", "q.granularity")}) AS to_day, q.is_provisional,
           c.subject_id AS cluster_id
    FROM {DYNAMIC_TEMPLAMA_CHANGES.name} AS c
    JOIN {DYNAMIC_TEMPLAMA_QUERIES.name} AS q USING (release, window_start, subject_id, relation)
    WHERE c.role = 'leaving' AND q.template_no = 1 AND release = {{release}}
    """,
    scores="""
    SELECT s.model, s.scorer, hash(s.item_id, s.new_object_id, s.old_object_id) AS item, hash(s.subject_id) AS cluster,
           s.change_from AS from_day, s.change_to AS to_day, (s.preference_nats > 0)::DOUBLE AS value, f.days_after,
           (s.control_preference_nats > 0)::DOUBLE AS control
    FROM scored_changes AS s
    LEFT JOIN leak_free_items AS f
        ON f.model = s.model AND f.release = s.release AND f.item_id = s.item_id AND f.target_id = s.new_object_id
    WHERE s.preference_nats IS NOT NULL AND s.release = {release}
    """,
    reasons=f"""
    SELECT s.model, s.scorer, i.item, i.relation, i.from_day, i.to_day, {REASONS}
    FROM (
        SELECT hash(q.query_id, c.paired_object_id, c.object_id) AS item, q.release, q.query_id, q.relation,
               [c.paired_object_id, c.object_id] AS objects,
               coalesce(c.paired_window_start, c.window_start) AS from_day,
               greatest(c.window_start, {end_of_window("from_day", "q.granularity")}) AS to_day
        FROM {DYNAMIC_TEMPLAMA_CHANGES.name} AS c
        JOIN {DYNAMIC_TEMPLAMA_QUERIES.name} AS q USING (release, window_start, subject_id, relation)
        WHERE c.role = 'leaving' AND q.template_no = 1 AND q.release = {{release}}
    ) AS i
    JOIN {DYNAMIC_TEMPLAMA_PROMPTS.name} AS p
        ON p.release = i.release AND p.item_id = i.query_id AND list_contains(i.objects, p.target_id)
    JOIN {SCORES} AS s USING (prompt_id)
    WHERE p.role <> 'control' AND p.variant <> 'dated' AND s.status <> 'scored' GROUP BY ALL
    """,
    needs=(
        SCORED_CHANGES.name,
        "leak_free_items",
        DYNAMIC_TEMPLAMA_CHANGES.name,
        DYNAMIC_TEMPLAMA_QUERIES.name,
        DYNAMIC_TEMPLAMA_PROMPTS.name,
        SCORES,
    ),
    ends_with_items=True,
)

READING = Reading(
    views=(DYNAMIC_TEMPLAMA_RESULTS, SCORED_CHANGES, PREFERS_NEW, OBJECT_SCORES_BY_ROLE),
    aggregate=_AGGREGATE,
    items=items_of("dynamic_templama", DYNAMIC_TEMPLAMA_QUERIES),
    by_window=_BY_WINDOW,
    facts=facts_of(DYNAMIC_TEMPLAMA_QUERIES, PROMPTING),
    changes=_CHANGED,
    changed=_CHANGED_ANSWERS,
    queries=DYNAMIC_TEMPLAMA_QUERIES,
    judging=Judging(answers_of(DYNAMIC_TEMPLAMA_QUERIES), WORDINGS, CHANGES_AND_NAMES),
)
"""What is read of the scores of DynamicTempLAMA's queries."""
