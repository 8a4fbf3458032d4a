"""What is a name in a chat model's reply, and what is none."""

import pytest

from tempkb.models.decoding.replies import cut, is_thinking, without_tokens


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
