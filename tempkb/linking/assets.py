"""The assets of linking, one linker a run: its checkpoint, the vectors of entities, and its scores."""

from collections.abc import Iterator, Sequence
from typing import Any

import dagster as dg

from tempkb.linking.asked import LINKED
from tempkb.linking.checking import ASKED
from tempkb.linking.linkers import add_linker, train_linker
from tempkb.linking.requests import AddRequest, LinkRequest, TrainRequest, link_request, linker_request
from tempkb.linking.scoring import Linked, link_mentions
from tempkb.linking.showing import curves, sample
from tempkb.linking.steps import vectors_of_linker
from tempkb.linking.tables import (
    BASELINES,
    ENTITY_VECTORS,
    LINKERS,
    LINKING_SCORES,
    NIL_THRESHOLDS,
)
from tempkb.mentions.tables import MENTION_PRIORS
from tempkb.store.assets import fields_of, sample_of, spec_of, table_of, words_in
from tempkb.store.materialise import facts_of, facts_of_partitions
from tempkb.store.store import Store


def _any(key: Sequence[str]) -> dg.AssetDep:
    """What is read of a table is said by the run's configuration, so Dagster is told that it may be any partition."""
    return dg.AssetDep(dg.AssetKey(key), partition_mapping=dg.AllPartitionMapping())


def _of_each(*parts: str) -> list[dg.AssetDep]:
    """Tables of each benchmark that has mentions."""
    return [_any(one.key_of(getattr(brought, part))) for part in parts for one, brought in LINKED.values()]


@dg.multi_asset(
    name="linkers",
    specs=[
        spec_of(
            LINKERS,
            "Linkers: bi-encoders that were trained on a snapshot of a release, and other encoders. A run for a new "
            "partition says in its configuration what it is trained on, or names a checkpoint; a run that was killed "
            "is continued by the next one. Baselines have no row.\n\nOne row per linker; key `linker`.",
            _of_each("mentions", "texts"),
        )
    ],
    config_schema=fields_of(TrainRequest, AddRequest),
)
def linkers(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]) -> dg.MaterializeResult[None]:
    """Train a linker, or write down what an encoder is."""
    name, words, log = context.partition_key, words_in(context), context.log.info
    held, shown = store.lake.current(LINKERS.name, name), dict[str, Any]()
    # What needs nothing to be done has a result as well: without one Dagster would skip the scores.
    if name in BASELINES or (held is not None and not words):
        log(f"{name} needs no training, or is there already")
    elif isinstance(request := linker_request(name, words), AddRequest):
        held = add_linker(store, request, log)
    else:
        trained = train_linker(store, request, log)
        held, shown = trained.version, {what: dg.MetadataValue.md(one) for what, one in curves(trained.course).items()}
    facts = {**facts_of(held), "sample": sample_of(held)} if held is not None else {"dagster/row_count": 0}
    return dg.MaterializeResult(metadata={**facts, **shown})


@dg.multi_asset(
    name="link",
    specs=[
        spec_of(
            ENTITY_VECTORS,
            "What a linker makes of entities: one vector for each distinct title and description, over all snapshots. "
            "A baseline has none.\n\nOne row per text; key `text_sha256`.",
            [LINKERS.name, *_of_each("texts")],
            skippable=True,
        ),
        spec_of(
            LINKING_SCORES,
            "Where a linker ranks the entity of each mention of TempEL, among the candidates of a snapshot or of a "
            "pool. A run links the mentions of all releases, or of those that its configuration names; what is there "
            "already is not computed again.\n\nOne row per mention; key `target_page_id`, `anchor_page_id`, "
            "`start_char`.",
            [LINKERS.name, ENTITY_VECTORS.name, *_of_each("mentions", "entities"), _any([MENTION_PRIORS.name])],
            skippable=True,
        ),
        spec_of(
            NIL_THRESHOLDS,
            "From where on a linker says that a mention's entity is not among the candidates, once it has linked "
            "mentions among the candidates of an earlier snapshot.\n\nOne row per measure; key `linker`, `measure`.",
            [LINKING_SCORES.name],
            skippable=True,
        ),
    ],
    config_schema=fields_of(LinkRequest),
)
def link(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]) -> Iterator[dg.MaterializeResult[None]]:
    """Encode entities, and link mentions."""
    name, words = context.partition_key, words_in(context)
    done = link_mentions(store, name, link_request(words), context.log.info)
    if not done:
        context.log.warning(f"linker {name}: no release of TempEL is built yet, so there was nothing to link")
    scores = store.lake.versions(LINKING_SCORES.name, [one.partition for one in done])
    chosen = store.lake.versions(NIL_THRESHOLDS.name, [name])
    found = {
        ENTITY_VECTORS: (vectors_of_linker(store.lake, name), {}),
        LINKING_SCORES: (scores, {ASKED: dg.MetadataValue.json(words), **_found(store, done)}),
        NIL_THRESHOLDS: (chosen, {"sample": sample_of(chosen[0])} if chosen else {}),
    }
    for table, (versions, shown) in found.items():
        if versions:
            yield dg.MaterializeResult(asset_key=table.name, metadata={**facts_of_partitions(versions), **shown})


def _found(store: Store, done: Sequence[Linked]) -> dict[str, Any]:
    shares = {
        f"{one.release}/{one.cut}/{one.pool_name}/accuracy at {k}": round(n / one.n_mentions, 4)
        for one in done
        for k, n in one.n_found.items()
        if one.n_mentions
    }
    shown = {"sample": table_of(sample(store, done[0].partition), cell=200)} if done else {}
    return {**shares, **shown}
