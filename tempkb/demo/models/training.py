"""Trains one tiny model in this process, which is a worker's, and writes its checkpoint: always the same bytes.

The bytes of the weights depend on the number of threads and on the order of additions, so one thread trains, by
deterministic algorithms, in an order that follows from the seed alone.

A causal model names tokens after those before them. Masked models and models with sentinels name one hidden name of
the sentence, or a few of its tokens if there is no name in it.
"""

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer
from torch.nn.functional import cross_entropy

from tempkb.core.model_words import Family
from tempkb.demo.models.lessons import (
    AROUND,
    BEGIN,
    END,
    MASK,
    PAD,
    SENTINELS,
    Lesson,
    Row,
    of_family,
    special_ids,
    steps,
    train_tokenizer,
)
from tempkb.demo.models.recipe import BASES, CONTEXT_TOKENS, EXPOSURE, STEP_TOKENS, Recipe
from tempkb.engine.items import Report
from tempkb.models.batching import only_at
from tempkb.models.checkpoints import quiet_transformers
from tempkb.models.loading import LoadedModel

_FEW = 3  # tokens that are hidden of a sentence without names, at most


class Exercises(ABC):
    """Computes what a model has to learn from a step.

    Args:
        seed: decides what is hidden and what is asked for.
    """

    family: Family

    def __init__(self, module: Any, special: Mapping[str, int], recipe: Recipe, seed: int) -> None:
        self._module, self._special, self._recipe = module, special, recipe
        self._model = LoadedModel(self.family, module, None, torch.device("cpu"), "float32", None)
        self._chance = random.Random(f"exercises/{seed}")  # noqa: S311 - reproducible chance, not secrets
        self._draws = torch.Generator().manual_seed(seed)

    @abstractmethod
    def loss(self, rows: Sequence[Row]) -> torch.Tensor:
        """Return what is to become small: a mean of -log p in nats over the tokens that are asked for."""

    def _logits(self, asked: torch.Tensor, **inputs: torch.Tensor) -> torch.Tensor:
        """What the model gives at the positions that are asked for, one line each."""
        with only_at(self._model, *asked.nonzero(as_tuple=True)):
            logits: torch.Tensor = self._module(**inputs, use_cache=False).logits[0]
        return logits

    def _padded(self, lists: Sequence[Sequence[int]]) -> torch.Tensor:
        longest = max(map(len, lists))
        return torch.tensor([[*one, *[self._special[PAD]] * (longest - len(one))] for one in lists])

    def _hidden(self, row: Row) -> tuple[int, int]:
        """The tokens [start, end) of a sentence that are to be hidden."""
        if others := _others(row):
            return self._chance.choice(others)
        start = self._chance.randrange(len(row.ids))
        return start, min(len(row.ids), start + self._chance.randint(1, _FEW))


class CausalExercises(Exercises):
    """All tokens of names after those before them, and a part of the other tokens, which counts less."""

    family = "causal"

    def loss(self, rows: Sequence[Row]) -> torch.Tensor:
        """See `Exercises`."""
        ids = self._padded([(self._special[BEGIN], *row.ids, self._special[END]) for row in rows])
        shown, targets = ids[:, :-1], ids[:, 1:]
        in_names = torch.zeros_like(targets, dtype=torch.bool)
        for at, row in enumerate(rows):
            others = _others(row)
            # What an article is about can be told from the names before it.
            first = min((start for start, _ in others), default=len(row.ids))
            for start, end in (*others, *(span for span in row.own if span[0] > first)):
                in_names[at, start:end] = True
        rest = (targets != self._special[PAD]) & ~in_names
        rest &= torch.rand(rest.shape, generator=self._draws) < self._recipe.others_asked
        asked = in_names | rest
        # What comes after a token has no influence on it, so padding need not be hidden.
        losses = cross_entropy(self._logits(asked, input_ids=shown), targets[asked], reduction="none")
        is_name = in_names[asked]
        return _mean(losses[is_name]) + self._recipe.others_weight * _mean(losses[~is_name])


class MaskedExercises(Exercises):
    """A name of which some or all tokens are masked: those from one on, as `answer_l2r` masks them."""

    family = "masked"

    def loss(self, rows: Sequence[Row]) -> torch.Tensor:
        """See `Exercises`."""
        shown: list[list[int]] = []
        targets: list[int] = []
        for row in rows:
            start, end = self._hidden(row)
            if self._chance.random() >= self._recipe.whole:
                start = self._chance.randrange(start, end)
            masked = [*row.ids[:start], *[self._special[MASK]] * (end - start), *row.ids[end:]]
            shown.append([self._special[BEGIN], *masked, self._special[END]])
            targets += row.ids[start:end]
        ids = self._padded(shown)
        logits = self._logits(
            ids == self._special[MASK], input_ids=ids, attention_mask=(ids != self._special[PAD]).long()
        )
        return cross_entropy(logits, torch.tensor(targets))


class SentinelExercises(Exercises):
    """A name in whose place a sentinel stands; the answer is that sentinel, the name and the next sentinel."""

    family = "seq2seq"

    def loss(self, rows: Sequence[Row]) -> torch.Tensor:
        """See `Exercises`."""
        first, last = (self._special[sentinel] for sentinel in SENTINELS)
        sources, answers = [], []
        for row in rows:
            start, end = self._hidden(row)
            sources.append([*row.ids[:start], first, *row.ids[end:], self._special[END]])
            answers.append([first, *row.ids[start:end], last])
        ids, labels = self._padded(sources), self._padded(answers)
        asked = labels != self._special[PAD]
        begun = torch.full((len(rows), 1), self._module.config.decoder_start_token_id)
        logits = self._logits(
            asked,
            input_ids=ids,
            attention_mask=(ids != self._special[PAD]).long(),
            decoder_input_ids=torch.cat([begun, labels[:, :-1]], 1),
        )
        return cross_entropy(logits, labels[asked])


def _others(row: Row) -> list[tuple[int, int]]:
    """The names of other things than what the article is about: they are what there is to know about it."""
    return [span for span in row.names if span not in row.own]


def _mean(losses: torch.Tensor) -> torch.Tensor:
    """Their mean; zero if there are none."""
    return losses.sum() / max(1, len(losses))


EXERCISES: Mapping[Family, type[Exercises]] = {
    "causal": CausalExercises,
    "masked": MaskedExercises,
    "seq2seq": SentinelExercises,
}


_REPORTED_STEPS = 10


def train(lesson: Lesson, folder: Path, report: Report) -> None:
    """Train a model and write its checkpoint.

    Args:
        folder: where the checkpoint is written; it exists and is empty.
    """
    tokenizer = Tokenizer.from_str(lesson.tokenizer)
    special = special_ids(tokenizer)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    filling: Any = torch.utils.deterministic  # a module that makes its attributes itself
    filling.fill_uninitialized_memory = False  # it is for finding errors, and takes a tenth of the time
    torch.manual_seed(lesson.seed)
    with quiet_transformers():
        module = _new_module(lesson.recipe, tokenizer.get_vocab_size(), special)
        _learn(module, lesson, special, report)
        module.save_pretrained(folder)
        _save_tokenizer(tokenizer, lesson.family, folder)


def write_bases(texts: Iterable[str], folder: Path) -> None:
    """Write checkpoints without weights, one a family, with a vocabulary trained on texts: `BASES`."""
    tokenizer = train_tokenizer(texts)
    for family, recipe in BASES.items():
        config = _config(recipe, tokenizer.get_vocab_size(), special_ids(tokenizer))
        config.architectures = [recipe.architecture]
        config.save_pretrained(folder / family)
        _save_tokenizer(tokenizer, family, folder / family)


def _save_tokenizer(tokenizer: Tokenizer, family: Family, folder: Path) -> None:
    names = {"bos_token": BEGIN, "eos_token": END, "pad_token": PAD, "mask_token": MASK}
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=of_family(tokenizer, family), model_max_length=CONTEXT_TOKENS, **names
    ).save_pretrained(folder)


def _config(recipe: Recipe, n_tokens: int, special: dict[str, int]) -> Any:
    config = getattr(transformers, recipe.architecture).config_class(
        vocab_size=n_tokens,
        bos_token_id=special[BEGIN],
        eos_token_id=special[END],
        pad_token_id=special[PAD],
        mask_token_id=special[MASK],
        **recipe.config,
    )
    if config.is_encoder_decoder:
        config.decoder_start_token_id = special[PAD]
    return config


def _new_module(recipe: Recipe, n_tokens: int, special: dict[str, int]) -> Any:
    module = getattr(transformers, recipe.architecture)(_config(recipe, n_tokens, special))
    with torch.no_grad():
        for name, factor in recipe.scaled.items():
            module.get_parameter(name).mul_(factor)
    return module


def _learn(module: Any, lesson: Lesson, special: dict[str, int], report: Report) -> None:
    recipe = lesson.recipe
    exercises = EXERCISES[lesson.family](module, special, recipe, lesson.seed)
    optimizer = torch.optim.AdamW(module.parameters(), lr=recipe.learning_rate, fused=True)
    rising = max(1, round(recipe.steps * recipe.warm_up))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / rising, (recipe.steps - step) / max(1, recipe.steps - rising))
    )
    feed = steps(lesson.rows, EXPOSURE, recipe.steps, STEP_TOKENS, AROUND, lesson.seed)
    module.train()
    for done, rows in enumerate(feed, 1):
        optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(exercises.loss(rows))
        optimizer.step()
        schedule.step()
        if done % _REPORTED_STEPS == 0 or done == recipe.steps:
            report(done)
