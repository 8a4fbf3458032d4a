"""Words of requests for scores, and the words that are kept of them."""

from datetime import date

import pytest

from tempkb.scores.requests import ScoreRequest, command_of, request_of, words_for


@pytest.mark.parametrize(
    ("words", "kept", "command"),
    [
        ({"benchmarks": "ecbd"}, {"releases": "a,b"}, "tempkb score tiny --release a --release b"),
        (
            {"variants": "no_ent,original", "limit": "7", "dtype": "bfloat16", "fixed_shapes": "true"},
            {
                "releases": "a,b",
                "variants": "no_ent,original",
                "limit": "7",
                "dtype": "bfloat16",
                "fixed_shapes": "true",
            },
            "tempkb score tiny --release a --release b --variant no_ent --variant original --limit 7 --dtype bfloat16 "
            "--fixed-shapes",
        ),
        (
            {
                "windows": "2022-01-01..2022-07-01",
                "scorer": "span",
                "device": "cpu",
                "batch_tokens": "9",
                "threads": "2",
            },
            {
                "releases": "a,b",
                "windows": "2022-01-01..2022-07-01",
                "scorer": "span",
                "device": "cpu",
                "batch_tokens": "9",
                "threads": "2",
            },
            "tempkb score tiny --release a --release b --windows 2022-01-01..2022-07-01 --scorer span --device cpu "
            "--batch-tokens 9 --threads 2",
        ),
    ],
)
def test_what_is_kept_of_a_request_asks_for_the_same_of_the_releases_that_it_reached(words, kept, command):
    assert words_for(request_of(words), ["b", "a", "b"]) == kept
    assert request_of(kept) == request_of(
        {**{name: word for name, word in words.items() if name != "benchmarks"}, "releases": "a,b"}
    )
    assert command_of("tiny", kept) == command


def test_windows_are_read_again_as_they_were():
    found = request_of(words_for(ScoreRequest(windows=(date(2022, 1, 1), date(2022, 7, 1))), ["a"]))
    assert (found.windows, found.releases) == ((date(2022, 1, 1), date(2022, 7, 1)), ("a",))
