"""Decoders: questions in, answers out, in the same order."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol

from tempkb.core.errors import ModelError
from tempkb.core.prompts import Question
from tempkb.models.batching import Limits
from tempkb.models.decoding.beams import Recall
from tempkb.models.decoding.chat import Chat
from tempkb.models.decoding.greedy import CausalGreedy, InfillingGreedy, SentinelGreedy
from tempkb.models.decoding.masks import MaskBeams, MaskSamples
from tempkb.models.decoding.replies import Generated
from tempkb.models.families import InfillingPlanner, MaskedPlanner, SentinelPlanner
from tempkb.models.loading import LoadedModel
from tempkb.models.scorers import WAYS, decoder_name, require_way

SHARD = 1024  # questions of a stream that are asked together


class Way(Protocol):
    """A way of answering questions."""

    @property
    def batch_tokens(self) -> int:
        """Padded tokens of a batch; fewer than at first if memory ran out."""

    def answers(self, questions: Sequence[Question]) -> list[list[Generated]]:
        """Return the answers to each question, by rank."""


class Decoder:
    """Asks one model questions in one way.

    In float32 an answer does not depend on the other questions of a batch, up to 1e-5 (relative, from 1 on) of
    log-probabilities; where two tokens or beams differ by less, another may be chosen. On one thread, equal questions
    in equal order give equal bytes. `Limits(has_fixed_shapes=True)` gives equal bytes in any company.

    Attributes:
        name: family, way, version and number type, such as `causal.greedy-1.f32`.
        template_sha256: of the rendered template of `causal.chat`; else None.
        states_date: whether that template tells the model a date; None of other decoders.
    """

    def __init__(self, model: LoadedModel, way: str | None = None, limits: Limits | None = None) -> None:
        """Make a decoder.

        Args:
            model: what is asked.
            way: one of `WAYS` of the model's family; its first by default.
            limits: how much is computed at once.

        Raises:
            SettingsError: the family has no such way.
            ModelError: the tokenizer lacks a token, or a chat template, that the way needs.
        """
        way = WAYS[model.family][0] if way is None else way
        require_way(model.family, way)
        self.name = decoder_name(model.family, way, model.dtype)
        self._way = _way(model, way, limits)
        self.template_sha256 = self._way.template_sha256 if isinstance(self._way, Chat) else None
        self.states_date = self._way.states_date if isinstance(self._way, Chat) else None

    @property
    def batch_tokens(self) -> int:
        """Padded tokens of a batch; fewer than at first if memory ran out."""
        return self._way.batch_tokens

    def answer(self, questions: Sequence[Question]) -> list[list[Generated]]:
        """Return the answers to questions, in their order; equal questions are asked once."""
        once = list(dict.fromkeys(questions))
        answers = dict(zip(once, self._way.answers(once), strict=True))
        return [answers[question] for question in questions]

    def stream(self, questions: Iterable[Question], shard: int = SHARD) -> Iterator[list[Generated]]:
        """Yield the answers to any number of questions, in their order, with the memory of one shard."""
        rest = iter(questions)
        while part := list(islice(rest, shard)):
            yield from self.answer(part)


def _way(model: LoadedModel, way: str, limits: Limits | None) -> Way:
    if way == "chat":
        return Chat(model, limits)
    if model.family == "causal":
        return CausalGreedy(model, limits)
    planner = model.planner(model.traits.templates[0])
    if isinstance(planner, MaskedPlanner):
        if way == "paper":
            return MaskSamples(model, limits, planner.mask_id)
        return MaskBeams(model, limits, planner.mask_id, 1 if way == "greedy" else 10)
    if isinstance(planner, SentinelPlanner):
        if way == "greedy":
            return SentinelGreedy(model, limits, planner)
        return Recall(model, limits, planner, int(way.removeprefix("recall_beam")))
    if isinstance(planner, InfillingPlanner) and way == "greedy":
        return InfillingGreedy(model, limits, planner)
    raise ModelError(
        f"The tokenizer of {model.module.config.name_or_path!r} has no sentinels such as <extra_id_0>, for which "
        f"seq2seq.{way} is defined. Ask the model by seq2seq.greedy."
    )
