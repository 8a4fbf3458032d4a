"""A chat model is asked in its own template, on the same day whenever that is."""

from copy import copy
from dataclasses import replace

import pytest

from tempkb.core.errors import ModelError
from tempkb.core.prompts import Question
from tempkb.models.decoding.chat import Chat
from tempkb.models.decoding.decoder import Decoder
from tempkb_tests.models.decoding.talking import QUESTIONS
from tempkb_tests.models.tiny import tiny

TURNS = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}"
    "{% if not loop.last or message['role'] == 'user' %}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
QUESTION = Question("Ada lives in ", ".")
ASKED = "<|user|>Complete the sentence with the missing name only: Ada lives in ____.<|end|><|assistant|>Ada lives in"


def chat(template, kind="gpt2"):
    """A tiny model with a template of a test's own, which reads long prompts."""
    model = tiny(kind, "float32")
    tokenizer = copy(model.tokenizer)
    tokenizer.chat_template = template
    return replace(model, tokenizer=tokenizer, context_tokens=None)


def test_the_assistant_begins_with_the_left_context():
    asked = Chat(chat(TURNS), None)
    assert asked.prompt(QUESTION) == ASKED
    alone = "<|user|>Complete the sentence with the missing name only: ____ is run by Ada.<|end|><|assistant|>"
    assert asked.prompt(Question("", " is run by Ada.")) == alone
    assert asked.prompt(Question("  ", " is run by Ada.")).endswith("<|assistant|>")


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("{{ strftime_now('%d %B %Y') }}", "01 January 2025"),
        ("{{ strftime_now('%Y-%m-%d, %A') }}", "2025-01-01, Wednesday"),
        ("{{ strftime_now('%-d.%-m.%y') }}", "1.1.25"),
        ("{% set today = strftime_now('%b') %}{{ today }}", "Jan"),
        ("{% macro head() %}{{ strftime_now('%j') }}{% endmacro %}{{ head() }}", "001"),
        ("{% if not date_string is defined %}{% set date_string = '26 Jul 2024' %}{% endif %}{{ date_string }}", "01 Jan 2025"),
        ("\n{{ strftime_now('%Y') }}", "\n2025"),
    ],
)  # fmt: skip
def test_what_a_template_takes_for_today_is_a_stated_day(said, shown):
    asked = Chat(chat(said + TURNS), None)
    assert asked.prompt(QUESTION) == shown + ASKED
    assert asked.states_date


def test_a_template_that_states_a_fixed_date_is_named_too():
    assert Decoder(chat("Cutting Knowledge Date: December 2023" + TURNS), "chat").states_date is True
    assert Decoder(chat(TURNS), "chat").states_date is False
    assert Decoder(chat(TURNS), "greedy").states_date is None


def test_the_digest_is_of_the_template_alone():
    digests = [Decoder(chat(template), "chat").template_sha256 for template in (TURNS, TURNS, "x" + TURNS)]
    assert digests[0] == digests[1] != digests[2]
    assert len(digests[0]) == 64
    assert Decoder(chat(TURNS), "greedy").template_sha256 is None


def test_models_without_a_template_are_refused():
    with pytest.raises(ModelError, match="has no chat template, which `causal.chat` needs"):
        Decoder(tiny("gpt2"), "chat")


@pytest.mark.parametrize(
    "template", ["{{ raise_exception('no assistant, please') }}", "{{ messages[0]['content'] }}", "{% if %}"]
)
def test_templates_that_cannot_be_continued_are_refused(template):
    with pytest.raises(ModelError, match="cannot begin the assistant's turn or leave it open"):
        Decoder(chat(template), "chat")


def test_replies_do_not_depend_on_the_company():
    model = chat(TURNS, "gpt_neo")
    questions = [question for question in QUESTIONS if len(question.left) < 50]
    model = replace(model, module=tiny("gpt_neox", "float32").module)  # reads any number of tokens
    together = Decoder(model, "chat").answer(questions)
    alone = [Decoder(model, "chat").answer([question])[0] for question in questions]
    assert [[one.token_ids for one in answers] for answers in together] == [[one.token_ids for one in a] for a in alone]
    assert {answers[0].status for answers in together} <= {"answered", "cut_off", "empty"}


def test_what_the_model_says_is_cut(monkeypatch):
    """Tokens are put into its mouth one by one; it is asked for no more than its answer needs."""
    model = chat(TURNS)
    for reply, status, name, stopped in (
        ("<think>Rome?</think>\n**Paris**\nIt", "answered", "Paris", "line_end"),
        ("I'm sorry, but no.\nBut", "refused", None, "sentence_end"),
        ("Paris and " * 40, "cut_off", None, "length"),
        ("<think>Rome and " * 40, "reasoning", None, "length"),
        ("Paris<|end|>", "answered", "Paris", "end_token"),
        ("<|end|>", "empty", None, "end_token"),
    ):
        tokens = model.tokenizer(reply, add_special_tokens=False).input_ids
        answer = _says(monkeypatch, model, tokens)
        assert (answer.status, answer.text, answer.stopped) == (status, name, stopped), reply
        assert answer.token_ids == tuple(tokens[: answer.n_tokens])
        assert answer.n_tokens <= 64


def _says(monkeypatch, model, tokens):
    import torch

    from tempkb.models.decoding import stepping

    rest = iter(tokens)

    def next_token(self, ids):
        logits = torch.zeros(len(ids), len(model.tokenizer))
        logits[:, next(rest)] = 9.0
        return logits

    monkeypatch.setattr(stepping.Steps, "__call__", next_token)
    return Decoder(model, "chat").answer([QUESTION])[0][0]
