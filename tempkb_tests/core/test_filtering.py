"""Chains of filters and what they leave out: small stories, counted by hand."""

import pickle

from tempkb.core.filtering import Chain, LeftOut


def test_the_first_filter_that_gives_a_reason_ends_the_chain():
    asked = []

    def small(n: int) -> str:
        asked.append("small")
        return "small" if n < 3 else ""

    def odd(n: int) -> str:
        asked.append("odd")
        return "odd" if n % 2 else ""

    chain = Chain(small, odd)
    assert [chain.reason(n) for n in (1, 3, 4)] == ["small", "odd", ""]
    assert asked == ["small", "small", "odd", "small", "odd"]
    assert Chain().reason(1) == ""


def test_reasons_are_counted_with_their_first_examples():
    left_out = LeftOut(max_examples=2)
    for n in (1, 9, 3, 5):
        left_out.add("odd", str(n))
    left_out.add("absurd")
    left_out.add("huge", "never", 0)
    left_out.add("absurd", "a fish", 4)
    assert list(left_out.rows()) == [("absurd", 5, "a fish"), ("odd", 4, "1; 9")]


def test_counts_of_workers_add_up_and_the_first_examples_stay():
    first, second, third = LeftOut(), LeftOut(), LeftOut()
    first.add("odd")
    second.add("odd", "5", 2)
    second.add("small", "1")
    third.add("odd", "7", 3)
    both = LeftOut()
    for one in (first, second, third):
        both.merge(pickle.loads(pickle.dumps(one)))
    assert list(both.rows()) == [("odd", 6, "5"), ("small", 1, "1")]
    # What was merged is as it was.
    assert list(second.rows()) == [("odd", 2, "5"), ("small", 1, "1")]


def test_rare_ones_of_many_reasons_are_gathered_under_one():
    left_out = LeftOut()
    for name, n in {"box": 3, "cite": 9, "art": 3, "map": 1}.items():
        left_out.add(f"template: {name}", f"<{name}>", n)
    left_out.add("unbalanced", "page 1", 2)
    left_out.gather("template: ", 2, "another template")
    assert list(left_out.rows()) == [
        ("another template", 4, "<box>"),
        ("template: art", 3, "<art>"),
        ("template: cite", 9, "<cite>"),
        ("unbalanced", 2, "page 1"),
    ]
    left_out.gather("template: ", 2, "another template")
    assert left_out.counts["another template"] == 4
