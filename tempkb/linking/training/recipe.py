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
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from tempkb.errors import SettingsError

VERSION = 1  # of what training computes; raise it when the same numbers give other weights


@dataclass(frozen=True)
class Recipe:
    """How a linker is trained.

    Attributes:
        base: checkpoint with which training begins; empty for random weights.
        towers: 2 if mentions and entities have weights of their own, 1 if they share them.
        max_tokens: of a mention in its context, and of an entity; special ones included.
        batch_size: mentions of a step, on all GPUs together. The entities of all are compared with each.
        mini_batch_size: texts of which activations are in memory at once. It changes memory and speed, nothing else.
        epochs: how often all mentions are read.
        warm_up: share of the steps in which the rate rises; from then on it falls to zero.
        max_grad_norm: longest gradient; longer ones are made as long.
        vocabulary: tokens of a tokenizer that is trained with random weights.
        hidden_size: length of the vectors of random weights.
        layers: of random weights.
        heads: of random weights.
        intermediate_size: width of the layers between of random weights.
        dropout: of random weights.
        initializer_range: spread of random weights.
        passed_on: what is added to the diagonals of the matrices by which attention passes on what it reads, of random
            weights. With 1 the vector of a text contains those of its tokens before anything is learnt.
        positions: factor of the vectors of positions, of random weights.
    """

    base: str
    towers: int = 2
    max_tokens: int = 128
    batch_size: int = 64
    mini_batch_size: int = 64
    epochs: int = 10
    learning_rate: float = 1e-4
    warm_up: float = 0.1
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0
    vocabulary: int = 0
    hidden_size: int = 0
    layers: int = 0
    heads: int = 0
    intermediate_size: int = 0
    dropout: float = 0.0
    initializer_range: float = 0.0
    passed_on: float = 0.0
    positions: float = 0.0

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

# What may be said of each number: the least that is allowed.
_LEAST: Mapping[str, float] = {
    "towers": 1,
    "max_tokens": 8,
    "batch_size": 2,
    "mini_batch_size": 1,
    "epochs": 1,
    "vocabulary": 100,
    "hidden_size": 1,
    "layers": 1,
    "heads": 1,
    "intermediate_size": 1,
}
_OF_RANDOM_WEIGHTS = (
    "vocabulary",
    "hidden_size",
    "layers",
    "heads",
    "intermediate_size",
    "dropout",
    "initializer_range",
    "passed_on",
    "positions",
)


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
    kinds = {one.name: type(getattr(recipe, one.name)) for one in fields(recipe) if one.name != "base"}
    if recipe.base:
        kinds = {name: kind for name, kind in kinds.items() if name not in _OF_RANDOM_WEIGHTS}
    for name, found in settings:
        if name not in kinds:
            raise SettingsError(f"{what}: found the setting {name!r}; expected one of {', '.join(kinds)}")
        changed: dict[str, Any] = {name: _number(what, name, found, kinds[name])}
        recipe = replace(recipe, **changed)
    if recipe.towers > 2:
        raise SettingsError(f"{what}: found towers={recipe.towers}; expected 1, which both share, or 2")
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


def _number(what: str, name: str, found: str, kind: type) -> int | float:
    least = _LEAST.get(name, 0)
    try:
        number: int | float = kind(found)
    except ValueError:
        number = float("nan")
    most = 1 if name in ("warm_up", "dropout") else float("inf")
    if not least <= number <= most or number == float("inf"):
        sort = "a whole number" if kind is int else "a number"
        limit = f"from {least} to 1" if most == 1 else f"from {least}"
        raise SettingsError(f"{what}: found {name}={found}; expected {sort} {limit}")
    return number
