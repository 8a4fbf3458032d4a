"""Filters that say why something is left out, chains of them, and the counts by reason. Pure.

A filter is a function that returns a reason, or "" for what passes. A chain asks
its filters in order and names none of them, and `LeftOut` counts whatever
reasons come. So a new filter is its function and its place in one chain.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

T = TypeVar("T")
Filter: TypeAlias = Callable[[T], str]
"""Returns the reason for which something is left out; empty if it passes."""


class Chain(Generic[T]):
    """Filters in the order in which they are asked.

    Args:
        filters: the cheap ones first, for the first that gives a reason ends the chain.
    """

    def __init__(self, *filters: Filter[T]) -> None:
        self.filters = filters

    def reason(self, one: T) -> str:
        """Return the reason of the first filter that gives one; empty if all let it pass.

        >>> Chain(lambda n: "odd" if n % 2 else "", lambda n: "large" if n > 9 else "").reason(11)
        'odd'
        """
        for judge in self.filters:
            if reason := judge(one):
                return reason
        return ""


@dataclass
class LeftOut:
    """What was seen but not kept, counted by reason.

    Attributes:
        max_examples: how many examples are kept of a reason, the first that came.
        counts: reason -> how many.
        examples: reason -> the first of them, in words.
    """

    max_examples: int = 1
    counts: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def add(self, reason: str, example: str = "", n: int = 1) -> None:
        """Count something that is not kept; a count of zero changes nothing, and an empty example is none."""
        if not n:
            return
        self.counts[reason] += n
        told = self.examples.setdefault(reason, [])
        if example and len(told) < self.max_examples:
            told.append(example)

    def merge(self, other: "LeftOut") -> None:
        """Add what another one counted, its examples behind those that are here."""
        self.counts.update(other.counts)
        for reason, told in other.examples.items():
            own = self.examples.setdefault(reason, [])
            own += told[: self.max_examples - len(own)]

    def gather(self, beginning: str, most: int, reason: str) -> None:
        """Put the rarer ones of many reasons that begin alike together under one.

        Args:
            beginning: of these reasons.
            most: how many of them stay, the most frequent ones; of equally frequent ones the first by name.
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
