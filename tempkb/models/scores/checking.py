"""What the table of scores promises. Does not use Dagster."""

from collections.abc import Iterator
from typing import Any

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.models.known import known_models
from tempkb.models.scores.kinds import SCORES, Kind
from tempkb.models.scores.selecting import wanted_of
from tempkb.models.scores.steps import other_files
from tempkb.models.scores.tables import PROMPT_SCORES, is_imported, model_of, partition_of
from tempkb.store.memory import asking
from tempkb.store.promises import Promise, Subject, versions_of
from tempkb.store.store import Store

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
            for one in wanted_of(kind, store, BENCHMARKS, row, request, lambda _line: None):
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
