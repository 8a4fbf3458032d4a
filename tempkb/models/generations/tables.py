"""The table of generations: what a model says in the gap of a question, once for all releases that ask it."""

from tempkb.engine.room import Room
from tempkb.store.columns import columns, rules
from tempkb.store.tables import Family, Table

STATUSES = {
    "answered": "the model said something",
    "empty": "it said no letter or digit",
    "unclosed": "no beam closed its span, so that nothing says where the answer ends",
    "refused": "a chat model declined",
    "cut_off": "a chat model's reply did not end",
    "reasoning": "a chat model's reply has reasoning, and no answer",
    "too_long": "more tokens than the model reads",
    "no_left_context": "nothing precedes the gap, from which a causal model could go on",
    "not_alignable": "a token lies on both sides of an edge of the gap",
    "not_finite": "the model gave NaN or an infinity",
}
ANSWERED = "answered"
UNMEASURED = ("too_long", "no_left_context", "not_alignable", "not_finite")
"""Statuses of questions that a model could not be asked. Of all others what it said is measured."""
STOPPED = {
    "end_token": "the model ended the text",
    "sentence_end": "the sentence",
    "line_end": "the line",
    "right_context": "what follows the gap",
    "closing_sentinel": "T5's second sentinel",
    "length": "the most tokens that a decoder gives",
    "mask_count": "all masks were filled",
}

_STATUSES = "; ".join(f"{name}: {meaning}" for name, meaning in STATUSES.items())
_STOPPED = "; ".join(f"{name}, {what}" for name, what in STOPPED.items())

GENERATIONS = Table(
    name="generations",
    meaning="What models say in the gap of a question, by model and decoder. Each question is asked once.",
    columns=columns(f"""
        question_id VARCHAR: hash of the text around the gap; equal questions of any release share it
        rank INTEGER: place of the answer among those of the decoder, by the model's own score; from 1 on
        model, decoder
        status VARCHAR: {_STATUSES}
        text VARCHAR: the answer, without blanks around it; null if there is none
        raw_text VARCHAR (bulk): all that the model gave, as decoded; null if it was not asked
        log_prob_nats DOUBLE: natural logarithm of the probability of all tokens it said
        score DOUBLE: what ranks rest on: the mean log-probability of a token, or the mean logit; or null
        n_tokens INTEGER: number of tokens that it said; null if it was not asked here
        token_ids INTEGER[] (bulk): what it said, to the token that ends the answer; of recall, a beam
        token_log_probs
        stopped VARCHAR: what ended it: {_STOPPED}
        n_unclosed BIGINT: how many beams of the question did not close their span; null for other decoders
    """),
    key=("question_id", "rank"),
    family=Family.MODEL,
    partitioned_by="model and decoder",
    partition_columns=("model", "decoder"),
    persist="view",
    rules=rules(f"""
        known_status: the status has a known value
            status NOT IN ({", ".join(map(repr, STATUSES))})
        known_end: its end has a known reason
            stopped NOT IN ({", ".join(map(repr, STOPPED))})
        answered_has_a_text: a question that was answered has a text, and no other has one
            (status = '{ANSWERED}') <> (text IS NOT NULL AND trim(text) <> '')
        ranks_from_one: ranks begin with 1
            rank < 1
        a_value_for_each_token: an answer has one logarithm for each of its tokens
            len(token_ids) <> len(token_log_probs)
    """),
)

TABLES = (GENERATIONS,)


ROOM = Room("generations", TABLES, (), "tempkb.models.generations.steps")
