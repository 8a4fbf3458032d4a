"""What tells a family of language models from the others: one class, in a module of its own. No torch here."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from tempkb.models.rows import Planner, Row


class Traits(ABC):
    """What a family of models is, and how its models are asked.

    Attributes:
        templates: of its scorers, the default first.
        reads_beyond: those that read what follows a target, but count the target's tokens alone. What follows may be
            written otherwise for their sake.
        classes: name of transformers' table of its classes, by the type that a config names.
        loader: name of transformers' class that loads its models.
        old_architectures: names that older checkpoints give their architecture.
        has_sources: whether an encoder reads a source, and a decoder answers.
        sees_later: whether each token is read with those after it in sight.
        shares_beginnings: whether a model can continue from the tokens that several rows begin with.
    """

    name: ClassVar[str]
    templates: ClassVar[tuple[str, ...]]
    reads_beyond: ClassVar[tuple[str, ...]] = ()
    classes: ClassVar[str]
    loader: ClassVar[str]
    old_architectures: ClassVar[tuple[str, ...]] = ()
    has_sources: ClassVar[bool] = False
    sees_later: ClassVar[bool] = False
    shares_beginnings: ClassVar[bool] = False

    @abstractmethod
    def planner(self, template: str, tokenizer: Any, config: Any, context_tokens: int | None) -> Planner:
        """Return what turns prompts into rows.

        Args:
            context_tokens: how many tokens the model reads, special ones included; None for any number.

        Raises:
            ModelError: the tokenizer or the config lacks a token that the template needs.
        """

    @abstractmethod
    def trials(self, first: Sequence[int], second: Sequence[int], tokenizer: Any, config: Any) -> list[Row]:
        """Return rows of unequal lengths that together take each way through the batches of the family.

        Args:
            first: tokens of a text.
            second: tokens of a shorter one.
        """

    def layers(self, module: Any) -> Any:
        """Return the layers of a model before its head, or what the architecture takes for them."""
        return module.get_decoder()
