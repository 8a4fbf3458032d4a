"""The asset that judges what models said."""

from collections.abc import Iterator

import dagster as dg

from tempkb.generations.tables import GENERATIONS
from tempkb.pictures import as_markdown
from tempkb.results.judged_plots import names_figure
from tempkb.results.judged_tables import JUDGED_ANSWERS, JUDGED_CHANGES
from tempkb.results.judged_tabling import read_names, sample_by_kind
from tempkb.results.judging import write_judged
from tempkb.store.assets import spec_of, table_of
from tempkb.store.materialise import facts_of
from tempkb.store.store import Store

_SAID = dg.AssetDep(GENERATIONS.name, partition_mapping=dg.AllPartitionMapping())


@dg.multi_asset(
    name="judged_answers",
    specs=[
        spec_of(
            JUDGED_ANSWERS,
            "What answers of models are worth.\n\nOne row per item, model and decoder; key `benchmark, release, model, "
            "decoder, item_id, wording`.",
            [_SAID],
        ),
        spec_of(
            JUDGED_CHANGES,
            "Whom models name where facts changed: the new object, the old one, or another.\n\nOne row per change, "
            "model and decoder; key `release, model, decoder, item_id, new_object_id, old_object_id`.",
            [_SAID],
        ),
    ],
)
def judged_answers(
    context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]
) -> Iterator[dg.MaterializeResult[None]]:
    """Judge what models said, and show whom they name."""
    answers, changes = write_judged(store)
    publication = store.publish()
    if not answers.rows:
        context.log.info("no model has answered questions of a release yet; let one: tempkb generate")
    shown: dict[str, dg.MetadataValue] = {}
    if names := read_names(store):
        with names_figure(names) as figure:
            shown["whom they name, by window"] = dg.MetadataValue.md(as_markdown(figure, "whom models name by window"))
    for kind, rows in sample_by_kind(store).items():
        shown[f"sample/{kind}"] = table_of(rows, cell=120)
    for version, more in ((answers, {}), (changes, shown)):
        yield dg.MaterializeResult(asset_key=version.table, metadata={**facts_of(version, publication), **more})
