"""The steps of mixtures and of models: a model is trained on a mixture or added as it is, and both stand."""

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.core.model_words import ModelRequest
from tempkb.engine.steps import Source, Standing
from tempkb.engine.tasks import Task, said_in
from tempkb.models.checking import PROMISES
from tempkb.models.corpora.tables import DATED_TEXTS
from tempkb.models.tables import MODELS
from tempkb.models.training.requests import TrainRequest
from tempkb.models.training.tables import MIXTURES

PROMPTINGS = {one.name: one.prompting for one in BENCHMARKS if one.prompting is not None and one.prompting.dated}
"""How models are asked about the benchmarks of facts, by name."""

_MIXTURES = Standing((MIXTURES,), (Source(DATED_TEXTS), *(Source(one.table) for one in PROMPTINGS.values())))
# Models that are added as they are have none.
_MODELS = Standing((MODELS,), (Source(MIXTURES, grows=True),))
STEPS = (_MIXTURES, _MODELS)
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
