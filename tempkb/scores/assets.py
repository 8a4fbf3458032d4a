"""The asset that scores the prompts of releases with language models, one model a run."""

from typing import Any

import dagster as dg

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.models.tables import MODELS
from tempkb.scores.checking import ASKED
from tempkb.scores.kinds import SCORES
from tempkb.scores.requests import ScoreRequest
from tempkb.scores.running import Answered, ask_model, counts
from tempkb.scores.showing import picture, sample, to_show
from tempkb.scores.tables import PROMPT_SCORES, partition_of
from tempkb.store.assets import fields_of, table_of, words_in
from tempkb.store.materialise import facts_of_partitions
from tempkb.store.store import Store

_PROMPTS = [one.prompting.table for one in BENCHMARKS if one.prompting is not None]


@dg.asset(
    # Which releases are scored is said by the run's configuration, so Dagster is told that it may be any.
    deps=[MODELS.name, *(dg.AssetDep(one.name, partition_mapping=dg.AllPartitionMapping()) for one in _PROMPTS)],
    config_schema=fields_of(ScoreRequest),
)
def prompt_scores(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]) -> dg.MaterializeResult[None]:
    """Log-probabilities of prompts, by model and scorer. Each prompt is scored once, whatever releases have it.

    A run scores what has no score yet of the prompts of all releases, or of those that its configuration names. A run
    that was killed is continued by the next one.

    One row per prompt and scorer of a model; key `prompt_id`.
    """
    name, words = context.partition_key, words_in(context)
    done = ask_model(SCORES, store, BENCHMARKS, name, SCORES.request_of(words), context.log.info)
    if not done:
        context.log.warning(f"model {name}: no release has prompts yet, so there was nothing to score")
    keys = [partition_of(name, one.name) for one in done]
    facts = facts_of_partitions(store.lake.versions(PROMPT_SCORES.name, keys))
    return dg.MaterializeResult(
        metadata={**facts, ASKED: dg.MetadataValue.json(words), **counts(done), **_shown(store, name, done)}
    )


def _shown(store: Store, name: str, done: list[Answered]) -> dict[str, Any]:
    """A sample and a picture of a few releases, and how many others there are."""
    sources, n_others = to_show(store, done)
    shown: dict[str, Any] = {"releases not shown": n_others} if n_others else {}
    for scorer, source in sources:
        partition = partition_of(name, scorer)
        shown[f"{source.release}/sample"] = table_of(sample(store, partition, source), cell=200)
        shown[f"{source.release}/scores by window and role"] = dg.MetadataValue.md(picture(store, partition, source))
    return shown
