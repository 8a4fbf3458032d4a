"""Trains one tiny model in this process and writes its checkpoint: the same bytes whenever it is trained.

The bytes of the weights depend on the number of threads and on the order of additions, so one thread trains, by
deterministic algorithms, in an order that follows from the seed alone.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer

from tempkb.demo.models.exercises import EXERCISES
from tempkb.demo.models.lessons import Lesson, steps
from tempkb.demo.models.recipe import CONTEXT_TOKENS, EXPOSURE, STEP_TOKENS, Recipe
from tempkb.demo.models.tokenizing import AROUND, BEGIN, END, MASK, PAD, of_family, special_ids
from tempkb.engine.items import Report
from tempkb.models.checkpoints import quiet_transformers

_REPORTED_STEPS = 10


def train(lesson: Lesson, folder: Path, report: Report) -> None:
    """Train a model and write its checkpoint.

    Args:
        folder: where the checkpoint is written; it exists and is empty.
    """
    tokenizer = Tokenizer.from_str(lesson.tokenizer)
    special = special_ids(tokenizer)
    names = {"bos_token": BEGIN, "eos_token": END, "pad_token": PAD, "mask_token": MASK}
    with quiet_transformers(), _reproducibly(lesson.seed):
        module = _new_module(lesson.recipe, tokenizer.get_vocab_size(), special)
        _learn(module, lesson, special, report)
        module.save_pretrained(folder)
        transformers.PreTrainedTokenizerFast(
            tokenizer_object=of_family(tokenizer, lesson.family), model_max_length=CONTEXT_TOKENS, **names
        ).save_pretrained(folder)


def _new_module(recipe: Recipe, n_tokens: int, special: dict[str, int]) -> Any:
    architecture = getattr(transformers, recipe.architecture)
    config = architecture.config_class(
        vocab_size=n_tokens,
        bos_token_id=special[BEGIN],
        eos_token_id=special[END],
        pad_token_id=special[PAD],
        mask_token_id=special[MASK],
        **recipe.config,
    )
    if config.is_encoder_decoder:
        config.decoder_start_token_id = special[PAD]
    module = architecture(config)
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


@contextmanager
def _reproducibly(seed: int) -> Iterator[None]:
    """Within this block PyTorch computes on one thread, by deterministic algorithms, with random numbers of a seed."""
    threads, was_strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    filling: Any = torch.utils.deterministic  # a module that makes its attributes itself
    was_filling = filling.fill_uninitialized_memory
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        torch.use_deterministic_algorithms(True)
        # This is for finding errors, and takes a tenth of the time.
        filling.fill_uninitialized_memory = False
        try:
            yield
        finally:
            filling.fill_uninitialized_memory = was_filling
            torch.use_deterministic_algorithms(was_strict)
            torch.set_num_threads(threads)
