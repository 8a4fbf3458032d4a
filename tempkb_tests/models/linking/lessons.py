"""A lesson that a tiny linker learns in a few steps: what surrounds a mention says which of several things is meant."""

import random
from dataclasses import replace

from tempkb.models.linking.inputs import EntityText, MentionText
from tempkb.models.linking.training.lessons import Example, Lesson
from tempkb.models.linking.training.recipe import PRESETS

N_ENTITIES = 40
ENTITIES = [EntityText(f"name{n % 7} thing{n}", f"thing{n} is a colour{n} place, shape{n}") for n in range(N_ENTITIES)]


def examples(n: int, seed: int, negatives: int = 0) -> tuple[Example, ...]:
    chance = random.Random(seed)
    found = []
    for _ in range(n):
        page = chance.randrange(N_ENTITIES)
        mention = MentionText(f"we saw the colour{page} shape{page} of", f"name{page % 7}", "yesterday near the sea")
        wrong = tuple(ENTITIES[(page + 7 * step) % N_ENTITIES] for step in range(1, negatives + 1))
        found.append(Example(mention, page, ENTITIES[page], wrong))
    return tuple(found)


def lesson(n_train: int = 96, negatives: int = 0, seed: int = 1, base: str = "", **numbers) -> Lesson:
    numbers = {"epochs": 2, "batch_size": 16, "mini_batch_size": 16, "vocabulary": 400, "max_tokens": 32, **numbers}
    recipe = replace(
        PRESETS["demo"], **{"hidden_size": 32, "heads": 2, "intermediate_size": 48, "layers": 1, **numbers}
    )
    recipe = replace(recipe, base=base, dropout=numbers.get("dropout", 0.1))
    train = examples(n_train, 1, negatives)
    corpus = tuple(f"{one.title} {one.description}" for one in ENTITIES)
    return Lesson(
        "tiny", f"key {recipe} {n_train} {negatives} {seed}", recipe, seed, train, examples(30, 2), base, corpus
    )
