"""Adding models: a checkpoint is read once, and its row binds the model's name to the digests of its files."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa

from tempkb.core.errors import ModelError
from tempkb.core.model_words import ModelRequest
from tempkb.engine.tasks import Done, Order
from tempkb.models.files import are_files_of, find_folder
from tempkb.models.known import known_model, refuse_other, said_of, training_of, words_of_row
from tempkb.models.requests import request_of, requested
from tempkb.models.tables import DIGESTS, MODELS, NOT_LOADED, READY
from tempkb.store.drafts import Provenance
from tempkb.store.said import change_said
from tempkb.store.store import Store
from tempkb.store.versions import Version

Row = dict[str, Any]


def add_model(store: Store, request: ModelRequest, log: Callable[[str], None]) -> Version:
    """Read a checkpoint and write its model's row; a model that is there already is only compared.

    What was said of the model before and is not said now still holds. A checkpoint that is not there leaves no trace.

    Raises:
        ModelError: the checkpoint is not there; or it cannot be used, which the row gives as its reason unless the
            model was added before.
        SettingsError: the name is bound to other files.
    """
    request = replace(request, knows_until=request.knows_until or until_said(store, request.name))
    find_folder(request.checkpoint, request.revision, may_fetch=True)
    with store.lake.partition_lock(MODELS.name, request.name):
        held = known_model(store.lake, request.name)
        is_bound = held is not None and held["status"] == READY
        row, made_with = _compare(store, request, held) if held and is_bound else _read(request)
        version = _write(store, row, made_with, log, request.revision)
    if row["status"] == NOT_LOADED:
        raise ModelError(row["reason"])
    return version


def until_said(store: Store, name: str) -> tuple[date, date] | None:
    """Return until when a model knows, as was said of it before; None if nothing was."""
    return request_of(name, {"checkpoint": name, **said_of(store, name)}).knows_until


def _compare(store: Store, request: ModelRequest, held: Row) -> tuple[Row, Mapping[str, Any]]:
    """Compare a checkpoint with the model that has its name; the row has where it is now and what it knows."""
    folder, commit = find_folder(request.checkpoint, request.revision, may_fetch=True)
    found = {"family": request.family or held["family"]}
    if not are_files_of(held, folder):
        from tempkb.models.checkpoints import read_digests

        found |= vars(read_digests(request.checkpoint, request.revision, may_fetch=True))
    bound = {one: held[one] for one in ("family", *DIGESTS) if one in found}
    asked = {one: found[one] for one in bound}
    refuse_other(f"model {request.name!r}", bound, asked, f"tempkb model rm {request.name}")
    row = {**held, "checkpoint": request.checkpoint, "hub_revision": commit}
    if request.knows_certainly_until is not None:
        row["knows_certainly_until"] = request.knows_certainly_until
        row["knows_possibly_until"] = request.knows_possibly_until
    current = store.lake.current(MODELS.name, request.name)
    made_with = current.settings if current is not None else {}
    return row, made_with | {"checkpoint": request.checkpoint}


def _read(request: ModelRequest) -> tuple[Row, Mapping[str, Any]]:
    """The row of a model that was not added before, and what it was made with."""
    # Torch and transformers take seconds to import, which runs that add no model do without.
    import torch
    import transformers

    from tempkb.models.checkpoints import read_checkpoint

    row: Row = dict.fromkeys(MODELS.column_names()) | {
        "model": request.name,
        "checkpoint": request.checkpoint,
        "family": request.family,
        "knows_certainly_until": request.knows_certainly_until,
        "knows_possibly_until": request.knows_possibly_until,
    }
    made_with: Row = {"torch": torch.__version__, "transformers": transformers.__version__}
    try:
        found = read_checkpoint(request.checkpoint, request.revision, request.family)
    except ModelError as error:
        return row | {"status": NOT_LOADED, "reason": str(error)}, made_with
    known = {name: getattr(found, name) for name in (*DIGESTS, "hub_revision")}
    row |= known | {
        "family": found.family,
        "n_parameters": found.n_parameters,
        "context_tokens": found.context_tokens,
        "status": READY,
    }
    about: Row = {"architecture": found.architecture, "weights_format": found.weights_format}
    if training := training_of(found.folder):
        about |= {"trained": {name: training.get(name) for name in ("numbers", "mixture")}}
    return row, made_with | about | {"checkpoint": request.checkpoint}


def _write(
    store: Store, row: Row, made_with: Mapping[str, Any], log: Callable[[str], None], revision: str | None
) -> Version:
    """Write what was said of a model, and then its row, unless it is there already."""
    name = row["model"]
    # Of a model on the hub the commit that was found, since its branch may move on.
    place, inside = Path(row["checkpoint"]), store.home.path.resolve()
    checkpoint = str(place.relative_to(inside) if place.is_relative_to(inside) else row["checkpoint"])
    words = words_of_row({**row, "checkpoint": checkpoint, "hub_revision": row["hub_revision"] or revision})
    change_said(store.home.checkpoints, name, lambda said: replace(said, words=words))
    current = store.lake.current(MODELS.name, name)
    if current is not None and known_model(store.lake, name) == row:
        log(f"Model {name} is there already, with the same files; nothing to do.")
        return current
    inputs = {column.removesuffix("_sha256"): row[column] for column in DIGESTS if row[column] is not None}
    rows = [pa.Table.from_pylist([{**row, "checkpoint": checkpoint}], MODELS.schema)]
    return store.write(MODELS, name, rows, Provenance(inputs, made_with))


def models(order: Order) -> Done:
    """Read a checkpoint and write down its digests; compare the files of a model that is there with them."""
    store, (name,), done = order.store, order.keys, Done()
    before = said_of(store, name).get("knows_until")
    try:
        words = requested(store.home, name, order.said, said_of(store, name))[name]
        done.add(add_model(store, request_of(name, words), order.log))
    except ModelError as error:
        raise ModelError(f"model {name!r}: {error}") from None
    now = said_of(store, name).get("knows_until")
    if before and before != now:
        done.notes = [
            f"model {name} has the stated cutoff {now} from now on; {before}, as was said before, is replaced"
        ]
    return done
