"""Greedy continuation of many texts at once: the likeliest token, again and again, until each text has its end.

Texts of a batch have equally many tokens to begin with, so that nothing is padded but the sources of encoders, which
are hidden where they are; a text that has its end leaves the batch. Keys and values are kept, if the architecture
does. Equal numbers have an order that does not depend on how the best of them are found.
"""

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers.cache_utils import EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from tempkb.core.prompts import Question
from tempkb.models.batching import Limits, Packer, Shape, only_at, wide
from tempkb.models.decoding.replies import Generated, GenerationStatus, Stopped, is_name
from tempkb.models.loading import LoadedModel
from tempkb.models.rows import Tokens, TokenSpan, token_span


@dataclass(frozen=True, slots=True)
class Start:
    """What a model continues.

    Attributes:
        tokens: what it reads first; of a sequence-to-sequence model, what its decoder reads.
        has_end: whether tokens that it added are complete.
        source: what the encoder of a sequence-to-sequence model reads.
    """

    tokens: tuple[int, ...]
    has_end: Callable[[Sequence[int]], bool]
    source: tuple[int, ...] = ()


@dataclass(slots=True)
class Said:
    """The tokens that a model added, and the natural logarithm of the probability of each (NaN where it gave none)."""

    tokens: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)

    def first(self, n: int) -> "Said":
        """Return the first tokens alone."""
        return Said(self.tokens[:n], self.log_probs[:n])


class Steps:
    """What was computed for the rows of a batch, to be continued: keys and values, and encoded sources."""

    def __init__(self, model: LoadedModel) -> None:
        self.model = model
        self.states: torch.Tensor | None = None
        self.mask: torch.Tensor | None = None
        self.cache: Any = None
        self._read: torch.Tensor | None = None
        self._keeps = "past_key_values" in inspect.signature(model.module.forward).parameters

    def encode(self, ids: torch.Tensor, mask: torch.Tensor) -> None:
        """Read the sources of all rows."""
        self.states = self.model.module.get_encoder()(input_ids=ids, attention_mask=mask)[0]
        self.mask = mask

    def __call__(self, ids: torch.Tensor) -> torch.Tensor:
        """Read more tokens of each row, and return the logits behind the last, one line a row, in float32 at least."""
        if self._keeps:
            arguments: dict[str, Any] = {"past_key_values": self.cache, "use_cache": True}
        else:
            ids = self._read = ids if self._read is None else torch.cat((self._read, ids), 1)
            arguments = {}
        if self.states is None:
            arguments["input_ids"] = ids
        else:
            encoded = BaseModelOutput(last_hidden_state=self.states)
            arguments |= {"encoder_outputs": encoded, "attention_mask": self.mask, "decoder_input_ids": ids}
        rows = torch.arange(len(ids), device=ids.device)
        with only_at(self.model, rows, torch.full_like(rows, ids.shape[1] - 1)):
            given = self.model.module(**arguments)
        if self._keeps:
            self.cache = given.past_key_values
        return wide(given.logits[0])

    def reorder(self, rows: torch.Tensor, *, has_same_sources: bool) -> None:
        """Go on with these rows.

        Args:
            rows: those that go on, in their new order; a row may go on more than once.
            has_same_sources: whether each takes the place of one that has the same source.
        """
        if has_same_sources and isinstance(self.cache, EncoderDecoderCache):
            self.cache.self_attention_cache.reorder_cache(rows)
            return
        if self.cache is not None:
            self.cache.batch_select_indices(rows)
        self._read, self.states, self.mask = (
            None if one is None else one[rows] for one in (self._read, self.states, self.mask)
        )


class Stepper(Packer):
    """Continues texts.

    Attributes:
        most: tokens that are added at most.
    """

    def __init__(self, model: LoadedModel, limits: Limits | None, most: int) -> None:
        super().__init__(model, limits)
        self.most = most

    def read(self, starts: Sequence[Start]) -> list[Said]:
        """Return what the model adds to each, in their order. Of tokens that are equally likely, the first is taken."""
        said = [Said() for _ in starts]
        by_length: dict[int, list[tuple[Start, Said]]] = {}
        for start, one in zip(starts, said, strict=True):
            by_length.setdefault(len(start.tokens), []).append((start, one))
        with self.model.computing():
            for length in sorted(by_length):
                for batch in self.batches(by_length[length], self._size):
                    self.halving(batch, self._continue)
        return said

    def _size(self, one: tuple[Start, Said]) -> tuple[int, int]:
        start, _ = one
        return max(len(start.source), len(start.tokens) + self.most), 1

    def _continue(self, batch: list[tuple[Start, Said]]) -> None:
        shape = self.shape([self._size(one) for one in batch])
        steps = Steps(self.model)
        if self.model.traits.has_sources:
            longest = max(len(start.source) for start, _ in batch)
            length = shape.length if self.limits.has_fixed_shapes else longest
            steps.encode(*self.padded([start.source for start, _ in batch], Shape(shape.n_rows, length)))
        n = len(batch[0][0].tokens)
        ids, _ = self.padded([start.tokens for start, _ in batch], Shape(shape.n_rows, n))
        found = [Said() for _ in batch]  # kept only when memory was enough for all of the batch
        rows = [*range(len(batch)), *[0] * (shape.n_rows - len(batch))]
        done: set[int] = set()
        for _ in range(self.most):
            ids, values = _likeliest(steps(ids))
            for line, (row, token, value) in enumerate(zip(rows, ids[:, 0].tolist(), values.tolist(), strict=True)):
                if row in done or line >= len(batch):
                    continue
                found[row].tokens.append(token)
                found[row].log_probs.append(value)
                if not math.isfinite(value) or batch[row][0].has_end(found[row].tokens):
                    done.add(row)
            if len(done) == len(batch):
                break
            ids, rows = self._without(done, ids, rows, steps)
        for (_, said), one in zip(batch, found, strict=True):
            said.tokens, said.log_probs = one.tokens, one.log_probs

    def _without(
        self, done: set[int], ids: torch.Tensor, rows: list[int], steps: Steps
    ) -> tuple[torch.Tensor, list[int]]:
        """Leave out rows that are done; in fixed shapes they stay."""
        going = [line for line, row in enumerate(rows) if row not in done]
        if self.limits.has_fixed_shapes or len(going) == len(rows):
            return ids, rows
        lines = self.tensor(going)
        steps.reorder(lines, has_same_sources=False)
        return ids[lines], [rows[line] for line in going]


def _likeliest(logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The first of the likeliest tokens of each line [lines, 1], and the logarithm of its probability [lines]."""
    chosen = logits.argmax(-1, keepdim=True)
    values = logits.gather(1, chosen) - logits.logsumexp(-1, keepdim=True)
    return chosen, values[:, 0].double()


_PIECE = 64  # numbers of which at first only the largest is looked at


def best(values: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the largest numbers of each line and their places, the largest first, equal ones by their place.

    Args:
        values: [lines, numbers], at least one number a line.
        k: how many are wanted; fewer where a line has fewer.

    Returns:
        Numbers and places, both [lines, k].
    """
    n_lines, n = values.shape
    k = min(k, n)
    if n % _PIECE or n < 4 * _PIECE * k:
        return _best(values, k)
    # Each of the k pieces with the largest maxima has a number at least as large as any of the other pieces.
    pieces = values.view(n_lines, -1, _PIECE)
    chosen = _best(pieces.amax(-1), k)[1].sort(-1).values
    numbers = pieces.gather(1, chosen[:, :, None].expand(-1, -1, _PIECE)).view(n_lines, -1)
    found, places = _best(numbers, k)
    return found, chosen.gather(1, places // _PIECE) * _PIECE + places % _PIECE


def _best(values: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    found, places = values.topk(min(k + 1, values.shape[1]))
    # Of equal numbers, topk takes any in any order.
    for line in (found[:, 1:] == found[:, :-1]).any(-1).nonzero().flatten().tolist():
        last = found[line, k - 1]
        above = places[line][found[line] > last].sort().values
        equal = (values[line] == last).nonzero().flatten()[: k - len(above)]
        order = torch.sort(values[line, above], descending=True, stable=True).indices
        places[line, :k] = torch.cat((above[order], equal))
    return found[:, :k], places[:, :k]


# Stands in a gap while a question is tokenized, so that what surrounds it has the tokens of a statement. No tokenizer
# merges this letter with others.
GAP = "ꙮ"


def filled(question: Question) -> str:
    """Return a question as a statement, with a letter in its gap."""
    return f"{question.left}{GAP}{question.right}"


def gap_of(question: Question, tokens: Tokens) -> TokenSpan | None:
    """Return the tokens in the gap of a statement; None if there are none that are the gap's alone.

    The blanks before a gap are a part of it, as they are a part of targets: a mask or sentinel stands for them, too.
    """
    return token_span(tokens, len(question.left), len(question.left) + len(GAP))


def end_ids(model: LoadedModel) -> frozenset[int]:
    """Return the tokens that end a text: those of the tokenizer and of the model's own configuration of generation."""
    configured = getattr(getattr(model.module, "generation_config", None), "eos_token_id", None)
    found: list[Any] = [model.tokenizer.eos_token_id, *(configured if isinstance(configured, list) else [configured])]
    return frozenset(one for one in found if one is not None)


def decoded(model: LoadedModel, tokens: Sequence[int], *, is_raw: bool = False) -> str:
    """Return what tokens say, with special ones if the text is to be raw."""
    return str(model.tokenizer.decode(list(tokens), skip_special_tokens=not is_raw, clean_up_tokenization_spaces=False))


def told(
    model: LoadedModel,
    said: Said,
    name: str | None,
    stopped: Stopped,
    rank: int = 1,
    status: GenerationStatus | None = None,
) -> Generated:
    """Return what was said as one answer.

    Args:
        model: what was asked.
        said: its tokens.
        name: the answer among them; None where it has no end.
        stopped: what ended it.
        rank: of the answer.
        status: for those without a name; by default, `empty` and `unclosed` are told apart by the name.
    """
    raw, tokens = decoded(model, said.tokens, is_raw=True), tuple(said.tokens)
    if not all(map(math.isfinite, said.log_probs)):
        return Generated(rank, "not_finite", None, raw, None, len(tokens), tokens, (), stopped)
    if status is None:
        status = "unclosed" if name is None else "answered" if is_name(name) else "empty"
    text = name if status == "answered" else None
    log_prob = math.fsum(said.log_probs)
    return Generated(rank, status, text, raw, log_prob, len(tokens), tokens, tuple(said.log_probs), stopped)
