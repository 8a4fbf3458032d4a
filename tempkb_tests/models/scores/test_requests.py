"""The words that are kept of a request for scores."""

from tempkb.models.scores.kinds import SCORES


def test_what_is_kept_of_a_request_asks_for_the_same_of_the_releases_that_it_reached():
    words = {"variants": "no_ent,original", "windows": "2022-01-01..2022-07-01", "limit": "7", "fixed_shapes": "true"}
    kept = SCORES.request.of({"benchmarks": "ecbd", **words}).words_for(["b", "a", "b"])
    assert kept == {"releases": "a,b", **words}
    assert SCORES.request.of(kept) == SCORES.request.of({**words, "releases": "a,b"})
    assert SCORES.command_of("tiny", kept) == (
        "tempkb score tiny --release a --release b --window 2022-01-01..2022-07-01 --variant no_ent "
        "--variant original --limit 7 --fixed-shapes"
    )
