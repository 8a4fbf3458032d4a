"""The step of generations, which grow as scores do (`tempkb/models/scores/steps.py`), and what their table promises."""

from tempkb.engine.steps import Standing
from tempkb.engine.tasks import Task, said_in
from tempkb.models.generations.kind import SAID
from tempkb.models.generations.tables import GENERATIONS
from tempkb.models.scores.steps import HOW, SOURCES, every_answer, of_the_models_files

PROMISES = (
    every_answer(
        SAID,
        "every_question_has_an_answer_or_a_reason",
        "Every question that a run was asked to put has a row, with an answer or the reason why there is none.",
    ),
    of_the_models_files(
        SAID,
        "generations_are_of_the_models_files",
        "What models say was made with the files to which the model's name is bound.",
    ),
)


STEPS = (Standing((GENERATIONS,), SOURCES),)
TASKS = (
    Task(
        "generations",
        STEPS,
        "models.generations.making.generations",
        how=HOW,
        promises=PROMISES,
        options=said_in(SAID.request),
    ),
)
