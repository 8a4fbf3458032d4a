"""The recipe by which tiny models are trained: sizes, steps, shares of texts. Every number of it is in this module."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from tempkb.models.families import Family

VERSION = 1  # of what training computes; raise it when the same numbers give other weights
WITHHELD_SHARE = 5  # one fact subject in so many is withheld
VOCABULARY = 2_000  # tokens, special ones included
CONTEXT_TOKENS = 256
STEP_TOKENS = 512  # padded tokens of a step

FACTS, BORN, OTHERS = KINDS = ("facts", "born", "others")
"""Kinds of articles: about subjects of facts, about entities with a date of origin, and all others."""

EXPOSURE: Mapping[str, float] = {FACTS: 0.65, BORN: 0.15, OTHERS: 0.20}
"""The share of each kind in the tokens that a model reads, whatever its share in the texts is."""


@dataclass(frozen=True)
class Recipe:
    """How models of a family are trained.

    Attributes:
        architecture: the class of transformers.
        config: its configuration; vocabulary and special tokens come with the tokenizer.
        steps: of the optimiser.
        warm_up: share of the steps in which the learning rate rises; from then on it falls to zero.
        learning_rate: the highest, of AdamW.
        scaled: factors of random weights at the beginning, by the names of parameters.
        whole: of masked models, the share of the names that are hidden whole; of the others a beginning is shown.
        others_asked: of causal models, the share of the tokens outside names that are asked for.
        others_weight: how much the mean of these counts beside that of the names' tokens.
    """

    architecture: str
    config: Mapping[str, Any]
    steps: int
    warm_up: float = 0.05
    learning_rate: float = 5e-3
    scaled: Mapping[str, float] = field(default_factory=dict)
    whole: float = 0.5
    others_asked: float = 0.3
    others_weight: float = 0.3

    def numbers(self) -> dict[str, Any]:
        """Return all that decides what a model becomes, beside its texts and its seed."""
        return {
            "version": VERSION,
            **{one.name: getattr(self, one.name) for one in fields(self)},
            "vocabulary": VOCABULARY,
            "step_tokens": STEP_TOKENS,
            "context_tokens": CONTEXT_TOKENS,
            "exposure": dict(EXPOSURE),
        }


_WIDTH, _INNER, _HEADS, _SPREAD = 64, 256, 4, 0.1

RECIPES: Mapping[Family, Recipe] = {
    "causal": Recipe(
        "GPT2LMHeadModel",
        {
            "n_embd": _WIDTH,
            "n_inner": _INNER,
            "n_head": _HEADS,
            "n_layer": 2,
            "n_positions": CONTEXT_TOKENS,
            "activation_function": "gelu",
            "initializer_range": _SPREAD,
            "embd_pdrop": 0.0,
            "attn_pdrop": 0.0,
            "resid_pdrop": 0.0,
        },
        steps=300,
    ),
    "masked": Recipe(
        "RobertaPreLayerNormForMaskedLM",
        {
            "hidden_size": _WIDTH,
            "intermediate_size": _INNER,
            "num_attention_heads": _HEADS,
            "num_hidden_layers": 2,
            # RoBERTa counts positions from the one after that of padding.
            "max_position_embeddings": CONTEXT_TOKENS + 1,
            "type_vocab_size": 1,
            "initializer_range": _SPREAD,
            "hidden_dropout_prob": 0.0,
            "attention_probs_dropout_prob": 0.0,
        },
        steps=800,
    ),
    "seq2seq": Recipe(
        "T5ForConditionalGeneration",
        {
            "d_model": _WIDTH,
            "d_ff": _INNER,
            "d_kv": _WIDTH // _HEADS,
            "num_heads": _HEADS,
            "num_layers": 1,
            "num_decoder_layers": 1,
            "dropout_rate": 0.0,
        },
        steps=400,
    ),
}
