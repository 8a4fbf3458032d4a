"""The step of generations, which grow as scores do; see `tempkb/scores/steps.py`."""

from tempkb.engine.steps import Standing
from tempkb.engine.tasks import Task, said_in
from tempkb.generations.kind import SAID
from tempkb.generations.tables import GENERATIONS
from tempkb.scores.steps import HOW, SOURCES

STEPS = (Standing((GENERATIONS,), SOURCES),)
TASKS = (
    Task(
        "generations",
        STEPS,
        "generations.making.generations",
        how=HOW,
        promises="generations.checking",
        options=said_in(SAID.request),
    ),
)
