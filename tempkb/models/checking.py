"""What the table of models promises: that a name still means the files that were added under it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tempkb.core.errors import ModelError
from tempkb.models.known import known_models, located, words_of_row
from tempkb.models.tables import DIGESTS, MODELS, READY
from tempkb.store.promises import Promise, Subject
from tempkb.store.said import is_unsaid, readable_said, said_names
from tempkb.store.store import Store

UNSAID = "found nothing said of it in {}.json; expected what was said when it was added"


def differing_from_said(store: Store, rows: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield models whose row is not what was said of them, or of which only one of both is there; and what was found.

    Models whose row is lost, and files that cannot be read, are left out.

    Args:
        rows: of all models.
    """
    known, folder = {row["model"]: row for row in rows}, store.home.checkpoints
    for name in sorted({*known, *said_names(folder)} - {*store.lake.lost(MODELS.name)}):
        row, said = known.get(name), readable_said(folder, name).words
        if row is None and said:
            yield name, "found no row; expected one of what was said when it was added"
        # Of models whose scores were imported nothing may have been said.
        elif row is not None and (row["checkpoint"] or row["knows_certainly_until"]) and is_unsaid(folder, name):
            yield name, UNSAID.format(f"models/{name}")
        for word in ("checkpoint", "family", "knows_until") if row is not None and said else ():
            found, expected = words_of_row(row or {}).get(word), said.get(word)
            expected = located(store.home.path, expected) if word == "checkpoint" and expected else expected
            if found != expected:
                yield name, f"found {word} {found} in its row; expected {expected}, as was said when it was added"


def _changed(store: Store, subject: Subject) -> list[tuple[str, str]] | None:
    """Models whose files are not those that were added, with what was found; None if no model is ready."""
    ready = [row for row in known_models(store.lake) if row["status"] == READY and subject.has(row["model"])]
    return [(row["model"], found) for row in ready for found in _differences(row)] if ready else None


def _differences(row: dict[str, Any]) -> Iterator[str]:
    from tempkb.models.files import are_files_of, find_folder

    try:
        if are_files_of(row, find_folder(row["checkpoint"], row["hub_revision"], may_fetch=False)[0]):
            return
        from tempkb.models.checkpoints import read_digests

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
        finds=_changed,
        shown=lambda row: f"{row[0]}: {row[1]}",
    ),
)
