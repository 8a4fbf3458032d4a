"""The asset that writes the table of models, one model a run."""

import dagster as dg

from tempkb.errors import ModelError, SettingsError
from tempkb.models.adding import add_model
from tempkb.models.declaration import ModelRequest
from tempkb.models.known import said_of
from tempkb.models.requests import lines_of, request_of
from tempkb.options import Words
from tempkb.store.assets import fields_of, sample_of, words_in
from tempkb.store.materialise import facts_of
from tempkb.store.store import Store


@dg.asset(config_schema=fields_of(ModelRequest))
def models(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]) -> dg.MaterializeResult[None]:
    """Language models, each bound for good to the digests of its files.

    A run for a new partition names the checkpoint in its configuration, unless `tempkb.toml` of the home has lines for
    it. A run for a model that is there compares its files with their digests. A checkpoint that cannot be used leaves a
    row with the reason, and the run fails.

    One row per model; key `model`.
    """
    name = context.partition_key
    try:
        version, refused = add_model(store, request_of(name, _words(store, name, words_in(context))), context.log.info)
        if refused is not None:
            raise refused
    except ModelError as error:
        raise ModelError(f"model {name!r}: {error}") from None
    return dg.MaterializeResult(metadata={**facts_of(version), "sample": sample_of(version)})


def _words(store: Store, name: str, typed: Words) -> Words:
    """What a run asks for: as its configuration says, else as `tempkb.toml` has it, or as it was added before."""
    if "checkpoint" in typed:
        return typed
    lines, said = lines_of(store.home), said_of(store, name)
    if name not in lines and not said:
        raise SettingsError(
            f"model {name!r}: found no checkpoint in the run's configuration, and no lines [models.{name}] in "
            "tempkb.toml of the home; expected a folder or an id of the Hugging Face hub as checkpoint"
        )
    return {**lines.get(name, said), **typed}
