"""Filters that give a reason for what they leave out, chains of them, and counts by reason. Pure.

A filter is a function that returns a reason, or "" if the candidate passes. A chain
applies its filters in order without knowing them, and `LeftOut` counts any reasons.
So a new filter is one function and its place in one chain.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Generic, TypeAlias, TypeVar

T = TypeVar("T")
Filter: TypeAlias = Callable[[T], str]
"""Returns the reason for which something is left out; empty if it passes."""


class Chain(Generic[T]):
    """Filters in the order in which they are applied.

    Args:
        filters: cheap ones first, since the first one that gives a reason ends the chain.
    """

    def __init__(self, *filters: Filter[T]) -> None:
        self.filters = filters

    def reason(self, one: T) -> str:
        """Return the reason of the first filter that gives one; empty if all let the candidate pass.

        >>> Chain(lambda n: "odd" if n % 2 else "", lambda n: "large" if n > 9 else "").reason(11)
        'odd'
        """
        for give_reason in self.filters:
            if reason := give_reason(one):
                return reason
        return ""


@dataclass
class LeftOut:
    """What was seen but not kept, counted by reason.

    Attributes:
        max_examples: how many examples are kept per reason; the first ones are kept.
        counts: reason -> how many.
        examples: reason -> the first of them, in words.
    """

    max_examples: int = 1
    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, *counts: Iterable[tuple[str, int, str | None]]) -> "LeftOut":
        """Return what was counted elsewhere, as (reason, how many, an example)."""
        found = cls()
        for reason, n, example in chain.from_iterable(counts):
            found.add(reason, example or "", n)
        return found

    def add(self, reason: str, example: str = "", n: int = 1) -> None:
        """Count something that is not kept; a count of zero changes nothing, and an empty example is not kept."""
        if not n:
            return
        self.counts[reason] += n
        examples = self.examples.setdefault(reason, [])
        if example and len(examples) < self.max_examples:
            examples.append(example)

    def merge(self, other: "LeftOut") -> None:
        """Add the counts and examples of another one; its examples follow the present ones."""
        self.counts.update(other.counts)
        for reason, examples in other.examples.items():
            own = self.examples.setdefault(reason, [])
            own += examples[: self.max_examples - len(own)]

    def gather(self, beginning: str, most: int, reason: str) -> None:
        """Combine the rarer ones of many reasons with the same beginning into one reason.

        Args:
            beginning: of these reasons.
            most: how many of them are kept: the most frequent ones; of equally frequent ones the first by name.
            reason: for the others; its example is that of the most frequent one.
        """
        alike = [(name, n) for name, n in self.counts.items() if name.startswith(beginning)]
        for name, n in sorted(alike, key=lambda pair: (-pair[1], pair[0]))[most:]:
            del self.counts[name]
            self.add(reason, next(iter(self.examples.pop(name)), ""), n)

    def rows(self) -> Iterator[tuple[str, int, str]]:
        """Yield (reason, how many, examples) in the order of the reasons."""
        for reason, n in sorted(self.counts.items()):
            yield reason, n, "; ".join(self.examples[reason])
