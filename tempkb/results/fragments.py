"""SQL that several views share: what a score is called, scores of objects, windows, and sums of all windows."""

from collections.abc import Mapping, Sequence
from itertools import combinations

from tempkb.benchmarks.dynamic_templama.tables import DYNAMIC_TEMPLAMA_PROMPTS, DYNAMIC_TEMPLAMA_QUERIES
from tempkb.scores.tables import PROMPT_SCORES

ALL = "all"
"""Value of a column of groups in the rows that pool its values; for dates it is null, for years 0."""

PERPLEXITY_METRIC = "CASE WHEN scorer LIKE 'masked.%' THEN 'pseudo-perplexity' ELSE 'perplexity' END"
"""SQL: a masked model gives no probability of a text, so what is made of its scores has a name of its own."""

HAS_SUBJECT = "variant NOT LIKE 'no_subject%'"
"""SQL: does a prompt about a fact name its subject?"""
WORDING = "replace(replace(variant, 'no_subject_', ''), 'no_subject', 'undated')"
"""SQL: the wording of a prompt about a fact, the same with and without the subject: undated or object_last."""
FIRST_WORDING = "wording DESC"
"""SQL: the order in which wordings are preferred where an object may count once: undated, then object_last."""


def pooled(
    source: str, same: Sequence[str], each: Mapping[str, str], added: Sequence[str] = ("n", "s", "items")
) -> str:
    """Return SQL that adds up the sums of clusters: for each value of some columns, and for all of their values.

    Args:
        source: SQL with all of these columns, one row for each value of the first two kinds together.
        same: columns whose values are never put together.
        each: SQL of what stands for all values of a column, by its name. Where such a column is null, a row counts
            for all values only.
        added: columns that are summed.
    """
    own = "".join(f"{name}, " for name in same)
    shown = "".join(
        f"CASE WHEN grouping({name}) = 1 THEN {every} ELSE {name} END AS {name}, " for name, every in each.items()
    )
    sums = ", ".join(f"sum({name}) AS {name}" for name in added)
    some = [kept for n in range(len(each)) for kept in combinations(each, n)]
    sets = ", ".join(f"({', '.join([*same, *kept])})" for kept in some)
    known = " AND ".join(f"(grouping({name}) = 1 OR {name} IS NOT NULL)" for name in each)
    return f"""
        WITH parts AS MATERIALIZED ({source})
        SELECT {own}{", ".join([*each, *added])} FROM parts WHERE {" AND ".join(f"{name} IS NOT NULL" for name in each)}
        UNION ALL SELECT {own}{shown}{sums} FROM parts GROUP BY GROUPING SETS ({sets}) HAVING {known}
    """


def window_of(day: str, granularity: str) -> str:
    """Return SQL of the first day of the window that contains a day.

    Args:
        day: SQL of the day.
        granularity: SQL of the window's length, such as quarter.
    """
    return f"CAST(date_trunc({granularity}, {day}) AS DATE)"


def end_of_window(start: str, granularity: str) -> str:
    """Return SQL of the first day after a window.

    Args:
        start: SQL of its first day.
        granularity: SQL of its length: week, month, quarter or year.
    """
    return (
        f"CAST({start} + CASE {granularity} WHEN 'week' THEN INTERVAL 7 DAY WHEN 'month' THEN INTERVAL 1 MONTH "
        f"WHEN 'quarter' THEN INTERVAL 3 MONTH WHEN 'year' THEN INTERVAL 1 YEAR END AS DATE)"
    )


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
        ) JOIN {PROMPT_SCORES.name} AS s USING (prompt_id)
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
