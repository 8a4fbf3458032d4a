"""The command that builds a damaged partition again, for the screens that name damage."""

from tempkb.benchmarks.register import to_build_again
from tempkb.generations.kind import KINDS
from tempkb.linking.known import known_linker, words_of
from tempkb.linking.requests import command_of, command_of_link
from tempkb.linking.tables import LINKERS, linker_of
from tempkb.models.known import known_model, words_of_row
from tempkb.models.tables import MODELS
from tempkb.scores.tables import is_imported, model_of
from tempkb.settings import Home
from tempkb.store.said import readable_said
from tempkb.store.store import Store
from tempkb.store.tables import Family


def command_for(store: Store, table: str, partition: str) -> str:
    """Return the command that builds a damaged partition of a table again."""
    if table == MODELS.name:
        return _of_model(store, partition)
    if table == LINKERS.name:
        return _of_linker(store, partition)
    family = store.tables[table].family
    if family is Family.MODEL:
        return _import(model_of(partition)) if is_imported(partition) else _of_answers(store.home, table, partition)
    if family is Family.LINKER:
        return _of_links(store.home, linker_of(partition))
    return to_build_again(store.tables[table], partition)


def _of_model(store: Store, name: str) -> str:
    row = known_model(store.lake, name)
    words = readable_said(store.home.checkpoints, name).words or (words_of_row(row) if row is not None else {})
    is_known = "checkpoint" in words or name in dict(store.home.settings.models)
    imported = (key for kind in KINDS for key in store.lake.keys(kind.table.name) if is_imported(key))
    if not is_known and (words or name in map(model_of, imported)):
        return _import(name)
    return f"tempkb model add {name}" + ("" if is_known else " CHECKPOINT")


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
    (kind,) = (one for one in KINDS if one.table.name == table)
    asked = getattr(readable_said(home.checkpoints, model), kind.noted)
    return " && ".join(kind.command_of(model, words) for words in asked) or f"tempkb {kind.command} {model}"
