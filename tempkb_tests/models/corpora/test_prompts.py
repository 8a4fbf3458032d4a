"""Prompts about held-out texts: which texts and spans are asked for, in which words, and how models are asked them."""

import hashlib
from datetime import date

import pytest

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.core.errors import SettingsError
from tempkb.core.prompts import Prompt, Question
from tempkb.models.corpora import tables
from tempkb.models.scores.kinds import SCORES
from tempkb.models.scores.selecting import wanted
from tempkb.results.judged_tables import JUDGED_ANSWERS
from tempkb_tests.benchmarks.fact_queries.worlds import quiet
from tempkb_tests.models.training.conftest import built, dated, saved, store  # noqa: F401 - fixtures of this module
from tempkb_tests.results.making import make
from tempkb_tests.results.test_judging import answer
from tempkb_tests.results.worlds import World

TEXT, DECODER = "Ada left Ḡhent for Łódź in 2019.", "seq2seq.greedy-1.f32"


def asked(*rows, **equal):
    world = World()
    for row in rows:
        world.add("dated_texts", **row)
    return world.read("text_prompts", **equal)


def test_one_span_of_each_held_out_text_is_asked_for_with_and_without_its_date():
    rows = asked(
        dated(2019, TEXT, ["Ada", "Ḡhent", "Łódź"], "test", page_id=7),
        dated(2019, "Only Ben trains.", ["Ben"], "train"),
        dated(2019, "Cem is first.", ["Cem"], "test"),
        dated(2019, "Nothing is marked.", [], "test"),
        dated(2018, "Old Dov sat.", ["Dov"], "test", is_since_first_window=True),
    )
    # By hash, of the two that do not stand at the beginning.
    own = hashlib.sha256(TEXT.encode()).hexdigest()[:32]
    number = int.from_bytes(hashlib.md5(f"span {own}".encode()).digest()[:8], "little")
    target = ["Ḡhent", "Łódź"][number % 2]
    left, right = TEXT.split(target)
    assert {(row["variant"], row["left_context"], row["target"], row["right_context"]) for row in rows} == {
        ("text_undated", left, target, right),
        ("text_dated", f"year: 2019 {left}", target, right),
    }
    for row in rows:
        assert row["prompt_id"] == Prompt(row["left_context"], target, right).prompt_id
        assert (row["release"], row["cluster_id"], row["item_id"]) == ("home", "7", f"{own}_2019-01-01")
        assert (row["role"], row["split"], row["subset"]) == ("current", "test", "entity")


@pytest.mark.parametrize(
    ("starts", "words"),
    [
        ([date(2019, 1, 1), date(2020, 1, 1)], ["year: 2019 ", "year: 2020 "]),
        ([date(2019, 1, 1), date(2019, 10, 1)], ["quarter: 2019-Q1 ", "quarter: 2019-Q4 "]),
        ([date(2019, 1, 1), date(2019, 2, 1)], ["month: 2019-01 ", "month: 2019-02 "]),
        ([date(2018, 12, 31), date(2019, 1, 7)], ["week: 2019-W01 ", "week: 2019-W02 "]),
    ],
)
def test_dates_are_as_long_as_the_windows_of_the_corpus(starts, words):
    rows = [dated(2000, f"At {n} came Ada.", ["Ada"], "test") | {"window_start": day} for n, day in enumerate(starts)]
    other = dated(2019, "At last came Ben.", ["Ben"], "test", corpus="other")
    found = asked(*rows, other, variant="text_dated")
    assert [row["left_context"] for row in sorted(found, key=lambda row: (row["release"], row["window_start"]))] == [
        *(f"{word}At {n} came " for n, word in enumerate(words)),
        "year: 2019 At last came ",
    ]


def test_a_window_has_at_most_so_many_by_hash(monkeypatch):
    view = tables.TEXT_PROMPTS
    assert "<= 2000" in view.query
    monkeypatch.setitem(
        World.show.__globals__["VIEW"],
        "text_prompts",
        type(view)(view.name, view.meaning, view.query.replace("<= 2000", "<= 2"), view.needs),
    )
    rows = [dated(year, f"In {n} of {year} came Ada.", ["Ada"], "test") for n in range(5) for year in (2019, 2020)]
    found = {row["item_id"] for row in asked(*rows)}
    first = [sorted(row["text_id"] for row in rows if row["window_start"].year == year)[:2] for year in (2019, 2020)]
    assert found == {f"{one}_{year}-01-01" for year, own in zip((2019, 2020), first, strict=True) for one in own}


def sources(store, **words):  # noqa: F811
    request = SCORES.request.of(words)
    found = wanted(SCORES, store, BENCHMARKS, {"family": "seq2seq"}, request, quiet)
    return [(source.benchmark, source.release, source.variants) for one in found for source in one.sources], found


def test_texts_are_asked_about_if_a_variant_of_them_is_named(store):  # noqa: F811
    by_default, _ = sources(store)
    assert {benchmark for benchmark, *_ in by_default} == {"templama"}
    named, (one,) = sources(store, variants="text_dated")
    assert named == [("dated_text", "home", ("text_dated",))]
    # The held-out sentences of the home begin with their only span.
    assert one.n_lacking() == 0
    assert sources(store, variants="text_dated", releases="home")[0] == named
    with pytest.raises(SettingsError, match="found the release 'away'; expected a release that has prompts: .*home"):
        sources(store, variants="text_dated", releases="away")
    with pytest.raises(SettingsError, match="found the variant 'text_later'; expected some of .*text_dated"):
        sources(store, variants="text_later")


def test_answers_about_texts_are_judged_by_the_span(store):  # noqa: F811
    from tempkb_tests.models.training.conftest import write_texts

    write_texts(store, [dated(2019, "They say the Reed won.", ["the Reed"], "test", page_id=3)])
    write_texts(store, [dated(2020, "They say a Moss lost.", ["Moss"], "test")])
    (_, (one,)) = sources(store, variants="text_dated")
    assert one.n_lacking() == 2
    answer(
        store,
        "tiny",
        {
            ("They say ", " won."): ("Reed", "answered"),
            ("year: 2019 They say ", " won."): ("the Salt Reed", "answered"),
            ("year: 2020 They say a ", " lost."): ("Reed", "answered"),
        },
    )
    make(store, JUDGED_ANSWERS)
    found = {
        (row["window_start"].year, row["wording"]): (row["release"], row["cluster_id"], row["exact_match"], row["f1"])
        for row in store.read("judged_answers", benchmark="dated_text").to_pylist()
    }
    moss = hashlib.sha256(b"They say a Moss lost.").hexdigest()[:32]
    assert found == {
        (2019, "text_undated"): ("home", "3", 1.0, 1.0),
        (2019, "text_dated"): ("home", "3", 0.0, pytest.approx(2 / 3)),  # one of two words, and all of one
        (2020, "text_dated"): ("home", moss, 0.0, 0.0),
    }
    assert Question("They say ", " won.").question_id in store.read("judged_answers")["question_id"].to_pylist()
