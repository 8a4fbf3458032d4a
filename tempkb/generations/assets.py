"""The asset of what language models say, one model a run."""

from typing import Any

import dagster as dg

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.generations.kind import SAID
from tempkb.generations.requests import GenerateRequest
from tempkb.generations.showing import samples
from tempkb.generations.tables import GENERATIONS
from tempkb.models.tables import MODELS
from tempkb.scores.checking import ASKED
from tempkb.scores.running import ask_model, counts
from tempkb.scores.tables import partition_of
from tempkb.store.assets import fields_of, table_of, words_in
from tempkb.store.materialise import facts_of_partitions
from tempkb.store.store import Store

_PROMPTS = [one.prompting.table for one in BENCHMARKS if one.prompting is not None]


@dg.asset(
    # Which releases are asked about is said by the run's configuration, so Dagster is told that it may be any.
    deps=[MODELS.name, *(dg.AssetDep(one.name, partition_mapping=dg.AllPartitionMapping()) for one in _PROMPTS)],
    config_schema=fields_of(GenerateRequest),
)
def generations(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]) -> dg.MaterializeResult[None]:
    """What models say in the gaps of questions, by model and decoder. Each question is asked once.

    A run asks what has no answer yet of the questions of all releases, or of those that its configuration names. A run
    that was killed is continued by the next one.

    One row per question and rank of a model's decoder; key `question_id, rank`.
    """
    name, words = context.partition_key, words_in(context)
    done = ask_model(SAID, store, BENCHMARKS, name, SAID.request_of(words), context.log.info)
    if not done:
        context.log.warning(f"model {name}: no release has questions for it yet, so there was nothing to ask")
    facts = facts_of_partitions(store.lake.versions(GENERATIONS.name, [partition_of(name, one.name) for one in done]))
    shown: dict[str, Any] = {key: table_of(rows, cell=200) for key, rows in samples(store, name, done).items()}
    return dg.MaterializeResult(metadata={**facts, ASKED: dg.MetadataValue.json(words), **counts(done), **shown})
