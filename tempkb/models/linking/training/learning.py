"""The process that trains linkers, by sentence-transformers; see `tempkb.models.training.learning`."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from datasets import Dataset, disable_progress_bars
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
    util,
)
from sentence_transformers.base.sampler import BatchSamplers
from sentence_transformers.sentence_transformer.losses import CachedMultipleNegativesRankingLoss
from sentence_transformers.sentence_transformer.modules import Pooling, Router, Transformer
from transformers import TrainerCallback

from tempkb.models.checkpoints import quiet_transformers
from tempkb.models.linking.checkpoints import read_layout
from tempkb.models.linking.encoders import load_layout
from tempkb.models.linking.inputs import Inputs, Tower, Whole
from tempkb.models.linking.training.beginning import write_beginning
from tempkb.models.linking.training.lessons import Example, Lesson
from tempkb.models.training.learning import Tell, arguments, begin, main, n_processes, run
from tempkb.models.training.lessons import CHECKPOINT, Course

_PARTS = 1_024  # vectors of validation mentions that are compared at once


def learn(lesson: Lesson, folder: Path, keep_seconds: float, tell: Tell) -> Course | None:
    """Train a linker and write its checkpoint; see `tempkb.models.training.learning.Learn`.

    Raises:
        ModelError: the base cannot be used, or the loss became infinite.
    """
    disable_progress_bars()
    rank = begin(lesson)
    with quiet_transformers():
        beginning = folder / f"beginning-{rank}"
        write_beginning(lesson, beginning)
        model = new_model(beginning, lesson.recipe.towers)
        trainer = new_trainer(model, lesson, folder)
    course = run(trainer, lesson, folder, keep_seconds, tell)
    if course is not None:
        model.save(str(folder / CHECKPOINT), create_model_card=False)
        load_layout(read_layout(str(folder / CHECKPOINT)), "cpu")
    return course


def new_model(beginning: Path, towers: int) -> SentenceTransformer:
    """Return an encoder whose towers begin with the same weights."""
    made = []
    for _ in range(towers):
        transformer = Transformer(str(beginning))
        made.append([transformer, Pooling(transformer.get_embedding_dimension(), "cls")])
    modules = made[0] if towers == 1 else [Router.for_query_document(made[0], made[1])]
    return SentenceTransformer(modules=modules, similarity_fn_name="dot")


def new_trainer(model: SentenceTransformer, lesson: Lesson, folder: Path) -> SentenceTransformerTrainer:
    """Return the trainer of a lesson."""
    recipe, is_alone = lesson.recipe, n_processes() == 1
    inputs = inputs_of(model, recipe.max_tokens)
    data = dataset_of(inputs, lesson.train)
    told = SentenceTransformerTrainingArguments(
        **arguments(lesson, folder),
        num_train_epochs=recipe.epochs,
        # Batches are made for all processes together, so that none has an entity twice, and are divided among them.
        per_device_train_batch_size=recipe.batch_size,
        accelerator_config={"split_batches": not is_alone},
        dataloader_drop_last=not is_alone,
        batch_sampler=BatchSamplers.NO_DUPLICATES,
        router_mapping={name: "query" if name == "mention" else "document" for name in data.column_names}
        if recipe.towers == 2
        else {},
        lr_scheduler_type="linear",
        warmup_steps=math.ceil(recipe.warm_up * lesson.n_steps(n_processes())),
    )
    loss = CachedMultipleNegativesRankingLoss(
        model,
        scale=1.0,
        similarity_fct=util.dot_score,
        mini_batch_size=recipe.mini_batch_size,
        gather_across_devices=not is_alone,
    )
    judges = [_Judge(lesson, model, inputs)] if lesson.validation else []
    return _Trainer(model=model, args=told, train_dataset=data, loss=loss, callbacks=judges)


def inputs_of(model: SentenceTransformer, max_tokens: int) -> Inputs:
    """Return the strings that a model of sentence-transformers reads; both towers have one vocabulary."""
    tower = Tower(model.tokenizer.backend_tokenizer, max_tokens)
    return Inputs(tower, tower)


def dataset_of(inputs: Inputs, examples: Sequence[Example]) -> Dataset:
    """Return examples as columns of strings: mention, entity, and negative_1 to negative_n."""
    columns = {
        "mention": _texts(inputs.mentions([one.mention for one in examples])),
        "entity": _texts(inputs.entities([one.entity for one in examples])),
    }
    for place in range(len(examples[0].negatives)):
        columns[f"negative_{place + 1}"] = _texts(inputs.entities([one.negatives[place] for one in examples]))
    return Dataset.from_dict(columns)


def _texts(wholes: Sequence[Whole]) -> list[str]:
    return [one.text for one in wholes]


class _Trainer(SentenceTransformerTrainer):  # type: ignore[misc]  # the library is not typed
    """Writes no cards: that of the linker says what is to be known."""

    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        pass

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        self.model.save(output_dir, create_model_card=False)


class _Judge(TrainerCallback):  # type: ignore[misc]  # the library is not typed
    """Judges what is trained after each epoch."""

    def __init__(self, lesson: Lesson, model: SentenceTransformer, inputs: Inputs) -> None:
        self._model = model
        self._mentions = _texts(inputs.mentions([one.mention for one in lesson.validation]))
        entities = _texts(inputs.entities([one.entity for one in lesson.validation]))
        self._entities = list(dict.fromkeys(entities))
        places = {entity: place for place, entity in enumerate(self._entities)}
        self._gold = np.array([places[entity] for entity in entities])

    def on_epoch_end(self, args: Any, state: Any, control: Any, **further: Any) -> None:
        if state.is_world_process_zero:
            state.log_history.append({"validation": self._accuracy(), "epoch": round(state.epoch)})

    def _accuracy(self) -> float:
        mentions = self._model.encode_query(self._mentions, show_progress_bar=False)
        entities = self._model.encode_document(self._entities, show_progress_bar=False)
        best = [
            (mentions[start : start + _PARTS] @ entities.T).argmax(axis=1) for start in range(0, len(mentions), _PARTS)
        ]
        return float((np.concatenate(best) == self._gold).mean())


if __name__ == "__main__":
    main(learn)
