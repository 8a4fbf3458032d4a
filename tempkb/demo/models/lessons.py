"""What a model is trained from, as it is sent to the process that trains it. Without PyTorch."""

from dataclasses import dataclass
from pathlib import Path

from tempkb.demo.models.recipe import Recipe
from tempkb.models.families import Family


@dataclass(frozen=True)
class Row:
    """A sentence as a model reads it.

    Attributes:
        kind: of its article, one of `KINDS`.
        ids: its tokens, without special ones.
        names: half-open ranges of tokens that are names.
        own: those of them that name what the article is about.
    """

    kind: str
    ids: tuple[int, ...]
    names: tuple[tuple[int, int], ...]
    own: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Lesson:
    """All that a model is trained from.

    Attributes:
        name: of the model.
        family: what kind of model it becomes.
        recipe: how.
        seed: of the weights at the beginning, of the order of sentences, and of what is hidden in them.
        rows: what it reads.
        tokenizer: tokenizer.json, without anything around a text.
        place: folder of its checkpoint, which it gets when it is whole.
    """

    name: str
    family: Family
    recipe: Recipe
    seed: int
    rows: tuple[Row, ...]
    tokenizer: str
    place: Path
