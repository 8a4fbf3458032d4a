"""What the table of scores promises. Does not use Dagster."""

from collections.abc import Iterator
from typing import Any

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.models.known import known_models
from tempkb.models.scorers import scorer_name
from tempkb.models.tables import DIGESTS
from tempkb.scores.requests import request_of
from tempkb.scores.selecting import wanted
from tempkb.scores.tables import PROMPT_SCORES, SEPARATOR, model_of, partition_of
from tempkb.store.lake import Version
from tempkb.store.memory import asking
from tempkb.store.promises import Promise, Subject
from tempkb.store.quoting import parquet
from tempkb.store.store import Store, inputs_of

# Rounding may lift the logarithm of a probability near one a little above zero.
_ROUNDING = 1e-6
ASKED = "asked"
"""Name of the metadata with what a run was asked for."""


def _unanswered(store: Store, subject: Subject) -> list[tuple[str, str, int]] | None:
    """Scorers whose prompts, as the run was asked for them, have no row, with an example and their number.

    Without a run, all releases are asked for.
    """
    request = request_of(subject.facts.get(ASKED) or {})
    broken, compared = [], 0
    for row in _models(store, subject):
        for one in wanted(store, BENCHMARKS, row["family"], request, lambda _line: None):
            scorer = scorer_name(row["family"], one.template, request.dtype)
            current = store.lake.current(PROMPT_SCORES.name, partition_of(row["model"], scorer))
            if current is None and not subject.facts:
                # Nobody has scored with it yet.
                continue
            compared += 1
            scored = "" if current is None else f" ANTI JOIN {parquet(current.paths())} USING (prompt_id)"
            with asking() as memory:
                found = memory.execute(f"SELECT min(prompt_id), count(*) FROM ({one.query}){scored}").fetchall()
            if found[0][1]:
                broken.append((f"{row['model']}, {scorer}", *found[0]))
    return broken if compared else None


def _of_other_files(store: Store, subject: Subject) -> Iterator[tuple[str, str, str]]:
    """Scores that were made with other files than those to which the model's name is bound."""
    models = {row["model"]: row for row in _models(store, subject)}
    for version in _versions(store, subject):
        inputs = inputs_of(version)
        row = models.get(model_of(version.partition), {})
        for name in DIGESTS:
            if inputs.get(name) != row.get(name):
                yield version.partition, name, f"{inputs.get(name)}, expected {row.get(name)}"


def _above_zero(store: Store, subject: Subject) -> list[tuple[Any, ...]] | None:
    """Scores of causal and sequence-to-sequence models that are no logarithms of probabilities."""
    paths = [
        path
        for version in _versions(store, subject)
        if not version.partition.partition(SEPARATOR)[2].startswith("masked.")
        for path in version.paths()
    ]
    if not paths:
        return None
    with asking() as memory:
        return memory.execute(
            f"SELECT model, scorer, prompt_id, log_prob_nats FROM {parquet(paths)} WHERE log_prob_nats > {_ROUNDING} "
            f"OR list_max(token_log_probs) > {_ROUNDING} LIMIT 100"
        ).fetchall()


def _models(store: Store, subject: Subject) -> list[dict[str, Any]]:
    return [row for row in known_models(store.lake) if row["family"] and subject.has(row["model"])]


def _versions(store: Store, subject: Subject) -> list[Version]:
    keys = [key for key in store.lake.partitions(PROMPT_SCORES.name) if subject.has(model_of(key))]
    return store.lake.versions(PROMPT_SCORES.name, keys)


PROMISES = (
    Promise(
        "every_prompt_has_a_score_or_a_reason",
        "Every prompt that a run was asked to score has a row, with a score or the reason why there is none.",
        PROMPT_SCORES,
        tables={"prompt_scores": PROMPT_SCORES},
        finds=_unanswered,
        shown=lambda row: f"{row[0]}: {row[2]} prompts, such as {row[1]}",
    ),
    Promise(
        "scores_are_of_the_models_files",
        "Scores were made with the files to which the model's name is bound.",
        PROMPT_SCORES,
        tables={"prompt_scores": PROMPT_SCORES},
        finds=_of_other_files,
        shown=lambda row: f"{row[0]}: {row[1]} is {row[2]}",
    ),
    Promise(
        "log_probabilities_are_not_above_zero",
        "The log-probabilities of causal and sequence-to-sequence models are at most zero.",
        PROMPT_SCORES,
        tables={"prompt_scores": PROMPT_SCORES},
        finds=_above_zero,
        shown=lambda row: f"{row[0]}, {row[1]}, prompt {row[2]}: {row[3]}",
    ),
)
