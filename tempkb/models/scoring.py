"""Scorers: prompts in, scores out, in the same order. This is the door of the room; see its README."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from tempkb.models.batching import Reader, Readings
from tempkb.models.loading import LoadedModel
from tempkb.models.packing import Limits
from tempkb.models.rows import Plan
from tempkb.models.scorers import require_template, scorer_name
from tempkb.models.scores import Score, Status
from tempkb.prompts import Prompt

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
