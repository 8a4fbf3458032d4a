"""The loop that trains, in a process: `python -m MODULE DESCRIPTOR`, started by `teaching`.

On one thread of a CPU the same lesson gives the same bytes, also if the process was killed and started again: then it
goes on from the last whole checkpoint of the trainer.
"""

import logging
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch
from transformers import TrainerCallback

from tempkb.core.errors import ModelError, TempkbError
from tempkb.models.checkpoints import quiet_transformers
from tempkb.models.training.lessons import Course, Lesson

Tell = Callable[[int], None]
"""Is told the number of each step."""
Learn = Callable[[Any, Path, float, Tell], Course | None]
"""Learns a lesson, in a folder, where it keeps its state again after so many seconds; returns how that went."""

_KEPT, _WHOLE = "kept", "whole"
_POINTS = 200  # of the curve of losses, at most


def main(learn: Learn) -> None:
    """Learn one lesson after the other, as they are sent to the connection of the descriptor that is named.

    What is sent back are steps, and in the end the course, or the error. This process ends with the one that started
    it.
    """
    threading.Thread(target=_end_with_parent, daemon=True).start()
    logging.disable(logging.WARNING)
    connection = Connection(int(sys.argv[1]))
    with suppress(EOFError):
        while True:
            lesson, folder, keep_seconds = connection.recv()
            try:
                connection.send(learn(lesson, folder, keep_seconds, connection.send))
            except TempkbError as error:
                connection.send(str(error))


def begin(lesson: Lesson) -> str:
    """Make all chance that of the lesson's seed; return the number of this process among those that learn it."""
    torch.use_deterministic_algorithms(mode=not torch.cuda.is_available())
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]  # it is for finding errors
    torch.manual_seed(lesson.seed)
    return os.environ.get("RANK", "0")


def arguments(lesson: Lesson, folder: Path, **further: Any) -> dict[str, Any]:
    """Return what every trainer is told, and what only that of this lesson is."""
    recipe, has_gpu = lesson.recipe, torch.cuda.is_available()
    return {
        "output_dir": str(folder / _KEPT),
        "learning_rate": recipe.learning_rate,
        "optim": "adamw_torch",
        "weight_decay": recipe.weight_decay,
        "max_grad_norm": recipe.max_grad_norm,
        "seed": lesson.seed,
        "data_seed": lesson.seed,
        # GPUs older than Ampere only pretend to have it, and are slower with it than without.
        "bf16": has_gpu and torch.cuda.is_bf16_supported(including_emulation=False),
        "use_cpu": not has_gpu,
        "ddp_backend": None if has_gpu or n_processes() == 1 else "gloo",
        "logging_steps": 1,
        "logging_nan_inf_filter": False,
        "save_strategy": "no",  # the callback says when
        "save_total_limit": 2,
        "report_to": [],
        "disable_tqdm": True,
        **further,
    }


def n_processes() -> int:
    """Return how many processes learn the lesson together."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def run(trainer: Any, lesson: Lesson, folder: Path, keep_seconds: float, tell: Tell) -> Course | None:
    """Train, from the last whole state on if there is one; return the course if this process writes what is trained."""
    kept = _last_kept(folder / _KEPT)
    trainer.add_callback(Watch(lesson, trainer.args.device, keep_seconds, tell))
    with quiet_transformers():
        trainer.train(resume_from_checkpoint=str(kept) if kept else None)
    return _course_of(trainer.state) if trainer.state.is_world_process_zero else None


class Watch(TrainerCallback):  # type: ignore[misc]  # the library is not typed
    """Tells how far training is, and keeps its state from time to time."""

    def __init__(self, lesson: Lesson, device: torch.device, keep_seconds: float, tell: Tell) -> None:
        self._lesson, self._device, self._keep_seconds, self._tell = lesson, device, keep_seconds, tell
        self._kept_at = time.monotonic()

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **_: Any) -> None:
        """Refuse a loss that is no number."""
        loss = (logs or {}).get("loss")
        if loss is not None and not math.isfinite(loss):
            raise ModelError(
                f"{self._lesson.what}: the loss became {loss} at step {state.global_step}. Train it with a "
                f"lower learning_rate than {self._lesson.recipe.learning_rate}, or begin with another checkpoint."
            )

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Tell the step."""
        if state.is_world_process_zero:
            self._tell(state.global_step)
        if not _is_whole_number(state.epoch):
            control.should_save = self._is_due()

    def on_epoch_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Keep the state if it is time."""
        control.should_save = self._is_due()

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Mark a state that was kept as whole."""
        self._kept_at = time.monotonic()
        if state.is_world_process_zero:
            mark = Path(args.output_dir) / f"checkpoint-{state.global_step}" / _WHOLE
            with mark.open("wb") as handle:
                os.fsync(handle.fileno())

    def _is_due(self) -> bool:
        # Processes have clocks of their own, and must agree.
        due = torch.tensor(float(time.monotonic() - self._kept_at >= self._keep_seconds))
        if torch.distributed.is_initialized():
            due = due.to(self._device)
            torch.distributed.broadcast(due, 0)
        return bool(due)


def _course_of(state: Any) -> Course:
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


def _end_with_parent() -> None:
    # Nothing is ever written there, so this returns when the parent has ended. The buffered reader would not let this
    # process end before.
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)
