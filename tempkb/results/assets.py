"""The assets that compare models, by what they know and say, and linkers, by what they show of time."""

from collections.abc import Iterator

import dagster as dg
import pyarrow as pa

from tempkb.generations.tables import GENERATIONS
from tempkb.linking.tables import LINKING_SCORES, NIL_THRESHOLDS
from tempkb.pictures import as_markdown
from tempkb.results.delays import write_fact_delays
from tempkb.results.judged_plots import names_figure
from tempkb.results.judged_tables import JUDGED_ANSWERS, JUDGED_CHANGES
from tempkb.results.judged_tabling import read_names, sample_by_kind
from tempkb.results.judging import write_judged
from tempkb.results.linking_effect_reading import write_linking_effects
from tempkb.results.linking_sums import write_linking_sums
from tempkb.results.nil import write_nil_results
from tempkb.results.plots import delays_figure, levels_figure, windows_figure
from tempkb.results.reading import read_levels_by_window
from tempkb.results.tables import KNOWLEDGE, KNOWS, LINKING_EFFECTS
from tempkb.results.tabling import as_arrow, questions_of, read_known, write_known
from tempkb.scores.tables import PROMPT_SCORES
from tempkb.store.assets import spec_of, table_of
from tempkb.store.materialise import facts_of
from tempkb.store.store import Store, read_files
from tempkb.wikidata.tables import FACTS

_SCORES = dg.AssetDep(PROMPT_SCORES.name, partition_mapping=dg.AllPartitionMapping())


@dg.multi_asset(
    name="knowledge",
    specs=[
        spec_of(
            KNOWLEDGE,
            "What each model knows of the last window of each release, compared with what it knows of an earlier "
            "period.\n\nOne row per release, aggregate, model and scorer; key `release, aggregate, model, scorer`.",
            [_SCORES],
        ),
        spec_of(
            KNOWS,
            "The same of all windows.\n\nKey `release, aggregate, model, scorer, window_from, window_to`.",
            [_SCORES],
        ),
    ],
)
def knowledge(
    context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]
) -> Iterator[dg.MaterializeResult[None]]:
    """Compare what models know of windows with what they know of earlier periods."""
    known, every = read_known(store)
    if not known:
        context.log.warning("no model has scores of a release yet, so there was nothing to compare")
    versions = [write_known(store, KNOWLEDGE, known), write_known(store, KNOWS, every)]
    shown: dict[str, dg.MetadataValue] = {}
    for title, own in questions_of(known):
        shown[title] = table_of(as_arrow(own))
    if known:
        with levels_figure(known) as figure:
            shown["levels"] = dg.MetadataValue.md(as_markdown(figure, "what models know of the last window"))
    if windows := read_levels_by_window(store):
        with windows_figure(windows) as figure:
            shown["by window"] = dg.MetadataValue.md(as_markdown(figure, "levels by window"))
    for version, more in zip(versions, (shown, {}), strict=True):
        yield dg.MaterializeResult(asset_key=version.table, metadata={**facts_of(version), **more})


_LINKED = dg.AssetDep(LINKING_SCORES.name, partition_mapping=dg.AllPartitionMapping())


@dg.asset(deps=[_LINKED])
def linking_effects(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]) -> dg.MaterializeResult[None]:
    """What linkers that were trained on the snapshots of a release show of time, and what they do not.

    One row per release, setup, contrast and number of candidates; key `release, setup, contrast, k`.
    """
    version = write_linking_effects(store)
    if not version.rows:
        context.log.info(f"{LINKING_EFFECTS.name}: the home has no scores of linkers that tempkb linker train has made")
    shown = {"contrasts": table_of(pa.concat_tables(read_files(version.paths())))} if version.rows else {}
    return dg.MaterializeResult(metadata={**facts_of(version), **shown})


@dg.asset(deps=[_LINKED])
def linking_sums(store: dg.ResourceParam[Store]) -> dg.MaterializeResult[None]:
    """Figures that put linkers of a setup together, which the views of linking show.

    One row per figure, metric and number of candidates; key `number`.
    """
    version = write_linking_sums(store)
    return dg.MaterializeResult(metadata=facts_of(version))


@dg.asset(deps=[_LINKED, dg.AssetDep(NIL_THRESHOLDS.name, partition_mapping=dg.AllPartitionMapping())])
def nil_results(store: dg.ResourceParam[Store]) -> dg.MaterializeResult[None]:
    """How well linkers tell that the entity of a mention is not there yet.

    One row per linker, measure, snapshots and metric; key `number`.
    """
    version = write_nil_results(store)
    return dg.MaterializeResult(metadata=facts_of(version))


@dg.asset(deps=[dg.AssetDep(FACTS.name, partition_mapping=dg.AllPartitionMapping())])
def fact_delays(store: dg.ResourceParam[Store]) -> dg.MaterializeResult[None]:
    """How long after the end of a window its facts are in Wikidata.

    One row per kind of facts, relation and share; key `facts, relation, share`.
    """
    version = write_fact_delays(store)
    rows = pa.concat_tables(read_files(version.paths()))
    shown: dict[str, dg.MetadataValue] = {"delays": table_of(rows)}
    if any(rows["days"].is_valid().to_pylist()):
        with delays_figure(rows.to_pylist()) as figure:
            shown["picture"] = dg.MetadataValue.md(as_markdown(figure, "how long facts of a window take to come"))
    return dg.MaterializeResult(metadata={**facts_of(version), **shown})


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
    if not answers.rows:
        context.log.info("no model has answered questions of a release yet; let one: tempkb generate")
    shown: dict[str, dg.MetadataValue] = {}
    if names := read_names(store):
        with names_figure(names) as figure:
            shown["whom they name, by window"] = dg.MetadataValue.md(as_markdown(figure, "whom models name by window"))
    for kind, rows in sample_by_kind(store).items():
        shown[f"sample/{kind}"] = table_of(rows, cell=120)
    for version, more in ((answers, {}), (changes, shown)):
        yield dg.MaterializeResult(asset_key=version.table, metadata={**facts_of(version), **more})
