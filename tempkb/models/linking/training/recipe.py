"""The recipes by which linkers are trained. Every number of them is in this module.

`paper` is what appendix A.7 of TempEL's paper says: BERT-large, two towers, batches of 64, 10 epochs, AdamW with a rate
of 1e-4, 10 % warm-up, linear decay. The released code did something else: 64 was the sum over four GPUs that did not
see one another's entities, so that a mention had 15 wrong entities beside its own and not 63; two mentions of one
entity could be in a batch, where each counted as an error of the other; and gradients were clipped at 3e-5. None of
this is done here. Decay of weights, 0.01, is that code's.

`tempkb`, the default, is the same with BERT-base, which has a third of the weights. No number of it was tuned.

`demo` begins with random weights and a tokenizer of its own, and is for the made-up world of the demo. Its numbers were
chosen by validation mentions of the world of seed 7, and confirmed with test mentions of other seeds and worlds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import dropwhile
from typing import Annotated, Any

from msgspec import Meta

from tempkb.core.errors import SettingsError
from tempkb.core.options import AtLeastOne, Share, option, options_of, read_all
from tempkb.models.training.requests import Positive

VERSION = 1  # of what training computes; raise it when the same numbers give other weights


@dataclass(frozen=True)
class Recipe:
    """How a linker is trained.

    Attributes:
        base: checkpoint with which training begins; empty for random weights.
    """

    base: str
    towers: Annotated[int, Meta(ge=1, le=2)] = option(
        2, "2 if mentions and entities have weights of their own, 1 if they share them."
    )
    max_tokens: Annotated[int, Meta(ge=8)] = option(
        128, "Of a mention in its context, and of an entity; special ones included."
    )
    batch_size: Annotated[int, Meta(ge=2)] = option(
        64, "Mentions of a step, on all GPUs together. The entities of all are compared with each."
    )
    mini_batch_size: AtLeastOne = option(
        64, "Texts of which activations are in memory at once. It changes memory and speed, nothing else."
    )
    epochs: AtLeastOne = option(10, "How often all mentions are read.")
    learning_rate: Positive = option(1e-4, "The highest rate.")
    warm_up: Share = option(0.1, "Share of the steps in which the rate rises; from then on it falls to zero.")
    weight_decay: Positive = option(0.01, "Decay of weights.")
    max_grad_norm: Positive = option(1.0, "Longest gradient; longer ones are made as long.")
    vocabulary: Annotated[int, Meta(ge=100)] = option(0, "Tokens of a tokenizer that is trained with random weights.")
    hidden_size: AtLeastOne = option(0, "Length of the vectors of random weights.")
    layers: AtLeastOne = option(0, "Of random weights.")
    heads: AtLeastOne = option(0, "Of random weights.")
    intermediate_size: AtLeastOne = option(0, "Width of the layers between of random weights.")
    dropout: Share = option(0.0, "Of random weights.")
    initializer_range: Positive = option(0.0, "Spread of random weights.")
    passed_on: Positive = option(
        0.0,
        "What is added to the diagonals of the matrices by which attention passes on what it reads, of random weights. "
        "With 1 the vector of a text contains those of its tokens before anything is learnt.",
    )
    positions: Positive = option(0.0, "Factor of the vectors of positions, of random weights.")

    def numbers(self) -> dict[str, Any]:
        """Return all that decides what a linker becomes, beside its examples and its seed."""
        return {"version": VERSION, **{name: value for name, value in asdict(self).items() if name != "base"}}


PRESETS: Mapping[str, Recipe] = {
    "paper": Recipe("google-bert/bert-large-uncased"),
    "tempkb": Recipe("google-bert/bert-base-uncased"),
    "demo": Recipe(
        "",
        max_tokens=64,
        batch_size=32,
        mini_batch_size=32,
        epochs=14,
        learning_rate=3e-3,
        vocabulary=2_000,
        hidden_size=64,
        layers=1,
        heads=4,
        intermediate_size=128,
        initializer_range=0.02,
        passed_on=1.0,
        positions=0.1,
    ),
}
"""Recipes by their names."""

_OF_RANDOM_WEIGHTS = [*dropwhile(lambda name: name != "vocabulary", options_of(Recipe))]


def recipe_of(what: str, preset: str, base: str, settings: Sequence[tuple[str, str]]) -> Recipe:
    """Return a recipe with numbers other than the preset's.

    Args:
        base: checkpoint with which training begins; empty for what the preset says.
        settings: numbers by their names, as people type them.

    Raises:
        SettingsError: a name or number is not allowed.
    """
    recipe = PRESETS[preset]
    if base:
        nothing: dict[str, Any] = dict.fromkeys(_OF_RANDOM_WEIGHTS, 0)
        recipe = replace(recipe, base=base, **nothing)
    known = {name: one for name, one in options_of(Recipe).items() if not (recipe.base and name in _OF_RANDOM_WEIGHTS)}
    recipe = replace(recipe, **read_all(f"{what}: ", known, dict(settings), "setting"))
    if recipe.heads and recipe.hidden_size % recipe.heads:
        raise SettingsError(
            f"{what}: found hidden_size={recipe.hidden_size} and heads={recipe.heads}; expected a multiple of the heads"
        )
    return recipe


def other_numbers(preset: str, base: str, numbers: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return the numbers of a training that are not those of its preset, each with the preset's.

    Args:
        base: checkpoint with which training began; empty for random weights.
        numbers: of the training, by their names; those that the preset does not know are left out.
    """
    recipe = recipe_of(preset, preset, "" if base == PRESETS[preset].base else base, ())
    usual = {**recipe.numbers(), "hard_negatives": 0}
    return {name: (numbers[name], value) for name, value in usual.items() if name in numbers and numbers[name] != value}
