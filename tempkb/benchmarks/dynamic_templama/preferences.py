"""Declares views of what models prefer where facts changed: new and old objects, in pairs and by themselves."""

from typing import NamedTuple

from tempkb.benchmarks.dynamic_templama.tables import (
    DYNAMIC_TEMPLAMA_CHANGES,
    DYNAMIC_TEMPLAMA_PROMPTS,
    DYNAMIC_TEMPLAMA_QUERIES,
)
from tempkb.benchmarks.dynamic_templama.views import CHANGE_SCORES
from tempkb.benchmarks.fact_queries.reading import FIRST_WORDING, HAS_SUBJECT, WORDING
from tempkb.benchmarks.reading import MODELS, SCORES
from tempkb.core.estimates_sql import ALL, DIFFERENCE, LOG_PROB, MEAN, SHARE, Measure, end_of_window, estimates, pooled
from tempkb.store.quoting import literal
from tempkb.store.tables import View

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


YEARS_BEFORE = 3
"""A change is long known if its window ended so many years before a model's knowledge certainly reaches."""

SCORED_CHANGES = View(
    name="scored_changes",
    meaning="Changes that a model and scorer have scored: one row for each new object and the old one whose place it "
    "took, in one wording (the query as it is, or, if the scorer has no score for it, with the object last; of a "
    "relation with several templates the first). "
    "preference_nats is by how much more the subject adds to the log-probability of the new object than to that of "
    "the old one, null without scores of the query without its subject; control_preference_nats is the same for two "
    "objects of another subject's change. new_length and old_length are the labels' lengths, new_chars and old_chars "
    "what the scores stand for, in characters. window_start is the first window in which the old object no longer "
    "holds; arrival_window_start is that in which the new one has begun, mostly the one before, since both hold in "
    "the window of a change. So the change happened from change_from to the day before change_to. days_after is the "
    "first day of the arrival's window minus the day from which on the model knows nothing; is_long_known says that "
    "the window ended at least three years before the day until which the model certainly knows. Both are null for "
    "models without these days.",
    query=f"""
    WITH once AS (
        FROM {CHANGE_SCORES.name} QUALIFY row_number() OVER (
            PARTITION BY release, model, scorer, item_id, new_object_id, old_object_id ORDER BY {FIRST_WORDING}
        ) = 1
    ), told AS (
        SELECT o.*, {end_of_window("o.window_start", "q.granularity")} AS window_end, q.split, q.is_provisional,
               coalesce(o.arrival_window_start, o.window_start) AS change_from,
               greatest(o.window_start, {end_of_window("change_from", "q.granularity")}) AS change_to,
               length(o.new_label) AS new_length, length(o.old_label) AS old_length
        FROM once AS o
        JOIN {DYNAMIC_TEMPLAMA_QUERIES.name} AS q ON q.release = o.release AND q.query_id = o.item_id
    )
    SELECT t.release, t.model, t.scorer, t.window_start, t.window_end, t.arrival_window_start, t.change_from,
           t.change_to, t.split, t.is_provisional, t.subject_id, t.relation, t.item_id, t.wording, t.new_object_id,
           t.old_object_id, t.new_label, t.old_label, t.new_length, t.old_length,
           t.new_length = t.old_length AS is_equal_length, t.new_nats, t.old_nats, t.new_chars, t.old_chars,
           t.preference_nats, t.control_new_nats, t.control_old_nats, t.control_preference_nats,
           date_diff('day', m.knows_possibly_until, t.arrival_window_start) AS days_after,
           t.window_end <= m.knows_certainly_until - INTERVAL {YEARS_BEFORE} YEAR AS is_long_known
    FROM told AS t LEFT JOIN {MODELS} AS m USING (model)
    """,
    needs=(CHANGE_SCORES.name, DYNAMIC_TEMPLAMA_QUERIES.name, MODELS),
)


class Aggregate(NamedTuple):
    """An aggregate over changes.

    Attributes:
        value: SQL of a change's value.
        known: SQL that is null where the change does not count.
        metric: what the value measures.
        form: share or mean.
    """

    name: str
    value: str
    known: str
    metric: str = "share of changes"
    form: str = SHARE


_RAW, _ADDED = "new_nats - old_nats", "preference_nats"
_BY_CHARACTER = "new_nats / new_chars - old_nats / old_chars"
_CONTROL_RAW, _CONTROL_ADDED = "control_new_nats - control_old_nats", "control_preference_nats"
_BOTH = f"{_ADDED} - {_CONTROL_ADDED}"
_AGGREGATES = (
    Aggregate("prefers_new", f"{_ADDED} > 0", _ADDED),
    Aggregate("prefers_new_raw", "new_nats > old_nats", _RAW),
    Aggregate("prefers_new_per_character", "new_nats / new_chars > old_nats / old_chars", _BY_CHARACTER),
    Aggregate("control_prefers_new", f"{_CONTROL_ADDED} > 0", _CONTROL_ADDED),
    Aggregate("control_prefers_new_raw", "control_new_nats > control_old_nats", _CONTROL_RAW),
    Aggregate(
        "prefers_new_minus_control",
        f"({_ADDED} > 0)::INTEGER - ({_CONTROL_ADDED} > 0)::INTEGER",
        _BOTH,
        "difference of shares",
        DIFFERENCE,
    ),
    Aggregate("log_prob_new_minus_old", _RAW, _RAW, "nats", MEAN),
    Aggregate("log_prob_new_minus_old_per_character", _BY_CHARACTER, _BY_CHARACTER, "nats per character", MEAN),
    Aggregate("log_prob_new_minus_old_against_class", _ADDED, _ADDED, "nats", MEAN),
    Aggregate("control_log_prob_new_minus_old", _CONTROL_RAW, _CONTROL_RAW, "nats", MEAN),
    Aggregate("control_log_prob_new_minus_old_against_class", _CONTROL_ADDED, _CONTROL_ADDED, "nats", MEAN),
)
# One column each until groups are estimated: as rows they would be eleven times as many.
_NUMBERS = {known: f"n_{at}" for at, known in enumerate(dict.fromkeys(one.known for one in _AGGREGATES))}
_SUMS = {
    **{name: f"count({known})::DOUBLE" for known, name in _NUMBERS.items()},
    **{f"s_{one.name}": f"sum(({one.value})::DOUBLE)" for one in _AGGREGATES},
}
_MEASURES = [
    Measure(
        _NUMBERS[one.known],
        f"s_{one.name}",
        _NUMBERS[one.known],
        (("metric", literal(one.metric)), ("aggregate", literal(one.name)), ("form", literal(one.form))),
    )
    for one in _AGGREGATES
]
_PAIRS = f"""list_filter(['{ALL}', CASE WHEN is_equal_length THEN 'equal_length' END,
    CASE WHEN abs(new_length - old_length) <= 1 THEN 'nearly_equal_length' END,
    CASE WHEN is_long_known THEN 'long_known' END], lambda one: one IS NOT NULL)"""


def preferences(condition: str = "true") -> str:
    """Return SQL of all aggregates over those changes for which a condition is true: the columns of `prefers_new`."""
    sums = f"""
        SELECT release, model, scorer, split, change_from AS window_start, pairs, subject_id AS cluster,
               {", ".join(f"{sql} AS {name}" for name, sql in _SUMS.items())}
        FROM (SELECT *, unnest({_PAIRS}) AS pairs FROM {SCORED_CHANGES.name} WHERE {condition}) GROUP BY ALL
    """
    every = pooled(
        sums,
        ("release", "model", "scorer", "pairs", "cluster"),
        {"split": f"'{ALL}'", "window_start": "NULL"},
        tuple(_SUMS),
    )
    return estimates(every, ("release", "model", "scorer", "split", "window_start", "pairs"), _MEASURES)


PREFERS_NEW = View(
    name="prefers_new",
    meaning="What models prefer where facts changed, by aggregate, window of the change (that in which the new "
    "object begins; null: all windows), split (all: all splits) and pairs, with standard errors by subject. "
    "prefers_new is the share of pairs in which the subject adds more to the log-probability of the new object than "
    "to that of the old one; prefers_new_raw compares the log-probabilities themselves, prefers_new_per_character "
    "those of a character. control_prefers_new and control_prefers_new_raw are the same for two objects of another "
    "subject's change, and prefers_new_minus_control is the paired difference. log_prob_new_minus_old is the mean "
    "difference: raw, per_character, or against_class, of what the subject adds to a noun for its class. pairs: all; "
    "equal_length or nearly_equal_length (labels that differ by no or at most one character); long_known (windows "
    "that ended at least three years before the day until which the model certainly knows). A pair without a score "
    "that an aggregate needs does not count for it.",
    query=preferences(),
    needs=(SCORED_CHANGES.name,),
)

_ROLES = """CASE WHEN change = 'unchanged' THEN 'kept' WHEN change = 'deleted' OR role = 'leaving' THEN 'removed'
    ELSE 'new' END"""
_MEANS = """
    avg(nats) FILTER (WHERE role = 'new') AS new, avg(nats) FILTER (WHERE role = 'kept') AS kept,
    avg(nats) FILTER (WHERE role = 'removed') AS removed, count(nats) FILTER (WHERE role = 'new') AS n_new,
    count(nats) FILTER (WHERE role = 'kept') AS n_kept, count(nats) FILTER (WHERE role = 'removed') AS n_removed
"""
_BY_ROLE = """[
    {'aggregate': 'new', 's': new, 'items': n_new}, {'aggregate': 'kept', 's': kept, 'items': n_kept},
    {'aggregate': 'removed', 's': removed, 'items': n_removed},
    {'aggregate': 'new_minus_removed', 's': new - removed, 'items': n_new + n_removed},
    {'aggregate': 'new_minus_kept', 's': new - kept, 'items': n_new + n_kept}]"""
_SUMS_OF_OBJECTS = f"""
    WITH objects AS (
        -- An object that left is counted where the one that took its place is: in the window of the change.
        SELECT release, CASE role WHEN 'leaving' THEN paired_window_start ELSE window_start END AS window_start,
               subject_id, relation, object_id, {_ROLES} AS role
        FROM {DYNAMIC_TEMPLAMA_CHANGES.name} WHERE change <> 'undatable'
    ), scores AS ({OBJECT_SCORES}), measured AS (
        SELECT s.release, s.model, s.scorer, s.split, o.window_start, o.role, s.subject_id AS cluster,
               unnest([{{'metric': 'nats', 'nats': s.log_prob_nats}},
                       {{'metric': 'nats that the subject adds', 'nats': s.log_prob_nats - s.bare_nats}}],
                      max_depth := 2)
        FROM objects AS o JOIN scores AS s USING (release, subject_id, relation, object_id)
    ), means AS (
        SELECT release, model, scorer, split, window_start, metric, cluster, {_MEANS}
        FROM measured GROUP BY release, model, scorer, split, window_start, metric, cluster
    )
    SELECT release, model, scorer, split, window_start, metric, cluster, a.aggregate,
           CASE WHEN metric = 'nats' AND NOT contains(a.aggregate, 'minus') THEN '{LOG_PROB}' ELSE '{MEAN}' END AS form,
           1 AS n, a.s, a.items
    FROM (SELECT *, unnest({_BY_ROLE}) AS a FROM means) WHERE a.s IS NOT NULL
"""

OBJECT_SCORES_BY_ROLE = View(
    name="object_scores",
    meaning="Mean log-probabilities of new, kept and removed objects, by window (null: all windows) and split (all: "
    "all splits), and their differences within subjects: new_minus_removed and new_minus_kept count subjects that "
    "have both in one window. The unit is a subject in a window: the mean over its objects of a role, of all "
    "relations; n_items counts objects, n_clusters subjects. An object that left has the score of the query in which "
    "it held, and counts in the window in which another took its place. metric: nats, or nats that the subject adds "
    "to a noun for its class. Undatable changes are left out, and of a relation with several templates all but the "
    "first.",
    query=estimates(
        pooled(
            _SUMS_OF_OBJECTS,
            ("release", "model", "scorer", "metric", "aggregate", "form", "cluster"),
            {"split": f"'{ALL}'", "window_start": "NULL"},
        ),
        ("release", "model", "scorer", "split", "window_start", "metric", "aggregate"),
    ),
    needs=(
        DYNAMIC_TEMPLAMA_CHANGES.name,
        DYNAMIC_TEMPLAMA_QUERIES.name,
        DYNAMIC_TEMPLAMA_PROMPTS.name,
        SCORES,
    ),
)
