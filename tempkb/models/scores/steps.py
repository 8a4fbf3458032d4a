"""The step of scores and its promises, and which models have something left to score. Loads no model.

Scores grow: a run adds what has no row yet, and their version lists what it has all answers to. What is imported here
is little, and neither torch nor Arrow.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tempkb.benchmarks.benchmark import Benchmark
from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.engine.steps import Source, Standing
from tempkb.engine.tasks import Task, said_in
from tempkb.models.corpora.tables import DATED_TEXTS
from tempkb.models.dating import dating_of
from tempkb.models.known import known_models
from tempkb.models.scores.kinds import SCORES, Kind
from tempkb.models.scores.requests import AskRequest
from tempkb.models.scores.selecting import Wanted, wanted
from tempkb.models.scores.tables import PROMPT_SCORES, is_imported, model_of, partition_of
from tempkb.models.tables import DIGESTS, MODELS, drafts_of
from tempkb.store.memory import asking
from tempkb.store.promises import Promise, Subject, versions_of
from tempkb.store.store import Store
from tempkb.store.versions import Version

Row = Mapping[str, Any]


HOW = (
    "A run asks what has no answer yet of the prompts of all releases, or of those that its configuration names. A run "
    "that was killed is continued by the next one."
)
SOURCES = (
    Source(MODELS),
    *(Source(one.prompting.table) for one in BENCHMARKS if one.prompting is not None),
    Source(DATED_TEXTS),
)
STEPS = (Standing((PROMPT_SCORES,), SOURCES),)


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
    alike = dict(zip(kinds, rows, strict=True))
    asked = {one: wanted(kind, store, benchmarks, row, request, lambda _line: None) for one, row in alike.items()}
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


# Rounding may lift the logarithm of a probability near one a little above zero.
_ROUNDING = 1e-6
ASKED = "asked"
"""Name of the metadata with what a run was asked for."""


def every_answer(kind: Kind, name: str, meaning: str) -> Promise:
    """Return the promise that everything a run was asked for has a row.

    Args:
        kind: of the answers.
        name: of the promise.
        meaning: in a sentence.
    """

    def missing(store: Store, subject: Subject) -> list[tuple[str, str, int]] | None:
        """What lacks a row as the run was asked for it, or of all releases without a run; an example, and how many."""
        request = kind.request.of(subject.facts.get(ASKED) or {})
        broken, compared = [], 0
        for row in _models(store, subject):
            for one in wanted(kind, store, BENCHMARKS, row, request, lambda _line: None):
                way = kind.named(row["family"], one.template, request.dtype)
                current = store.lake.current(kind.table.name, partition_of(row["model"], way))
                if current is None and not subject.facts:
                    # Nobody has asked it in this way yet.
                    continue
                compared += 1
                lacking = one.lacking(current.paths() if current is not None else [])
                with asking() as memory:
                    found = memory.execute(f"SELECT min({kind.key}), count(*) {lacking}").fetchall()
                if found[0][1]:
                    broken.append((f"{row['model']}, {way}", *found[0]))
        return broken if compared else None

    return Promise(
        name,
        meaning,
        kind.table,
        finds=missing,
        shown=lambda row: f"{row[0]}: {row[2]} prompts, such as {row[1]}",
    )


def of_the_models_files(kind: Kind, name: str, meaning: str) -> Promise:
    """Return the promise that answers were made with the files to which the model's name is bound.

    Args:
        kind: of the answers.
        name: of the promise.
        meaning: in a sentence.
    """

    def of_other_files(store: Store, subject: Subject) -> Iterator[tuple[str, str, str]]:
        models = {row["model"]: row for row in _models(store, subject)}
        for version in versions_of(store, kind.table, subject):
            row = models.get(model_of(version.partition), {})
            for column in () if is_imported(version.partition) else other_files(version, row):
                yield version.partition, column, f"{version.inputs.get(column)}, expected {row.get(column)}"

    return Promise(
        name,
        meaning,
        kind.table,
        finds=of_other_files,
        shown=lambda row: f"{row[0]}: {row[1]} is {row[2]}",
    )


def _models(store: Store, subject: Subject) -> list[dict[str, Any]]:
    return [row for row in known_models(store.lake) if row["family"] and subject.has(row["model"])]


PROMISES = (
    every_answer(
        SCORES,
        "every_prompt_has_a_score_or_a_reason",
        "Every prompt that a run was asked to score has a row, with a score or the reason why there is none.",
    ),
    of_the_models_files(
        SCORES,
        "scores_are_of_the_models_files",
        "Scores were made with the files to which the model's name is bound.",
    ),
    Promise(
        "log_probabilities_are_not_above_zero",
        "The log-probabilities of causal and sequence-to-sequence models are at most zero.",
        PROMPT_SCORES,
        f"""
        SELECT model, scorer, prompt_id, log_prob_nats FROM prompt_scores WHERE NOT starts_with(scorer, 'masked.')
        AND (log_prob_nats > {_ROUNDING} OR list_max(token_log_probs) > {_ROUNDING}) LIMIT 100
        """,
        shown=lambda row: f"{row[0]}, {row[1]}, prompt {row[2]}: {row[3]}",
    ),
)
TASKS = (
    Task(
        "prompt_scores",
        STEPS,
        "models.scores.making.prompt_scores",
        how=HOW,
        promises=PROMISES,
        options=said_in(SCORES.request),
    ),
)
