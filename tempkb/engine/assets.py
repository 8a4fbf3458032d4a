"""The Dagster assets of steps that make a table key by key: one factory for all of them."""

import time
from collections.abc import Sequence

import dagster as dg

from tempkb.engine.steps import Step, bring
from tempkb.failures import windows_in_words
from tempkb.store.assets import sample_of, spec_of
from tempkb.store.materialise import facts_of
from tempkb.store.store import Store
from tempkb.store.tables import EXCLUSIONS


def asset_of(step: Step, description: str, steps: Sequence[Step]) -> dg.AssetsDefinition:
    """Return the asset of a step, whose keys are those of Dagster's partitions.

    If a key fails, the others are still written. What is current is not made again.

    Args:
        steps: its own, and those that make its sources.
    """
    (table,) = step.makes
    spec = spec_of(table, description, [one.table.name for one in step.sources])

    @dg.multi_asset(name=table.name, specs=[spec], backfill_policy=dg.BackfillPolicy.single_run())
    def made(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]) -> dg.MaterializeResult[None]:
        began = time.monotonic()
        brought = bring(store, steps, step, context.partition_keys, context.log.info)
        versions = {key: version for (_, key), version in brought.versions.items()}
        if brought.bad:
            for key, version in versions.items():
                context.log_event(dg.AssetMaterialization(table.name, partition=key, metadata=facts_of(version)))
            raise dg.Failure(windows_in_words(brought.bad, table.name))
        for key, version in versions.items():
            left_out = {f"left out/{row['reason']}": row["n"] for row in version.side_rows(EXCLUSIONS.name)}
            context.add_asset_metadata({**facts_of(version), **left_out}, partition_key=key)
        sample = {"sample": sample_of(versions[max(versions)])} if versions else {}
        return dg.MaterializeResult(metadata={"seconds": round(time.monotonic() - began, 2), **sample})

    return made
