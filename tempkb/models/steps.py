"""The step of models: a row is written when a model is added, and stands."""

from tempkb.engine.steps import Standing
from tempkb.engine.tasks import Task, said_in
from tempkb.models.declaration import ModelRequest
from tempkb.models.tables import MODELS

STEPS = (Standing((MODELS,)),)
TASKS = (
    Task(
        "models",
        STEPS,
        "models.making.models",
        how="A run for a new partition names the checkpoint in its configuration, unless `tempkb.toml` of the home has "
        "lines for it. A run for a model that is there compares its files with their digests. A checkpoint that "
        "cannot be used leaves a row with the reason, and the run fails.",
        promises="models.checking",
        options=said_in(ModelRequest),
    ),
)
