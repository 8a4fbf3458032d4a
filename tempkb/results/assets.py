"""The assets that compare models, by what they know and say, and linkers, by what they show of time."""

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg
import pyarrow as pa

from tempkb.engine.assets import asset_of
from tempkb.engine.steps import Step
from tempkb.generations.tables import GENERATIONS
from tempkb.linking.tables import LINKING_SCORES, NIL_THRESHOLDS
from tempkb.pictures import as_markdown
from tempkb.results.judged_plots import names_figure
from tempkb.results.judged_tabling import read_names, sample_by_kind
from tempkb.results.knowing import known_of
from tempkb.results.plots import delays_figure, levels_figure, windows_figure
from tempkb.results.reading import read_levels_by_window, read_questions
from tempkb.results.requests import KnowledgeRequest
from tempkb.results.steps import STEPS
from tempkb.results.tables import ALL, KNOWLEDGE
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


def _asset(step: Step, made_from: Sequence[Table], *described: str, **shown: Any) -> dg.AssetsDefinition:
    deps = [dg.AssetDep(one.name, partition_mapping=dg.AllPartitionMapping()) for one in made_from]
    keys = (", ".join(table.key) for table in step.makes)
    descriptions = [f"{said} `{key}`." for said, key in zip(described, keys, strict=True)]
    return asset_of(step, descriptions, steps(), deps, (ALL,), **shown)


_KNOWN, _EFFECT, _LINKING, _SUMS, _NIL, _DELAYS, _ANSWERS, _CHANGES = STEPS
knowledge = _asset(
    _KNOWN,
    [PROMPT_SCORES],
    "What each model knows of the last window of each release, compared with what it knows of an earlier "
    "period.\n\nOne row per release, aggregate, model and scorer; key",
    "The same of all windows.\n\nKey",
    shown=_knowledge,
)
demo_effect = _asset(
    _EFFECT,
    [PROMPT_SCORES],
    "What tiny models of two cuts know of the changes between them, and contrasts that have to be zero.\n\n"
    "One row per family, benchmark and contrast; key",
    shown=_contrasts,
)
linking_effects = _asset(
    _LINKING,
    [LINKING_SCORES],
    "What linkers that were trained on the snapshots of a release show of time, and what they do not.\n\n"
    "One row per release, setup, contrast and number of candidates; key",
    shown=_contrasts,
)
linking_sums = _asset(
    _SUMS,
    [LINKING_SCORES],
    "Figures that put linkers of a setup together, which the views of linking show.\n\n"
    "One row per figure, metric and number of candidates; key",
)
nil_results = _asset(
    _NIL,
    [LINKING_SCORES, NIL_THRESHOLDS],
    "How well linkers tell that the entity of a mention is not there yet.\n\n"
    "One row per linker, measure, snapshots and metric; key",
)
fact_delays = _asset(
    _DELAYS,
    [FACTS],
    "How long after the end of a window its facts are in Wikidata.\n\nOne row per kind of facts, relation and "
    "share; key",
    shown=_delays,
)
judged_answers = _asset(
    _ANSWERS,
    [GENERATIONS],
    "What answers of models are worth.\n\nOne row per item, model and decoder; key",
)
judged_changes = _asset(
    _CHANGES,
    [GENERATIONS],
    "Whom models name where facts changed: the new object, the old one, or another.\n\nOne row per change, model and "
    "decoder; key",
    shown=_judged,
)
