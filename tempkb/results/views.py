"""Declares views of models' results: by entity, by time since the training cutoff, of unread items, and of linking."""

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.fact_queries.prompts import DATED, UNDATED
from tempkb.benchmarks.fact_queries.reading import FIRST_WORDING, ONCE
from tempkb.benchmarks.fact_queries.views import DATE_PAIRS, FACT_SCORES
from tempkb.benchmarks.reading import Part, united
from tempkb.core.estimates_sql import SHARE, end_of_window, estimates, window_of
from tempkb.models.linking.known import rows_of
from tempkb.models.linking.tables import LINKERS, LINKING_SCORES
from tempkb.models.scores.tables import PROMPT_SCORES
from tempkb.models.tables import MODELS
from tempkb.results.judged_tables import JUDGED_ANSWERS
from tempkb.results.linking_sql import BY_TRAINING, accuracies, counts, spaces
from tempkb.results.tables import LINKING_SUMS
from tempkb.store.quoting import literals
from tempkb.store.tables import View

LINKED = "linker"
"""Value of the column numbers in rows of linkers, whose names stand in the place of those of models."""


def _of_all(name: str) -> Part:
    """The rows of one kind that benchmarks bring."""
    brought = (getattr(one.reading, name) for one in BENCHMARKS if one.reading)
    return united([part for part in brought if part])


def _and_all(rows: str, columns: str) -> str:
    """SQL: rows by window, and each once for all windows, whose days are null."""
    return f"""
        SELECT {columns}, window_start, window_end FROM ({rows}) WHERE window_start IS NOT NULL
        UNION SELECT {columns}, NULL, NULL FROM ({rows})
    """


_SENTENCES, _PAIRS, _EVERY_FACT = _of_all("sentences"), _of_all("changes"), _of_all("facts")
_FACTS = f"""
    SELECT model, numbers, subject_id, relation, object_id, window_start, window_end, nats, n_tokens
    FROM ({_EVERY_FACT.query})
    QUALIFY row_number() OVER (
        PARTITION BY model, numbers, subject_id, relation, object_id, window_start, window_end ORDER BY {FIRST_WORDING}
    ) = 1
"""
_LINKABLE, _RELEASES = rows_of("mentions"), rows_of("releases")
# Mentions of the snapshot that ends a window. A linker has them in the place of a model.
_MENTIONS = f"""
    SELECT s.linker AS model, '{LINKED}' AS numbers, m.target_qid AS entity_id,
           {window_of("s.cut - 1", "r.granularity")} AS window_start, s.cut AS window_end,
           s.cut, s.anchor_page_id, s.start_char, coalesce(s.rank = 1, false) AS is_first
    FROM {LINKING_SCORES.name} AS s
    JOIN ({_LINKABLE.query}) AS m USING (release, cut, target_page_id, anchor_page_id, start_char)
    JOIN ({_RELEASES.query}) AS r USING (release)
    WHERE s.pool = 'own' AND s.subset = 'test' AND m.target_qid IS NOT NULL
"""
_KEY = "model, numbers, entity_id, window_start, window_end"
_OF_PAIR = "model, numbers, entity_id, relation, new_object_id, old_object_id, preference_nats"


def _of_side(name: str) -> str:
    """SQL: what a model gives for the facts whose subject or object an entity is."""
    return f"""
        SELECT model, numbers, {name}_id AS entity_id, window_start, window_end, count(*) AS n_facts_as_{name},
               sum(nats) / sum(n_tokens) AS nats_per_token_as_{name}
        FROM facts GROUP BY ALL
    """


ENTITY_KNOWLEDGE = View(
    name="entity_knowledge",
    meaning="What models know of a Wikidata entity, across benchmarks, by window and over all windows (null): the "
    "sentences about it that they complete (ECBD, variant original, in the window of its origin; nats_per_token is "
    "the mean over items of the mean negative log-probability of a token), the facts that hold in the window, of "
    "which it is the subject or the object (sums of negative log-probabilities over sums of tokens), and the scored "
    "changes of which it is the subject, with the share in which the new object is preferred (by what the subject "
    "adds). Linkers have "
    f"rows of their own, with their name as model and {LINKED} as numbers: the test mentions of the entity at the "
    "snapshot that ends the window, and the share of them of which it is the first candidate (linked_first). "
    "What several releases have counts once. Only scores by the benchmarks' own templates count; numbers is "
    "the version and number type of the scorers, such as 1.f32. Entities without a Wikidata item are left out.",
    query=f"""
    WITH sentences AS ({_and_all(_SENTENCES.query, "model, numbers, entity_id, sentence, prompt_id, nats")}),
    facts AS ({_and_all(_FACTS, "model, numbers, subject_id, relation, object_id, nats, n_tokens")}),
    mentions AS ({_and_all(_MENTIONS, "model, numbers, entity_id, anchor_page_id, start_char, is_first, cut")}),
    pairs AS ({_and_all(_PAIRS.query, _OF_PAIR)}),
    parts AS (
        SELECT {_KEY}, count(DISTINCT sentence) AS n_sentences, count(*) AS n_cloze_items, avg(nats) AS nats_per_token
        FROM sentences GROUP BY ALL
        UNION ALL BY NAME {_of_side("subject")}
        UNION ALL BY NAME {_of_side("object")}
        UNION ALL BY NAME
        SELECT {_KEY}, count(*) AS n_changes, avg((preference_nats > 0)::INTEGER) AS prefers_new
        FROM pairs GROUP BY ALL
        UNION ALL BY NAME
        SELECT {_KEY}, count(*) AS n_mentions, avg(is_first::INTEGER) AS linked_first FROM mentions GROUP BY ALL
    )
    SELECT {_KEY}, coalesce(any_value(n_sentences), 0) AS n_sentences,
           coalesce(any_value(n_cloze_items), 0) AS n_cloze_items, any_value(nats_per_token) AS nats_per_token,
           coalesce(any_value(n_facts_as_subject), 0) AS n_facts_as_subject,
           any_value(nats_per_token_as_subject) AS nats_per_token_as_subject,
           coalesce(any_value(n_changes), 0) AS n_changes, any_value(prefers_new) AS prefers_new,
           coalesce(any_value(n_facts_as_object), 0) AS n_facts_as_object,
           any_value(nats_per_token_as_object) AS nats_per_token_as_object,
           coalesce(any_value(n_mentions), 0) AS n_mentions, any_value(linked_first) AS linked_first
    FROM parts GROUP BY {_KEY}
    """,
    needs=(PROMPT_SCORES.name,),
    optional=(
        LINKING_SCORES.name,
        *_LINKABLE.needs,
        *_RELEASES.needs,
        *_SENTENCES.needs,
        *_EVERY_FACT.needs,
        *_PAIRS.needs,
    ),
)

_BY_WINDOW = united(
    [
        Part(f"SELECT '{one.name}' AS benchmark, * FROM ({one.reading.by_window.query})", one.reading.by_window.needs)
        for one in BENCHMARKS
        if one.reading and one.reading.by_window
    ]
)

SCORES_BY_GAP = View(
    name="scores_by_gap",
    meaning="Scores of all benchmarks by window, with the time from the model's training cutoff to the window: "
    "gap_days is the window's first day minus the day from which on the model knows nothing, gap_days_at_most that "
    "minus the day until which it certainly knows; position says whether the window lies before, inside (even in "
    "part) or after these days. All three are null for models without them. ECBD: ppl_entity_macro of the variant "
    "original by window of origin, as fine as each origin is known, and by year. TempLAMA and DynamicTempLAMA: "
    "ppl_token of the window's answers, each once. DynamicTempLAMA: aggregates of prefers_new over all pairs, by the "
    "window in which the new object has begun.",
    query=f"""
    WITH ended AS (SELECT *, {end_of_window("window_start", "granularity")} AS window_end FROM ({_BY_WINDOW.query}))
    SELECT e.benchmark, e.release, e.model, e.scorer, e.split, e.variant, e.granularity, e.window_start, e.window_end,
           date_diff('day', m.knows_possibly_until, e.window_start) AS gap_days,
           date_diff('day', m.knows_certainly_until, e.window_start) AS gap_days_at_most,
           CASE WHEN m.knows_possibly_until IS NULL THEN NULL WHEN e.window_end <= m.knows_certainly_until THEN 'before'
                WHEN e.window_start >= m.knows_possibly_until THEN 'after' ELSE 'inside' END AS position,
           e.metric, e.aggregate, e.value, e.standard_error, e.low, e.high, e.n_items, e.n_clusters
    FROM ended AS e JOIN {MODELS.name} AS m USING (model)
    """,
    needs=(MODELS.name, PROMPT_SCORES.name),
    optional=_BY_WINDOW.needs,
)

_ITEMS = united([one.reading.items for one in BENCHMARKS if one.reading and one.reading.items])

LEAK_FREE_ITEMS = View(
    name="leak_free_items",
    meaning="Items that a model cannot have read: all days on which they rest, as far as known, are on or after the "
    "day from which on the model knows nothing. days_after is the smallest number of days between; ask for more than "
    "0 for a buffer, since what is dated in the future may be announced. Models without that day, and items without a "
    "day of origin, are left out. origin_day: for ECBD the first day on which the entity may have begun; for facts "
    "that on which the object first held, also if it came back later. evidence_day: for ECBD the first day of the "
    "first window whose snapshot has the sentence, but not before the page, and the page's day if that is the home's "
    "first window; null for facts, whose prompts quote no text. statement_day: for ECBD the day of the page's first "
    "revision; for facts the day of the last dump that describes the subject without the object, if that is on or "
    "after the model's day. A fact that a dump of the model's day or before has is left out. If no dump tells which "
    "of the two is true, the fact is in, and statement_is_known is false. target_id is the new object of "
    "scored_changes.",
    query=f"""
    WITH items AS ({_ITEMS.query}), compared AS (
        SELECT m.model, i.benchmark, i.release, i.item_id, i.target_id, i.window_start, i.origin_day, i.evidence_day,
               coalesce(i.statement_day, CASE WHEN i.lacking_day >= m.knows_possibly_until THEN i.lacking_day END)
                   AS statement_day,
               m.knows_possibly_until AS known_until
        FROM items AS i JOIN {MODELS.name} AS m ON i.origin_day >= m.knows_possibly_until
        WHERE i.having_day IS NULL OR i.having_day > m.knows_possibly_until
    )
    SELECT * EXCLUDE (known_until), statement_day IS NOT NULL AS statement_is_known,
           date_diff('day', known_until, least(origin_day, evidence_day, statement_day)) AS days_after
    FROM compared WHERE days_after >= 0
    """,
    needs=(MODELS.name,),
    optional=_ITEMS.needs,
)

_OF_CHOICE = "release, model, way, asked, measure"
_IDS = "list_sort(list_distinct(list_transform(answers, lambda one: one.entity_id)))"
_OF_FACTS = {one.name: one.reading.queries.name for one in BENCHMARKS if one.reading and one.reading.queries}
_ALL_QUERIES = " UNION ALL ".join(
    f"SELECT release, query_id, window_start, subject_id, relation, query, {_IDS} AS ids FROM {queries} "
    "WHERE template_no = 1"
    for queries in _OF_FACTS.values()
)
# What begins with its answer cannot be known by a causal model.
_CAN_BE_KNOWN = "NOT (way LIKE 'causal.%' AND starts_with(query, '_X_'))"

DATED_CHOICES = View(
    name="dated_choices",
    meaning="What models that are told the time know of facts, and others beside them: one row a choice, "
    "which is right or not. asked: undated, or dated, with the date in front, which is how models are asked that were "
    "trained with dates, or by an expert of each. way: the scorer or decoder. measure: previous (an answer is more "
    "likely than an object that was one in the window before and is none any more), object (of two objects that held "
    "on different dates, the one that held on the date of the prompt is more likely; both dates count, so that a model "
    "that is moved by no date has one half), date (an object is more likely after a date on which it held than after "
    "one on which it did not), answer_changed and answer_unchanged (a right name is the answer to a query that lost an "
    "answer of the window before, or that has the same ones). Of causal models queries that begin with their answer "
    "are left out.",
    query=f"""
    WITH queries AS MATERIALIZED (
        SELECT release, query_id AS item_id, subject_id, relation, query, ids,
               lag(ids) OVER (PARTITION BY release, subject_id, relation ORDER BY window_start) AS before
        FROM ({_ALL_QUERIES})
    ), scored AS MATERIALIZED (
        SELECT release, model, scorer, variant, item_id, target_id, role, log_prob_nats FROM {FACT_SCORES.name}
        WHERE status = 'scored' AND role IN ('current', 'previous') AND variant IN ('{UNDATED}', '{DATED}')
    ), dates AS MATERIALIZED (
        SELECT d.*, q.relation, q.query, d.scorer AS way
        FROM {DATE_PAIRS.name} AS d JOIN queries AS q ON q.release = d.release AND q.item_id = d.query_id
    ), choices AS (
        SELECT r.release, r.model, r.scorer AS way, r.variant AS asked, 'previous' AS measure, r.item_id,
               r.target_id AS object_id, p.target_id AS other, r.log_prob_nats > p.log_prob_nats AS is_right
        FROM scored AS r JOIN scored AS p USING (release, model, scorer, variant, item_id)
        WHERE r.role = 'current' AND p.role = 'previous'
        UNION ALL
        SELECT release, model, way, '{DATED}', 'date', query_id, object_id, wrong_date, is_won FROM dates
        UNION ALL
        SELECT release, model, way, '{DATED}', 'object', r.query_id, r.object_id, o.object_id,
               r.right_nats > o.wrong_nats
        FROM dates AS r JOIN dates AS o USING (release, model, way, subject_id, relation)
        WHERE r.right_date = o.wrong_date AND r.wrong_date = o.right_date AND r.object_id <> o.object_id
        UNION ALL
        SELECT release, model, decoder, CASE wording WHEN '{ONCE}' THEN '{UNDATED}' ELSE wording END,
               CASE WHEN before = ids THEN 'answer_unchanged' ELSE 'answer_changed' END, item_id, NULL, NULL,
               exact_match = 1
        FROM {JUDGED_ANSWERS.name} JOIN queries USING (release, item_id)
        WHERE benchmark IN ({literals(_OF_FACTS)}) AND wording IN ('{ONCE}', '{DATED}') AND exact_match IS NOT NULL
            AND (before = ids OR len(list_intersect(before, ids)) < len(before))
    )
    SELECT {_OF_CHOICE}, subject_id, item_id, object_id, other, is_right
    FROM choices JOIN queries USING (release, item_id) WHERE {_CAN_BE_KNOWN}
    """,
    needs=(DATE_PAIRS.name,),
    optional=(*_OF_FACTS.values(), JUDGED_ANSWERS.name),
)

DATED_CHOICE_RESULTS = View(
    name="dated_choice_results",
    meaning="Shares of right choices (dated_choices) by model, way, asked and measure; standard errors are by subject.",
    query=estimates(
        f"""
        SELECT {_OF_CHOICE}, 'share of choices' AS metric, 'right' AS aggregate, '{SHARE}' AS form,
               subject_id AS cluster, count(*) AS n, count(*) FILTER (is_right) AS s, count(*) AS items
        FROM {DATED_CHOICES.name} GROUP BY ALL
        """,
        (*_OF_CHOICE.split(", "), "metric", "aggregate"),
    ),
    needs=(DATED_CHOICES.name,),
)

_OF_SUM = """
    metric, k, value, standard_error, seed_error, low, high, n_items, n_clusters, n_linkers, n_seeds
"""
_HOW = (
    "Clusters are the entities of the mentions; under ten there is no interval. setup is the preset of trained "
    "linkers, which differ in the snapshot and seed of their training alone (followed by the release on which they "
    "were trained, if it is another one, and by digits of the recipe, if there are several), and the name of any other "
    "linker. n_items counts a mention once for each linker and test. seed_error is the part of the standard error that "
    "comes from the seeds of training; it is null, and not in the interval, unless all training snapshots have several."
)
_EACH = "Categories are continual and new, each by itself; only linking_accuracy has all mentions together."

LINKING_ACCURACY = View(
    name="linking_accuracy",
    meaning="Accuracy of each linker at each test snapshot of a release, by pool of candidates, subset, category "
    "(continual, new or all) and k: the share of mentions whose entity is among the first k candidates (metric "
    "accuracy), as in the paper's tables 2 and 7 to 13. An entity that is no candidate is a miss; n_missing counts "
    "its mentions. The metric similarity is the mean similarity of consecutive descriptions among the first 64 "
    "candidates (figure 4a). aggregate is micro: each mention has the same weight. Clusters are entities; under ten "
    "there is no interval.",
    query=f"""
    WITH tests AS MATERIALIZED ({spaces()}), counted AS MATERIALIZED ({counts()}) {accuracies()}
    """,
    needs=(LINKING_SCORES.name,),
    optional=(LINKERS.name,),
)

LINKING_BY_TRAINING = View(
    name="linking_by_training",
    meaning="Accuracy by training snapshot (model_cut; null for what is not trained) and test snapshot (cut), averaged "
    "over seeds of training (aggregate mean_of_seeds), and the difference to the accuracy of the same linkers at the "
    f"snapshot of their training (minus_own_snapshot), by which tables are coloured. {_EACH} {_HOW}",
    query=f"""
    SELECT release, setup, model_cut, pool, subset, category, cut, aggregate, {_OF_SUM}
    FROM {LINKING_SUMS.name} WHERE aggregate IN {BY_TRAINING}
    """,
    needs=(LINKING_SUMS.name,),
)

LINKING_CHANGES = View(
    name="linking_changes",
    meaning="Figures that put the linkers of one setup together, all made from the rows of linking_accuracy: "
    "mean_of_models (mean over training snapshots at a test snapshot), change (from the first test snapshot, from_cut, "
    "to cut, averaged over models) and change_of_later_models (without the models trained on the first snapshot or "
    "before), in_snapshot (trained on the snapshot of the test), out_of_snapshot (mean of all other models) and "
    "in_minus_out, by test snapshot and over all that have both (cut is null), and out_minus_in by steps, the number "
    f"of snapshots from the test to the training (negative: trained earlier). {_EACH} {_HOW}",
    query=f"""
    SELECT release, setup, pool, subset, category, aggregate, cut, from_cut, steps, {_OF_SUM}
    FROM {LINKING_SUMS.name} WHERE type_by IS NULL AND aggregate NOT IN {BY_TRAINING}
    """,
    needs=(LINKING_SUMS.name,),
)

LINKING_BY_TYPE = View(
    name="linking_by_type",
    meaning="In- and out-of-snapshot accuracy of mentions of new entities, by type (figures 5c and 8): "
    "type_by is paper (covid, recurrent or other, by the paper's keywords in titles), class (Wikidata's), or origin "
    "(extract of an existing page; series, whose title differs from that of a page of the snapshot before in numbers "
    "alone; or other). By test snapshot, and over all (cut is null), where each mention has the same weight. The "
    f"aggregates are those of linking_changes. {_HOW}",
    query=f"""
    SELECT release, setup, pool, subset, category, type_by, entity_type, aggregate, cut, {_OF_SUM}
    FROM {LINKING_SUMS.name} WHERE type_by IS NOT NULL
    """,
    needs=(LINKING_SUMS.name,),
)

OF_LINKING = (LINKING_ACCURACY, LINKING_BY_TRAINING, LINKING_CHANGES, LINKING_BY_TYPE)
