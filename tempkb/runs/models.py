"""Adds language models, one after the other; a model that cannot be added does not stop the others."""

from collections.abc import Callable, Mapping

from tempkb.api import open_store
from tempkb.demo.models.asking import Asked
from tempkb.demo.models.making import make
from tempkb.models.known import known_model
from tempkb.models.requests import request_of
from tempkb.models.tables import MODELS, READY
from tempkb.options import Words
from tempkb.runs.jobs import Summary, past_damage, run_each
from tempkb.store.store import Store


def add(wanted: Mapping[str, Words]) -> Summary:
    """Add models."""
    return past_damage(lambda: run_each([MODELS], wanted))


def add_demo_models(asked: Asked, log: Callable[[str], None]) -> Summary:
    """Train the tiny models that are asked for unless they are there, and add those that are not added yet.

    Raises:
        SettingsError: a cut is not built, or a name is bound to a model of other sentences.
        ModelError: a model could not be trained.
    """

    def work() -> Summary:
        store = open_store()
        made = make(store, asked, log)
        return run_each([MODELS], {name: words for name, words in made.items() if not _is_added(store, name, words)})

    return past_damage(work)


def _is_added(store: Store, name: str, words: Words) -> bool:
    """Does the table of models say of a model what is asked for?"""
    row, request = known_model(store.lake, name), request_of(name, words)
    return (
        row is not None
        and row["status"] == READY
        and row["checkpoint"] == request.checkpoint
        and row["knows_certainly_until"] == request.knows_certainly_until
    )
