"""`causal.chat`: a chat model on this machine, asked in its own template.

The user says `Complete the sentence with the missing name only: `, and the question with `____` in its gap. The
assistant's turn begins with the left context, which the model continues; where that is blank, the model has the turn to
itself. The rendered text is tokenized as it is, with no special tokens added. Templates that ask whether to think
(`enable_thinking`) are told not to. What a template reads as today is one stated day, so that a prompt is the same
whenever it is made; `states_date` tells whether the model is told a date at all.
"""

import hashlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from jinja2 import TemplateError

from tempkb.core.errors import ModelError
from tempkb.core.prompts import Question
from tempkb.models.batching import Limits
from tempkb.models.decoding.greedy import Continuing
from tempkb.models.decoding.replies import Generated, GenerationStatus, Reply, Stopped, cut, is_thinking, without_tokens
from tempkb.models.decoding.stepping import Said, Start, decoded, told
from tempkb.models.loading import LoadedModel
from tempkb.models.scorers import CHAT_TOKENS

INSTRUCTION = "Complete the sentence with the missing name only: "
BLANK = "____"
TODAY = datetime(2025, 1, 1, tzinfo=UTC)
"""The day that templates take for today."""

_SAMPLES = (Question("The mouse lives in ", "."), Question("", " lives in the house."))
_DIRECTIVES = ("%-d", "%-m", "%-H", "%-I", "%-M", *(f"%{one}" for one in "aAbBcdDeFgGhHIjklmMpPrRsSTuUVwWxXyYzZ"))
_OTHER_DAY = datetime(1987, 6, 5, tzinfo=UTC)
_YEAR = re.compile(r"\b(19|20)\d\d\b")


class Chat(Continuing):
    """`causal.chat`.

    Attributes:
        template_sha256: of what the template makes of two questions, with its dates.
        states_date: whether the model is told a date, today's or another.
    """

    most = CHAT_TOKENS

    def __init__(self, model: LoadedModel, limits: Limits | None) -> None:
        super().__init__(model, limits)
        if not model.tokenizer.chat_template:
            raise ModelError(
                f"The tokenizer of {model.module.config.name_or_path!r} has no chat template, which `causal.chat` "
                "needs. Ask the model by `causal.greedy`, or name a model that was trained to chat."
            )
        try:
            rendered = [self.prompt(question) for question in _SAMPLES]
            otherwise = [self.prompt(question, _OTHER_DAY) for question in _SAMPLES]
        except (ValueError, TemplateError) as error:
            said = " ".join(str(error).split())[:200]
            raise ModelError(
                f"The chat template of {model.module.config.name_or_path!r} cannot begin the assistant's turn or leave "
                f"it open ({said}), which `causal.chat` needs. Ask the model by `causal.greedy`."
            ) from error
        self.template_sha256 = hashlib.sha256("\0".join(rendered).encode()).hexdigest()
        self.states_date = rendered != otherwise or any(map(_YEAR.search, rendered))
        added = model.tokenizer.added_tokens_decoder.values()
        self._special = sorted({str(one) for one in added if one.special} | set(model.tokenizer.all_special_tokens))

    def prompt(self, question: Question, today: datetime = TODAY) -> str:
        """Return the text that the model continues."""
        turns = [{"role": "user", "content": f"{INSTRUCTION}{question.left}{BLANK}{question.right}"}]
        left = question.left.rstrip()
        if left:
            turns.append({"role": "assistant", "content": left})
        given: dict[str, Any] = {"date_string": today.strftime("%d %b %Y"), "enable_thinking": False}
        template = self.model.tokenizer.get_chat_template()
        return str(
            self.model.tokenizer.apply_chat_template(
                turns,
                chat_template=_pinned(template, today) if "strftime_now" in template else template,
                tokenize=False,
                continue_final_message=bool(left),
                add_generation_prompt=not left,
                **given,
            )
        )

    def starts(self, questions: Sequence[Question]) -> list[Start | GenerationStatus]:
        """Return rendered questions."""
        found: list[Start | GenerationStatus] = []
        for question in questions:
            prompt = self.prompt(question)
            ids = tuple(self.model.tokenizer(prompt, add_special_tokens=False, verbose=False).input_ids)
            has_end = partial(self._has_end, question, is_thinking(prompt))
            found.append("too_long" if self.is_too_long(len(ids)) else Start(ids, has_end))
        return found

    def answer(self, question: Question, said: Said) -> Generated:
        """Return the answer in a reply, or what became of it."""
        is_ended = self.has_ended(said.tokens)
        thinks = is_thinking(self.prompt(question))
        reply = self._reply(said.tokens[:-1] if is_ended else said.tokens, question, thinks, is_all=True)
        if reply is None:
            raise AssertionError("a reply that is over has a status")
        stopped: Stopped = reply.stopped or ("end_token" if is_ended else "length")
        status = "cut_off" if stopped == "length" and reply.status in ("answered", "empty") else reply.status
        return told(self.model, said, reply.text, stopped, status=status)

    def _has_end(self, question: Question, thinks: bool, tokens: Sequence[int]) -> bool:
        return self.has_ended(tokens) or self._reply(tokens, question, thinks, is_all=False) is not None

    def _reply(self, tokens: Sequence[int], question: Question, thinks: bool, *, is_all: bool) -> Reply | None:
        # Marks around reasoning may be special tokens, without which it would read as an answer.
        text = decoded(self.model, tokens, is_raw=True).rstrip("\ufffd")
        return cut(without_tokens(text, self._special), question.right, is_thinking=thinks, is_all=is_all)


def _pinned(template: str, today: datetime) -> str:
    """A template for which today is another day: a macro takes the place of transformers' function of that name."""
    filters = "".join(f" | replace({one!r}, {today.strftime(one)!r})" for one in _DIRECTIVES)
    return "{% macro strftime_now(format) %}{{ format" + filters + " }}{% endmacro %}{{ '' }}" + template
