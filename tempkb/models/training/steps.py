"""The steps of mixtures and of models, which are trained on one or added as they are, and the promise of no leaks."""

from collections.abc import Iterable

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.core.model_words import ModelRequest
from tempkb.engine.steps import Source, Standing
from tempkb.engine.tasks import Task, said_in
from tempkb.models.checking import PROMISES as OF_MODELS
from tempkb.models.corpora.tables import DATED_TEXTS, TRAIN
from tempkb.models.tables import MODELS
from tempkb.models.training.requests import TrainRequest
from tempkb.models.training.tables import MIXTURES, QUERY, TEXT
from tempkb.store.promises import Promise
from tempkb.store.tables import Table

_ASKED = [(one.name, one.prompting) for one in BENCHMARKS if one.prompting is not None]
PROMPTS = tuple(prompting.table for _, prompting in _ASKED)
"""The prompts of all benchmarks."""
OF_FACTS = {name: prompting.table for name, prompting in _ASKED if prompting.dated}
"""Those of the benchmarks of facts, by name."""

_MIXTURES = Standing((MIXTURES,), (Source(DATED_TEXTS), *map(Source, OF_FACTS.values())))
# Models that are added as they are have none.
_MODELS = Standing((MODELS,), (Source(MIXTURES, grows=True),))
STEPS = (_MIXTURES, _MODELS)


def _of(prompts: Iterable[Table], columns: str, condition: str = f"split <> '{TRAIN}' AND role = 'current'") -> str:
    """SQL: some columns of prompts, of those that are held out if nothing else is said."""
    return " UNION ".join(f"SELECT {columns} FROM {one.name} WHERE {condition}" for one in prompts)


PROMISES = (
    *OF_MODELS,
    Promise(
        "no_query_of_a_held_out_subject",
        "No model has read a query about a subject whose queries are for validation or the test.",
        MIXTURES,
        f"""
        SELECT DISTINCT model, item_id, cluster_id FROM {MIXTURES.name}
        JOIN ({_of(OF_FACTS.values(), "release AS name, item_id, cluster_id", "TRUE")}) USING (name, item_id)
        SEMI JOIN ({_of(OF_FACTS.values(), "release AS name, cluster_id")}) USING (name, cluster_id)
        WHERE source = '{QUERY}' ORDER BY ALL
        """,
        optional=tuple(OF_FACTS.values()),
        shown=lambda row: f"{row[0]}: query {row[1]} is about {row[2]}, which is held out",
    ),
    Promise(
        "no_sentence_of_a_test_item",
        "No text that a model has read is the sentence of an item that is not for training.",
        MIXTURES,
        f"""
        SELECT model, window_start, text_id FROM {MIXTURES.name}
        SEMI JOIN ({_of(PROMPTS, "trim(left_context || target || right_context) AS text")}) USING (text)
        WHERE source = '{TEXT}' ORDER BY ALL
        """,
        optional=PROMPTS,
        shown=lambda row: f"{row[0]}: text {row[2]} of {row[1]} is the sentence of an item",
    ),
    Promise(
        "no_text_after_its_windows",
        "No text that a model has read is of a window after what the model knows, or was first seen after its window.",
        MIXTURES,
        f"""
        SELECT model, window_start, text_id, first FROM {MIXTURES.name} LEFT JOIN {MODELS.name} USING (model)
        LEFT JOIN (
            SELECT corpus AS name, text_id, min(window_start) AS first FROM {DATED_TEXTS.name} GROUP BY ALL
        ) USING (name, text_id)
        WHERE source = '{TEXT}' AND (first > window_start OR window_start >= knows_possibly_until) ORDER BY ALL
        """,
        optional=(MODELS, DATED_TEXTS),
        shown=lambda row: f"{row[0]}: text {row[2]} of {row[1]}, first seen on {row[3]}",
    ),
)
TASKS = (
    Task(
        "models",
        STEPS,
        "models.training.making.models",
        how="A run for a new partition names the checkpoint in its configuration, unless `tempkb.toml` of the home has "
        "lines for it; or it says on what a model is trained, and by which regime. A run for a model that is there "
        "compares its files with their digests. A checkpoint that cannot be used leaves a row with the reason, and the "
        "run fails. A training that was killed is continued by the next run.",
        promises=PROMISES,
        options=said_in(ModelRequest, TrainRequest),
        is_skippable=True,
    ),
)
