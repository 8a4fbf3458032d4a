"""What is declared of a request holds for the command that asks, the run that does it and the words that are kept."""

import re
import shlex
from dataclasses import MISSING, fields
from datetime import UTC, date, datetime
from typing import Annotated, Literal

import click
import pytest
from msgspec import Meta

from tempkb.commands.cli import main
from tempkb.commands.declared import words_typed
from tempkb.core.errors import SettingsError
from tempkb.core.model_words import ModelRequest
from tempkb.core.options import ODD, Count, InOrder, Share, allowed, options_of, read_as
from tempkb.core.settings import Settings
from tempkb.core.windows import Granularity
from tempkb.models.linking.requests import AddRequest, LinkRequest, TrainRequest
from tempkb.models.scores.requests import ScoreRequest
from tempkb.models.training.requests import TrainRequest as ModelTraining
from tempkb.platform.planning.declaration import Request as BuildRequest
from tempkb.results.requests import KnowledgeRequest
from tempkb_tests.docs import DESIGNS

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
    "baseline": "2",
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
    asked = request_type.of(words)
    assert all(getattr(asked, one.name) != one.default for one in fields(request_type))
    _, *arguments = shlex.split(request_type.typed(words))
    found = command_named(command)
    context = found.make_context(command, arguments[len(command.split()) :])
    given = {name: value for name, value in context.params.items() if name in words}
    assert words_typed(given) == words
    assert request_type.of(words_typed(given)) == asked


@pytest.mark.parametrize(("request_type", "words"), [(ScoreRequest, SCORES), (LinkRequest, LINKS)])
def test_the_words_of_a_request_are_those_that_made_it(request_type, words):
    assert request_type.of(words).words == words
    assert request_type().words == {}
    assert request_type.of(dict.fromkeys(words, " ")) == request_type()


@pytest.mark.parametrize(
    ("request_type", "command", "others"),
    [
        (ScoreRequest, "score", {"names", "models", "is_all", "revision", "family", "knows_until"}),
        (LinkRequest, "linker score", {"names", "is_all"}),
        (TrainRequest, "linker train", {"cuts", "seeds", "name"}),
        (AddRequest, "linker add", {"name"}),
        (ModelRequest, "model add", {"name", "presets"}),
        (KnowledgeRequest, "knows", {"is_full", "by_popularity", "fact", "csv_file", "latex_file", "picture"}),
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
    from tempkb.platform.definitions import defs

    steps, told = {asset.op.name: asset.op for asset in defs.assets}, {}
    for step, *requests in (
        ("prompt_scores", ScoreRequest),
        ("link", LinkRequest),
        ("linkers", TrainRequest, AddRequest),
        ("models", ModelRequest, ModelTraining),
    ):
        told[step] = {name: field.description for name, field in steps[step].config_schema.config_type.fields.items()}
        assert list(told[step]) == [name for request in requests for name in options_of(request)]
    assert told["prompt_scores"]["threads"] == (
        "Threads of a CPU; by default one for small models. Expected: a whole number from 1 to 999,999,999,999."
    )
    assert told["link"]["releases"] == "Only this release; may be several, with commas between them."
    assert told["link"]["cuts"].endswith("may be several, with commas between them. Expected: a day, YYYY-MM-DD.")
    assert told["linkers"]["preset"].endswith(" Expected: tempkb, paper or demo.")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"colour": "red"}, "score: colour: no such option; known: benchmark, release, window, variant"),
        ({"releases": "x", "windos": "y"}, "score: windos: no such option; did you mean window\\?$"),
        ({"batch_tokens": "0"}, "score: batch_tokens: found '0'"),
        ({"limit": "x"}, "score: limit: found 'x'; expected a whole number from 1 to 999,999,999,999"),
        ({"limit": "0"}, "score: limit: found '0'; expected a whole number from 1"),
        ({"threads": "1.5"}, "score: threads: found '1.5'; expected a whole number from 1"),
        ({"batch_tokens": "9" * 5000}, "; expected a whole number from 1 to"),
        ({"dtype": "float16"}, "score: dtype: found 'float16'; expected float32, bfloat16 or float64"),
        ({"fixed_shapes": "maybe"}, "score: fixed_shapes: found 'maybe'; expected true or false"),
        ({"windows": "2022"}, "window '2022': expected A..B with two days"),
    ],
)
def test_a_word_that_is_not_allowed_is_named_with_what_is(words, told):
    with pytest.raises(SettingsError, match=told):
        ScoreRequest.of(words)


@pytest.mark.parametrize(
    "declared",
    [Settings, *DESIGNS.values(), ScoreRequest, LinkRequest, TrainRequest, ModelRequest, KnowledgeRequest],
    ids=lambda one: f"{one.__module__}.{one.__name__}",
)
def test_every_default_is_a_value_that_may_be_typed_and_every_option_has_a_meaning(declared):
    for one in options_of(declared).values():
        word = "" if one.default in (MISSING, None) else one.write(one.default)
        assert not word or read_as(one.kind, word) == one.default, one.name
        assert one.meaning.endswith("."), one.name
        assert one.allowed, one.name


def without_addresses(value):
    """The name of a case, which has to be the same in all processes that run the tests."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))


@pytest.mark.parametrize(
    ("kind", "word", "value"),
    [
        (Count, " 7 ", 7),
        (Count | None, "7", 7),
        (Count | None, None, None),
        (bool, "Yes", True),
        (bool, "off", False),
        (date, "2022-01-31", date(2022, 1, 31)),
        (date, date(2022, 1, 31), date(2022, 1, 31)),
        (Share, "0.25", 0.25),
        (tuple[str, ...], "b, a,b,", ("b", "a")),
        (InOrder[str], "b,a,b", ("a", "b")),
        (InOrder[date], ["2022-01-02", date(2022, 1, 1)], (date(2022, 1, 1), date(2022, 1, 2))),
        (tuple[Share, Share], "0,0", (0.0, 0.0)),
        (Literal["all"] | InOrder[int], "all", "all"),
        (Literal["all"] | InOrder[int], "4,0", (0, 4)),
        (Literal["all"] | InOrder[int], 4, (4,)),
        (Granularity, "year", Granularity.YEAR),
    ],
    ids=without_addresses,
)
def test_a_type_says_how_a_word_is_read(kind, word, value):
    read = read_as(kind, word)
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        (Count, "0"),
        (Count, "1000000000000"),
        (Count, "1.5"),
        (Count, True),
        (Count | None, "null"),
        (Count | None, ""),
        (bool, "maybe"),
        (date, "2022-1-31"),
        (date, "20220131"),
        (date, datetime(2022, 1, 31, tzinfo=UTC)),
        (Share, "nan"),
        (Share, "1.1"),
        (str, 3),
        (tuple[Share, Share], "0.1"),
        (tuple[Share, Share], "0.1,0.2,0.3"),
        (InOrder[int], "1,x"),
        (Literal["all"] | InOrder[int], "main"),
        (Granularity, "day"),
    ],
    ids=without_addresses,
)
def test_a_word_that_a_type_does_not_have_is_refused(kind, word):
    with pytest.raises(ODD):
        read_as(kind, word)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (Count, "a whole number from 1 to 999,999,999,999"),
        (Annotated[float, Meta(ge=0)], "a number from 0 on"),
        (Share | None, "a number from 0 to 1"),
        (int, "a whole number"),
        (Literal["a", "b", "c"], "a, b or c"),
        (Granularity, "week, month, quarter or year"),
        (InOrder[date], "a day, YYYY-MM-DD"),
        (Literal["all"] | InOrder[int], "all or a whole number"),
    ],
    ids=without_addresses,
)
def test_a_type_says_what_is_allowed(kind, said):
    assert allowed(kind) == said


def test_several_refused_words_are_named_at_once():
    with pytest.raises(SettingsError, match="score: limit: found 'x'; .*; threads: found 'y'; "):
        ScoreRequest.of({"limit": "x", "threads": "y"})
