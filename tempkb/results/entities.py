"""Declares the view of what models know of one entity: by the sentences about it, and by its facts."""

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.fact_queries.reading import FIRST_WORDING
from tempkb.benchmarks.reading import Part, united
from tempkb.linking.asked import rows_of
from tempkb.linking.tables import LINKING_SCORES
from tempkb.scores.tables import PROMPT_SCORES
from tempkb.sql_estimates.aggregates import window_of
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

VIEWS = (ENTITY_KNOWLEDGE,)
