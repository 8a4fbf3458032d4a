"""Recipes: the paper's numbers, and what may be set."""

import pytest

from tempkb.core.errors import SettingsError
from tempkb.models.linking.training.recipe import PRESETS, recipe_of


def test_the_preset_of_the_paper_has_its_numbers():
    paper = PRESETS["paper"]
    assert paper.base == "google-bert/bert-large-uncased"
    assert (paper.towers, paper.batch_size, paper.epochs, paper.learning_rate, paper.warm_up) == (2, 64, 10, 1e-4, 0.1)
    assert paper.max_tokens == 128


def test_the_default_differs_from_the_paper_in_its_base_alone():
    assert PRESETS["tempkb"].numbers() == PRESETS["paper"].numbers()
    assert PRESETS["tempkb"].base == "google-bert/bert-base-uncased"


def test_numbers_and_the_base_may_be_set():
    found = recipe_of("it", "paper", "my/base", (("epochs", "3"), ("learning_rate", "2e-5"), ("towers", "1")))
    assert (found.base, found.epochs, found.learning_rate, found.towers) == ("my/base", 3, 2e-5, 1)
    assert (found.batch_size, found.warm_up) == (64, 0.1)
    assert recipe_of("it", "demo", "", (("layers", "2"),)).layers == 2
    assert recipe_of("it", "demo", "my/base", ()).vocabulary == 0


@pytest.mark.parametrize(
    ("preset", "name", "found", "message"),
    [
        ("paper", "epoch", "3", "it: epoch: no such setting; did you mean epochs?"),
        ("paper", "base", "x", "it: base: no such setting"),
        ("paper", "layers", "2", "it: layers: no such setting"),
        ("paper", "epochs", "1.5", "it: epochs: found '1.5'; expected a whole number from 1"),
        ("paper", "epochs", "0", "it: epochs: found '0'; expected a whole number from 1"),
        ("paper", "learning_rate", "fast", "it: learning_rate: found 'fast'; expected a number from 0"),
        ("paper", "learning_rate", "nan", "it: learning_rate: found 'nan'; expected a number from 0"),
        ("paper", "learning_rate", "inf", "it: learning_rate: found 'inf'; expected a number from 0"),
        ("paper", "warm_up", "1.5", "it: warm_up: found '1.5'; expected a number from 0 to 1"),
        ("paper", "towers", "3", "it: towers: found '3'; expected a whole number from 1 to 2"),
        ("paper", "batch_size", "1", "it: batch_size: found '1'; expected a whole number from 2"),
        ("demo", "heads", "5", "it: found hidden_size=64 and heads=5; expected a multiple of the heads"),
    ],
)
def test_what_cannot_be_set_is_refused(preset, name, found, message):
    with pytest.raises(SettingsError) as caught:
        recipe_of("it", preset, "", ((name, found),))
    assert str(caught.value).startswith(message)
