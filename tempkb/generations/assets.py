"""The asset of what language models say, one model a run."""

from tempkb.generations.kind import SAID
from tempkb.generations.showing import samples
from tempkb.scores.assets import asset_of_answers
from tempkb.store.assets import table_of

generations = asset_of_answers(
    SAID,
    "A run asks what has no answer yet of the questions of all releases, or of those that its configuration names. A "
    "run that was killed is continued by the next one.\n\nOne row per question and rank of a model's decoder; key "
    "`question_id, rank`.",
    lambda store, name, done: {title: table_of(rows, cell=200) for title, rows in samples(store, name, done).items()},
)
