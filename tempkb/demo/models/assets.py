"""The asset that says whether scores of the tiny models show what changed between their cuts."""

import dagster as dg
import pyarrow as pa

from tempkb.demo.models.effect_reading import write_demo_effect
from tempkb.results.tables import DEMO_EFFECT
from tempkb.scores.tables import PROMPT_SCORES
from tempkb.store.assets import table_of
from tempkb.store.materialise import facts_of
from tempkb.store.store import Store, read_files


@dg.asset(deps=[dg.AssetDep(PROMPT_SCORES.name, partition_mapping=dg.AllPartitionMapping())])
def demo_effect(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]) -> dg.MaterializeResult[None]:
    """What tiny models of two cuts know of the changes between them, and contrasts that have to be zero.

    One row per family, benchmark and contrast; key `family, benchmark, contrast`.
    """
    version = write_demo_effect(store)
    if not version.rows:
        context.log.info(f"{DEMO_EFFECT.name}: the home has no scores of models that tempkb model demo has made")
    shown = {"contrasts": table_of(pa.concat_tables(read_files(version.paths())))} if version.rows else {}
    return dg.MaterializeResult(metadata={**facts_of(version), **shown})
