"""The asset that writes the table of models, one model a run."""

import dagster as dg

from tempkb.errors import ModelError
from tempkb.models.adding import add_model
from tempkb.models.declaration import ModelRequest
from tempkb.models.known import said_of
from tempkb.models.requests import request_of, requested
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
        words = requested(store.home, name, words_in(context), said_of(store, name))[name]
        version = add_model(store, request_of(name, words), context.log.info)
    except ModelError as error:
        raise ModelError(f"model {name!r}: {error}") from None
    return dg.MaterializeResult(metadata={**facts_of(version), "sample": sample_of(version)})
