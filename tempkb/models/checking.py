"""What the table of models promises: that a name still means the files that were added under it."""

from collections.abc import Iterator
from typing import Any

from tempkb.errors import ModelError
from tempkb.models.known import known_models, located, words_of_row
from tempkb.models.tables import DIGESTS, MODELS, READY
from tempkb.store.promises import Promise, Subject
from tempkb.store.said import readable_said, said_names
from tempkb.store.store import Store


def differing_from_said(store: Store) -> Iterator[tuple[str, str]]:
    """Yield models whose row is not what was said of them, or is not there, with what was found, in words.

    Models of which nothing is known to have been said, and files that cannot be read, are left out.
    """
    rows = {row["model"]: words_of_row(row) for row in known_models(store.lake)}
    for name in said_names(store.home.checkpoints):
        said = readable_said(store.home.checkpoints, name).words
        if said and name not in rows:
            yield name, "found no row; expected one of what was said when it was added"
            continue
        for word in ("checkpoint", "family", "knows_until") if said else ():
            found, expected = rows[name].get(word), said.get(word)
            expected = located(store.home.path, expected) if word == "checkpoint" and expected else expected
            if found != expected:
                yield name, f"found {word} {found} in its row; expected {expected}, as was said when it was added"


def _changed(store: Store, subject: Subject) -> list[tuple[str, str]] | None:
    """Models whose files are not those that were added, with what was found; None if no model is ready."""
    ready = [row for row in known_models(store.lake) if row["status"] == READY and subject.has(row["model"])]
    return [(row["model"], found) for row in ready for found in _differences(row)] if ready else None


def _differences(row: dict[str, Any]) -> Iterator[str]:
    from tempkb.models.checkpoints import read_digests

    try:
        found = read_digests(row["checkpoint"], row["hub_revision"])
    except ModelError as error:
        yield str(error)
        return
    for name in DIGESTS:
        if row[name] != getattr(found, name):
            yield f"{name} is {getattr(found, name)}, expected {row[name]}"


PROMISES = (
    Promise(
        "files_are_those_that_were_added",
        "The files of a model that is ready have the digests to which its name is bound.",
        MODELS,
        tables={"models": MODELS},
        finds=_changed,
        shown=lambda row: f"{row[0]}: {row[1]}",
    ),
)
