"""The table of generations: what a model says in the gap of a question, once for all releases that ask it."""

from tempkb.store.tables import Column, Family, Rule, Table
from tempkb.store.types import FLOAT64, INT32, INT64, STRING, list_of

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

GENERATIONS = Table(
    name="generations",
    meaning="What models say in the gap of a question, by model and decoder. Each question is asked once.",
    columns=(
        Column("question_id", STRING, "hash of the text around the gap; equal questions of any release share it"),
        Column("rank", INT32, "place of the answer among those of the decoder, by the model's own score; from 1 on"),
        Column("model", STRING, "name of the model"),
        Column("decoder", STRING, "family, name, version and number type, such as causal.greedy-1.f32"),
        Column("status", STRING, "; ".join(f"{name}: {meaning}" for name, meaning in STATUSES.items())),
        Column("text", STRING, "the answer, without blanks around it; null if there is none"),
        Column("raw_text", STRING, "all that the model gave, as decoded; null if it was not asked", is_bulk=True),
        Column("log_prob_nats", FLOAT64, "natural logarithm of the probability of all tokens it said"),
        Column("score", FLOAT64, "what ranks rest on: the mean log-probability of a token, or the mean logit; or null"),
        Column("n_tokens", INT32, "number of tokens that it said; null if it was not asked here"),
        Column(
            "token_ids",
            list_of(INT32),
            "what it said, to the token that ends the answer; of recall, a beam",
            is_bulk=True,
        ),
        Column("token_log_probs", list_of(FLOAT64), "natural logarithms, one for each of them", is_bulk=True),
        Column("stopped", STRING, "what ended it: " + "; ".join(f"{name}, {what}" for name, what in STOPPED.items())),
        Column("n_unclosed", INT64, "how many beams of the question did not close their span; null for other decoders"),
    ),
    key=("question_id", "rank"),
    family=Family.MODEL,
    partitioned_by="model and decoder",
    partition_columns=("model", "decoder"),
    persist="view",
    rules=(
        Rule("known_status", "the status has a known value", f"status NOT IN ({', '.join(map(repr, STATUSES))})"),
        Rule("known_end", "its end has a known reason", f"stopped NOT IN ({', '.join(map(repr, STOPPED))})"),
        Rule(
            "answered_has_a_text",
            "a question that was answered has a text, and no other has one",
            f"(status = '{ANSWERED}') <> (text IS NOT NULL AND trim(text) <> '')",
        ),
        Rule("ranks_from_one", "ranks begin with 1", "rank < 1"),
        Rule(
            "a_value_for_each_token",
            "an answer has one logarithm for each of its tokens",
            "len(token_ids) <> len(token_log_probs)",
        ),
    ),
)

TABLES = (GENERATIONS,)
