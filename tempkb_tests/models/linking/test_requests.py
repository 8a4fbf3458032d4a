"""What people may ask of linkers, and what they are told otherwise."""

from datetime import date

import pytest
from click.testing import CliRunner

from tempkb.commands.cli import main
from tempkb.core.errors import SettingsError
from tempkb.models.linking.requests import (
    AddRequest,
    LinkRequest,
    TrainRequest,
    command_of_link,
    default_name,
    linker_request,
)

TRAINED = {"release": "yearly", "cut": "2022-01-01"}


def test_a_linker_is_trained_on_a_snapshot_of_a_release():
    assert linker_request("mine", TRAINED) == TrainRequest("mine", "yearly", date(2022, 1, 1))


def test_words_say_how_it_is_trained():
    words = {"seed": "3", "preset": "paper", "base": "./bert", "settings": "epochs=3, batch_size = 32", "device": "cpu"}
    assert linker_request("mine", {**TRAINED, **words}) == TrainRequest(
        "mine", "yearly", date(2022, 1, 1), 3, "paper", "./bert", (("batch_size", "32"), ("epochs", "3")), device="cpu"
    )


def test_hard_negatives_need_a_linker_that_ranks_them():
    both = {**TRAINED, "hard_negatives": "4", "negatives_of": "first"}
    request = linker_request("mine", both)
    assert (request.hard_negatives, request.negatives_of) == (4, "first")
    for lacking in ("hard_negatives", "negatives_of"):
        with pytest.raises(SettingsError, match="expected both or neither"):
            linker_request("mine", {key: word for key, word in both.items() if key != lacking})


def test_a_checkpoint_is_used_as_it_is():
    assert linker_request("minilm", {"checkpoint": "a/b", "revision": "main"}) == AddRequest("minilm", "a/b", "main")
    with pytest.raises(SettingsError, match="checkpoint alone, or base"):
        linker_request("minilm", {"checkpoint": "a/b", **TRAINED})


def test_a_checkpoint_has_no_name_under_which_results_put_trained_linkers_together():
    with pytest.raises(SettingsError, match="'paper': found the name of a preset"):
        linker_request("paper", {"checkpoint": "a/b"})
    # What is trained is put together by its preset, whatever its name.
    assert linker_request("paper", TRAINED).linker == "paper"


@pytest.mark.parametrize("name", ["Mine", "a--b", "prior", "bm25", "", "a b", "../up"])
def test_names_are_slugs_that_no_baseline_has(name):
    with pytest.raises(SettingsError, match="a name that is not allowed"):
        linker_request(name, TRAINED)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({}, "neither a checkpoint nor a release"),
        ({"release": "yearly"}, "neither a checkpoint nor a release"),
        ({**TRAINED, "cut": "2022"}, "cut: found '2022'; expected a day, YYYY-MM-DD"),
        ({**TRAINED, "seed": "-1"}, "seed: found '-1'"),
        ({**TRAINED, "seed": "0"}, "seed: found '0'; expected a whole number from 1 to 2,147,483,647"),
        (
            {**TRAINED, "seed": "2147483648"},
            "seed: found '2147483648'; expected a whole number from 1 to 2,147,483,647",
        ),
        ({**TRAINED, "preset": "large"}, "preset: found 'large'; expected tempkb, paper or demo"),
        ({**TRAINED, "settings": "epochs"}, "set: found 'epochs'; expected NAME=VALUE, such as epochs=3"),
        ({**TRAINED, "colour": "red"}, "colour: no such option; known: "),
    ],
)
def test_odd_words_about_a_linker_are_refused(words, said):
    with pytest.raises(SettingsError, match=said):
        linker_request("mine", words)


def test_names_follow_from_release_snapshot_preset_and_seed():
    assert default_name("demo", date(2022, 1, 1), 1, "tempkb") == "demo-2022-01-01"
    assert default_name("demo", date(2022, 1, 1), 2, "demo") == "demo-2022-01-01-demo-s2"
    # A release may have hyphens in a row, which separate the parts of partitions of linkers.
    assert default_name("a--b", date(2022, 1, 1), 1, "tempkb") == "a-b-2022-01-01"


def test_by_default_all_test_mentions_are_linked_to_candidates_of_their_own_snapshot():
    assert LinkRequest.of({}) == LinkRequest((), (), "test", ("own",))


def test_words_say_what_is_linked():
    words = {
        "releases": "a, b",
        "cuts": "2023-01-01,2022-01-01",
        "subset": "validation",
        "pools": "own,fixed,fixed-100,2022-01-01,own",
        "limit": "10",
        "dtype": "bfloat16",
    }
    assert LinkRequest.of(words) == LinkRequest(
        ("a", "b"),
        (date(2022, 1, 1), date(2023, 1, 1)),
        "validation",
        ("own", "fixed-50000", "fixed-100", "2022-01-01"),
        10,
        dtype="bfloat16",
    )


def test_what_is_kept_of_a_request_asks_for_the_same_of_what_it_reached():
    asked = LinkRequest.of({"subset": "validation", "pools": "own,fixed-100", "limit": "10", "device": "cpu"})
    kept = asked.words_for(["b", "a", "b"], [date(2023, 1, 1), date(2022, 1, 1)])
    assert kept == {
        "releases": "a,b",
        "cuts": "2022-01-01,2023-01-01",
        "subset": "validation",
        "pools": "own,fixed-100",
        "limit": "10",
        "device": "cpu",
    }
    assert command_of_link("prior", kept) == (
        "tempkb linker score prior --release a --release b --cut 2022-01-01 --cut 2023-01-01 --subset validation "
        "--pool own --pool fixed-100 --limit 10 --device cpu"
    )
    assert LinkRequest.of({}).words_for(["a"], [date(2022, 1, 1)]) == {"releases": "a", "cuts": "2022-01-01"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"subset": "train"}, "test or validation"),
        ({"pools": "fixed-0"}, "pool: found 'fixed-0'; expected own, the day of a snapshot, fixed or fixed-N"),
        ({"pools": "all"}, "pool: found 'all'"),
        ({"dtype": "float16"}, "float32 or bfloat16"),
        ({"limit": "0"}, "a whole number from 1"),
        ({"limit": "9" * 20}, "limit: found '99999999999999999999'; expected a whole number from 1 to 999,999,999,999"),
        ({"batch_tokens": "9" * 5000}, "a whole number from 1 to 999,999,999,999"),
        ({"cuts": "yesterday"}, "cut: found 'yesterday'; expected a day, YYYY-MM-DD"),
        ({"colour": "red"}, "colour: no such option; known: "),
    ],
)
def test_odd_words_about_linking_are_refused(words, said):
    with pytest.raises(SettingsError, match=said):
        LinkRequest.of(words)


def test_a_seed_is_a_number_that_the_row_of_its_linker_holds():
    assert linker_request("mine", {**TRAINED, "seed": "2147483647"}).seed == 2**31 - 1
    done = CliRunner().invoke(main, ["linker", "train", "r", "--seed", "2147483648"])
    assert done.exit_code == 2
    assert "2147483648 is not in the range 1<=x<=2147483647" in done.stderr
