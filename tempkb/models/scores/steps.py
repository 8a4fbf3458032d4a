"""The step of scores, and which models have something left to score. Loads no model; Dagster, torch and Arrow neither.

Scores grow: a run adds what has no row yet, and their version lists what it has all answers to.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tempkb.benchmarks.benchmark import Benchmark
from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.engine.steps import Source, Standing
from tempkb.engine.tasks import Task, said_in
from tempkb.models.dating import dating_of
from tempkb.models.scores.kinds import SCORES, Kind
from tempkb.models.scores.requests import AskRequest
from tempkb.models.scores.selecting import Wanted, wanted
from tempkb.models.scores.tables import PROMPT_SCORES, drafts_of, partition_of
from tempkb.models.tables import DIGESTS, MODELS
from tempkb.store.store import Store
from tempkb.store.versions import Version

Row = Mapping[str, Any]


HOW = (
    "A run asks what has no answer yet of the prompts of all releases, or of those that its configuration names. A run "
    "that was killed is continued by the next one."
)
SOURCES = (Source(MODELS), *(Source(one.prompting.table) for one in BENCHMARKS if one.prompting is not None))
STEPS = (Standing((PROMPT_SCORES,), SOURCES),)
TASKS = (
    Task(
        "prompt_scores",
        STEPS,
        "models.scores.making.prompt_scores",
        how=HOW,
        promises="models.scores.checking",
        options=said_in(SCORES.request),
    ),
)


def partition_for(row: Row, one: Wanted, request: AskRequest) -> str:
    """Return the partition with the answers of the model of a row to what is wanted of it."""
    return partition_of(row["model"], one.kind.named(row["family"], one.template, request.dtype))


def other_files(version: Version, row: Row) -> list[str]:
    """Return the columns of digests in which the files that gave answers are not those of a model's row."""
    return [name for name in DIGESTS if version.inputs.get(name) != row.get(name)]


def due_models(
    kind: Kind, store: Store, benchmarks: Sequence[Benchmark], rows: Sequence[Row], request: AskRequest
) -> list[str]:
    """Return which of some models have not answered all that is asked for, or have left shards of a killed run.

    Args:
        rows: of models that are ready.
    """
    killed = {folder.name for folder in store.lake.unfinished()}
    kinds = [(row["family"], dating_of(row) is not None) for row in rows]
    asked = {
        one: wanted(kind, store, benchmarks, one[0], request, lambda _line: None, is_dated=one[1]) for one in {*kinds}
    }
    has_all = (
        all(_has_all(store, row, one, request) for one in asked[own]) for row, own in zip(rows, kinds, strict=True)
    )
    left = (drafts_of(kind.drafts, row["model"]) in killed for row in rows)
    return [row["model"] for row, is_whole, is_left in zip(rows, has_all, left, strict=True) if is_left or not is_whole]


def _has_all(store: Store, row: Row, one: Wanted, request: AskRequest) -> bool:
    """Are there answers of a model's own files to all that is wanted of it? Rows are read only if no list says so."""
    held = store.lake.current(one.kind.table.name, partition_for(row, one, request))
    if held is None:
        return not one.n_lacking()
    is_listed = bool(one.fillers) and {*one.fillers} <= {*held.filled_by}
    return not other_files(held, row) and (is_listed or not one.n_lacking(held.paths()))
