"""Declares views of perplexities: of spans about entities (ECBD), and of the objects of facts (both LAMAs)."""

from tempkb.benchmarks.dynamic_templama.tables import (
    ARRIVALS,
    DYNAMIC_TEMPLAMA_CHANGES,
    DYNAMIC_TEMPLAMA_PROMPTS,
    DYNAMIC_TEMPLAMA_QUERIES,
)
from tempkb.benchmarks.ecbd.benchmark import ECBD
from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE, ECBD_PROMPTS
from tempkb.benchmarks.templama.tables import TEMPLAMA_PROMPTS, TEMPLAMA_QUERIES
from tempkb.results.clustered_sql import EXP, MEAN, estimates
from tempkb.results.fragments import (
    ALL,
    FIRST_WORDING,
    OBJECT_SCORES,
    PERPLEXITY_METRIC,
    WORDING,
    pooled,
)
from tempkb.scores.tables import PROMPT_SCORES
from tempkb.store.quoting import literal
from tempkb.store.tables import View

ONCE = "once"
"""Value of `variant` in rows in which each object counts in one wording: the query as it is, or the object last."""
_ALL_YEARS = "0"
_ORIGINAL = "original"
_DEFAULTS = ECBD.prompting.defaults if ECBD.prompting else ()

CLOZE_SCORES = f"""
    SELECT p.release, s.model, s.scorer, p.variant, p.split, c.subset, c.span_kind, p.cluster_id AS cluster,
           p.item_id, p.window_start AS origin_from, c.origin_granularity, p.prompt_id,
           -s.log_prob_nats / s.n_tokens AS nats
    FROM {ECBD_PROMPTS.name} AS p JOIN {PROMPT_SCORES.name} AS s USING (prompt_id)
    JOIN {ECBD_CLOZE.name} AS c ON c.release = p.release AND c.cloze_id = p.item_id
    WHERE s.status = 'scored'
"""
"""SQL: ECBD's items with their scores; `nats` is the mean negative log-probability of a token."""
_CLOZE_TABLES = (ECBD_PROMPTS.name, ECBD_CLOZE.name, PROMPT_SCORES.name)

# The scores of spans with both of T5's sentinels, as the paper's first version has them, need the values of tokens,
# which are read for these scorers only.
_WITH_SENTINELS = f"""
    SELECT p.release, s.model, s.scorer, p.variant, p.split, c.subset, c.span_kind, p.cluster_id AS cluster,
           p.window_start AS origin_from, -list_sum(s.token_log_probs) / len(s.token_log_probs) AS nats
    FROM {ECBD_PROMPTS.name} AS p JOIN {PROMPT_SCORES.name} AS s USING (prompt_id)
    JOIN {ECBD_CLOZE.name} AS c ON c.release = p.release AND c.cloze_id = p.item_id
    WHERE s.scorer LIKE 'seq2seq.span_end-%' AND s.status = 'scored' AND s.n_before = 1 AND s.n_after = 1
"""
_OF_CLOZE = ("release", "model", "scorer", "subset", "variant", "metric", "aggregate", "form", "cluster")
_SUMS_OF_CLOZE = f"""
    WITH entities AS (
        SELECT release, model, scorer, variant, split, subset, span_kind, cluster, year(origin_from) AS origin_year,
               false AS has_sentinels, count(*) AS n, sum(nats) AS s, sum(exp(nats)) AS exps
        FROM ({CLOZE_SCORES}) GROUP BY ALL
        UNION ALL
        SELECT release, model, scorer, variant, split, subset, span_kind, cluster, year(origin_from), true, count(*),
               sum(nats), NULL
        FROM ({_WITH_SENTINELS}) GROUP BY ALL
    ), grouped AS (
        SELECT release, model, scorer, variant, split, subset, has_sentinels, cluster,
               CASE WHEN grouping(span_kind) = 1 THEN '{ALL}' ELSE span_kind END AS span_kind,
               CASE WHEN grouping(origin_year) = 1 THEN {_ALL_YEARS} ELSE origin_year END AS origin_year,
               sum(n) AS n, sum(s) AS s, sum(exps) AS exps
        FROM entities GROUP BY release, model, scorer, variant, split, subset, has_sentinels, cluster,
                               CUBE (span_kind, origin_year)
        -- Popular entities are not chosen by their origin, so they count for all years only.
        HAVING grouping(origin_year) = 1 OR subset = 'odie'
    )
    SELECT release, model, scorer, variant, split, subset, span_kind, origin_year, cluster,
           {PERPLEXITY_METRIC} AS metric, a.aggregate, a.form, a.n, a.s, n AS items
    FROM (
        SELECT *, unnest(CASE WHEN has_sentinels THEN
            [{{'aggregate': 'ppl_2021', 'form': '{EXP}', 'n': 1::DOUBLE, 's': s / n}}]
        ELSE
            [{{'aggregate': 'ppl_entity_macro', 'form': '{EXP}', 'n': 1::DOUBLE, 's': s / n}},
             {{'aggregate': 'ppl_micro', 'form': '{EXP}', 'n': n::DOUBLE, 's': s}},
             {{'aggregate': 'ppl_example', 'form': '{MEAN}', 'n': n::DOUBLE, 's': exps}}]
        END) AS a FROM grouped
    )
"""

ECBD_RESULTS = View(
    name="ecbd_results",
    meaning="Perplexities of spans about entities by aggregate, variant, split, kind of span (all: both kinds), "
    "subset and year of origin (0: all years; popular entities have no other row), with standard errors by entity. "
    "With nats the mean negative log-probability of a token of an item, ppl_entity_macro is exp of the mean over "
    "entities of the mean over their items of nats (entities are pooled, years are never averaged), ppl_micro exp of "
    "the mean over items of nats, and ppl_example the mean over items of exp of nats, without an error where one of "
    "these is too large for it (hundreds of nats). ppl_2021 is ppl_entity_macro "
    "with both of T5's sentinels averaged in, as in the paper's first version; only the scorer seq2seq.span_end of "
    "models with sentinels has it. The scores of masked models give a pseudo-perplexity, as the column metric says. "
    "Compare models of equal scorers and tokenizers only.",
    query=estimates(
        _SUMS_OF_CLOZE,
        (
            "release",
            "model",
            "scorer",
            "variant",
            "split",
            "subset",
            "span_kind",
            "origin_year",
            "metric",
            "aggregate",
        ),
    ),
    needs=_CLOZE_TABLES,
)

# A difference of exponentials has no linear form; around the means of all entities each entity adds what is in the
# brackets, so that the mean over entities is the difference, and their spread that of the delta method.
_SUMS_OF_VARIANTS = f"""
    WITH scored AS (SELECT * FROM ({CLOZE_SCORES}) WHERE variant IN ({", ".join(map(literal, _DEFAULTS))})),
    complete AS (
        FROM scored QUALIFY count(*) OVER (PARTITION BY release, model, scorer, item_id) = {len(_DEFAULTS)}
    ), entities AS (
        SELECT release, model, scorer, subset, split, variant, cluster, count(*) AS items, avg(nats) AS nats
        FROM complete GROUP BY ALL
    ), paired AS (
        SELECT *, avg(nats) OVER same AS mean, avg(original) OVER same AS mean_before
        FROM entities JOIN (
            SELECT release, model, scorer, subset, split, cluster, nats AS original
            FROM entities WHERE variant = '{_ORIGINAL}'
        ) USING (release, model, scorer, subset, split, cluster)
        WINDOW same AS (PARTITION BY release, model, scorer, subset, split, variant)
    ), added AS (
        SELECT *, CASE WHEN isfinite(exp(mean) - exp(mean_before))
                       THEN exp(mean) * (1 + nats - mean) - exp(mean_before) * (1 + original - mean_before)
                       ELSE exp(mean) - exp(mean_before) END AS difference
        FROM paired
    )
    SELECT release, model, scorer, subset, split, variant, cluster, items, 1 AS n, unnest([
        {{'metric': {PERPLEXITY_METRIC}, 'aggregate': 'ppl_entity_macro', 'form': '{EXP}', 's': nats}},
        {{'metric': 'nats', 'aggregate': 'nats_minus_original', 'form': '{MEAN}', 's': nats - original}},
        {{'metric': {PERPLEXITY_METRIC}, 'aggregate': 'ppl_minus_original', 'form': '{MEAN}', 's': difference}}
    ], max_depth := 2)
    FROM added
"""

ECBD_VARIANTS = View(
    name="ecbd_variants",
    meaning="Perplexities of spans by variant, over those items alone that a model and scorer have scored in all of "
    f"{', '.join(_DEFAULTS)}, so that the variants compare the same items. ppl_entity_macro is that of ecbd_results; "
    "nats_minus_original is the mean over entities of the difference to the variant original in nats, "
    "ppl_minus_original the difference of the perplexities (its standard error by the delta method; without one where "
    "a perplexity is infinite, and null if both are). Differences are "
    "paired and clustered by entity.",
    query=estimates(
        _SUMS_OF_VARIANTS,
        ("release", "model", "scorer", "subset", "split", "variant", "metric", "aggregate"),
    ),
    needs=_CLOZE_TABLES,
)

_SUMS_OF_ANSWERS = f"""
    WITH scored AS (
        SELECT p.release, s.model, s.scorer, p.split, p.window_start, p.variant, p.item_id, p.target_id,
               p.cluster_id AS cluster, {WORDING} AS wording, s.log_prob_nats, s.n_tokens
        FROM {TEMPLAMA_PROMPTS.name} AS p JOIN {PROMPT_SCORES.name} AS s USING (prompt_id)
        ANTI JOIN (SELECT release, query_id FROM {TEMPLAMA_QUERIES.name} WHERE template_no > 1) AS q
            ON q.release = p.release AND q.query_id = p.item_id
        WHERE s.status = 'scored' AND p.role = 'current' AND p.variant IN ('undated', 'object_last', 'dated')
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
    needs=(TEMPLAMA_PROMPTS.name, TEMPLAMA_QUERIES.name, PROMPT_SCORES.name),
)

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
        PROMPT_SCORES.name,
    ),
)

VIEWS = (ECBD_RESULTS, ECBD_VARIANTS, TEMPLAMA_RESULTS, DYNAMIC_TEMPLAMA_RESULTS)
