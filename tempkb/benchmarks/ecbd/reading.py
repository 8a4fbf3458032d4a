"""How models are asked about ECBD's items, and what is read of their scores: perplexities of spans about entities."""

from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE, ECBD_ENTITIES, ECBD_PROMPTS, ECBD_RELEASES, TARGET_ID
from tempkb.benchmarks.ecbd.variants import VARIANTS
from tempkb.benchmarks.prompting import Prompting, Way
from tempkb.benchmarks.reading import NUMBERS, PERPLEXITY_METRIC, REASONS, SCORES, Aggregate, Judging, Part, Reading
from tempkb.core.estimates_sql import ALL, EXP, MEAN, PPL, end_of_window, estimates, window_of
from tempkb.store.quoting import literal, literals
from tempkb.store.tables import View

PROMPTING = Prompting(
    ECBD_PROMPTS,
    tuple(VARIANTS),
    # The forms of the papers' tables; the others belong to tests of sensitivity.
    n_default=4,
    # The papers' perplexity is of the span alone, without anything that ends it.
    templates={"masked": "answer_l2r", "seq2seq": "span", "causal": "span"},
    view="ecbd_scores",
    # Recall among ten spans is defined for models with sentinels alone; a beam of 10 is its cheap variant.
    answered={"seq2seq": Way("recall_beam10", ("original",))},
)
"""How models are asked about ECBD's items."""

_ALL_YEARS = "0"
_ORIGINAL = "original"

# `nats` is the mean negative log-probability of a token; imported scores do not say how many there are.
_CLOZE_SCORES = f"""
    SELECT p.release, s.model, s.scorer, p.variant, p.split, c.subset, c.span_kind, p.cluster_id AS cluster,
           p.item_id, p.window_start AS origin_from, c.origin_granularity, p.prompt_id,
           -s.log_prob_nats / s.n_tokens AS nats
    FROM {ECBD_PROMPTS.name} AS p JOIN {SCORES} AS s USING (prompt_id)
    JOIN {ECBD_CLOZE.name} AS c ON c.release = p.release AND c.cloze_id = p.item_id
    WHERE s.status = 'scored' AND s.n_tokens > 0
"""
_CLOZE_TABLES = (ECBD_PROMPTS.name, ECBD_CLOZE.name, SCORES)

# The scores of spans with both of T5's sentinels, as the paper's first version has them, need the values of tokens,
# which are read for these scorers only.
_WITH_SENTINELS = f"""
    SELECT p.release, s.model, s.scorer, p.variant, p.split, c.subset, c.span_kind, p.cluster_id AS cluster,
           p.window_start AS origin_from, -list_sum(s.token_log_probs) / len(s.token_log_probs) AS nats
    FROM {ECBD_PROMPTS.name} AS p JOIN {SCORES} AS s USING (prompt_id)
    JOIN {ECBD_CLOZE.name} AS c ON c.release = p.release AND c.cloze_id = p.item_id
    WHERE s.scorer LIKE 'seq2seq.span_end-%' AND s.status = 'scored' AND s.n_before = 1 AND s.n_after = 1
"""
_SUMS_OF_CLOZE = f"""
    WITH entities AS (
        SELECT release, model, scorer, variant, split, subset, span_kind, cluster, year(origin_from) AS origin_year,
               false AS has_sentinels, count(*) AS n, sum(nats) AS s, sum(exp(nats)) AS exps
        FROM ({_CLOZE_SCORES}) GROUP BY ALL
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
             {{'aggregate': 'ppl_example', 'form': '{PPL}', 'n': n::DOUBLE, 's': exps}}]
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
    WITH scored AS (SELECT * FROM ({_CLOZE_SCORES}) WHERE variant IN ({literals(PROMPTING.defaults)})),
    complete AS (
        FROM scored QUALIFY count(*) OVER (PARTITION BY release, model, scorer, item_id) = {len(PROMPTING.defaults)}
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
    f"{', '.join(PROMPTING.defaults)}, so that the variants compare the same items. ppl_entity_macro is that of "
    "ecbd_results; nats_minus_original is the mean over entities of the difference to the variant original in nats, "
    "ppl_minus_original the difference of the perplexities (its standard error by the delta method; without one where "
    "a perplexity is infinite, and null if both are). Differences are "
    "paired and clustered by entity.",
    query=estimates(
        _SUMS_OF_VARIANTS,
        ("release", "model", "scorer", "subset", "split", "variant", "metric", "aggregate"),
    ),
    needs=_CLOZE_TABLES,
)

# Page and sentence: neither can be older than the page, and a sentence that the home's first window has may be older
# than that window. The page's first revision is the statement that there is such an entity.
_ITEMS = Part(
    f"""
    SELECT 'ecbd' AS benchmark, c.release, c.cloze_id AS item_id, {literal(TARGET_ID)} AS target_id,
           c.origin_from AS window_start, c.origin_from AS origin_day,
           CASE WHEN c.is_since_first_window THEN e.created ELSE greatest(c.sentence_since, e.created) END
               AS evidence_day,
           e.created AS statement_day, NULL::DATE AS lacking_day, NULL::DATE AS having_day
    FROM {ECBD_CLOZE.name} AS c
    LEFT JOIN (SELECT release, page_id, CAST(page_created_at AS DATE) AS created FROM {ECBD_ENTITIES.name}) AS e
    ON e.release = c.release AND e.page_id = c.page_id
    WHERE c.origin_from IS NOT NULL AND evidence_day IS NOT NULL
    """,
    (ECBD_CLOZE.name, ECBD_ENTITIES.name),
)

# An entity counts in the window of its origin, which is as long as the origin is known finely, and in that of the year.
_SUMS_BY_ORIGIN = f"""
    WITH placed AS (
        SELECT *, unnest(list_distinct([origin_granularity, 'year'])) AS granularity FROM ({_CLOZE_SCORES})
        WHERE subset = 'odie' AND variant = 'original'
    ), entities AS (
        SELECT release, model, scorer, split, variant, granularity,
               {window_of("origin_from", "granularity")} AS window_start, cluster, count(*) AS items,
               avg(nats) AS s
        FROM placed GROUP BY ALL
    )
    SELECT *, '{EXP}' AS form, 1 AS n, {PERPLEXITY_METRIC} AS metric, 'ppl_entity_macro' AS aggregate FROM entities
"""
_BY_WINDOW = Part(
    estimates(
        _SUMS_BY_ORIGIN,
        ("release", "model", "scorer", "split", "variant", "granularity", "window_start", "metric", "aggregate"),
    ),
    (ECBD_PROMPTS.name, ECBD_CLOZE.name),
)

_TEXTS = Part(
    f"""
    SELECT release, cloze_id AS item_id, entity_id, page_id, revision_id, dump_id,
           coalesce(origin_window, subset) AS origin, masked_sentence AS text, answer
    FROM {ECBD_CLOZE.name}
    """,
    (ECBD_CLOZE.name,),
)

_ORIGIN = window_of("c.origin_from", "c.origin_granularity")
_SENTENCES = Part(
    f"""
    SELECT s.model, {NUMBERS}, c.release, c.cloze_id AS item_id, c.entity_id, hash(c.sentence) AS sentence, p.prompt_id,
           {_ORIGIN} AS window_start, {end_of_window(_ORIGIN, "c.origin_granularity")} AS window_end,
           -s.log_prob_nats / s.n_tokens AS nats
    FROM {ECBD_PROMPTS.name} AS p JOIN {SCORES} AS s USING (prompt_id)
    JOIN {ECBD_CLOZE.name} AS c ON c.release = p.release AND c.cloze_id = p.item_id
    WHERE s.status = 'scored' AND s.n_tokens > 0 AND p.variant = 'original' AND c.entity_id IS NOT NULL
      AND ({PROMPTING.is_by_own_template})
    """,
    (ECBD_PROMPTS.name, ECBD_CLOZE.name),
)

_AGGREGATE = Aggregate(
    name="ppl_entity_macro",
    is_share=False,
    clusters=("entity", "entities"),
    split="test",
    title="perplexity of entities born",
    label="perplexity of spans about entities born in the window",
    caption="Perplexity of sentences about new entities",
    coarse="of an entity the day of origin is known, or only the month, quarter or year",
    table=ECBD_RELEASES.name,
    releases=f"SELECT release, study_from, study_to, NULL AS granularity FROM {ECBD_RELEASES.name}",
    items=f"""
    SELECT hash(cloze_id) AS item, origin_from AS from_day, origin_to AS to_day, false AS is_provisional,
           coalesce(entity_id, page_id::VARCHAR) AS cluster_id
    FROM {ECBD_CLOZE.name} WHERE split = 'test' AND origin_from IS NOT NULL AND release = {{release}}
    """,
    scores=f"""
    SELECT s.model, s.scorer, hash(s.item_id) AS item, hash(s.cluster_id) AS cluster, c.origin_from AS from_day,
           c.origin_to AS to_day, -s.log_prob_nats / s.n_tokens AS value, f.days_after, NULL::DOUBLE AS control
    FROM ecbd_scores AS s
    JOIN {ECBD_CLOZE.name} AS c ON c.release = s.release AND c.cloze_id = s.item_id
    LEFT JOIN leak_free_items AS f ON f.model = s.model AND f.release = s.release AND f.item_id = s.item_id
    WHERE s.status = 'scored' AND s.n_tokens > 0 AND s.variant = 'original' AND s.split = 'test'
        AND c.origin_from IS NOT NULL
        AND s.release = {{release}}
    """,
    reasons=f"""
    SELECT s.model, s.scorer, hash(c.cloze_id) AS item, '' AS relation, c.origin_from AS from_day,
           c.origin_to AS to_day, {REASONS}
    FROM {ECBD_CLOZE.name} AS c
    JOIN {ECBD_PROMPTS.name} AS p ON p.release = c.release AND p.item_id = c.cloze_id
    JOIN {SCORES} AS s USING (prompt_id)
    WHERE p.variant = 'original' AND c.split = 'test' AND c.origin_from IS NOT NULL AND s.status <> 'scored'
        AND c.release = {{release}} GROUP BY ALL
    """,
    needs=("ecbd_scores", "leak_free_items", ECBD_CLOZE.name, ECBD_PROMPTS.name, SCORES),
    has_years=True,
)

# Of many entities no more than the year of their origin is known. Popular ones are not chosen by it.
_ANSWERS = Part(
    f"""
    SELECT release, cloze_id AS item_id, {literal(TARGET_ID)} AS target_id,
           CASE subset WHEN 'odie' THEN {window_of("origin_from", "'year'")} END AS window_start, subset,
           1 AS template_no, [answer] AS names
    FROM {ECBD_CLOZE.name}
    """,
    (ECBD_CLOZE.name,),
)

READING = Reading(
    views=(ECBD_RESULTS, ECBD_VARIANTS),
    aggregate=_AGGREGATE,
    items=_ITEMS,
    by_window=_BY_WINDOW,
    texts=_TEXTS,
    sentences=_SENTENCES,
    judging=Judging(_ANSWERS),
)
"""What is read of the scores of ECBD's items."""
