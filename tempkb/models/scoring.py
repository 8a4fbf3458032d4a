"""Scorers: prompts in, scores out, in the same order. This is the door of the room; see its README.

Scores come out of batches: with padding, with beginnings and sources that are computed once, and with a head that
sees only what is read. For most architectures that changes nothing; others mix what lies in a batch (convolutions
over padding), or let tokens see those after them. No list of architectures is complete, so the model itself is asked
for a few short texts in two ways, before any score of it is believed.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import torch

from tempkb.core.errors import ModelError, ModelMemoryError
from tempkb.core.model_words import Dtype
from tempkb.core.prompts import Prompt
from tempkb.models.batching import Limits, Reader, Readings, log_probs
from tempkb.models.devices import on_threads, threads_for
from tempkb.models.loading import LoadedModel
from tempkb.models.rows import Plan, Row, Score, Status
from tempkb.models.scorers import require_template, scorer_name

SHARD = 1024  # prompts of a stream that are planned and scored together


class Scorer:
    """Scores prompts with one model and template.

    Attributes:
        name: family, template, version and number type, such as `causal.span-2.bf16`: equal names of one model mean
            equal scores, up to rounding.
    """

    def __init__(self, model: LoadedModel, template: str | None = None, limits: Limits | None = None) -> None:
        """Make a scorer.

        Args:
            template: one of the model's family; its first by default.

        Raises:
            SettingsError: the family has no such template.
            ModelError: the tokenizer lacks a token that the template needs.
        """
        template = model.traits.templates[0] if template is None else template
        require_template(model.family, template)
        self.name = scorer_name(model.family, template, model.dtype)
        self._model = model
        self._planner = model.planner(template)
        self._reader = Reader(model, limits, has_ranks=template == "probing")
        self._reads_beyond = template in model.traits.reads_beyond

    @property
    def batch_tokens(self) -> int:
        """Padded tokens of a batch; fewer than at first if memory ran out."""
        return self._reader.batch_tokens

    def score(self, prompts: Sequence[Prompt]) -> list[Score]:
        """Return the scores of prompts, in their order. The memory grows with their number, unlike that of `stream`.

        A name's own period and that of the sentence may be one token, so that the name has no tokens of its own. Where
        these alone count, the statement is then read with one period; a batch of its own leaves other scores as they
        are. `n_tokens` is 0 where that does not help either.
        """
        scores = self._score(prompts)
        if self._reads_beyond:
            shorter = {
                at: one
                for at, (prompt, score) in enumerate(zip(prompts, scores, strict=True))
                if score.status == "not_alignable" and (one := prompt.with_one_period) is not None
            }
            for at, score in zip(shorter, self._score(list(shorter.values())), strict=True):
                scores[at] = replace(score, n_tokens=0) if score.status == "not_alignable" else score
        return scores

    def _score(self, prompts: Sequence[Prompt]) -> list[Score]:
        tokenized = self._model.tokenize([self._planner.text(prompt) for prompt in prompts])
        plans = [self._planner.plan(prompt, tokens) for prompt, tokens in zip(prompts, tokenized, strict=True)]
        readings = iter(self._reader.read([row for plan in plans if isinstance(plan, Plan) for row in plan.rows]))
        return [
            _score(plan, [next(readings) for _ in plan.rows]) if isinstance(plan, Plan) else Score(plan)
            for plan in plans
        ]

    def stream(self, prompts: Iterable[Prompt], shard: int = SHARD) -> Iterator[Score]:
        """Yield the scores of any number of prompts, in their order, with the memory of one shard."""
        rest = iter(prompts)
        while part := list(islice(rest, shard)):
            yield from self.score(part)


def _score(plan: Plan, readings: list[Readings]) -> Score:
    tokens = tuple(token for row in plan.rows for token in row.targets)
    values = tuple(value for one in readings for value in one.log_probs)
    ranks = [rank for one in readings for rank in one.ranks if rank]
    counted = values[plan.n_before : len(values) if plan.counts_after else len(values) - plan.n_after]
    is_finite = all(map(math.isfinite, values))
    status: Status = "scored" if is_finite else "not_finite"
    return Score(
        status,
        math.fsum(counted) if is_finite else None,
        len(counted),
        plan.n_chars,
        tokens,
        values if is_finite else (),
        plan.n_before,
        plan.n_after,
        ranks[0] if ranks and is_finite else None,
    )


# The largest difference that is rounding, relative to the largest log-probability (1 at least): in narrow numbers a
# logit of 100 is a multiple of a half, and a layer more or less accurate moves it by several of them.
_TOLERANCE: dict[Dtype, float] = {"float64": 1e-9, "float32": 1e-4, "bfloat16": 0.1}
_LENGTHS = (12, 5)  # tokens of texts of a batch, the longest first


def require_sound(name: str, model: LoadedModel, limits: Limits | None = None) -> None:
    """Make sure that batches give what the model says of each text alone, and that causal models see no later token.

    Takes fewer than ten passes of less than twenty tokens each, and leaves the state of random numbers as it was.

    Raises:
        ModelError: a difference is larger than rounding, or the model cannot be asked at all.
    """
    devices = [model.device] if model.device.type == "cuda" else []
    n_parameters = sum(weights.numel() for weights in model.module.parameters())
    with torch.random.fork_rng(devices=devices), on_threads(threads_for(n_parameters)):
        try:
            fault = _fault(model, _rows(model), limits)
        except ModelMemoryError:
            raise
        except torch.OutOfMemoryError as error:
            raise ModelMemoryError(
                f"The memory of {model.device} is too small for a short text of {name} in {model.dtype}. Choose a "
                "device with more memory, or bfloat16."
            ) from error
        # Architectures raise anything where they are asked in a way that they do not know.
        except Exception as error:
            said = f"{type(error).__name__}: {' '.join(str(error).split())}"
            raise _refused(name, model, f"asked for short texts it fails ({said})") from error
    if fault:
        raise _refused(name, model, fault)


def _refused(name: str, model: LoadedModel, fault: str) -> ModelError:
    return ModelError(
        f"{name} cannot be scored as a {model.family} model: {fault}. It is a {type(model.module).__name__}, and its "
        "scores would be wrong; none is written. Choose a model of another architecture or family."
    )


def _fault(model: LoadedModel, rows: Sequence[Row], limits: Limits | None) -> str | None:
    """What is wrong with what a model says, or None."""
    reader = Reader(model, limits)
    alone = [_alone(model, row) for row in rows]
    largest = max((abs(value) for one in alone for value in one if math.isfinite(value)), default=0.0)
    tolerance = _TOLERANCE[model.dtype] * max(1.0, largest)
    expected = f"expected less than {tolerance:.2g}"
    if not model.traits.sees_later:
        ahead = _difference([_alone(model, _ending_otherwise(rows[0], rows[1]))[:-1]], [alone[0][:-1]])
        if ahead > tolerance:
            return f"its last token changes what it says of those before it by {ahead:.2g} nats, {expected}"
    together = _difference([one.log_probs for one in reader.read(rows)], alone)
    if together <= tolerance:
        return None
    by_itself = _difference([reader.read([row])[0].log_probs for row in rows], alone)
    reason = ", since padding or other texts of a batch have an influence" if by_itself <= tolerance else ""
    differ = f"in a batch its log-probabilities differ by {together:.2g} nats from those of each text alone"
    return f"{differ}{reason}, {expected}"


def _rows(model: LoadedModel) -> list[Row]:
    """Rows of unequal lengths that together take each way through the batches of a family."""
    ids = _usual_tokens(model)
    longest, shorter = (min(length, model.context_tokens or length) for length in _LENGTHS)
    first, second = tuple(ids[:longest]), tuple(ids[-shorter:])
    return model.traits.trials(first, second, model.tokenizer, model.module.config)


def _usual_tokens(model: LoadedModel) -> list[int]:
    """Tokens from all over the vocabulary, but none with a task of its own, twice as many as the longest text."""
    tokenizer = model.tokenizer
    added = set(tokenizer.added_tokens_decoder) | set(tokenizer.all_special_ids)
    usual = sorted(set(tokenizer.get_vocab().values()) - added) or sorted(tokenizer.get_vocab().values())
    n = 2 * max(_LENGTHS)
    return [usual[(2 * number + 1) * len(usual) // (2 * n)] for number in range(n)]


def _ending_otherwise(row: Row, other: Row) -> Row:
    """The same row with another token as the last that is read."""
    return Row((*row.tokens[:-1], other.tokens[-1]), row.positions, row.targets, row.source)


def _alone(model: LoadedModel, row: Row) -> list[float]:
    """What a plain pass of one text gives: no padding, no mask, no cache, the head at all positions."""

    def tensor(tokens: Sequence[int]) -> torch.Tensor:
        return torch.tensor(tokens, dtype=torch.int64, device=model.device)

    arguments: dict[str, Any] = {"input_ids": tensor(row.source or row.tokens)[None]}
    if model.traits.has_sources:
        arguments["decoder_input_ids"] = tensor(row.tokens)[None]
    if not model.traits.sees_later:
        arguments["use_cache"] = False
    with model.computing():
        logits = model.module(**arguments).logits[0]
        lines = torch.arange(len(row.positions), device=model.device)
        found, _ = log_probs(logits[list(row.positions)], lines, tensor(row.targets), has_ranks=False)
    return [float(one) for one in found]


def _difference(ones: Sequence[Sequence[float]], others: Sequence[Sequence[float]]) -> float:
    """The largest difference in nats; what is no number in both is none, and in one of them infinite."""
    pairs = [pair for one, other in zip(ones, others, strict=True) for pair in zip(one, other, strict=True)]
    return max((_gap(*pair) for pair in pairs), default=0.0)


def _gap(one: float, other: float) -> float:
    are_finite = math.isfinite(one), math.isfinite(other)
    if all(are_finite):
        return abs(one - other)
    return math.inf if any(are_finite) else 0.0
