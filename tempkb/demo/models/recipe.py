"""The recipe by which tiny models are trained: sizes, steps, shares of texts. Every number of it is in this module."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from tempkb.benchmarks.chance import draw
from tempkb.models.names import Family

VERSION = 1  # of what training computes; raise it when the same numbers give other weights
WITHHELD_SHARE = 5  # one fact subject in so many is withheld
VOCABULARY = 2_000  # tokens, special ones included
CONTEXT_TOKENS = 256
STEP_TOKENS = 512  # padded tokens of a step

FACTS, BORN, OTHERS = KINDS = ("facts", "born", "others")
"""Kinds of articles: about subjects of facts, about entities with a date of origin, and all others."""

EXPOSURE: Mapping[str, float] = {FACTS: 0.75, BORN: 0.10, OTHERS: 0.15}
"""The share of each kind in the tokens that a model reads, whatever its share in the texts is."""


def is_withheld(entity_id: str) -> bool:
    """Return whether the article about a subject of facts is withheld from all models: one in five, by hash."""
    return draw(0, "fact subject", entity_id) % WITHHELD_SHARE == 0


@dataclass(frozen=True)
class Recipe:
    """How models of a family are trained.

    Attributes:
        architecture: the class of transformers.
        config: its configuration; vocabulary and special tokens come with the tokenizer.
        warm_up: share of the steps in which the learning rate rises; from then on it falls to zero.
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


_LLAMA = {
    "hidden_size": 64,
    "intermediate_size": 192,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "max_position_embeddings": CONTEXT_TOKENS,
    "initializer_range": 0.1,
    "tie_word_embeddings": True,
}

RECIPES: Mapping[Family, Recipe] = {
    "causal": Recipe("LlamaForCausalLM", _LLAMA, steps=400),
    # BERT as Llama is built: norms before layers, rotated positions, nothing between layers and vocabulary.
    "masked": Recipe("EuroBertForMaskedLM", _LLAMA, steps=500),
    "seq2seq": Recipe(
        "T5ForConditionalGeneration",
        {
            "d_model": 64,
            "d_ff": 192,
            "d_kv": 16,
            "num_heads": 4,
            "num_layers": 1,
            "num_decoder_layers": 1,
            "feed_forward_proj": "gated-silu",
            "dropout_rate": 0.0,
        },
        steps=600,
        learning_rate=2e-3,
        # T5 begins with embeddings ten times as large as others do, and divides what comes out by the root of d_model.
        scaled={"shared.weight": 0.1, "decoder.final_layer_norm.weight": 8.0},
    ),
}
