"""The loop that trains, in a process: `python -m MODULE FOLDER SECONDS`, started by `teaching`.

The module reads a lesson from the folder and writes there the checkpoint and the course of its training. On one thread
of a CPU the same lesson gives the same bytes, also if the process was killed and started again: then it goes on from
the last whole checkpoint of the trainer. What is told is a line of JSON each on standard output.
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
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import torch
from transformers import TrainerCallback

from tempkb.core.errors import ModelError, TempkbError
from tempkb.models.checkpoints import quiet_transformers
from tempkb.models.training.lessons import Course, Lesson

Learn = Callable[[Any, Path, float], None]
"""Learns a lesson, which is in a folder, and keeps its state there again after so many seconds."""

_KEPT, _WHOLE = "kept", "whole"
_POINTS = 200  # of the curve of losses, at most


def main(kind: type[Lesson], learn: Learn) -> None:
    """Learn the lesson of the folder that is named; or, without one, wait for lessons.

    Args:
        kind: of the lessons.
    """
    if len(sys.argv) > 1:
        _study(kind, learn, Path(sys.argv[1]), float(sys.argv[2]))
    else:
        _wait_for_lessons(kind, learn)


def _wait_for_lessons(kind: type[Lesson], learn: Learn) -> None:
    """Learn one lesson after the other, each in a fork of this process, which has imported what all of them need.

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
            _study_and_exit(kind, learn, Path(asked["folder"]), asked["keep_seconds"])
        _, status = os.waitpid(process, 0)
        _tell(ended=os.waitstatus_to_exitcode(status))


def _study_and_exit(kind: type[Lesson], learn: Learn, folder: Path, keep_seconds: float) -> NoReturn:
    """Learn a lesson and end this process, which is a fork and must not go back to where it was made."""
    code = 1
    try:
        _study(kind, learn, folder, keep_seconds)
        code = 0
    except SystemExit as exited:
        code = int(exited.code or 0)
    except BaseException:  # noqa: BLE001 - the trace is what the process leaves, and nothing is behind it
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _study(kind: type[Lesson], learn: Learn, folder: Path, keep_seconds: float) -> None:
    """Learn the folder's lesson, and tell standard output how it goes."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    logging.disable(logging.WARNING)
    try:
        lesson = kind.read(folder)
        assert lesson is not None  # noqa: S101 - whoever starts this process has written it
        learn(lesson, folder, keep_seconds)
    except TempkbError as error:
        _tell(failure=str(error))
        sys.exit(1)


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


def run(trainer: Any, folder: Path) -> bool:
    """Train, from the last whole state on if there is one; return whether this process writes what became of it."""
    kept = _last_kept(folder / _KEPT)
    with quiet_transformers():
        trainer.train(resume_from_checkpoint=str(kept) if kept else None)
    return bool(trainer.state.is_world_process_zero)


class Watch(TrainerCallback):  # type: ignore[misc]  # the library is not typed
    """Tells how far training is, and keeps its state from time to time."""

    def __init__(self, lesson: Lesson, device: torch.device, keep_seconds: float) -> None:
        self._lesson, self._device, self._keep_seconds = lesson, device, keep_seconds
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
            _tell(step=state.global_step, steps=state.max_steps)
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


def course_of(state: Any) -> Course:
    """Return how training went, from what the trainer noted."""
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
