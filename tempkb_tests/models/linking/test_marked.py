"""Mentions that people mark in a text."""

import pytest

from tempkb.core.errors import SettingsError
from tempkb.models.linking.inputs import MentionText
from tempkb.models.linking.marked import marked_mentions


def marked(text, n_around=100, part=None):
    size = part or len(text) or 1
    return list(marked_mentions([text[at : at + size] for at in range(0, len(text), size)], n_around))


def test_each_mention_has_the_other_marks_as_plain_text_around_it():
    assert marked("From [[Lund]] to [[the port]].") == [
        MentionText("From ", "Lund", " to the port."),
        MentionText("From Lund to ", "the port", "."),
    ]


def test_of_a_long_text_each_mention_has_what_is_near_it():
    assert marked("From [[Lund]] to [[the port]] of [[Ys]].", n_around=8) == [
        MentionText("From ", "Lund", " to the "),
        MentionText("Lund to ", "the port", " of Ys."),
        MentionText("port of ", "Ys", "."),
    ]


@pytest.mark.parametrize("part", [1, 2, 3, 5, 7, 1000])
def test_parts_of_any_size_make_the_same_text(part):
    text = "It [sic] saw [[Lund]], [[the\nport]][1] and [[[a]], a[0]."
    assert marked(text, 9, part) == [
        MentionText("sic] saw ", "Lund", ", the\npor"),
        MentionText("aw Lund, ", "the\nport", "[1] and ["),
        MentionText("t[1] and ", "[a", ", a[0]."),
    ]


def test_no_more_of_a_text_is_held_than_is_near_its_mentions(monkeypatch):
    from tempkb.models.linking import marked as module

    held = []

    class Near(module._Near):
        def complete(self):
            yield from super().complete()
            held.append(len(self.plain))

    monkeypatch.setattr(module, "_Near", Near)
    parts = ("word " * 200 + "[[Lund]] " for _ in range(500))
    assert sum(1 for _ in marked_mentions(parts, 50)) == 500
    # What precedes and follows the mention of the last part that waits.
    assert max(held) <= 50 + len("Lund") + 50


def test_single_brackets_are_text():
    assert marked("It [sic] saw [[Lund]].") == [MentionText("It [sic] saw ", "Lund", ".")]


@pytest.mark.parametrize("text", ["", "no mention", "[[ ]] is blank"])
def test_a_text_without_a_mention_is_refused(text):
    with pytest.raises(SettingsError, match="found no mention"):
        marked(text)


@pytest.mark.parametrize("part", [1, 1000])
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[[Lund", 1),
        ("Lund]]", 1),
        ("[[a]]\nand\n[[b", 3),
        ("[[a [[b]]", 1),
        ("\n[[a[]][[[b]] c", 2),
        ("[[a]]\n[[b]]]]", 2),
    ],
)
def test_brackets_that_do_not_belong_together_are_refused_with_their_line(text, line, part):
    with pytest.raises(SettingsError, match=f"do not belong together in line {line};"):
        marked(text, 2, part)


def test_brackets_that_nobody_closes_do_not_keep_a_text_in_memory():
    read = []

    def parts():
        for part in ["[[Lund]] is [[open", *["x" * 10_000] * 100]:
            read.append(part)
            yield part

    with pytest.raises(SettingsError, match="do not belong together in line 1;"):
        list(marked_mentions(parts(), 10))
    assert len(read) < 10
