"""A process that asks a model and dies at a given moment, as if killed."""

import dataclasses
import os
from pathlib import Path

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.models.generations.kind import KINDS
from tempkb.models.scores import running
from tempkb.models.scores.running import ask_model
from tempkb.platform.api import open_store
from tempkb.store.store import Store

SHARDS = {"score": 4, "generate": 1}
# Which call the process does not survive: the owner, its method, the number of the call, and whether it is done first.
DEATHS = {
    "behind the plan": (running.Shards, "plan", 1, True),
    "first": (running.Shards, "finish", 1, False),
    "middle": (running.Shards, "finish", 3, True),
    "before adding": (Store, "add", 1, False),
    "behind adding": (Store, "add", 1, True),
    "last": (Store, "add", 2, True),
}


def files_of(store, table):
    """Bytes of the files of a table, and what else its versions say of themselves but how often they were written."""
    versions = store.lake.versions(table)
    files = {f"{one.partition}/{path.name}": path.read_bytes() for one in versions for path in one.places()}
    return files | {one.partition: dataclasses.replace(one, serial=0, folder=Path()) for one in versions}


def ask_and_die(moment: str, name: str, command: str = "score") -> None:
    """Ask a model about all prompts of the home, a few in each shard, and die at a moment with the exit status 9."""
    (kind,) = (one for one in KINDS if one.request.command == command)
    owner, method, number, is_behind = DEATHS[moment]
    honest, calls = getattr(owner, method), iter(range(1, 1000))

    def dying(*arguments, **named):
        is_last = next(calls) == number
        if is_last and not is_behind:
            os._exit(9)
        given = honest(*arguments, **named)
        if is_last:
            os._exit(9)
        return given

    setattr(owner, method, dying)
    type(kind).n_of_shard = SHARDS[command]
    ask_model(kind, open_store(), BENCHMARKS, name, kind.request.of({}), lambda _line: None)
