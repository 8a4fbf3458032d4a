"""What the table of generations promises. Does not use Dagster."""

from tempkb.generations.kind import SAID
from tempkb.scores.checking import every_answer, of_the_models_files

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
