"""The closing screen of `tempkb generate`: what was asked, and what has no answer and why."""

from collections.abc import Sequence

from tempkb.generations.kind import SAID
from tempkb.generations.tables import STATUSES
from tempkb.options import Words
from tempkb.screens.console import print_next
from tempkb.screens.scores import print_asked


def print_generations(models: Sequence[str], words: Words) -> None:
    """Print what models were asked.

    Args:
        models: names of models that were asked.
        words: what was asked for.
    """
    if print_asked(SAID, STATUSES, models, words) is not None:
        print_next(*(f"answers {name}" for name in models[:1]), "knows")
