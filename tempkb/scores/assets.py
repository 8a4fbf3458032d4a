"""The asset that scores the prompts of releases with language models, one model a run."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dagster as dg

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.models.tables import MODELS
from tempkb.scores.checking import ASKED
from tempkb.scores.kinds import SCORES, Kind
from tempkb.scores.running import Answered, ask_model
from tempkb.scores.showing import picture, sample, to_show
from tempkb.scores.tables import partition_of
from tempkb.store.assets import fields_of, spec_of, table_of, words_in
from tempkb.store.materialise import facts_of_partitions
from tempkb.store.store import Store

# Which releases are asked about is said by the run's configuration, so Dagster is told that it may be any.
_PROMPTS = [
    dg.AssetDep(one.prompting.table.name, partition_mapping=dg.AllPartitionMapping())
    for one in BENCHMARKS
    if one.prompting is not None
]


def asset_of_answers(
    kind: Kind, how: str, shown: Callable[[Store, str, Sequence[Answered]], Mapping[str, Any]]
) -> dg.AssetsDefinition:
    """Return the asset of a kind of answers.

    Args:
        how: what a run does, and what a row is.
        shown: returns what the UI shows of what a run has done, by title.
    """
    spec = spec_of(kind.table, f"{kind.table.meaning}\n\n{how}", [MODELS.name, *_PROMPTS])

    @dg.multi_asset(name=kind.table.name, specs=[spec], config_schema=fields_of(kind.request))
    def answers(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]) -> dg.MaterializeResult[None]:
        name, words = context.partition_key, words_in(context)
        done = ask_model(kind, store, BENCHMARKS, name, kind.request_of(words), context.log.info)
        if not done:
            context.log.warning(f"model {name}: no release has prompts for it yet, so there was nothing to ask")
        versions = store.lake.versions(kind.table.name, [partition_of(name, one.name) for one in done])
        facts = {**facts_of_partitions(versions), ASKED: dg.MetadataValue.json(words)}
        for one in done:
            numbers = {"prompts": one.n_prompts, "new": one.n_new, **one.by_status}
            facts |= {f"{one.name}/{what}": n for what, n in numbers.items()}
        return dg.MaterializeResult(metadata={**facts, **shown(store, name, done)})

    return answers


def _shown(store: Store, name: str, done: Sequence[Answered]) -> dict[str, Any]:
    """A sample and a picture of a few releases, and how many others there are."""
    sources, n_others = to_show(store, done)
    shown: dict[str, Any] = {"releases not shown": n_others} if n_others else {}
    for scorer, source in sources:
        partition = partition_of(name, scorer)
        shown[f"{source.release}/sample"] = table_of(sample(store, partition, source), cell=200)
        shown[f"{source.release}/scores by window and role"] = dg.MetadataValue.md(picture(store, partition, source))
    return shown


prompt_scores = asset_of_answers(
    SCORES,
    "A run scores what has no score yet of the prompts of all releases, or of those that its configuration names. A "
    "run that was killed is continued by the next one.\n\nOne row per prompt and scorer of a model; key `prompt_id`.",
    _shown,
)
