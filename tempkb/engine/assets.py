"""The Dagster assets of steps that make tables key by key: one factory for all of them."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from tempkb.engine.steps import Step, bring
from tempkb.failures import windows_in_words
from tempkb.store.assets import sample_of, spec_of
from tempkb.store.materialise import facts_of
from tempkb.store.store import Store
from tempkb.store.tables import EXCLUSIONS
from tempkb.store.versions import Version


def asset_of(
    step: Step,
    descriptions: str | Sequence[str],
    steps: Sequence[Step],
    deps: Sequence[str | dg.AssetDep] | None = None,
    keys: Sequence[str] = (),
    shown: Callable[[Store, Version], Mapping[str, Any]] = lambda _store, version: {"sample": sample_of(version)},
) -> dg.AssetsDefinition:
    """Return the asset of a step, or, if it makes several tables, the assets.

    If a key fails, the others are still written. What is current is not made again.

    Args:
        descriptions: of the table, or of each of several.
        steps: its own, and those that make its sources.
        deps: what Dagster shows it to be made from; by default all sources.
        keys: of a step without Dagster's partitions; by default the keys are those of the partitions.
        shown: metadata that show what is in a version, of several that with the last key.
    """
    described = [descriptions] if isinstance(descriptions, str) else descriptions
    deps = [one.table.name for one in step.sources] if deps is None else deps

    @dg.multi_asset(
        name=step.makes[0].name,
        specs=[spec_of(table, said, deps) for table, said in zip(step.makes, described, strict=True)],
        backfill_policy=None if keys else dg.BackfillPolicy.single_run(),
    )
    def made(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]) -> Iterator[dg.MaterializeResult[None]]:
        began = time.monotonic()
        brought = bring(store, steps, step, keys or context.partition_keys, context.log.info)
        if brought.bad:
            for (name, key), version in brought.versions.items():
                partition = None if keys else key
                context.log_event(dg.AssetMaterialization(name, partition=partition, metadata=facts_of(version)))
            raise dg.Failure(
                "\n".join(brought.bad.values()) if keys else windows_in_words(brought.bad, step.makes[0].name)
            )
        for table in step.makes:
            versions = [version for (name, _), version in sorted(brought.versions.items()) if name == table.name]
            for version in versions:
                left_out = {f"left out/{row['reason']}": row["n"] for row in version.side_rows(EXCLUSIONS.name)}
                about, of = {**facts_of(version), **left_out}, None if keys else version.partition
                context.add_asset_metadata(about, asset_key=table.name, partition_key=of)
            what = shown(store, versions[-1]) if versions else {}
            seconds = round(time.monotonic() - began, 2)
            yield dg.MaterializeResult(asset_key=table.name, metadata={"seconds": seconds, **what})

    return made
