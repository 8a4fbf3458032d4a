"""The tables of what answers of models are worth, and the views of their means."""

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.core.estimates_sql import ALL as EVERY
from tempkb.core.estimates_sql import FRACTION, SHARE, estimates, pooled
from tempkb.models.generations.measures import NAMES
from tempkb.models.generations.tables import STATUSES
from tempkb.models.scores.tables import PROMPT_SCORES
from tempkb.store.columns import columns, rules
from tempkb.store.quoting import literal, literals
from tempkb.store.tables import View, table_of_results

_KINDS = "; ".join(f"{name}: {meaning}" for name, meaning in NAMES.items())
_VALUES = ("exact_match", "f1", "rouge1", "recall_at_10", "rouge1_over_masks", "released_f1_macro")

_columns = columns.extended(f"""
    question_id VARCHAR: hash of the text around the gap, as in generations
    status VARCHAR: of the first answer: {", ".join(STATUSES)}
    text VARCHAR: the first answer; null if there is none
""")

JUDGED_ANSWERS = table_of_results(
    name="judged_answers",
    meaning="What answers of models are worth, one row for each item, model and decoder: the first answer against all "
    "names that are right, with aliases. Of an answer of causal.greedy, which runs on, its beginning counts: the "
    "shortest right name with which it begins, else its first line. Values are null where the model could not be "
    "asked; an answer that is missing, refused or cut off has zero.",
    columns=_columns("""
        benchmark VARCHAR: name of the benchmark
        release, model, decoder
        item_id VARCHAR: item, as in the benchmark's prompts
        wording VARCHAR: variant of the prompt; once for a fact that is asked without a date: the query as it is, or, if
            the model is not asked that, with the object last
        window_start DATE: first day of the item's window; of an entity, of the year of its origin
        split VARCHAR: split of the item
        subset VARCHAR: subset of the release's items; null if it has none
        cluster_id VARCHAR: subject or entity by which errors are clustered
        question_id, status, text
        accepted VARCHAR[] (bulk): names that are right, with aliases
        exact_match DOUBLE: 1 if it is one of them, normalised as by SQuAD's evaluation, else 0
        f1 DOUBLE: largest F1 of its words with those of a right name (SQuAD)
        rouge1 DOUBLE: largest ROUGE-1 F of stemmed words
        recall_at_10 DOUBLE: of recall: 1 if one of the first ten answers is right to the letter, else 0
        rouge1_over_masks DOUBLE: of masked models: the largest rouge1 over all numbers of masks
        released_f1_macro DOUBLE: of masked models: the F1-macro of DynamicTempLAMA's code, over tokens in their places,
            the largest over numbers of masks and right names whose prompts the model has scored; null without one
    """),
    key=("benchmark", "release", "model", "decoder", "item_id", "wording"),
    rules=rules(f"""
        values_are_shares: values are between 0 and 1
            {" OR ".join(f"NOT ({one} BETWEEN 0 AND 1)" for one in _VALUES)}
        exact_is_whole: an exact match has an F1 of one
            exact_match = 1 AND f1 < 1
    """),
    code_version="2",
)

JUDGED_CHANGES = table_of_results(
    name="judged_changes",
    meaning="Whom models name where one object took the place of another, one row for each change, model and decoder; "
    "names count with aliases. The question is that of the window in which the old object no longer holds. The placebo "
    "judges the same answer against another subject's change.",
    columns=_columns(f"""
        release, model, decoder
        item_id VARCHAR: query, as in dynamic_templama_queries
        new_object_id VARCHAR: object that came
        old_object_id VARCHAR: object that left
        subject_id, relation
        window_start DATE: first window in which the old object no longer holds
        change_from DATE: first day on which the change may have happened
        change_to DATE: the day after the last
        split VARCHAR: split of the subject
        position VARCHAR: before: the model certainly knows these days; after: none of its texts is of them; inside:
            neither; null if its days are not known
        days_after INTEGER: change_from minus the day from which on the model knows nothing; or null
        question_id, status, text
        new_label VARCHAR: name of the object that came
        old_label VARCHAR: name of the object that left
        names VARCHAR: what the answer names; null where the model could not be asked. {_KINDS}
        placebo_names VARCHAR: the same by another subject's change; null without one
    """),
    key=("release", "model", "decoder", "item_id", "new_object_id", "old_object_id"),
    rules=rules(f"""
        known_kind: what is named has a known value
            names NOT IN ({literals(NAMES)})
        none_has_no_text: who names nothing gave no answer
            (names = 'none') AND text IS NOT NULL
    """),
    code_version="2",
)

_OF = "release, model, decoder, split, window_start"
_SHARE_OF_ITEMS, _MEAN_OF_ITEMS = (
    f"'metric': '{name}', 'form': '{form}'" for name, form in (("share of items", SHARE), ("mean of items", FRACTION))
)
_MEASURED = ", ".join(
    f"{{'aggregate': {literal(name)}, 'value': {name}, "
    f"{_SHARE_OF_ITEMS if name in ('exact_match', 'recall_at_10') else _MEAN_OF_ITEMS}}}"
    for name in _VALUES
)
_SUMS_OF_ANSWERS = f"""
    WITH measured AS (
        SELECT benchmark, {_OF}, wording, coalesce(subset, '') AS subset, cluster_id,
               unnest([{_MEASURED}], max_depth := 2)
        FROM {JUDGED_ANSWERS.name}
    ), summed AS (
        SELECT benchmark, {_OF}, wording, subset, metric, aggregate, form, cluster_id AS cluster, count(*) AS n,
               sum(value) AS s, count(*) AS items
        FROM measured WHERE value IS NOT NULL GROUP BY ALL
    )
    FROM summed
    UNION ALL BY NAME
    -- Each entity with the same weight.
    SELECT * REPLACE ('recall_at_10_by_entity' AS aggregate, 'mean of entities' AS metric, '{FRACTION}' AS form, 1 AS n,
                      s / n AS s)
    FROM summed WHERE aggregate = 'recall_at_10'
"""
_ANSWER_KEYS = ("benchmark", "release", "model", "decoder", "wording", "subset", "metric", "aggregate")

ANSWER_RESULTS = View(
    name="answer_results",
    meaning="Means of what answers are worth (judged_answers), by window (null: all windows) and split (all: all "
    "splits), with standard errors by subject or entity: exact_match, f1, rouge1; recall_at_10 (each item with the "
    "same weight) and recall_at_10_by_entity; rouge1_over_masks and released_f1_macro as DynamicTempLAMA's code "
    "measures masked models.",
    query=estimates(
        pooled(_SUMS_OF_ANSWERS, (*_ANSWER_KEYS, "form", "cluster"), {"split": f"'{EVERY}'", "window_start": "NULL"}),
        (*_ANSWER_KEYS, "split", "window_start"),
    ),
    needs=(JUDGED_ANSWERS.name,),
)

_SHARES = ", ".join(
    f"{{'aggregate': {literal(f'{prefix}{name}')}, 'is_named': {column} = {literal(name)}}}"
    for prefix, column in (("", "names"), ("placebo_", "placebo_names"))
    for name in NAMES
)
_SUMS_OF_NAMES = f"""
    SELECT {_OF}, position, 'share of changes' AS metric, aggregate, '{SHARE}' AS form, subject_id AS cluster,
           count(is_named) AS n, count(*) FILTER (is_named) AS s, count(is_named) AS items
    FROM (
        SELECT * REPLACE (coalesce(position, 'unknown') AS position, change_from AS window_start),
               unnest([{_SHARES}], max_depth := 2)
        FROM {JUDGED_CHANGES.name}
    ) GROUP BY ALL HAVING count(is_named) > 0
"""

NAMES_BY_WINDOW = View(
    name="names_by_window",
    meaning="Whom models name where facts changed (judged_changes): the share of changes whose answer names the new "
    "object, the old one (old: the answer is stale), other_object (another object of the subject), other_name, none, "
    "or a name that new and old share (ambiguous); and the same by another subject's change (placebo_new and so on). "
    "By window of the change (that in which the new object begins; null: all windows), split (all: all splits) and "
    "position of the change to the model's knowledge date (all, before, inside, after, or unknown), with standard "
    "errors by subject.",
    query=estimates(
        pooled(
            _SUMS_OF_NAMES,
            ("release", "model", "decoder", "metric", "aggregate", "form", "cluster"),
            {"split": f"'{EVERY}'", "window_start": "NULL", "position": f"'{EVERY}'"},
        ),
        ("release", "model", "decoder", "split", "window_start", "position", "metric", "aggregate"),
    ),
    needs=(JUDGED_CHANGES.name,),
)

_RANKS = (1, 10, 20, 50, 100)
_AT = ", ".join(f"{{'aggregate': 'precision_at_{k}', 'value': (rank <= {k})::INTEGER::DOUBLE}}" for k in _RANKS)
_QUERIES = tuple(one.reading.queries.name for one in BENCHMARKS if one.reading and one.reading.queries)
_LATER = " UNION ALL ".join(f"SELECT release, query_id AS item_id FROM {one} WHERE template_no > 1" for one in _QUERIES)
_SUMS_OF_RANKS = f"""
    SELECT release, model, scorer, split, window_start, variant, 'mean of queries' AS metric, aggregate,
           CASE aggregate WHEN 'mrr_at_100' THEN '{FRACTION}' ELSE '{SHARE}' END AS form, cluster_id AS cluster,
           count(*) AS n, sum(value) AS s, count(*) AS items
    FROM (
        SELECT release, model, scorer, split, window_start, variant, cluster_id,
               unnest([{_AT}, {{'aggregate': 'mrr_at_100', 'value': CASE WHEN rank <= 100 THEN 1 / rank ELSE 0 END}}],
                      max_depth := 2)
        FROM (
            -- Of several right answers the best counts.
            SELECT f.release, f.model, f.scorer, f.split, f.window_start, f.variant, f.cluster_id, f.item_id,
                   min(s.rank) AS rank
            FROM fact_scores AS f JOIN {PROMPT_SCORES.name} AS s USING (model, scorer, prompt_id)
            ANTI JOIN ({_LATER}) AS later ON later.release = f.release AND later.item_id = f.item_id
            WHERE s.rank IS NOT NULL AND f.role = 'current' GROUP BY ALL
        )
    ) GROUP BY ALL
"""

TOKEN_RANKS = View(
    name="token_ranks",
    meaning="Where right answers of one token stand in the vocabulary, by window (null: all windows) and split (all: "
    "all splits), with standard errors by subject: precision_at_1, 10, 20, 50 and 100 (the share of queries of which a "
    "right answer is among the first k) and mrr_at_100 (the mean of 1 / rank, zero from 101 on), as DynamicTempLAMA "
    "measures them. Asked for by tempkb score --scorer probing; names of several tokens do not count, and of a "
    "relation with several templates only the first does.",
    query=estimates(
        pooled(
            _SUMS_OF_RANKS,
            ("release", "model", "scorer", "variant", "metric", "aggregate", "form", "cluster"),
            {"split": f"'{EVERY}'", "window_start": "NULL"},
        ),
        ("release", "model", "scorer", "variant", "split", "window_start", "metric", "aggregate"),
    ),
    needs=("fact_scores", PROMPT_SCORES.name),
    optional=_QUERIES,
)

TABLES = (JUDGED_ANSWERS, JUDGED_CHANGES)
VIEWS = (ANSWER_RESULTS, NAMES_BY_WINDOW, TOKEN_RANKS)
