"""Declares the view of what models know of one entity: by the sentences about it, and by its facts."""

from tempkb.benchmarks.dynamic_templama.benchmark import DYNAMIC_TEMPLAMA
from tempkb.benchmarks.dynamic_templama.tables import DYNAMIC_TEMPLAMA_PROMPTS, DYNAMIC_TEMPLAMA_QUERIES
from tempkb.benchmarks.ecbd.benchmark import ECBD
from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE, ECBD_PROMPTS
from tempkb.benchmarks.prompting import Prompting
from tempkb.benchmarks.tempel.tables import TEMPEL_MENTIONS, TEMPEL_RELEASES
from tempkb.benchmarks.templama.tables import TEMPLAMA_PROMPTS, TEMPLAMA_QUERIES
from tempkb.linking.tables import LINKING_SCORES
from tempkb.results.fragments import FIRST_WORDING, WORDING, end_of_window, window_of
from tempkb.results.preferences import SCORED_CHANGES
from tempkb.scores.tables import PROMPT_SCORES
from tempkb.store.tables import View

LINKED = "linker"
"""Value of the column numbers in rows of linkers, whose names stand in the place of those of models."""


def _by_default_template(prompting: Prompting | None) -> str:
    """SQL: was a score given by a benchmark's own template, so that a model has one value an item?"""
    templates = prompting.templates if prompting else {}
    return " OR ".join(f"scorer LIKE '{family}.{name}-%'" for family, name in templates.items())


# What follows the template: version and number type.
_NUMBERS = "regexp_extract(scorer, '-(.*)$', 1) AS numbers"


def _and_all(rows: str, columns: str) -> str:
    """SQL: rows by window, and each once for all windows, whose days are null."""
    return f"""
        SELECT {columns}, window_start, window_end FROM ({rows}) WHERE window_start IS NOT NULL
        UNION SELECT {columns}, NULL, NULL FROM ({rows})
    """


def _facts_of(queries: str, prompts: str) -> str:
    return f"""
        SELECT s.model, {_NUMBERS}, q.subject_id, q.relation, p.target_id AS object_id, q.window_start,
               {end_of_window("q.window_start", "q.granularity")} AS window_end, {WORDING} AS wording,
               -s.log_prob_nats AS nats, s.n_tokens
        FROM {prompts} AS p JOIN {PROMPT_SCORES.name} AS s USING (prompt_id)
        JOIN {queries} AS q ON q.release = p.release AND q.query_id = p.item_id
        WHERE s.status = 'scored' AND p.role = 'current' AND p.variant IN ('undated', 'object_last')
          AND q.template_no = 1 AND ({_by_default_template(DYNAMIC_TEMPLAMA.prompting)})
    """


_FACTS = f"""
    SELECT model, numbers, subject_id, relation, object_id, window_start, window_end, nats, n_tokens
    FROM ({_facts_of(TEMPLAMA_QUERIES.name, TEMPLAMA_PROMPTS.name)}
          UNION ALL {_facts_of(DYNAMIC_TEMPLAMA_QUERIES.name, DYNAMIC_TEMPLAMA_PROMPTS.name)})
    QUALIFY row_number() OVER (
        PARTITION BY model, numbers, subject_id, relation, object_id, window_start, window_end ORDER BY {FIRST_WORDING}
    ) = 1
"""
_ORIGIN = window_of("c.origin_from", "c.origin_granularity")
_SENTENCES = f"""
    SELECT s.model, {_NUMBERS}, c.entity_id, hash(c.sentence) AS sentence, p.prompt_id,
           {_ORIGIN} AS window_start, {end_of_window(_ORIGIN, "c.origin_granularity")} AS window_end,
           -s.log_prob_nats / s.n_tokens AS nats
    FROM {ECBD_PROMPTS.name} AS p JOIN {PROMPT_SCORES.name} AS s USING (prompt_id)
    JOIN {ECBD_CLOZE.name} AS c ON c.release = p.release AND c.cloze_id = p.item_id
    WHERE s.status = 'scored' AND p.variant = 'original' AND c.entity_id IS NOT NULL
      AND ({_by_default_template(ECBD.prompting)})
"""
_PAIRS = f"""
    SELECT model, {_NUMBERS}, subject_id AS entity_id, relation, new_object_id, old_object_id, window_start, window_end,
           preference_nats FROM {SCORED_CHANGES.name} WHERE {_by_default_template(DYNAMIC_TEMPLAMA.prompting)}
"""
# Mentions of the snapshot that ends a window. A linker has them in the place of a model.
_MENTIONS = f"""
    SELECT s.linker AS model, '{LINKED}' AS numbers, m.target_qid AS entity_id,
           {window_of("s.cut - 1", "r.granularity")} AS window_start, s.cut AS window_end,
           s.cut, s.anchor_page_id, s.start_char, coalesce(s.rank = 1, false) AS is_first
    FROM {LINKING_SCORES.name} AS s
    JOIN {TEMPEL_MENTIONS.name} AS m USING (release, cut, target_page_id, anchor_page_id, start_char)
    JOIN {TEMPEL_RELEASES.name} AS r USING (release)
    WHERE s.pool = 'own' AND s.subset = 'test' AND m.target_qid IS NOT NULL
"""
_KEY = "model, numbers, entity_id, window_start, window_end"


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
    WITH sentences AS ({_and_all(_SENTENCES, "model, numbers, entity_id, sentence, prompt_id, nats")}),
    facts AS ({_and_all(_FACTS, "model, numbers, subject_id, relation, object_id, nats, n_tokens")}),
    mentions AS ({_and_all(_MENTIONS, "model, numbers, entity_id, anchor_page_id, start_char, is_first, cut")}),
    pairs AS ({_and_all(_PAIRS, "model, numbers, entity_id, relation, new_object_id, old_object_id, preference_nats")}),
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
        TEMPEL_MENTIONS.name,
        TEMPEL_RELEASES.name,
        ECBD_PROMPTS.name,
        ECBD_CLOZE.name,
        TEMPLAMA_QUERIES.name,
        TEMPLAMA_PROMPTS.name,
        DYNAMIC_TEMPLAMA_QUERIES.name,
        DYNAMIC_TEMPLAMA_PROMPTS.name,
        SCORED_CHANGES.name,
    ),
)

VIEWS = (ENTITY_KNOWLEDGE,)
