"""The table of scores: what a model gives for a prompt, once for all releases that have it."""

from tempkb.engine.room import Room
from tempkb.store.columns import columns, rules
from tempkb.store.tables import SEPARATOR, Family, Table

STATUSES = ("scored", "too_long", "not_alignable", "not_finite", "no_left_context")
IMPORTED = ".lm_eval"
"""How names of scorers and decoders end whose answers lm-evaluation-harness gave, in place of a number type."""

PROMPT_SCORES = Table(
    name="prompt_scores",
    meaning="Log-probabilities of prompts, by model and scorer. Each prompt is scored once, whatever releases have it.",
    columns=columns("""
        prompt_id VARCHAR: prompt; its text is in the table of prompts of each release that has it
        model, scorer
        status VARCHAR: scored; or why there is no score: too_long (more tokens than the model reads), not_alignable (a
            token lies on both sides of an edge of the target, where its tokens alone count also if its own period ends
            the sentence; for masked.probing, the target has several tokens), not_finite (the model gave NaN or an
            infinity), no_left_context (nothing precedes the target)
        log_prob_nats DOUBLE: natural logarithm of the probability of what the scorer counts; or null
        n_tokens INTEGER: number of tokens over which it is the sum; null if the model was not asked here; 0 if the
            target is not_alignable also where its own period ends the sentence
        n_chars INTEGER: number of characters for which they stand, in code points; null if it was not asked
        token_ids INTEGER[] (bulk): the tokens whose log-probability was read
        token_log_probs
        n_before INTEGER: how many of them precede the target's (T5's first sentinel)
        n_after INTEGER: how many follow the target's (T5's second sentinel, or the right context)
        rank BIGINT: place of the target's only token in the vocabulary; null but for masked.probing
    """),
    key=("prompt_id",),
    family=Family.MODEL,
    partitioned_by="model and scorer",
    partition_columns=("model", "scorer"),
    persist="view",
    rules=rules(f"""
        known_status: the status has a known value
            status NOT IN ({", ".join(repr(status) for status in STATUSES)})
        scored_has_a_score: a prompt that is scored, and no other, has a log-probability of at least one token
            (status = 'scored')
            <> (log_prob_nats IS NOT NULL AND coalesce(n_tokens > 0, ends_with(scorer, '{IMPORTED}')))
        a_value_for_each_token: a prompt that is scored has one logarithm for each of its tokens
            status = 'scored' AND len(token_ids) <> len(token_log_probs)
    """),
)

TABLES = (PROMPT_SCORES,)


def partition_of(model: str, scorer: str) -> str:
    """Return the partition of a model and scorer, or decoder, in the lake."""
    return f"{model}{SEPARATOR}{scorer}"


def is_imported(partition: str) -> bool:
    """Return whether answers of a partition come from another program, so that no run of ours can give them again."""
    return partition.endswith(IMPORTED)


def model_of(partition: str) -> str:
    """Return the model of a partition of models or scores."""
    return partition.partition(SEPARATOR)[0]


ROOM = Room("scores", TABLES, (), "tempkb.models.scores.steps")
