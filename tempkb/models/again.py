"""The command that builds a damaged partition again, for whatever names damage."""

from collections.abc import Mapping, Sequence
from typing import Any

from tempkb.benchmarks.register import to_build_again
from tempkb.core.settings import Home
from tempkb.models.checking import UNSAID, differing_from_said
from tempkb.models.corpora.steps import command_of as command_of_corpus
from tempkb.models.generations.kind import KINDS as ANSWERS
from tempkb.models.known import known_model, training_of, words_of_row
from tempkb.models.linking.known import known_linker, words_of
from tempkb.models.linking.requests import command_of, command_of_link
from tempkb.models.linking.tables import KINDS, LINKERS, linker_of
from tempkb.models.scores.tables import is_imported, model_of
from tempkb.models.tables import MODELS
from tempkb.models.training.requests import TrainRequest
from tempkb.models.training.tables import MIXTURES
from tempkb.store.said import is_unsaid, readable_said
from tempkb.store.store import Store
from tempkb.store.tables import Family

Row = Mapping[str, Any]


def command_for(store: Store, table: str, partition: str) -> str:
    """Return the command that builds a damaged partition of a table again."""
    if table == MODELS.name:
        return _of_model(store, partition)
    if table == MIXTURES.name:
        return _of_mixture(store.home, partition)
    if table == LINKERS.name:
        return _of_linker(store, partition)
    family = store.tables[table].family
    if family is Family.MODEL:
        return _import(model_of(partition)) if is_imported(partition) else _of_answers(store.home, table, partition)
    if family is Family.LINKER:
        return _of_links(store.home, linker_of(partition))
    if family is Family.CORPUS:
        return command_of_corpus(store.lake, store.tables[table].owner_of(partition) or "")
    return to_build_again(store.tables[table], partition)


def odd_said(store: Store, models: Sequence[Row] | None, linkers: Sequence[Row]) -> list[str]:
    """Return what was said of models and linkers and is gone or not as their rows have it, with the command to type.

    Args:
        models: rows of all models; None if these are not asked about.
        linkers: rows of linkers.
    """
    differing = differing_from_said(store, models) if models is not None else ()
    odd = [(f"model {name}: {found}", command_for(store, MODELS.name, name)) for name, found in differing]
    added = {row["linker"]: command_of(row["linker"], words_of(row)) for row in linkers if row["kind"] == KINDS[1]}
    gone = [name for name in added if is_unsaid(store.home.linkers, name)]
    odd += [(f"linker {name}: {UNSAID.format(f'linkers/{name}')}", added[name]) for name in gone]
    return [f"{found}. Write it again: {command}" for found, command in odd]


def _of_model(store: Store, name: str) -> str:
    row = known_model(store.lake, name)
    words = readable_said(store.home.checkpoints, name).words or (words_of_row(row) if row is not None else {})
    is_known = "checkpoint" in words or name in dict(store.home.settings.models)
    imported = (key for kind in ANSWERS for key in store.lake.keys(kind.table.name) if is_imported(key))
    if not is_known and (words or name in map(model_of, imported)):
        return _import(name)
    return f"tempkb model add {name}" + ("" if is_known else " CHECKPOINT")


def _of_mixture(home: Home, name: str) -> str:
    words = training_of(home.checkpoints / name).get("asked", {})
    typed = {word: said for word, said in words.items() if word != "regime"}
    return (
        TrainRequest.typed({**typed, "windows": words.get("windows", "A..B")}, words.get("regime", "REGIME"))
        + f" --name {name}"
    )


def _of_linker(store: Store, name: str) -> str:
    row = known_linker(store.lake, name)
    return command_of(name, words_of(row) if row is not None else readable_said(store.home.linkers, name).words)


def _of_links(home: Home, linker: str) -> str:
    asked = readable_said(home.linkers, linker).asked
    return " && ".join(command_of_link(linker, words) for words in asked) or f"tempkb linker score {linker}"


def _import(model: str) -> str:
    return f"tempkb scores import LOG --model {model}"


def _of_answers(home: Home, table: str, partition: str) -> str:
    model = model_of(partition)
    (kind,) = (one for one in ANSWERS if one.table.name == table)
    asked = getattr(readable_said(home.checkpoints, model), kind.noted)
    return " && ".join(kind.command_of(model, words) for words in asked) or f"tempkb {kind.request.command} {model}"
