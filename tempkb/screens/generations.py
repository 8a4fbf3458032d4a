"""The closing screen of `tempkb generate`: what was asked, and what has no answer and why."""

from collections.abc import Sequence

from tempkb.api import open_store
from tempkb.generations.kind import SAID
from tempkb.generations.tables import GENERATIONS, STATUSES
from tempkb.options import Words
from tempkb.scores.tables import model_of
from tempkb.screens.console import print_next
from tempkb.screens.scores import print_asked


def print_generations(models: Sequence[str], words: Words) -> None:
    """Print what models were asked.

    Args:
        models: names of models that were asked.
        words: what was asked for.
    """
    if print_asked(SAID, STATUSES, models, words)[0]:
        # Not all families are asked about each benchmark.
        answered = {model_of(key) for key in open_store().lake.partitions(GENERATIONS.name)}
        print_next("results", *(f"answers {name}" for name in [one for one in models if one in answered][:1]), "knows")
