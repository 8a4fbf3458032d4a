"""What is declared of a request holds for the command that asks, the run that does it and the words that are kept."""

import shlex
from dataclasses import fields

import click
import pytest

from tempkb.cli import main
from tempkb.commands.declared import words_typed
from tempkb.errors import SettingsError
from tempkb.linking.requests import AddRequest, LinkRequest, TrainRequest
from tempkb.models.declaration import ModelRequest
from tempkb.options import options_of, read_request, typed, words_of
from tempkb.planning.declaration import Request as BuildRequest
from tempkb.results.requests import KnowledgeRequest
from tempkb.scores.requests import ScoreRequest

# The command, its arguments, the step of a run, and words that say something of each option.
SCORES = {
    "benchmarks": "ecbd,templama",
    "releases": "a,b",
    "windows": "2022-01-01..2022-07-01",
    "variants": "no_ent",
    "scorer": "span",
    "limit": "7",
    "device": "cpu",
    "dtype": "bfloat16",
    "batch_tokens": "9",
    "threads": "2",
    "fixed_shapes": "true",
}
LINKS = {
    "releases": "a,b",
    "cuts": "2022-01-01,2023-01-01",
    "subset": "validation",
    "pools": "own,fixed-100",
    "limit": "10",
    "device": "cpu",
    "dtype": "bfloat16",
    "batch_tokens": "9",
}
KNOWS = {
    "window": "2022-01-01..2023-01-01",
    "earlier": "2",
    "models": "tiny",
    "releases": "a,b",
    "scorer": "sentence",
    "buffer_days": "0",
    "takes_all": "true",
}


def command_named(names):
    found = main
    for name in names.split():
        found = found.get_command(click.Context(found), name)
    return found


@pytest.mark.parametrize(
    ("request_type", "command", "words"),
    [(ScoreRequest, "score", SCORES), (LinkRequest, "linker score", LINKS), (KnowledgeRequest, "knows", KNOWS)],
    ids=["score", "linker score", "knows"],
)
def test_a_command_that_is_made_of_words_asks_for_what_they_say(request_type, command, words):
    assert set(words) == set(options_of(request_type))
    asked = read_request(request_type, command, words)
    assert all(getattr(asked, one.name) != one.default for one in fields(request_type))
    _, *arguments = shlex.split(typed(command, request_type, words))
    found = command_named(command)
    context = found.make_context(command, arguments[len(command.split()) - 1 :])
    given = {name: value for name, value in context.params.items() if name in words}
    assert words_typed(given) == words
    assert read_request(request_type, command, words_typed(given)) == asked


@pytest.mark.parametrize(("request_type", "words"), [(ScoreRequest, SCORES), (LinkRequest, LINKS)])
def test_the_words_of_a_request_are_those_that_made_it(request_type, words):
    assert words_of(read_request(request_type, "x", words)) == words
    assert words_of(request_type()) == {}
    assert read_request(request_type, "x", dict.fromkeys(words, " ")) == request_type()


@pytest.mark.parametrize(
    ("request_type", "command", "others"),
    [
        (ScoreRequest, "score", {"names", "models", "is_all"}),
        (LinkRequest, "linker score", {"names", "is_all"}),
        (TrainRequest, "linker train", {"cuts", "seeds", "name"}),
        (AddRequest, "linker add", {"name"}),
        (ModelRequest, "model add", {"name", "presets"}),
        (KnowledgeRequest, "knows", {"with_answers", "fact", "csv_file", "latex_file", "picture"}),
        (BuildRequest, "build", {"pages", "sample", "more"}),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_every_option_of_a_request_is_one_of_its_command(request_type, command, others):
    names = {one.name for one in command_named(command).params}
    # One linker is trained for each snapshot and seed.
    each = {"cut", "seed"} if request_type is TrainRequest else set()
    assert names - others == set(options_of(request_type)) - each


def test_every_option_of_a_request_is_a_field_of_its_run():
    from tempkb.definitions import defs

    steps = {asset.op.name: asset.op for asset in defs.assets}
    for step, *requests in (
        ("prompt_scores", ScoreRequest),
        ("link", LinkRequest),
        ("linkers", TrainRequest, AddRequest),
        ("models", ModelRequest),
    ):
        told = {name: field.description for name, field in steps[step].config_schema.config_type.fields.items()}
        assert told == {one.name: one.meaning for request in requests for one in options_of(request).values()}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"colour": "red"}, "score: found colour; expected only benchmarks, releases, windows,"),
        ({"limit": "x"}, "score: limit is 'x'; expected a number from 1 on"),
        ({"limit": "0"}, "score: limit is '0'; expected a number from 1 on"),
        ({"threads": "1.5"}, "score: threads is '1.5'; expected a number from 1 on"),
        ({"batch_tokens": "9" * 5000}, "; expected a number from 1 on"),
        ({"dtype": "float16"}, "score: dtype is 'float16'; expected float32, bfloat16, float64"),
        ({"fixed_shapes": "maybe"}, "score: fixed_shapes is 'maybe'; expected true or false"),
        ({"windows": "2022"}, "windows '2022': expected A..B with two days"),
    ],
)
def test_a_word_that_is_not_allowed_is_named_with_what_is(words, told):
    with pytest.raises(SettingsError, match=told):
        read_request(ScoreRequest, "score", words)
