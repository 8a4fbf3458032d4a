"""The tables of what answers of models are worth, and the views of their means."""

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES, FACT_SPELLS
from tempkb.benchmarks.reading import united
from tempkb.core.estimates_sql import ALL as EVERY
from tempkb.core.estimates_sql import FRACTION, SHARE, Measure, end_of_window, estimates, pooled, window_of
from tempkb.models.corpora.tables import DATED_TEXTS
from tempkb.models.generations.measures import NAMES
from tempkb.models.generations.tables import STATUSES
from tempkb.models.scores.tables import PROMPT_SCORES
from tempkb.models.tables import MODELS
from tempkb.store.columns import columns, rules
from tempkb.store.quoting import literal, literals
from tempkb.store.tables import View, table_of_results
from tempkb.store.types import FLOAT64, STRING, struct_of

_JUDGING = [one.reading.judging for one in BENCHMARKS if one.reading and one.reading.judging]
ASKED = (
    *(one.prompting.table.name for one in BENCHMARKS if one.prompting),
    DATED_TEXTS.name,
    *(name for one in _JUDGING for part in (one.answers, one.changes) if part for name in part.needs),
)
"""The tables and views with the questions that models were asked, and with what is right."""
_KINDS = "; ".join(f"{name}: {meaning}" for name, meaning in NAMES.items())
SINGLE, MULTI = "single_token", "multi_token"
_VALUES = ("exact_match", "f1", "rouge1", "recall_at_10", "rouge1_over_masks", "released_f1_macro")

_WORTH = struct_of(("target_id", STRING), *((name, FLOAT64) for name in _VALUES))
_columns = columns.with_types(WORTH=_WORTH).extended(f"""
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
        of_targets WORTH[] (bulk): the same against the names of each right object alone
    """),
    key=("benchmark", "release", "model", "decoder", "item_id", "wording"),
    rules=rules(f"""
        values_are_shares: values are between 0 and 1
            {" OR ".join(f"NOT ({one} BETWEEN 0 AND 1)" for one in _VALUES)}
        exact_is_whole: an exact match has an F1 of one
            exact_match = 1 AND f1 < 1
    """),
    code_version="3",
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
_RANKS = (1, 10, 20, 50, 100)
_ARE_SHARES = ("exact_match", "recall_at_10", *(f"precision_at_{k}" for k in _RANKS))
_MEASURED = ", ".join(
    f"{{'aggregate': {literal(name)}, 'value': {name}, {_SHARE_OF_ITEMS if name in _ARE_SHARES else _MEAN_OF_ITEMS}}}"
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
    "position of the change to the model's training cutoff (all, before, inside, after, or unknown), with standard "
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

_PLACES = {f"precision_at_{k}": f"(rank <= {k})::INTEGER::DOUBLE" for k in _RANKS}
_PLACES["mrr_at_100"] = "CASE WHEN rank <= 100 THEN 1 / rank ELSE 0 END"
_PLACED = ", ".join(f"{{'aggregate': '{name}', 'value': {value}}}" for name, value in _PLACES.items())
_QUERIES = tuple(one.reading.queries.name for one in BENCHMARKS if one.reading and one.reading.queries)
_LATER = " UNION ALL ".join(f"SELECT release, query_id AS item_id FROM {one} WHERE template_no > 1" for one in _QUERIES)
_SUMS_OF_RANKS = f"""
    SELECT release, model, scorer, split, window_start, variant, 'mean of queries' AS metric, aggregate,
           CASE aggregate WHEN 'mrr_at_100' THEN '{FRACTION}' ELSE '{SHARE}' END AS form, cluster_id AS cluster,
           count(*) AS n, sum(value) AS s, count(*) AS items
    FROM (
        SELECT release, model, scorer, split, window_start, variant, cluster_id, unnest([{_PLACED}], max_depth := 2)
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

_CHANGED = united([one.reading.changed for one in BENCHMARKS if one.reading and one.reading.changed])
_CELLS = {**dict.fromkeys(_PLACES, SINGLE), **dict.fromkeys(_VALUES, MULTI)}
_SUMS = {f"n_{name}": f"count({name})::DOUBLE" for name in _CELLS} | {f"s_{name}": f"sum({name})" for name in _CELLS}
_SUMS_BY_CHANGE = f"""
    WITH objects AS MATERIALIZED ({_CHANGED.query}), measured AS (
        SELECT o.*, s.model, s.scorer, NULL::VARCHAR AS decoder,
               {", ".join(f"{value} AS {name}" for name, value in _PLACES.items())}
        FROM objects AS o JOIN fact_scores AS f USING (release, item_id, target_id)
        JOIN {PROMPT_SCORES.name} AS s USING (model, scorer, prompt_id)
        WHERE s.rank IS NOT NULL AND f.role = 'current' AND f.variant = 'undated'
        UNION ALL BY NAME
        SELECT o.*, j.model, NULL::VARCHAR AS scorer, j.decoder, {", ".join(_VALUES)}
        FROM objects AS o JOIN (
            SELECT release, item_id, model, decoder, unnest(of_targets, max_depth := 2)
            FROM {JUDGED_ANSWERS.name} WHERE wording = 'once'
        ) AS j USING (release, item_id, target_id)
    )
    SELECT release, granularity, model, scorer, decoder, split, window_start, change, cluster_id AS cluster,
           {", ".join(f"{value} AS {name}" for name, value in _SUMS.items())}
    FROM measured GROUP BY ALL
"""
_OF_CELLS = ("release", "granularity", "model", "scorer", "decoder")
_ESTIMATED_BY_CHANGE = estimates(
    pooled(
        _SUMS_BY_CHANGE,
        (*_OF_CELLS, "cluster"),
        {"split": f"'{EVERY}'", "change": f"'{EVERY}'", "window_start": "NULL"},
        tuple(_SUMS),
    ),
    (*_OF_CELLS, "split", "change", "window_start"),
    [
        Measure(
            f"n_{name}",
            f"s_{name}",
            f"n_{name}",
            (
                ("evaluation", literal(evaluation)),
                ("metric", literal("mean of answers")),
                ("aggregate", literal(name)),
                ("form", literal(SHARE if name in _ARE_SHARES else FRACTION)),
            ),
        )
        for name, evaluation in _CELLS.items()
    ],
)

RESULTS_BY_CHANGE = View(
    name="results_by_change",
    meaning="The cells of DynamicTempLAMA's figures 3, 4 and 6 to 9: how well models give the answers of a window "
    "(null: all windows) and split (all: all splits) that are unchanged, updated (the object that arrived), new, or "
    "deleted (the object that left, by the query in which it held); the change all is over these four. Each object "
    f"counts by itself and is asked for without a date. evaluation {SINGLE}: precision_at_k and mrr_at_100 as in "
    f"token_ranks, by scorer; {MULTI}: the first answer of a decoder against the names of this object alone, as in "
    "judged_answers. windows_after is the number of windows from the last one of which the model may know; null if "
    "that is not known. The paper's violins give each of these cells the same weight; the row of all windows and "
    "changes gives it to each answer, with its standard error by subject.",
    query=f"""
    SELECT c.*, date_diff(granularity, {window_of("m.knows_possibly_until - 1", "granularity")}, window_start)
               AS windows_after
    FROM ({_ESTIMATED_BY_CHANGE}) AS c LEFT JOIN {MODELS.name} AS m USING (model)
    """,
    needs=(*_CHANGED.needs, MODELS.name),
    optional=("fact_scores", PROMPT_SCORES.name, JUDGED_ANSWERS.name),
)

_MOST_YEARS = 10
_FIRST_ANSWERS = " UNION ALL ".join(
    f"SELECT release, query_id AS item_id, subject_id, relation, answers[1].entity_id AS object_id, window_start, "
    f"granularity FROM {one} WHERE template_no = 1"
    for one in _QUERIES
)
_SUMS_OF_DURATIONS = f"""
    WITH held AS (
        SELECT q.release, q.item_id, max(date_diff('day', s.valid_from, coalesce(s.valid_to, r.dump_date))) AS days
        FROM ({_FIRST_ANSWERS}) AS q
        JOIN (SELECT release, dump_date FROM {FACT_RELEASES.name}) AS r USING (release)
        JOIN (SELECT release, subject_id, relation, object_id, valid_from, valid_to FROM {FACT_SPELLS.name}) AS s
        ON s.release = q.release AND s.subject_id = q.subject_id AND s.relation = q.relation
            AND s.object_id = q.object_id AND s.valid_from < {end_of_window("q.window_start", "q.granularity")}
            AND coalesce(s.valid_to > q.window_start, true)
        GROUP BY ALL
    )
    SELECT benchmark, {_OF.removesuffix(", window_start")}, wording, 'mean of items' AS metric, 'f1' AS aggregate,
           '{FRACTION}' AS form, cluster_id AS cluster,
           least(greatest(round(days / 365.25), 1), {_MOST_YEARS})::SMALLINT AS held_years,
           count(*) AS n, sum(f1) AS s, count(*) AS items
    FROM {JUDGED_ANSWERS.name} JOIN held USING (release, item_id) WHERE f1 IS NOT NULL AND split = 'test' GROUP BY ALL
"""

ANSWERS_BY_DURATION = View(
    name="answers_by_duration",
    meaning="Mean F1 of answers to the queries of the test split by how long the fact holds, with standard errors by "
    "subject: held_years is the validity interval of the query's first answer in years, rounded, at least 1; "
    f"{_MOST_YEARS} are {_MOST_YEARS} or more. What still holds counts to the day of the dump; one whose start is "
    "not known does not count.",
    query=estimates(
        _SUMS_OF_DURATIONS,
        ("benchmark", "release", "model", "decoder", "split", "wording", "metric", "aggregate", "held_years"),
    ),
    needs=(JUDGED_ANSWERS.name, FACT_RELEASES.name, FACT_SPELLS.name),
    optional=_QUERIES,
)

TABLES = (JUDGED_ANSWERS, JUDGED_CHANGES)
VIEWS = (ANSWER_RESULTS, NAMES_BY_WINDOW, TOKEN_RANKS, RESULTS_BY_CHANGE, ANSWERS_BY_DURATION)
