"""What is a name in a chat model's reply, and what is none.

Where answers end: names that hold periods survive, and what was decided never changes when more is said.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tempkb.models.decoding.replies import cut, ending, is_thinking, without_period, without_tokens


@pytest.mark.parametrize(
    ("reply", "status", "name"),
    [
        pytest.param(" Paris.", "answered", "Paris", id="plain"),
        pytest.param("Paris", "answered", "Paris", id="without an end"),
        pytest.param('"Paris."', "answered", "Paris", id="quotes around a sentence"),
        pytest.param("“Paris”.", "answered", "Paris", id="curly quotes"),
        pytest.param("**Paris**", "answered", "Paris", id="bold"),
        pytest.param("***Paris.***\n\nIt is", "answered", "Paris", id="bold and italic, and an explanation"),
        pytest.param("\n\n  Juventus F.C.\n", "answered", "Juventus F.C.", id="the first line that is not blank"),
        pytest.param("The missing name is Paris.", "answered", "Paris", id="a lead-in"),
        pytest.param("The missing name is: **Paris**.", "answered", "Paris", id="a lead-in with a colon"),
        pytest.param("Sure! The missing name is:\n\n**Sammy Davis Jr.**", "answered", "Sammy Davis Jr.", id="two lead-ins"),
        pytest.param("**Answer:** Paris", "answered", "Paris", id="a bold lead-in"),
        pytest.param("Here's the completed sentence with the missing name:\nParis", "answered", "Paris", id="here's"),
        pytest.param("Answer Me", "answered", "Answer Me", id="a name that begins like a lead-in"),
        pytest.param("Surely", "answered", "Surely", id="another"),
        pytest.param("The Answer", "answered", "The Answer", id="and another"),
        pytest.param("Paris lives in the town.", "answered", "Paris", id="the whole sentence"),
        pytest.param("<think>Is it Rome?\nYes.</think>\n\nParis", "answered", "Paris", id="reasoning"),
        pytest.param("Is it Rome?</think>Paris", "answered", "Paris", id="reasoning opened by the template"),
        pytest.param("[THINK]Rome[/THINK]Paris", "answered", "Paris", id="reasoning of another kind"),
        pytest.param("<|channel|>analysis<|message|>Rome<|end|><|start|>assistant<|channel|>final<|message|>Paris", "answered", "Paris", id="channels"),
        pytest.param("<think>Is it Rome?", "reasoning", None, id="nothing but reasoning"),
        pytest.param("<think>Rome</think>\n", "reasoning", None, id="reasoning, and no answer"),
        pytest.param("I'm sorry, but I cannot know.", "refused", None, id="a refusal"),
        pytest.param("I’m sorry. It is Paris.", "refused", None, id="a refusal with another apostrophe"),
        pytest.param("Sure! I don't have access to that.", "refused", None, id="a refusal behind a lead-in"),
        pytest.param("As an AI language model, I", "refused", None, id="as an AI"),
        pytest.param("  \n ", "empty", None, id="blanks"),
        pytest.param("____", "empty", None, id="the blank of the question"),
        pytest.param("The missing name is:", "empty", None, id="a lead-in alone"),
    ],
)  # fmt: skip
def test_an_answer_is_cut_out_of_a_reply(reply, status, name):
    found = cut(reply, " lives in the town.", is_thinking=False, is_all=True)
    assert (found.status, found.text) == (status, name)


def test_a_reply_within_reasoning_from_its_start_is_reasoning_until_that_closes():
    assert is_thinking("<|assistant|><think>\n")
    assert not is_thinking("<|assistant|>")
    assert cut("Rome.", ".", is_thinking=True, is_all=True).status == "reasoning"
    assert cut("Rome.</think>Paris", ".", is_thinking=True, is_all=True).text == "Paris"


@pytest.mark.parametrize("reply", ["", "Paris", "Sure! ", "The missing name is:\n\n", "<think>Rome. It\nis", "Paris. "])
def test_a_reply_that_may_go_on_is_not_cut(reply):
    assert cut(reply, ".", is_thinking=False, is_all=False) is None


@pytest.mark.parametrize("reply", ["Paris\n", "Sure! It\n", "<think>Rome</think>Paris. It", "Paris lives in the town."])
def test_a_reply_is_over_when_its_answer_is(reply):
    assert cut(reply, " lives in the town.", is_thinking=False, is_all=False) is not None


def test_special_tokens_go_but_for_those_around_reasoning():
    assert (
        without_tokens("<think>a</think><pad>b<end>", ["<think>", "</think>", "<pad>", "<end>"]) == "<think>a</think>b"
    )


@pytest.mark.parametrize(
    ("said", "right", "name", "stopped"),
    [
        pytest.param(" Paris. It is", ".", " Paris", "sentence_end", id="a sentence"),
        pytest.param(" Paris.", ".", " Paris", "sentence_end", id="a sentence, and nothing behind it"),
        pytest.param(" Paris", ".", None, None, id="no end"),
        pytest.param(" Juventus F.C. The club", ".", " Juventus F.C.", "sentence_end", id="F.C. ends name and sentence"),
        pytest.param(" Juventus F.C. in Turin", ".", None, None, id="F.C. within a sentence"),
        pytest.param(" A.C. Milan. They", ".", " A.C. Milan", "sentence_end", id="A.C. begins a name"),
        pytest.param(" U.S. Steel", ".", None, None, id="U.S. begins a name"),
        pytest.param(" Sammy Davis Jr. He", ".", " Sammy Davis Jr.", "sentence_end", id="Jr."),
        pytest.param(" Sammy Davis Jr., who", ".", None, None, id="Jr. before a comma"),
        pytest.param(" John F. Kennedy. He", ".", " John F. Kennedy", "sentence_end", id="an initial"),
        pytest.param(" J. K. Rowling", ".", None, None, id="two initials"),
        pytest.param(" J.R.R. Tolkien! Or", ".", " J.R.R. Tolkien", "sentence_end", id="three initials"),
        pytest.param(" St. Louis. In", ".", " St. Louis", "sentence_end", id="a title"),
        pytest.param(" Acme Inc. of Rome. It", ".", " Acme Inc. of Rome", "sentence_end", id="Inc. goes on"),
        pytest.param(" Acme Inc. It", ".", " Acme Inc.", "sentence_end", id="Inc. ends"),
        pytest.param(" Amazon.com. It", ".", " Amazon.com", "sentence_end", id="a period within a word"),
        pytest.param(" Yahoo! and others", ".", None, None, id="a mark within a sentence"),
        pytest.param(' "Paris." He', ".", ' "Paris."', "sentence_end", id="a quote closes behind the period"),
        pytest.param(" Washington, D.C.\nHe", ".", " Washington, D.C.", "sentence_end", id="the line ends the sentence"),
        pytest.param(" Paris\nLondon", ".", " Paris", "line_end", id="a line"),
        pytest.param("\nParis", ".", "", "line_end", id="nothing on the first line"),
        pytest.param(" the Society in London today", " in London.", None, None, id="the right context ends otherwise"),
        pytest.param(" the Society in London. It", " in London.", " the Society", "right_context", id="the right context"),
        pytest.param(" X is run by the town hall of", " is run by the town hall", " X", "right_context", id="its beginning"),
        pytest.param(" Paris, who", ", who died.", " Paris", "right_context", id="a comma"),
        pytest.param(" 10,000 men, who", ", who died.", " 10,000 men", "right_context", id="not a comma in a number"),
        pytest.param(" Paris) and", ") is.", " Paris", "right_context", id="a bracket"),
    ],
)  # fmt: skip
def test_an_answer_ends_where_the_rule_says(said, right, name, stopped):
    found = ending(said, right, is_all=True)
    assert (found and said[: found.end], found and found.stopped) == (name, stopped)


def test_an_end_that_depends_on_what_comes_next_waits_for_it():
    assert ending(" Juventus F", ".", is_all=False) is None
    assert ending(" Juventus F.", ".", is_all=False) is None
    assert ending(" Juventus F.C. ", ".", is_all=False) is None
    assert ending(" Juventus F.C. T", ".", is_all=False) is not None


@pytest.mark.parametrize(
    ("text", "name"),
    [("Paris.", "Paris"), ("F.C.", "F.C."), ("Davis Jr.", "Davis Jr."), ("Vitamin C.", "Vitamin C."), (".", ""), ("", "")],
)  # fmt: skip
def test_the_period_of_a_sentence_is_not_the_names(text, name):
    assert without_period(text) == name


PIECES = ("F.", "C.", "Jr.", "St.", " ", "Ada", "and", ".", "!", ",", ")", '"', "\n", " The", " in London", "é", "0")


@given(st.lists(st.sampled_from(PIECES), max_size=12), st.sampled_from([".", " in London.", ", who", ") is", ""]))
def test_what_is_decided_stays_so_whatever_is_said_next(pieces, right):
    text = "".join(pieces)
    whole = ending(text, right, is_all=True)
    for n in range(len(text)):
        early = ending(text[:n], right, is_all=False)
        assert early is None or early == whole
    if whole:
        assert 0 <= whole.end <= whole.stop <= len(text)
