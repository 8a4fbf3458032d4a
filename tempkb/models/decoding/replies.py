"""Where an answer ends in what a model says, and how it is cut out of a chat model's reply. Pure.

A text that continues a question ends at the first of these places:

- **line end**: the first; where nothing precedes it, the answer is empty.
- **right context**: where the text goes on as the question does behind its gap. What is looked for is the right
  context, or its first 16 characters; where it begins with a mark other than a period (a comma, a bracket), that mark
  before a blank or the end of the line. A right context that begins with a period says no more than that the sentence
  ends.
- **sentence end**: a period, question or exclamation mark (and quotes or brackets that close behind it) before a blank
  or the end of the line. It is none before a lower-case letter (`Acme Inc. of Rome`, `Yahoo! and`), and a period is
  none, but for the end of the line,

  - behind a single letter (`J. K. Rowling`, `John F. Kennedy`),
  - behind letters with periods between them that begin the answer (`A.C. Milan`, `U.S. Steel`),
  - behind a title that stands before names (`St. Louis`, `Dr. Strange`).

  So `Juventus F.C. The club` ends before `The`, and `Sammy Davis Jr. He` before `He`.

The mark that ends a sentence is not the answer's, unless something closes behind it, or it is the period of an
abbreviation: letters with periods between them, a single letter, `Jr.`, `Sr.`, `Inc.`, `Ltd.`, `Co.`, `Corp.`,
`Bros.`, and titles. Whether the text goes on decides, so one more word may be needed than the answer has.

Of a chat model's reply (`replies.toml` has the words that are known), in this order:

1. Reasoning goes: all to the last mark that closes it, and all from a mark that opens it and is not closed.
2. Words before an answer go (`Sure!`, `The missing name is`), and the blanks and line ends behind them.
3. What is left ends as any continuation does.
4. Quotes and Markdown's emphasis around the whole go (`"Paris"`, `**Paris.**`), and the period of the sentence.

A reply that begins with a refusal is `refused`; one of which only reasoning was said is `reasoning`; one that is over
before its answer has an end, by the number of its tokens, is `cut_off`; without a letter or digit it is `empty`.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from tempkb.core.files import toml_beside

GenerationStatus = Literal[
    "answered",
    "empty",
    "unclosed",
    "refused",
    "cut_off",
    "reasoning",
    "too_long",
    "no_left_context",
    "not_alignable",
    "not_finite",
]

Stopped = Literal["end_token", "sentence_end", "line_end", "right_context", "closing_sentinel", "length", "mask_count"]


@dataclass(frozen=True, slots=True)
class Generated:
    """One answer to a question, or the reason why there is none.

    Attributes:
        rank: 1 for the first; a decoder that gives one answer, or none, gives rank 1 alone.
        status: `answered`; `empty`, no letter or digit was said; `unclosed`, the closing sentinel did not come;
            `refused`, `cut_off` and `reasoning`, a chat model's reply declines, ends by its length, or holds nothing
            beside reasoning; `too_long`, the question with the most that may be added has more tokens than the model
            reads; `no_left_context`, nothing precedes the gap of a causal model; `not_alignable`, a token lies on both
            sides of an edge of the gap; `not_finite`, the model gave NaN or an infinity.
        text: the answer without blanks at its ends; None but for `answered`.
        raw_text: all that the model said, decoded with its special tokens; None where it was not asked.
        log_prob_nats: natural logarithm of the probability of all tokens that the model said, a sum over
            `token_log_probs`. As with `span_end` of scorers, what ends an answer is counted with it.
        n_tokens: how many tokens it said.
        token_ids: what it said, to the token in which the answer ends; of `recall`, the whole beam.
        token_log_probs: natural logarithms, one a token.
        stopped: what ended the answer; None where the model was not asked.
        score: what ranks rest on, the higher the better: the mean log-probability of a token (`recall`, masked
            models), or the mean logit (`masked.paper`); None where there is one answer alone.
        n_unclosed: of `recall`, how many beams of the question gave no span; else None.
    """

    rank: int
    status: GenerationStatus
    text: str | None = None
    raw_text: str | None = None
    log_prob_nats: float | None = None
    n_tokens: int | None = None
    token_ids: tuple[int, ...] = ()
    token_log_probs: tuple[float, ...] = ()
    stopped: Stopped | None = None
    score: float | None = None
    n_unclosed: int | None = None


def is_name(text: str) -> bool:
    """Whether a text may be a name: it has a letter or a digit.

    >>> is_name("Ada"), is_name(" — ")
    (True, False)
    """
    return any(map(str.isalnum, text))


_N_RIGHT = 16  # characters of a right context by which it is recognised
_LINE_END = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_SENTENCE_END = re.compile(r"[.!?]+[\"'”’»)\]]*(?=\s|\Z)")
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]")  # U.S, F.C, before their last period
_TITLES = frozenset(
    ("St", "Dr", "Mr", "Mrs", "Ms", "Mt", "Ft", "Prof", "Gen", "Col", "Lt", "Sgt", "Capt", "Sen", "Rep", "Gov", "Rev")
) | {"Hon", "No", "Nos", "vs"}
_ABBREVIATIONS = _TITLES | {"Jr", "Sr", "Inc", "Ltd", "Co", "Corp", "Bros"}


@dataclass(frozen=True, slots=True)
class Ending:
    """Where an answer ends: the character behind its last, the one behind what ends it, and what that is."""

    end: int
    stop: int
    stopped: Stopped


def ending(text: str, right: str, *, is_all: bool) -> Ending | None:
    """Return where the answer ends, or None if it does not within the text.

    Args:
        text: what was said so far.
        right: the question behind its gap.
        is_all: whether nothing more will come; else what comes next may decide.

    >>> ending(" Juventus F.C. The club", ".", is_all=False)
    Ending(end=14, stop=14, stopped='sentence_end')
    >>> ending(" Paris.", ".", is_all=False) is None  # "Paris.com" would be another name
    True
    """
    line = _LINE_END.search(text)
    shown = text[: line.start()] if line else text
    is_over = is_all or line is not None
    sentence, pending = _sentence(shown, is_over=is_over)
    found = [one for one in (sentence, _right(shown, right, is_over=is_over)) if one]
    if line:
        found.append(Ending(line.start(), line.end(), "line_end"))
    first = min(found, key=lambda one: (one.end, one.stop), default=None)
    return first if first and first.end <= pending else None


def answer_in(text: str, right: str) -> tuple[str, Ending | None]:
    """Return the answer in all that was said, without blanks around it, and where it ends; None if nothing ended it.

    >>> answer_in(" Paris. It is", ".")
    ('Paris', Ending(end=6, stop=7, stopped='sentence_end'))
    """
    found = ending(text, right, is_all=True)
    name = (text if found is None else text[: found.end]).strip()
    return (name if found is not None and found.stopped == "sentence_end" else without_period(name)), found


def without_period(text: str) -> str:
    """Return a text without the period that ends its sentence.

    >>> without_period("Paris."), without_period("Sammy Davis Jr.")
    ('Paris', 'Sammy Davis Jr.')
    """
    return text[:-1] if text.endswith(".") and not _is_abbreviated(text[:-1]) else text


def _right(text: str, right: str, *, is_over: bool) -> Ending | None:
    right = right.rstrip()
    core = right.lstrip()
    if not core or core[0] == ".":
        return None
    first = len(text) - len(text.lstrip())
    if not core[0].isalnum():
        pattern = re.escape(core[0]) + (r"(?=\s|\Z)" if is_over else r"(?=\s)")
    else:
        pattern = (r"\s+" if right != core else "") + re.escape(core[:_N_RIGHT])
    found = re.compile(pattern).search(text, first)
    return Ending(found.start(), found.end(), "right_context") if found else None


def _sentence(text: str, *, is_over: bool) -> tuple[Ending | None, float]:
    """Where the first sentence ends, and from where on it is undecided whether one does."""
    for found in _SENTENCE_END.finditer(text):
        rest = text[found.end() :].lstrip()
        if not rest and not is_over:
            return None, found.start()
        mark = found.group().rstrip("\"'”’»)]")
        before = text[: found.start()]
        if rest and (rest[0].islower() or (mark == "." and _goes_on(before))):
            continue
        is_kept = mark != found.group() or (mark == "." and _is_abbreviated(before))
        end = found.end() if is_kept else found.start()
        return Ending(end, found.end(), "sentence_end"), math.inf
    return None, math.inf


def _goes_on(before: str) -> bool:
    """Whether what ends in a period is a part of a name that goes on behind it."""
    words = before.split()
    last = words[-1] if words else ""
    is_dotted_beginning = len(words) == 1 and _DOTTED.fullmatch(last) is not None
    return _is_letter(last) or last in _TITLES or is_dotted_beginning


def _is_abbreviated(before: str) -> bool:
    """Whether the period behind this text belongs to its last word."""
    last = before.split()[-1] if before.strip() else ""
    return _is_letter(last) or last in _ABBREVIATIONS or _DOTTED.fullmatch(last) is not None


def _is_letter(word: str) -> bool:
    return len(word) == 1 and word.isalpha()


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
    data = toml_beside(__file__, "replies.toml")
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
