"""Mentions that people mark in a text."""

import pytest

from tempkb.errors import SettingsError
from tempkb.linking.inputs import MentionText
from tempkb.linking.marked import marked_mentions


def test_each_mention_has_the_other_marks_as_plain_text_around_it():
    assert marked_mentions("From [[Lund]] to [[the port]].") == [
        MentionText("From ", "Lund", " to the port."),
        MentionText("From Lund to ", "the port", "."),
    ]


def test_single_brackets_are_text():
    assert marked_mentions("It [sic] saw [[Lund]].") == [MentionText("It [sic] saw ", "Lund", ".")]


@pytest.mark.parametrize("text", ["", "no mention", "[[ ]] is blank"])
def test_a_text_without_a_mention_is_refused(text):
    with pytest.raises(SettingsError, match="found no mention"):
        marked_mentions(text)


@pytest.mark.parametrize("text", ["[[Lund", "Lund]]", "[[a]] and [[b"])
def test_brackets_that_do_not_belong_together_are_refused(text):
    with pytest.raises(SettingsError, match="do not belong together"):
        marked_mentions(text)
