"""How models are asked about ECBD's items, and what is read of their scores: perplexities of spans about entities."""

from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE, ECBD_ENTITIES, ECBD_PROMPTS, ECBD_RELEASES, TARGET_ID
from tempkb.benchmarks.ecbd.variants import VARIANTS
from tempkb.benchmarks.prompting import Prompting, Way
from tempkb.benchmarks.reading import (
    MODELS,
    NUMBERS,
    PERPLEXITY_METRIC,
    REASONS,
    SCORES,
    Aggregate,
    Judging,
    Part,
    Reading,
)
from tempkb.core.estimates_sql import ALL, DIFFERENCE, EXP, MEAN, PPL, SHARE, end_of_window, estimates, window_of
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

PARADIGMS = {
    "T5": "sequence-to-sequence with sentinels",
    "BART": "sequence-to-sequence with a mask, asked for the whole statement",
    "GPT": "from left to right",
    "BERT": "masked, which the paper has not",
}
"""How spans are asked for (the paper's Figure 3), by the paper's names of models, in its order."""

# `nats` is the mean negative log-probability of a token; imported scores do not say how many there are.
CLOZE_SCORES = f"""
    SELECT p.release, s.model, s.scorer, p.variant, p.split, c.subset, c.span_kind, c.np_type, p.cluster_id AS cluster,
           p.item_id, p.window_start AS origin_from, c.origin_to, c.origin_granularity, p.prompt_id,
           c.n_words_after_mention,
           CASE split_part(s.scorer, '.', 1) WHEN 'causal' THEN 'GPT' WHEN 'masked' THEN 'BERT'
                ELSE CASE s.n_before WHEN 1 THEN 'T5' ELSE 'BART' END END AS paradigm,
           -s.log_prob_nats / s.n_tokens AS nats
    FROM {ECBD_PROMPTS.name} AS p JOIN {SCORES} AS s USING (prompt_id)
    JOIN {ECBD_CLOZE.name} AS c ON c.release = p.release AND c.cloze_id = p.item_id
    WHERE s.status = 'scored' AND s.n_tokens > 0
"""
"""SQL of the scores of spans, one row for each release, item, variant, model and scorer."""
CLOZE_TABLES = (ECBD_PROMPTS.name, ECBD_CLOZE.name, SCORES)
"""What it reads."""

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
    needs=CLOZE_TABLES,
)

# The groups of the paper's Table 3, seen and unseen by its models; and where an origin is to the end of a model's
# knowledge, inside being neither for certain.
_PERIOD_YEARS = {"2017-2019": (2017, 2019), "2020-2021": (2020, 2021)}
_POSITIONS = ("before", "inside", "after")
_PERIODS = ", ".join(
    f"CASE WHEN year(origin_from) BETWEEN {first} AND {last} THEN '{name}' END"
    for name, (first, last) in _PERIOD_YEARS.items()
)
_ORIGINS = f"""
    CASE subset WHEN 'odie' THEN list_distinct(['{ALL}', year(origin_from)::VARCHAR, {_PERIODS},
        CASE WHEN knows_possibly_until IS NULL THEN NULL WHEN origin_to <= knows_certainly_until THEN 'before'
             WHEN origin_from >= knows_possibly_until THEN 'after' ELSE 'inside' END])
    -- Popular entities are not chosen by their origin.
    ELSE ['{ALL}'] END
"""
_MOST = 1 << len(PROMPTING.defaults)
_VARIANT = f"{_MOST} + ({_MOST} >> list_position([{literals(PROMPTING.defaults)}], variant))"


def _in_groups(items: str, of: str) -> str:
    """SQL: n and the sum s of values by entity, for each group of origins and kind of span that its items are of.

    So that variants compare the same items, of a model, split and subset those count that have the most variants.

    Args:
        items: SQL of values of items in the default variants.
        of: columns that tell apart who gave them.
    """
    return f"""
    WITH known AS (
        -- Larger the more variants an item has; different for different ones.
        SELECT *, sum({_VARIANT}) OVER (PARTITION BY {of}, item_id) AS variants FROM ({items})
    ), complete AS (
        FROM known QUALIFY variants = max(variants) OVER (PARTITION BY {of}, subset, split)
    ), entities AS (
        SELECT {of}, subset, split, variant, cluster, origin_from, origin_to, span_kind, np_type, count(*) AS n,
               sum(value) AS s
        FROM complete GROUP BY ALL
    ), placed AS (
        SELECT *, unnest({_ORIGINS}) AS origin FROM entities LEFT JOIN {MODELS} USING (model)
    )
    SELECT {of}, subset, split, variant, cluster, origin, kind AS span_kind, sum(n) AS n, sum(s) AS s
    FROM (SELECT *, unnest(list_distinct(['{ALL}', span_kind, lower(np_type)])) AS kind FROM placed) GROUP BY ALL
    """


_GROUP = ("subset", "split", "span_kind", "origin", "variant", "metric", "aggregate")
_OF_SCORES, _OF_ANSWERS = ("release", "model", "scorer", "paradigm"), ("release", "model", "decoder", "paradigm")
_SAME = "subset, split, span_kind, origin"
_IN_DEFAULTS = f"variant IN ({literals(PROMPTING.defaults)})"
_NATS = f"SELECT *, nats AS value FROM ({CLOZE_SCORES}) WHERE {_IN_DEFAULTS}"

# A difference of exponentials has no linear form; around the means of all entities each entity adds what is in the
# brackets, so that the mean over entities is the difference, and their spread that of the delta method.
_SUMS_OF_VARIANTS = f"""
    WITH entities AS (
        SELECT *, n AS items, s / n AS nats FROM ({_in_groups(_NATS, ", ".join(_OF_SCORES))})
    ), paired AS (
        SELECT *, avg(nats) OVER same AS mean, avg(original) OVER same AS mean_before
        FROM entities LEFT JOIN (
            SELECT release, model, scorer, {_SAME}, cluster, nats AS original FROM entities
            WHERE variant = '{_ORIGINAL}'
        ) USING (release, model, scorer, {_SAME}, cluster)
        WINDOW same AS (PARTITION BY release, model, scorer, {_SAME}, variant)
    ), added AS (
        SELECT *, CASE WHEN isfinite(exp(mean) - exp(mean_before))
                       THEN exp(mean) * (1 + nats - mean) - exp(mean_before) * (1 + original - mean_before)
                       ELSE exp(mean) - exp(mean_before) END AS difference
        FROM paired
    )
    SELECT {", ".join(_OF_SCORES)}, {_SAME}, variant, cluster, items, 1 AS n, unnest([
        {{'metric': {PERPLEXITY_METRIC}, 'aggregate': 'ppl_entity_macro', 'form': '{EXP}', 's': nats}},
        {{'metric': 'nats', 'aggregate': 'nats_minus_original', 'form': '{MEAN}', 's': nats - original}},
        {{'metric': {PERPLEXITY_METRIC}, 'aggregate': 'ppl_minus_original', 'form': '{MEAN}', 's': difference}}
    ], max_depth := 2)
    FROM added
"""

_GROUPS = (
    f"By subset, split, kind of span ({ALL}, np, random, and common or proper noun phrases) and origin of the "
    f"entities: {ALL}, a year, the paper's groups {' and '.join(_PERIOD_YEARS)}, or before, inside and after the "
    "model's training cutoff (inside: neither for certain); popular entities count for all origins only. Entities are "
    "pooled, years are never averaged. Of a model, split and subset those items count that it was asked in the most of "
    f"{', '.join(PROMPTING.defaults)}, so that variants compare the same items. paradigm is the paper's name of how "
    f"the model is asked: {'; '.join(f'{name}, {meaning}' for name, meaning in PARADIGMS.items())}."
)

ECBD_VARIANTS = View(
    name="ecbd_variants",
    meaning=f"Perplexities of spans by variant. {_GROUPS} ppl_entity_macro is that of "
    "ecbd_results; nats_minus_original is the mean over entities of the difference to the variant original in nats, "
    "ppl_minus_original the difference of the perplexities (its standard error by the delta method; without one where "
    "a perplexity is infinite, and null if both are). Differences are "
    "paired and clustered by entity.",
    query=estimates(_SUMS_OF_VARIANTS, (*_OF_SCORES, *_GROUP)),
    needs=CLOZE_TABLES,
    optional=(MODELS,),
)

_JUDGED = "judged_answers"  # declared in a later room
_RECALLS = f"""
    SELECT j.release, j.model, j.decoder, 'T5' AS paradigm, j.wording AS variant, j.split, j.subset, c.span_kind,
           c.np_type, j.cluster_id AS cluster, j.item_id, c.origin_from, c.origin_to, j.recall_at_10 AS value
    FROM {_JUDGED} AS j JOIN {ECBD_CLOZE.name} AS c ON c.release = j.release AND c.cloze_id = j.item_id
    WHERE j.benchmark = 'ecbd' AND j.recall_at_10 IS NOT NULL AND {_IN_DEFAULTS}
"""
_SUMS_OF_RECALLS = f"""
    WITH entities AS ({_in_groups(_RECALLS, ", ".join(_OF_ANSWERS))})
    SELECT {", ".join(_OF_ANSWERS)}, {_SAME}, variant, cluster, n AS items, n, 'share of items' AS metric, unnest([
        {{'aggregate': 'recall_at_10', 'form': '{SHARE}', 's': s}},
        {{'aggregate': 'recall_minus_original', 'form': '{DIFFERENCE}', 's': s - original}}
    ], max_depth := 2)
    FROM entities LEFT JOIN (
        SELECT release, model, decoder, {_SAME}, cluster, s AS original FROM entities WHERE variant = '{_ORIGINAL}'
    ) USING (release, model, decoder, {_SAME}, cluster)
"""

ECBD_RECALLS = View(
    name="ecbd_recalls",
    meaning="Shares of items of which one of the first ten answers is the span to the letter (recall_at_10), by "
    f"variant of the question, and their difference to the variant original (recall_minus_original). {_GROUPS} Each "
    "item has the same weight, and standard errors are by entity; differences are paired. Only models with sentinels "
    "are asked.",
    query=estimates(_SUMS_OF_RECALLS, (*_OF_ANSWERS, *_GROUP)),
    needs=(_JUDGED, ECBD_CLOZE.name),
    optional=(MODELS,),
)

_CELL = f"release, measure, paradigm, model, way, variant, {_SAME}"
_FIXED = literals((*_PERIOD_YEARS, *_POSITIONS))
_OF_CELL = ", ".join(
    [f"any_value({name}) FILTER (NOT is_delta) AS {name}" for name in ("value", "low", "high", "n_items", "n_clusters")]
    + [
        f"any_value({name}) FILTER (is_delta AND variant <> '{_ORIGINAL}') AS {new}"
        for name, new in {"value": "delta", "low": "delta_low", "high": "delta_high"}.items()
    ]
)

ECBD_CELLS = View(
    name="ecbd_cells",
    meaning="The cells of the paper's Tables 3 and 5 to 8: the perplexity (measure; pseudo-perplexity of masked "
    "models) of ecbd_variants by the benchmark's own scorers, and recall_at_10 of ecbd_recalls, with the difference "
    "delta to the variant original. A model has a row for each variant and each group of its release; value is null "
    "where no item of the group was asked in the variant, and reason says so. input is the paper's name of the "
    "variant; asked_by and numbers are parts of way, the name of scorer or decoder.",
    query=f"""
    WITH given AS (
        SELECT * EXCLUDE (scorer), scorer AS way, metric AS measure, aggregate = 'ppl_minus_original' AS is_delta
        FROM {ECBD_VARIANTS.name} WHERE aggregate <> 'nats_minus_original' AND ({PROMPTING.is_by_own_template})
        UNION ALL BY NAME
        SELECT * EXCLUDE (decoder), decoder AS way, 'recall_at_10' AS measure,
               aggregate = 'recall_minus_original' AS is_delta
        FROM {ECBD_RECALLS.name}
    ), cells AS MATERIALIZED (SELECT {_CELL}, {_OF_CELL} FROM given GROUP BY ALL),
    groups AS (
        SELECT DISTINCT release, {_SAME} FROM cells UNION
        SELECT DISTINCT release, 'odie', split, span_kind, unnest([{_FIXED}]) FROM cells
    )
    SELECT {_CELL}, replace(replace(upper(variant), '_', ' '), 'RANDOM DEFINITION', 'RANDOM DEF.') AS input,
           regexp_extract(way, '[.](.*)-', 1) AS asked_by, regexp_extract(way, '-(.*)$', 1) AS numbers, n_parameters,
           value, low, high, delta, delta_low, delta_high, n_items, n_clusters,
           CASE WHEN value IS NOT NULL THEN NULL
                WHEN origin IN ({literals(_POSITIONS)}) AND knows_possibly_until IS NULL
                THEN 'no training cutoff is stated: tempkb model add NAME --knows-until DAY'
                ELSE 'no item of this group was asked in this variant and in the others' END AS reason
    FROM (SELECT DISTINCT release, measure, paradigm, model, way FROM cells)
    JOIN groups USING (release) CROSS JOIN (SELECT unnest([{literals(PROMPTING.defaults)}]) AS variant)
    LEFT JOIN cells USING ({_CELL})
    LEFT JOIN (SELECT model, n_parameters, knows_possibly_until FROM {MODELS}) USING (model)
    """,
    needs=(ECBD_VARIANTS.name,),
    optional=(ECBD_RECALLS.name, MODELS),
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
        SELECT *, unnest(list_distinct([origin_granularity, 'year'])) AS granularity FROM ({CLOZE_SCORES})
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
    title="perplexity of spans about entities that originated",
    label="perplexity of spans about entities that originated in the window",
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
    views=(ECBD_RESULTS, ECBD_VARIANTS, ECBD_RECALLS, ECBD_CELLS),
    aggregate=_AGGREGATE,
    items=_ITEMS,
    by_window=_BY_WINDOW,
    texts=_TEXTS,
    sentences=_SENTENCES,
    judging=Judging(_ANSWERS),
)
"""What is read of the scores of ECBD's items."""
