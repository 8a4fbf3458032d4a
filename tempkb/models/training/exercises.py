"""The process that trains language models on dated text; see `tempkb.models.training.learning`.

Which row of the mixture is read as the n-th example is a function of n alone (`Draws`), so that a training that was
killed goes on with the next one. What is asked is what a score asks: of models with an encoder one span of the text is
hidden (salient span masking; T5 reads `<extra_id_0>` in its place, and answers `<extra_id_0> span <extra_id_1>`), and
causal models are asked for every token behind the date, or for those of one span after what precedes it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from datasets import Dataset, disable_progress_bars
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence

from tempkb.benchmarks.chance import draw
from tempkb.benchmarks.fact_queries.prompts import date_in_words
from tempkb.core.errors import ModelError
from tempkb.core.prompts import Prompt
from tempkb.core.windows import window_of
from tempkb.models.checkpoints import (
    check_vocabulary,
    context_tokens_of,
    load_module,
    quiet_transformers,
    read_config,
    read_tokenizer,
)
from tempkb.models.dating import LINE
from tempkb.models.families import TRAITS
from tempkb.models.loading import LoadedModel
from tempkb.models.rows import Plan, Row, tokenize
from tempkb.models.training.learning import Tell, arguments, begin, n_processes, run
from tempkb.models.training.lessons import CHECKPOINT, Course, DatedLesson
from tempkb.models.training.requests import Recipe
from tempkb.models.training.tables import QUERY, TEXT

_NOT_ASKED = -100  # target of a token that is not asked for
_TRIES = 100  # texts in which nothing can be asked for, one after the other
_AROUND = 4  # special tokens of a text, at most
_WORKERS = 2  # processes that make examples while a GPU computes
_OPTIMIZERS = {"adamw": "adamw_torch", "adafactor": "adafactor"}
_DROPOUT = ("dropout", "dropout_rate", "attention_dropout", "attn_pdrop", "embd_pdrop", "resid_pdrop", "hidden_dropout")


@dataclass(frozen=True)
class Draws:
    """Which row of a mixture is read as the n-th example.

    Every so manyth example is a query. Texts are of each period in turn, or of one after the other in the order of
    time, and queries likewise; those of a period come in an order by chance, and then again in another one. If the
    last period has a share of the texts of its own, it has that of the first n of them, rounded up, for any n.

    Attributes:
        rows: places of the rows, by source and period; periods without rows are left out.
        n_examples: in all, by source.
    """

    rows: Mapping[str, Sequence[NDArray[np.int64]]]
    n_examples: Mapping[str, int]
    recipe: Recipe
    in_order: bool
    seed: int
    _orders: dict[tuple[str, int], tuple[int, NDArray[np.int64]]] = field(default_factory=dict)

    def __call__(self, n: int, skipped: int = 0) -> int:
        """Return the place of a row; of a period some are passed over, in which nothing can be asked for."""
        each = self.recipe.texts_per_query + 1
        n_queries = n // each if self.n_examples[QUERY] else 0
        is_query = self.n_examples[QUERY] > 0 and n % each == self.recipe.texts_per_query
        source, of_source = (QUERY, n_queries) if is_query else (TEXT, n - n_queries)
        periods = self.rows[source]
        period, of_period = self._within(source, of_source)
        turn, place = divmod(of_period, len(periods[period]))
        order = self._order(source, period, turn)
        return int(periods[period][order[(place + skipped) % len(order)]])

    def _within(self, source: str, n: int) -> tuple[int, int]:
        """The period of the n-th example of a source, and which one of that period it is."""
        n_periods, n_all = len(self.rows[source]), self.n_examples[source]
        if self.in_order:
            period = n * n_periods // n_all
            return period, n - -(-period * n_all // n_periods)
        if source == TEXT and self.recipe.newest_share is not None:
            (n_earlier, n_newest), (_, then) = self.recipe.shared_out(n), self.recipe.shared_out(n + 1)
            if then > n_newest:
                return n_periods - 1, n_newest
            n, n_periods = n_earlier, n_periods - 1
        return n % n_periods, n // n_periods

    def _order(self, source: str, period: int, turn: int) -> NDArray[np.int64]:
        held = self._orders.get((source, period))
        if held is None or held[0] != turn:
            chance = np.random.default_rng([self.seed, [TEXT, QUERY].index(source), period, turn])
            held = self._orders[source, period] = turn, chance.permutation(len(self.rows[source][period]))
        return held[1]


class Asking:
    """Makes a row of tokens of a text: what the model reads, and what it is asked for.

    Args:
        max_tokens: of the text with its date.
        asked: of causal models, all tokens or those of one span.
    """

    def __init__(self, model: LoadedModel, max_tokens: int, asked: str = "all") -> None:
        # The model itself is no part, since other processes make rows as well.
        self._tokenizer, is_causal = model.tokenizer, model.family == "causal"
        self._asks_for_all, self._template = is_causal and asked == "all", "span" if is_causal else "span_end"
        self._max_tokens = min(max_tokens, model.context_tokens or max_tokens)
        limited = replace(model, context_tokens=self._max_tokens)
        self._planners = {template: limited.planner(template) for template in model.traits.templates}

    def row(self, date: str, text: str, spans: Sequence[tuple[int, int]]) -> Row | None:
        """Return what is asked of a text; None if nothing can be.

        Args:
            date: in front of the text; empty for none.
            spans: first code point of each, and the one behind its last; the first that can be asked for is.
        """
        (tokens,), most = tokenize(self._tokenizer, [date + text]), self._max_tokens - _AROUND
        if len(tokens.ids) > most:
            text = text[: max(0, tokens.offsets[most][0] - len(date))].rstrip()
            (tokens,) = tokenize(self._tokenizer, [date + text])
        if self._asks_for_all:
            return self._continued(date, text) if text.strip() else None
        planner = self._planners[self._template]
        for start, end in spans:
            if end <= len(text):
                prompt = Prompt(date + text[:start], text[start:end], text[end:])
                read = planner.text(prompt)
                own = tokens if read == tokens.text else tokenize(self._tokenizer, [read])[0]
                if isinstance(plan := planner.plan(prompt, own), Plan):
                    return plan.rows[0]
        return None

    def _continued(self, date: str, text: str) -> Row | None:
        """All tokens behind the date, and the one that ends texts."""
        prompt, planner = Prompt(date, text), self._planners["span" if date else "sentence"]
        plan = planner.plan(prompt, tokenize(self._tokenizer, [planner.text(prompt)])[0])
        if not isinstance(plan, Plan):
            return None
        (row,), end = plan.rows, self._tokenizer.eos_token_id
        if end is None:
            return row
        return Row((*row.tokens, row.targets[-1]), (*row.positions, len(row.tokens)), (*row.targets, end))


class Examples(torch.utils.data.Dataset[Row]):
    """The examples of a lesson, each made when it is asked for."""

    def __init__(self, lesson: DatedLesson, mixture: Dataset, asking: Asking) -> None:
        self._lesson, self._mixture, self._asking = lesson, mixture, asking
        places, how = {one.start: place for place, one in enumerate(lesson.periods)}, lesson.request.how
        days, kinds = np.unique(mixture.data["window_start"].to_numpy(), return_inverse=True)
        own = [places.get(window_of(day, lesson.request.period).start, -1) for day in days.tolist()]
        self._periods = np.array(own)[kinds]
        sources, rows = mixture.data["source"].to_numpy(), dict[str, list[NDArray[np.int64]]]()
        for source in (TEXT, QUERY):
            found = (np.flatnonzero((sources == source) & (self._periods == place)) for place in places.values())
            rows[source] = [one for one in found if len(one)]
        self._draws = Draws(rows, lesson.n_examples, lesson.recipe, how.in_order, lesson.seed)
        self._dates = [date_in_words(one.granularity, one.label) if how.is_dated else "" for one in lesson.periods]

    def __len__(self) -> int:
        return sum(self._lesson.n_examples.values())

    def __getitem__(self, n: int) -> Row:
        for skipped in range(_TRIES):
            at = self._draws(n, skipped)
            held = self._mixture[at]
            spans = [(one["start_char"], one["end_char"]) for one in held["spans"]]
            first = draw(self._lesson.seed, "span", n) % max(1, len(spans))
            date = self._dates[self._periods[at]]
            if (row := self._asking.row(date, held["text"], spans[first:] + spans[:first])) is not None:
                return row
        raise ModelError(
            f"{self._lesson.what}: found nothing to ask for in {_TRIES} texts one after the other, such as "
            f"{held['text'][:80]!r}; expected texts of at most {self._lesson.recipe.max_tokens} tokens with spans of "
            "their own tokens. Set max_tokens, or begin with another checkpoint."
        )


def padded(pad: int, has_sources: bool, rows: Sequence[Row]) -> dict[str, torch.Tensor]:  # noqa: FBT001 - of the model
    """Return what a model reads, and at each place of its answers the token that it is asked for, or -100."""

    def tensor(lists: Sequence[Sequence[int]], filled_with: int) -> torch.Tensor:
        return pad_sequence([torch.tensor(one) for one in lists], batch_first=True, padding_value=filled_with)

    asked = [dict(zip(row.positions, row.targets, strict=True)) for row in rows]
    read = [row.source or row.tokens for row in rows]
    labels = [[own.get(at, _NOT_ASKED) for at in range(len(row.tokens))] for row, own in zip(rows, asked, strict=True)]
    found = {
        "input_ids": tensor(read, pad),
        "attention_mask": tensor([[1] * len(one) for one in read], 0),
        "labels": tensor(labels, _NOT_ASKED),
    }
    return found | ({"decoder_input_ids": tensor([row.tokens for row in rows], pad)} if has_sources else {})


def loss(outputs: Any, labels: torch.Tensor, num_items_in_batch: torch.Tensor | int | None = None) -> torch.Tensor:
    """Return the mean of -log p in nats over the tokens of a step that are asked for."""
    total = cross_entropy(
        outputs.logits.flatten(0, 1).float(), labels.flatten(), ignore_index=_NOT_ASKED, reduction="sum"
    )
    return total / ((labels != _NOT_ASKED).sum() if num_items_in_batch is None else num_items_in_batch)


def begun(lesson: DatedLesson) -> LoadedModel:
    """Return the model with which training begins.

    Raises:
        ModelError: the base cannot be used.
    """
    folder, recipe = Path(lesson.base), lesson.recipe
    tokenizer, (config, family) = read_tokenizer(lesson.base, folder), read_config(lesson.base, folder)
    for name in filter(config.to_dict().__contains__, _DROPOUT):
        setattr(config, name, recipe.dropout)
    config.use_cache = False
    vars(config).pop(LINE, None)  # how the base was told a date
    if recipe.random_weights:
        maker = getattr(transformers, TRAITS[family].loader)
        module = maker.from_config(config, dtype=torch.float32, trust_remote_code=False)
    else:
        module = load_module(lesson.base, folder, config, family)
    check_vocabulary(lesson.base, module, tokenizer)
    context = context_tokens_of(config, module, tokenizer)
    return LoadedModel(family, module, tokenizer, torch.device("cpu"), "float32", context)


def new_trainer(model: LoadedModel, lesson: DatedLesson, folder: Path) -> transformers.Trainer:
    """Return the trainer of a lesson."""
    recipe, has_gpu = lesson.recipe, torch.cuda.is_available()
    mixture = Dataset.from_parquet(list(lesson.mixture), cache_dir=str(folder / "caches"))
    own = recipe.batch_size // n_processes()
    mini = max(n for n in range(1, min(own, recipe.mini_batch_size) + 1) if own % n == 0)
    told = transformers.TrainingArguments(
        **arguments(lesson, folder, optim=_OPTIMIZERS[recipe.optimizer]),
        max_steps=recipe.steps,
        per_device_train_batch_size=mini,
        gradient_accumulation_steps=own // mini,
        lr_scheduler_type="constant_with_warmup" if recipe.schedule == "constant" else "linear",
        warmup_steps=ceil(recipe.warm_up * recipe.steps),
        train_sampling_strategy="sequential",
        remove_unused_columns=False,
        dataloader_num_workers=_WORKERS if has_gpu else 0,
    )
    return transformers.Trainer(
        model=model.module,
        args=told,
        train_dataset=Examples(lesson, mixture, Asking(model, recipe.max_tokens, recipe.asked)),
        data_collator=partial(padded, model.pad_id, model.traits.has_sources),
        compute_loss_func=loss,
    )


def learn(lesson: DatedLesson, folder: Path, keep_seconds: float, tell: Tell) -> Course | None:
    """Train a language model and write its checkpoint; see `learning.Learn`.

    Raises:
        ModelError: the base cannot be used, or the loss became infinite.
    """
    disable_progress_bars()
    begin(lesson)
    with quiet_transformers():
        model = begun(lesson)
        course = run(new_trainer(model, lesson, folder), lesson, folder, keep_seconds, tell)
        if course is not None:
            model.module.config.use_cache = True
            model.module.save_pretrained(folder / CHECKPOINT)
            model.tokenizer.save_pretrained(folder / CHECKPOINT)
    return course
