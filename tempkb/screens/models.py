"""The screens of `tempkb model`: the models of a home, and one of them."""

from collections.abc import Collection

from tempkb.api import open_store
from tempkb.errors import SettingsError
from tempkb.listings import Listing, named
from tempkb.models.known import known_model, known_models, until_in_words
from tempkb.models.tables import MODELS
from tempkb.screens.console import FIELDS, print_next, say, show

_MODELS = Listing(
    named("model", "family", parameters="n_parameters", context="context_tokens")
    | {"knows until": lambda row: until_in_words(row["knows_certainly_until"], row["knows_possibly_until"])}
    | named("status", "checkpoint")
)


def print_models(names: Collection[str] | None = None) -> None:
    """Print the models of the home, and why some of them cannot be used.

    Args:
        names: only these, as far as they are there; None for all.
    """
    found = [row for row in known_models(open_store().lake) if names is None or row["model"] in names]
    if not found:
        # If none of those that were asked for could be added, the errors say so.
        if names is None:
            say("The home has no models yet.")
            print_next("model add t5-large google-t5/t5-large", "model add --preset timelms")
        return
    show(_MODELS, found)
    for row in found if names is None else ():
        say(f"{row['model']}: {row['reason']}" if row["reason"] else "")


def print_model(name: str) -> None:
    """Print all that is known about a model.

    Raises:
        SettingsError: there is no such model.
    """
    lake = open_store().lake
    row = known_model(lake, name)
    if row is None:
        there = ", ".join(lake.partitions(MODELS.name)) or "none"
        raise SettingsError(f"model {name!r}: no such model; there: {there}")
    show(FIELDS, list(row.items()))
