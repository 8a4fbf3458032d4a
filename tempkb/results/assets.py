"""The asset that compares models: what each of them knows of the last window."""

import dagster as dg

from tempkb.pictures import as_markdown
from tempkb.results.plots import levels_figure, windows_figure
from tempkb.results.reading import read_levels_by_window
from tempkb.results.requests import KnowledgeRequest
from tempkb.results.tabling import as_arrow, questions_of, read_known, write_knowledge
from tempkb.scores.tables import PROMPT_SCORES
from tempkb.store.assets import table_of
from tempkb.store.materialise import facts_of
from tempkb.store.store import Store


@dg.asset(deps=[dg.AssetDep(PROMPT_SCORES.name, partition_mapping=dg.AllPartitionMapping())])
def knowledge(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]) -> dg.MaterializeResult[None]:
    """What each model knows of the last window of each release, compared with what it knows of three years earlier.

    One row per release, aggregate, model and scorer; key `release, aggregate, model, scorer`.
    """
    known = read_known(store, KnowledgeRequest())
    if not known:
        context.log.warning("no model has scores of a release yet, so there was nothing to compare")
    version = write_knowledge(store, known)
    publication = store.publish()
    shown: dict[str, dg.MetadataValue] = {}
    for title, own in questions_of(known):
        shown[title] = table_of(as_arrow(own))
    if known:
        with levels_figure(known) as figure:
            shown["levels"] = dg.MetadataValue.md(as_markdown(figure, "what models know of the last window"))
    if windows := read_levels_by_window(store):
        with windows_figure(windows) as figure:
            shown["by window"] = dg.MetadataValue.md(as_markdown(figure, "levels by window"))
    return dg.MaterializeResult(metadata={**facts_of(version, publication), **shown})
