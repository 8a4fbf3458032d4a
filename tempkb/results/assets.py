"""The assets that compare models, by what they know and say, and linkers, by what they show of time."""

from collections.abc import Callable, Mapping
from typing import Any

import dagster as dg
import pyarrow as pa

from tempkb.engine.assets import asset_of
from tempkb.generations.tables import GENERATIONS
from tempkb.linking.tables import LINKING_SCORES, NIL_THRESHOLDS
from tempkb.pictures import as_markdown
from tempkb.results.judged_plots import names_figure
from tempkb.results.judged_tables import JUDGED_ANSWERS, JUDGED_CHANGES
from tempkb.results.judged_tabling import read_names, sample_by_kind
from tempkb.results.knowing import known_of
from tempkb.results.plots import delays_figure, levels_figure, windows_figure
from tempkb.results.reading import read_levels_by_window, read_questions
from tempkb.results.requests import KnowledgeRequest
from tempkb.results.steps import STEPS
from tempkb.results.tables import (
    ALL,
    DEMO_EFFECT,
    FACT_DELAYS,
    KNOWLEDGE,
    LINKING_EFFECTS,
    LINKING_SUMS,
    NIL_RESULTS,
)
from tempkb.results.tabling import as_arrow, questions_of
from tempkb.rooms import steps
from tempkb.scores.tables import PROMPT_SCORES
from tempkb.store.assets import table_of
from tempkb.store.store import Store, read_files
from tempkb.store.tables import Table
from tempkb.store.versions import Version
from tempkb.wikidata.tables import FACTS

Shown = Mapping[str, dg.MetadataValue]


def _knowledge(store: Store, version: Version) -> Shown:
    if version.table != KNOWLEDGE.name or not version.rows:
        return {}
    known = known_of([*read_questions(store, KnowledgeRequest())])
    shown: dict[str, dg.MetadataValue] = {title: table_of(as_arrow(own)) for title, own in questions_of(known)}
    with levels_figure(known) as figure:
        shown["levels"] = dg.MetadataValue.md(as_markdown(figure, "what models know of the last window"))
    if windows := read_levels_by_window(store):
        with windows_figure(windows) as figure:
            shown["by window"] = dg.MetadataValue.md(as_markdown(figure, "levels by window"))
    return shown


def _contrasts(_store: Store, version: Version) -> Shown:
    return {"contrasts": table_of(_rows(version))} if version.rows else {}


def _delays(_store: Store, version: Version) -> Shown:
    rows = _rows(version)
    shown: dict[str, dg.MetadataValue] = {"delays": table_of(rows)}
    if any(rows["days"].is_valid().to_pylist()):
        with delays_figure(rows.to_pylist()) as figure:
            shown["picture"] = dg.MetadataValue.md(as_markdown(figure, "how long facts of a window take to come"))
    return shown


def _judged(store: Store, _version: Version) -> Shown:
    shown = {f"sample/{kind}": table_of(rows, cell=120) for kind, rows in sample_by_kind(store).items()}
    if names := read_names(store):
        with names_figure(names) as figure:
            shown["whom they name, by window"] = dg.MetadataValue.md(as_markdown(figure, "whom models name by window"))
    return shown


def _rows(version: Version) -> pa.Table:
    return pa.concat_tables(read_files(version.paths()))


def _nothing(_store: Store, _version: Version) -> Shown:
    return {}


def _asset(
    table: Table,
    descriptions: str | list[str],
    deps: tuple[Table, ...],
    shown: Callable[[Store, Version], Mapping[str, Any]] = _nothing,
) -> dg.AssetsDefinition:
    (step,) = (one for one in STEPS if one.makes[0] is table)
    every = [dg.AssetDep(one.name, partition_mapping=dg.AllPartitionMapping()) for one in deps]
    return asset_of(step, descriptions, steps(), every, (ALL,), shown)


knowledge = _asset(
    KNOWLEDGE,
    [
        "What each model knows of the last window of each release, compared with what it knows of an earlier "
        "period.\n\nOne row per release, aggregate, model and scorer; key `release, aggregate, model, scorer`.",
        "The same of all windows.\n\nKey `release, aggregate, model, scorer, window_from, window_to`.",
    ],
    (PROMPT_SCORES,),
    _knowledge,
)
demo_effect = _asset(
    DEMO_EFFECT,
    "What tiny models of two cuts know of the changes between them, and contrasts that have to be zero.\n\n"
    "One row per family, benchmark and contrast; key `family, benchmark, contrast`.",
    (PROMPT_SCORES,),
    _contrasts,
)
linking_effects = _asset(
    LINKING_EFFECTS,
    "What linkers that were trained on the snapshots of a release show of time, and what they do not.\n\n"
    "One row per release, setup, contrast and number of candidates; key `release, setup, contrast, k`.",
    (LINKING_SCORES,),
    _contrasts,
)
linking_sums = _asset(
    LINKING_SUMS,
    "Figures that put linkers of a setup together, which the views of linking show.\n\n"
    "One row per figure, metric and number of candidates; key `number`.",
    (LINKING_SCORES,),
)
nil_results = _asset(
    NIL_RESULTS,
    "How well linkers tell that the entity of a mention is not there yet.\n\n"
    "One row per linker, measure, snapshots and metric; key `number`.",
    (LINKING_SCORES, NIL_THRESHOLDS),
)
fact_delays = _asset(
    FACT_DELAYS,
    "How long after the end of a window its facts are in Wikidata.\n\n"
    "One row per kind of facts, relation and share; key `facts, relation, share`.",
    (FACTS,),
    _delays,
)
judged_answers = _asset(
    JUDGED_ANSWERS,
    "What answers of models are worth.\n\nOne row per item, model and decoder; key `benchmark, release, model, "
    "decoder, item_id, wording`.",
    (GENERATIONS,),
)
judged_changes = _asset(
    JUDGED_CHANGES,
    "Whom models name where facts changed: the new object, the old one, or another.\n\nOne row per change, "
    "model and decoder; key `release, model, decoder, item_id, new_object_id, old_object_id`.",
    (GENERATIONS,),
    _judged,
)
