"""How an answer is cut out of a chat model's reply. Pure; the words that it knows are in `replies.toml`.

In this order:

1. Reasoning goes: all to the last mark that closes it, and all from a mark that opens it and is not closed.
2. Words before an answer go (`Sure!`, `The missing name is`), and the blanks and line ends behind them.
3. What is left ends as any continuation does (`endings.py`): with its first line, its first sentence, or where the
   question goes on behind its gap.
4. Quotes and Markdown's emphasis around the whole go (`"Paris"`, `**Paris.**`), and the period of the sentence.

A reply that begins with a refusal is `refused`; one of which only reasoning was said is `reasoning`; one that is over
before its answer has an end, by the number of its tokens, is `cut_off`; without a letter or digit it is `empty`.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tempkb.models.decoding.endings import ending, without_period
from tempkb.models.decoding.generated import GenerationStatus, Stopped, is_name

_PAIRS = ('""', "''", "“”", "‘’", "«»", "„“", "``", "[]")
_EMPHASIS = re.compile(r"(\*{1,3}|_{1,3}|`{1,3})(.+)\1\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Words:
    """How chat models speak around an answer: see `replies.toml`."""

    refusals: tuple[str, ...]
    lead_in: re.Pattern[str]
    reasoning: tuple[tuple[str, str], ...]


@cache
def words() -> Words:
    """Return the words of `replies.toml`."""
    data = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    lead_in = re.compile(rf"\s*(?:{'|'.join(data['lead_ins'])})(?=\W|\Z)\s*", re.IGNORECASE)
    return Words(tuple(data["refusals"]), lead_in, tuple((opens, closes) for opens, closes in data["reasoning"]))


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer in a reply: its text if it is a name, and what ended it (None: nothing in the text)."""

    status: GenerationStatus
    text: str | None = None
    stopped: Stopped | None = None


def cut(reply: str, right: str, *, is_thinking: bool, is_all: bool) -> Reply | None:
    """Return the answer in a reply, or None if what comes next may decide.

    Args:
        reply: what was said so far, without special tokens other than those around reasoning.
        right: the question behind its gap.
        is_thinking: whether the reply begins within reasoning.
        is_all: whether nothing more will come.

    >>> cut("The missing name is **Paris**.", ".", is_thinking=False, is_all=True).text
    'Paris'
    """
    said = without_reasoning(reply, is_thinking=is_thinking)
    if said is None:
        return Reply("reasoning") if is_all else None
    body = _without_lead_ins(said).lstrip()
    if not body:
        return Reply("reasoning" if said != reply else "empty") if is_all else None
    found = ending(body, right, is_all=is_all)
    if found is None and not is_all:
        return None
    name = _unwrapped(body[: found.end] if found else body)
    stopped = found.stopped if found else None
    if _is_refusal(body):
        return Reply("refused", None, stopped)
    return Reply("answered", name, stopped) if is_name(name) else Reply("empty", None, stopped)


def without_reasoning(reply: str, *, is_thinking: bool) -> str | None:
    """Return a reply without its reasoning; None if there is nothing else."""
    is_open = is_thinking
    for opens, closes in words().reasoning:
        before, closed, rest = reply.rpartition(closes)
        if closed:
            reply, is_open = rest, False
        said, opened, _ = reply.partition(opens)
        if opened:
            reply = said
            is_open = is_open or not said.strip()
    return None if is_open else reply


def is_thinking(prompt: str) -> bool:
    """Whether a prompt ends within reasoning: its template opens it."""
    return prompt.rstrip().endswith(tuple(opens for opens, _ in words().reasoning))


def without_tokens(text: str, special: Sequence[str]) -> str:
    """Return a text without special tokens, but for those around reasoning."""
    kept = {mark for pair in words().reasoning for mark in pair}
    for token in special:
        if not any(token in mark for mark in kept):
            text = text.replace(token, "")
    return text


def _without_lead_ins(text: str) -> str:
    while found := words().lead_in.match(text):
        text = text[found.end() :]
    return text


def _is_refusal(body: str) -> bool:
    return body.casefold().replace("’", "'").lstrip("*_\"'“ ").startswith(words().refusals)


def _unwrapped(name: str) -> str:
    """A name without what stands around it, and without the period of its sentence."""
    while True:
        shorter = without_period(name.strip())
        emphasised = _EMPHASIS.match(shorter)
        if emphasised:
            shorter = emphasised[2]
        elif len(shorter) > 1 and shorter[0] + shorter[-1] in _PAIRS:
            shorter = shorter[1:-1]
        if shorter == name:
            return name
        name = shorter
