"""The process that trains: `python -m tempkb.models.linking.training.learning FOLDER`, started by `teaching`.

It reads a lesson from the folder and writes there the checkpoint and the course of its training. On one thread of a CPU
the same lesson gives the same bytes, also if the process was killed and started again: then it goes on from the last
whole checkpoint of the trainer. What is told is a line of JSON each on standard output.
"""

import gc
import json
import logging
import math
import os
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import torch
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

from tempkb.core.errors import ModelError, TempkbError
from tempkb.models.checkpoints import quiet_transformers
from tempkb.models.linking.checkpoints import read_layout
from tempkb.models.linking.encoders import load_layout
from tempkb.models.linking.inputs import Inputs, Tower, Whole
from tempkb.models.linking.training.beginning import write_beginning
from tempkb.models.linking.training.lessons import CHECKPOINT, Course, Example, Lesson

_BEGINNING, _KEPT, _WHOLE = "beginning", "kept", "whole"
_POINTS = 200  # of the curve of losses, at most
_PARTS = 1_024  # vectors of validation mentions that are compared at once


def main() -> None:
    """Train what the folder's lesson says; or, without a folder, wait for lessons."""
    if len(sys.argv) > 1:
        study(Path(sys.argv[1]), float(sys.argv[2]))
    else:
        wait_for_lessons()


def wait_for_lessons() -> None:
    """Train one lesson after the other, each in a fork of this process, which has imported what all of them need.

    A line of standard input is a lesson: its folder, after how many seconds its state is kept again, the file of its
    complaints, and the variables of its process. The end of the input ends this process, and a lesson that is learnt.
    """
    # Collections in the forks look only at what is made there.
    gc.freeze()
    for line in iter(sys.stdin.readline, ""):
        asked = json.loads(line)
        process = os.fork()
        if not process:
            os.environ.update(asked["environment"])
            tempfile.tempdir = None  # to be looked up again
            with Path(asked["complaint"]).open("w") as complaint:
                os.dup2(complaint.fileno(), sys.stderr.fileno())
            _study_and_exit(Path(asked["folder"]), asked["keep_seconds"])
        _, status = os.waitpid(process, 0)
        _tell(ended=os.waitstatus_to_exitcode(status))


def _study_and_exit(folder: Path, keep_seconds: float) -> NoReturn:
    """Learn a lesson and end this process, which is a fork and must not go back to where it was made."""
    code = 1
    try:
        study(folder, keep_seconds)
        code = 0
    except SystemExit as exited:
        code = int(exited.code or 0)
    except BaseException:  # noqa: BLE001 - the trace is what the process leaves, and nothing is behind it
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def study(folder: Path, keep_seconds: float) -> None:
    """Train what the folder's lesson says, and tell standard output how it goes."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    logging.disable(logging.WARNING)
    disable_progress_bars()
    try:
        learn(Lesson.read(folder), folder, keep_seconds)
    except TempkbError as error:
        _tell(failure=str(error))
        sys.exit(1)


def learn(lesson: Lesson, folder: Path, keep_seconds: float) -> None:
    """Train a linker and write its checkpoint and course.

    Args:
        keep_seconds: after how long the state of training is kept again, to go on from there after a kill.

    Raises:
        ModelError: the base cannot be used, or the loss became infinite.
    """
    is_first = int(os.environ.get("RANK", "0")) == 0
    torch.use_deterministic_algorithms(mode=not torch.cuda.is_available())
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # it is for finding errors
    torch.manual_seed(lesson.seed)
    with quiet_transformers():
        beginning = folder / f"{_BEGINNING}-{os.environ.get('RANK', '0')}"
        write_beginning(lesson, beginning)
        model = new_model(beginning, lesson.recipe.towers)
        trainer = new_trainer(model, lesson, folder, keep_seconds)
        kept = _last_kept(folder / _KEPT)
        trainer.train(resume_from_checkpoint=str(kept) if kept else None)
    if is_first:
        model.save(str(folder / CHECKPOINT), create_model_card=False)
        load_layout(read_layout(str(folder / CHECKPOINT)), "cpu")
        _course(trainer.state).write(folder)


def new_model(beginning: Path, towers: int) -> SentenceTransformer:
    """Return an encoder whose towers begin with the same weights."""
    made = []
    for _ in range(towers):
        transformer = Transformer(str(beginning))
        made.append([transformer, Pooling(transformer.get_embedding_dimension(), "cls")])
    modules = made[0] if towers == 1 else [Router.for_query_document(made[0], made[1])]
    return SentenceTransformer(modules=modules, similarity_fn_name="dot")


def new_trainer(
    model: SentenceTransformer, lesson: Lesson, folder: Path, keep_seconds: float
) -> SentenceTransformerTrainer:
    """Return the trainer of a lesson."""
    recipe, n_processes = lesson.recipe, int(os.environ.get("WORLD_SIZE", "1"))
    inputs = inputs_of(model, recipe.max_tokens)
    data = dataset_of(inputs, lesson.train)
    has_gpu = torch.cuda.is_available()
    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(folder / _KEPT),
        num_train_epochs=recipe.epochs,
        # Batches are made for all processes together, so that none has an entity twice, and are divided among them.
        per_device_train_batch_size=recipe.batch_size,
        accelerator_config={"split_batches": n_processes > 1},
        dataloader_drop_last=n_processes > 1,
        batch_sampler=BatchSamplers.NO_DUPLICATES,
        router_mapping={name: "query" if name == "mention" else "document" for name in data.column_names}
        if recipe.towers == 2
        else {},
        learning_rate=recipe.learning_rate,
        lr_scheduler_type="linear",
        warmup_steps=math.ceil(recipe.warm_up * lesson.n_steps(n_processes)),
        optim="adamw_torch",
        weight_decay=recipe.weight_decay,
        max_grad_norm=recipe.max_grad_norm,
        seed=lesson.seed,
        data_seed=lesson.seed,
        # GPUs older than Ampere only pretend to have it, and are slower with it than without.
        bf16=has_gpu and torch.cuda.is_bf16_supported(including_emulation=False),
        use_cpu=not has_gpu,
        ddp_backend=None if has_gpu or n_processes == 1 else "gloo",
        logging_steps=1,
        logging_nan_inf_filter=False,
        save_strategy="no",  # the callback says when
        save_total_limit=2,
        report_to=[],
        disable_tqdm=True,
    )
    loss = CachedMultipleNegativesRankingLoss(
        model,
        scale=1.0,
        similarity_fct=util.dot_score,
        mini_batch_size=recipe.mini_batch_size,
        gather_across_devices=n_processes > 1,
    )
    watch = _Watch(lesson, model, inputs, keep_seconds)
    return _Trainer(model=model, args=arguments, train_dataset=data, loss=loss, callbacks=[watch])


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


class _Watch(TrainerCallback):  # type: ignore[misc]  # the library is not typed
    """Tells how far training is, keeps its state from time to time, and judges it after each epoch."""

    def __init__(self, lesson: Lesson, model: SentenceTransformer, inputs: Inputs, keep_seconds: float) -> None:
        self._lesson, self._model, self._keep_seconds = lesson, model, keep_seconds
        self._kept_at = time.monotonic()
        self._mentions = _texts(inputs.mentions([one.mention for one in lesson.validation]))
        entities = _texts(inputs.entities([one.entity for one in lesson.validation]))
        self._entities = list(dict.fromkeys(entities))
        places = {entity: place for place, entity in enumerate(self._entities)}
        self._gold = np.array([places[entity] for entity in entities])

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
        loss = (logs or {}).get("loss")
        if loss is not None and not math.isfinite(loss):
            raise ModelError(
                f"linker {self._lesson.linker!r}: the loss became {loss} at step {state.global_step}. Train it with a "
                f"lower learning_rate than {self._lesson.recipe.learning_rate}, or begin with another checkpoint."
            )

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.is_world_process_zero:
            _tell(step=state.global_step, steps=state.max_steps)
        if not _is_whole_number(state.epoch):
            control.should_save = self._is_due()

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.is_world_process_zero and self._mentions:
            state.log_history.append({"validation": self._accuracy(), "epoch": round(state.epoch)})
        control.should_save = self._is_due()

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._kept_at = time.monotonic()
        if state.is_world_process_zero:
            mark = Path(args.output_dir) / f"checkpoint-{state.global_step}" / _WHOLE
            with mark.open("wb") as handle:
                os.fsync(handle.fileno())

    def _is_due(self) -> bool:
        # Processes have clocks of their own, and must agree.
        due = torch.tensor(float(time.monotonic() - self._kept_at >= self._keep_seconds))
        if torch.distributed.is_initialized():
            due = due.to(self._model.device)
            torch.distributed.broadcast(due, 0)
        return bool(due)

    def _accuracy(self) -> float:
        mentions = self._model.encode_query(self._mentions, show_progress_bar=False)
        entities = self._model.encode_document(self._entities, show_progress_bar=False)
        best = [
            (mentions[start : start + _PARTS] @ entities.T).argmax(axis=1) for start in range(0, len(mentions), _PARTS)
        ]
        return float((np.concatenate(best) == self._gold).mean())


def _course(state: Any) -> Course:
    """How training went, from what the trainer noted."""
    losses = [one["loss"] for one in state.log_history if "loss" in one]
    step = max(1, math.ceil(len(losses) / _POINTS))
    parts = [(start, losses[start : start + step]) for start in range(0, len(losses), step)]
    return Course(
        state.global_step,
        tuple((start + len(part), sum(part) / len(part)) for start, part in parts),
        tuple((one["epoch"], one["validation"]) for one in state.log_history if "validation" in one),
    )


def _last_kept(folder: Path) -> Path | None:
    """The last state that was kept whole."""
    whole = [mark.parent for mark in folder.glob(f"checkpoint-*/{_WHOLE}")]
    return max(whole, key=lambda path: int(path.name.rpartition("-")[2]), default=None)


def _is_whole_number(found: float) -> bool:
    return abs(found - round(found)) < 1e-9  # noqa: PLR2004 - of an epoch, which has fewer steps


def _tell(**what: Any) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def _end_with_parent() -> None:
    # Nothing is ever written there, so this returns when the parent has ended. The buffered reader would not let this
    # process end before.
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


if __name__ == "__main__":
    main()
