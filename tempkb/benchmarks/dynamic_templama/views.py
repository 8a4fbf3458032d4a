"""Declares the views of DynamicTempLAMA: the paper's tables for any wiki and period, and facts over time."""

from tempkb.benchmarks.dynamic_templama.tables import (
    ANSWER_TOKENS,
    ARRIVALS,
    DYNAMIC_TEMPLAMA_CHANGES,
    DYNAMIC_TEMPLAMA_PROMPTS,
    DYNAMIC_TEMPLAMA_QUERIES,
)
from tempkb.benchmarks.fact_queries.reading import names_of
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES, FACT_SPELLS, FACT_SUBJECTS
from tempkb.benchmarks.fact_queries.views import shares_of_splits
from tempkb.benchmarks.reading import Part
from tempkb.core.estimates_sql import end_of_window
from tempkb.store.tables import View
from tempkb.wiki.wikidata.tables import WIKIDATA_ENTITIES

# The paper keeps answers of at most five tokens, with one mask each, and answers of one token for a single mask.
MOST_TOKENS = 5


def split_shares(source: str) -> str:
    """Return the SQL of table 5's totals and percentages from its counts.

    Args:
        source: SQL whose rows have the columns n_unchanged, n_updated, n_deleted and n_new.
    """
    return f"""
        SELECT *, round(100.0 * n_unchanged / nullif(n_total, 0), 1) AS percent_unchanged,
               round(100.0 * n_updated / nullif(n_total, 0), 1) AS percent_updated
        FROM (SELECT *, n_unchanged + n_updated + n_deleted + n_new AS n_total FROM ({source}))
    """


def share_lost(kept: str, of: str) -> str:
    """Return the SQL of the percentage that a filter loses."""
    return f"round(100.0 * (1 - {kept} / nullif({of}, 0)), 1)"


_COUNTS = f"""
    count(DISTINCT (subject_id, relation)) FILTER (WHERE change = 'unchanged') AS n_unchanged,
    count(DISTINCT (subject_id, relation)) FILTER (WHERE change = 'updated' AND {ARRIVALS}) AS n_updated,
    count(DISTINCT (subject_id, relation)) FILTER (WHERE change = 'deleted') AS n_deleted,
    count(DISTINCT (subject_id, relation)) FILTER (WHERE change = 'new') AS n_new,
    count(DISTINCT (subject_id, relation)) FILTER (WHERE change = 'undatable') AS n_undatable
"""

SPLIT_SIZES = View(
    name="dynamic_templama_split_sizes",
    meaning="The paper's table 5: numbers of queries with an answer of each change, by window. A query may count in "
    "several columns, and undatable changes are not in the total.",
    query=split_shares(
        f"SELECT release, granularity, window_start, {_COUNTS} FROM dynamic_templama_changes GROUP BY ALL"
    ),
    needs=(DYNAMIC_TEMPLAMA_CHANGES.name,),
)

SINGLE_TOKEN = View(
    name="dynamic_templama_single_token",
    meaning="Changes of answers with a single token, by tokenizer. A single mask can be filled with these.",
    query="""
    SELECT t.tokenizer, t.label, t.n_tokens, c.* FROM dynamic_templama_changes AS c
    JOIN answer_tokens AS t ON t.release = c.release AND t.object_id = c.object_id WHERE t.n_tokens = 1
    """,
    needs=(DYNAMIC_TEMPLAMA_CHANGES.name, ANSWER_TOKENS.name),
)

MULTI_TOKEN = View(
    name="dynamic_templama_multi_token",
    meaning=f"Changes of answers with at most {MOST_TOKENS} tokens, by tokenizer, the limit of the paper.",
    query=f"""
    SELECT t.tokenizer, t.label, t.n_tokens, c.* FROM dynamic_templama_changes AS c
    JOIN answer_tokens AS t ON t.release = c.release AND t.object_id = c.object_id WHERE t.n_tokens <= {MOST_TOKENS}
    """,
    needs=(DYNAMIC_TEMPLAMA_CHANGES.name, ANSWER_TOKENS.name),
)

_BY_TOKENS = " UNION ALL ".join(
    f"""
    SELECT release, granularity, tokenizer, window_start, '{evaluation}' AS evaluation, {_COUNTS}
    FROM {view.name} GROUP BY ALL
    """
    for evaluation, view in (("single_token", SINGLE_TOKEN), ("multi_token", MULTI_TOKEN))
)

TOKEN_SPLIT_SIZES = View(
    name="dynamic_templama_token_splits",
    meaning="The paper's table 5 as printed, by tokenizer: the numbers of dynamic_templama_split_sizes of answers of "
    f"one token (evaluation single_token) and of at most {MOST_TOKENS} tokens (multi_token).",
    query=split_shares(_BY_TOKENS),
    needs=(SINGLE_TOKEN.name, MULTI_TOKEN.name),
)

TOKEN_LOSSES = View(
    name="dynamic_templama_token_losses",
    meaning="%Lost in the paper's table 5: numbers of queries with answers of one token, of at most five tokens and of "
    "any length, by window, and the percentages that are lost.",
    query=f"""
    WITH single AS (FROM {TOKEN_SPLIT_SIZES.name} WHERE evaluation = 'single_token'),
    multi AS (FROM {TOKEN_SPLIT_SIZES.name} WHERE evaluation = 'multi_token'),
    whole AS (SELECT release, window_start, n_total FROM {SPLIT_SIZES.name})
    SELECT m.release, m.granularity, m.tokenizer, m.window_start, w.n_total AS n_any_length,
           m.n_total AS n_multi_token, coalesce(s.n_total, 0) AS n_single_token,
           {share_lost("coalesce(s.n_total, 0)", "m.n_total")} AS percent_lost,
           {share_lost("m.n_total", "w.n_total")} AS percent_lost_to_length
    FROM multi AS m JOIN whole AS w USING (release, window_start)
    LEFT JOIN single AS s USING (release, granularity, tokenizer, window_start)
    """,
    needs=(SPLIT_SIZES.name, TOKEN_SPLIT_SIZES.name),
)

POSSIBLE_SPLITS = View(
    name="dynamic_templama_relations",
    meaning="The paper's tables 1 and 6: distinct queries (#Facts), rows (#Examples) and the changes that occur, by "
    "relation.",
    query=f"""
    WITH met AS (
        SELECT release, relation, list(DISTINCT change ORDER BY change) AS possible_splits
        FROM dynamic_templama_changes WHERE change <> 'undatable' AND {ARRIVALS} GROUP BY ALL
    )
    SELECT q.release, q.relation, count(DISTINCT q.query) AS n_facts, count(*) AS n_examples,
           any_value(m.possible_splits) AS possible_splits
    FROM dynamic_templama_queries AS q LEFT JOIN met AS m USING (release, relation)
    GROUP BY q.release, q.relation
    """,
    needs=(DYNAMIC_TEMPLAMA_QUERIES.name, DYNAMIC_TEMPLAMA_CHANGES.name),
)

HANDOVERS = View(
    name="dynamic_templama_handovers",
    meaning="Updates by the rule handover, one per row: the arriving and the leaving object, each with its window. If "
    "a window is the first of the study or outside it, that side has no row in dynamic_templama_changes.",
    query="""
    WITH named AS (SELECT release, object_id, any_value(object_label) AS label FROM fact_spells GROUP BY ALL),
    sides AS (
        SELECT DISTINCT release, granularity, subject_id, relation,
               CASE role WHEN 'arriving' THEN object_id ELSE paired_object_id END AS arriving_object_id,
               CASE role WHEN 'arriving' THEN window_start ELSE paired_window_start END AS arriving_window_start,
               CASE role WHEN 'arriving' THEN paired_object_id ELSE object_id END AS leaving_object_id,
               CASE role WHEN 'arriving' THEN paired_window_start ELSE window_start END AS leaving_window_start
        FROM dynamic_templama_changes WHERE role IS NOT NULL
    )
    SELECT p.*, a.label AS arriving_label, b.label AS leaving_label,
           arriving_window_start > r.study_from AND leaving_window_start < r.study_to AS is_whole
    FROM sides AS p JOIN fact_releases AS r USING (release)
    JOIN named AS a ON a.release = p.release AND a.object_id = p.arriving_object_id
    JOIN named AS b ON b.release = p.release AND b.object_id = p.leaving_object_id
    """,
    needs=(DYNAMIC_TEMPLAMA_CHANGES.name, FACT_SPELLS.name, FACT_RELEASES.name),
)

EXAMPLES = View(
    name="dynamic_templama_examples",
    meaning="The paper's table 7: an example of each relation, by the most popular subject whose answers changed.",
    query="""
    SELECT c.release, c.relation, arg_min(q.query, (s.popularity_rank, q.window_start)) AS query,
           arg_min(list_transform(q.answers, lambda one: one.label), (s.popularity_rank, q.window_start)) AS answers,
           arg_min(q.date, (s.popularity_rank, q.window_start)) AS date
    FROM dynamic_templama_changes AS c
    JOIN dynamic_templama_queries AS q USING (release, window_start, subject_id, relation)
    JOIN fact_subjects AS s USING (release, relation, subject_id)
    WHERE c.change <> 'unchanged' GROUP BY c.release, c.relation
    """,
    needs=(DYNAMIC_TEMPLAMA_QUERIES.name, DYNAMIC_TEMPLAMA_CHANGES.name, FACT_SUBJECTS.name),
)

FACTS_OVER_TIME = View(
    name="facts_over_time",
    meaning="Queries that have answers in every window of their release, so that one model can be followed over time.",
    query="""
    SELECT q.* FROM dynamic_templama_queries AS q
    SEMI JOIN (
        SELECT release, subject_id, relation FROM dynamic_templama_queries GROUP BY ALL
        HAVING count(DISTINCT window_start) = any_value((
            SELECT count(DISTINCT window_start) FROM dynamic_templama_queries AS every
            WHERE every.release = dynamic_templama_queries.release))
    ) USING (release, subject_id, relation)
    """,
    needs=(DYNAMIC_TEMPLAMA_QUERIES.name,),
)

SPLIT_SHARES = shares_of_splits("dynamic_templama_split_shares", DYNAMIC_TEMPLAMA_QUERIES.name)

# What is read of each side of a pair: with the subject and without it, and of the control in its place.
_SIDES = ", ".join(
    f"any_value({column}) FILTER ({is_new} AND {which}) AS {name.format(side)}"
    for side, is_new in (("new", "is_new"), ("old", "NOT is_new"))
    for name, column, which in (
        ("{}_label", "target", "NOT is_control AND NOT is_bare"),
        ("{}_nats", "log_prob_nats", "NOT is_control AND NOT is_bare"),
        ("{}_chars", "n_chars", "NOT is_control AND NOT is_bare"),
        ("{}_bare_nats", "log_prob_nats", "NOT is_control AND is_bare"),
        ("control_{}_nats", "log_prob_nats", "is_control AND NOT is_bare"),
        ("control_{}_bare_nats", "log_prob_nats", "is_control AND is_bare"),
    )
)

CHANGE_SCORES = View(
    name="change_scores",
    meaning="What models prefer where one object took the place of another: the scores of the new and of the old "
    "object in the window in which the old one has left, also without the subject, and of the controls in their place. "
    "preference_nats is by how much more the subject adds to the new object than to the old one. Of a relation with "
    "several templates the first counts.",
    query=f"""
    WITH pairs AS MATERIALIZED (
        SELECT row_number() OVER () AS pair, c.release, c.window_start, c.paired_window_start AS arrival_window_start,
               q.query_id AS item_id, c.subject_id, c.relation, c.paired_object_id AS new_object_id,
               c.object_id AS old_object_id
        FROM {DYNAMIC_TEMPLAMA_CHANGES.name} AS c
        JOIN {DYNAMIC_TEMPLAMA_QUERIES.name} AS q USING (release, window_start, subject_id, relation)
        WHERE c.role = 'leaving' AND q.template_no = 1
    ), places AS (
        SELECT pair, release, item_id, new_object_id AS place, true AS is_new FROM pairs
        UNION ALL SELECT pair, release, item_id, old_object_id, false FROM pairs
    ), asked AS (
        SELECT pair, p.target, p.prompt_id,
               replace(replace(p.variant, 'no_subject_', ''), 'no_subject', 'undated') AS wording,
               is_new, p.role = 'control' AS is_control, p.variant LIKE 'no_subject%' AS is_bare
        FROM {DYNAMIC_TEMPLAMA_PROMPTS.name} AS p
        JOIN places ON places.release = p.release AND places.item_id = p.item_id
            AND places.place = coalesce(p.stands_for_id, p.target_id)
        WHERE p.variant <> 'dated'
    ), scored AS (
        SELECT pair, s.model, s.scorer, wording, {_SIDES}
        FROM asked JOIN prompt_scores AS s USING (prompt_id) WHERE s.status = 'scored' GROUP BY ALL
    )
    SELECT model, scorer, release, window_start, arrival_window_start, subject_id, relation, wording, item_id,
           new_object_id, old_object_id, new_label, old_label, new_nats, old_nats,
           new_bare_nats AS new_nats_without_subject, old_bare_nats AS old_nats_without_subject,
           control_new_nats, control_old_nats,
           (new_nats - new_bare_nats) - (old_nats - old_bare_nats) AS preference_nats,
           (control_new_nats - control_new_bare_nats) - (control_old_nats - control_old_bare_nats)
               AS control_preference_nats,
           new_chars, old_chars
    FROM scored JOIN pairs USING (pair) WHERE new_nats IS NOT NULL AND old_nats IS NOT NULL
    """,
    needs=(
        DYNAMIC_TEMPLAMA_CHANGES.name,
        DYNAMIC_TEMPLAMA_QUERIES.name,
        DYNAMIC_TEMPLAMA_PROMPTS.name,
        "prompt_scores",
    ),
)

VIEWS = (
    SPLIT_SHARES,
    SPLIT_SIZES,
    HANDOVERS,
    SINGLE_TOKEN,
    MULTI_TOKEN,
    TOKEN_SPLIT_SIZES,
    TOKEN_LOSSES,
    POSSIBLE_SPLITS,
    EXAMPLES,
    FACTS_OVER_TIME,
    CHANGE_SCORES,
)


# The query is that of the window in which the old object no longer holds. The placebo is the change whose objects are
# asked as controls in the place of the own ones: the latest of another subject up to that window. What its subject has
# at other times counts unless the own one has it, too, as with the objects of controls.
CHANGES_AND_NAMES = Part(
    f"""
    WITH named AS MATERIALIZED (
        SELECT s.release, s.object_id,
               {names_of("s.label", "s.aliases", "w.aliases")} AS names
        FROM (
            SELECT release, object_id, any_value(dump_id) AS dump_id, min(object_label) AS label,
                   min(object_aliases) AS aliases
            FROM {FACT_SPELLS.name} GROUP BY release, object_id
        ) AS s LEFT JOIN {WIKIDATA_ENTITIES.name} AS w ON w.dump_id = s.dump_id AND w.entity_id = s.object_id
    ), changes AS MATERIALIZED (
        SELECT c.release, q.query_id AS item_id, c.subject_id, c.relation, c.paired_object_id AS new_object_id,
               c.object_id AS old_object_id, c.window_start,
               coalesce(c.paired_window_start, c.window_start) AS change_from,
               greatest(c.window_start, {end_of_window("change_from", "q.granularity")}) AS change_to, q.split
        FROM {DYNAMIC_TEMPLAMA_CHANGES.name} AS c
        JOIN {DYNAMIC_TEMPLAMA_QUERIES.name} AS q USING (release, window_start, subject_id, relation)
        WHERE c.role = 'leaving' AND q.template_no = 1
    ), others AS (
        SELECT release, item_id, new_object_id, old_object_id, flatten(list(names ORDER BY object_id)) AS names
        FROM changes JOIN (SELECT DISTINCT release, subject_id, relation, object_id FROM {FACT_SPELLS.name})
            USING (release, subject_id, relation)
        JOIN named USING (release, object_id)
        WHERE object_id NOT IN (new_object_id, old_object_id) GROUP BY ALL
    ), told AS MATERIALIZED (
        SELECT c.*, new.names AS new_names, old.names AS old_names, coalesce(o.names, []) AS other_names
        FROM changes AS c LEFT JOIN others AS o USING (release, item_id, new_object_id, old_object_id)
        JOIN named AS new ON new.release = c.release AND new.object_id = c.new_object_id
        JOIN named AS old ON old.release = c.release AND old.object_id = c.old_object_id
    ), controls AS (
        SELECT DISTINCT release, item_id, stands_for_id, target_id AS object_id FROM {DYNAMIC_TEMPLAMA_PROMPTS.name}
        WHERE role = 'control'
    ), placebos AS (
        SELECT DISTINCT ON (c.release, c.item_id, c.new_object_id, c.old_object_id)
               c.release, c.item_id, c.new_object_id, c.old_object_id, d.new_names AS placebo_new_names,
               d.old_names AS placebo_old_names, c.new_names || c.old_names || c.other_names AS own_names,
               list_filter(d.other_names, lambda one: NOT list_contains(own_names, one)) AS placebo_other_names
        FROM told AS c
        JOIN controls AS n ON n.release = c.release AND n.item_id = c.item_id AND n.stands_for_id = c.new_object_id
        JOIN controls AS o ON o.release = c.release AND o.item_id = c.item_id AND o.stands_for_id = c.old_object_id
        JOIN told AS d ON d.release = c.release AND d.relation = c.relation AND d.subject_id <> c.subject_id
            AND d.window_start <= c.window_start AND d.new_object_id = n.object_id AND d.old_object_id = o.object_id
        ORDER BY d.window_start DESC, d.subject_id
    )
    FROM told LEFT JOIN placebos USING (release, item_id, new_object_id, old_object_id)
    """,
    (
        DYNAMIC_TEMPLAMA_CHANGES.name,
        DYNAMIC_TEMPLAMA_QUERIES.name,
        DYNAMIC_TEMPLAMA_PROMPTS.name,
        FACT_SPELLS.name,
        WIKIDATA_ENTITIES.name,
    ),
)
"""Each change with the names of its objects, of others of the subject, and the same of its placebo."""
