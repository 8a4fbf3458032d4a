"""Starts the processes that train, one for each GPU, or one that computes on the CPU; follows them; writes the card.

They are processes of their own so that numbers of threads, caches and telemetry are decided before anything is
imported, and so that their memory is free again at the end. They end when this one does. Nothing is written outside
the folder of the lesson, and that of the processes, which is removed with them.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import asdict
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import msgspec

from tempkb.core.errors import ModelError, SettingsError
from tempkb.core.files import own, read_summed, remove_tree, write_summed
from tempkb.engine.progress import Meter, on_terminal
from tempkb.models.devices import usable_device
from tempkb.models.known import TRAINING
from tempkb.models.training.lessons import CHECKPOINT, Course, Lesson

_school: "_School | None" = None

KEEP_SECONDS = 600.0
"""After how long the state of training is kept again."""

_CACHES = ("HF_HOME", "HF_DATASETS_CACHE", "XDG_CACHE_HOME", "MPLCONFIGDIR", "TORCH_HOME", "TRITON_CACHE_DIR", "TMPDIR")
_SMALL_BYTES = 100_000_000  # weights of which a step takes so little that threads would wait for one another
_TAIL = 5  # lines of a process's complaint
# The libraries are a million objects that stay; commands look for garbage as seldom.
_START = """
from gc import set_threshold
set_threshold(50_000, 10, 10)
from tempkb.models.training.learning import main
from {} import learn
main(learn)
"""
_KEPT = "lesson.json"  # which lesson a folder is of, and how that went


def teach(
    lesson: Lesson,
    folder: Path,
    log: Callable[[str], None],
    n_gpus: int = 0,
    n_processes: int = 1,
    keep_seconds: float = KEEP_SECONDS,
) -> tuple[Path, Course]:
    """Train something, going on from where an earlier run of the same lesson in this folder has ended.

    Args:
        folder: for drafts; what another lesson left there is removed.
        n_gpus: on how many GPUs it is trained; 0 for the CPU.
        keep_seconds: after how long the state of training is kept again.

    Returns:
        the folder of the checkpoint, which is to be moved to its place; and how training went.

    Raises:
        ModelError: training has failed.
    """
    n_processes = n_gpus or n_processes
    if lesson.recipe.batch_size % n_processes:
        raise ModelError(
            f"{lesson.what}: found batch_size={lesson.recipe.batch_size} and {n_processes} processes; expected a "
            "multiple, since each takes as many examples. Set another batch_size, or a device."
        )
    if (kept := read_summed(folder / _KEPT) or {}).get("lesson") != lesson.key:
        remove_tree(folder.parent, folder)
        write_summed(folder / _KEPT, kept := {"lesson": lesson.key})
    if "course" not in kept or not (folder / CHECKPOINT).is_dir():
        title = f"training {lesson.what}"
        with (
            _school_of(lesson, n_gpus, n_processes) as own,
            on_terminal(),
            Meter(title, lesson.n_steps(n_processes), log, "steps") as meter,
        ):
            kept["course"] = asdict(own.learnt(lesson, folder, keep_seconds, meter))
        write_summed(folder / _KEPT, kept)
    return folder / CHECKPOINT, msgspec.convert(kept["course"], Course)


def require_free(home: Path, what: str, place: Path) -> None:
    """Raise a SettingsError if there is something at a place that was not trained here."""
    if own(home, place).exists() and not (place / TRAINING).is_file():
        raise SettingsError(
            f"{what}: found {place}, which tempkb did not write, since it has no {TRAINING}; expected it free for what "
            "is trained. Move it away, or choose another name"
        )


def settle(home: Path, draft: Path, place: Path, about: Mapping[str, Any]) -> None:
    """Move a checkpoint to its place, with what is to be known of its training."""
    (draft / TRAINING).write_text(json.dumps(about, indent=1) + "\n", "utf-8")
    place.parent.mkdir(parents=True, exist_ok=True)
    # What is there has no row: it was left by a run that was killed.
    remove_tree(home, place, TRAINING)
    draft.rename(place)


def base_of(name: str, revision: str | None = None, *, has_weights: bool = True) -> tuple[str, str]:
    """Return the folder of a checkpoint with which training begins, and the digest of its files; empty without a name.

    Args:
        has_weights: does training begin with its weights?

    Raises:
        ModelError: it is not there.
    """
    if not name:
        return "", ""
    from tempkb.models.files import TOKENIZER_FILES, digest_of_all, find_folder, weight_files

    folder, _ = find_folder(name, revision, may_fetch=True)
    weights, _ = weight_files(name, folder) if has_weights else ([], "")
    others = [folder / file for file in ("config.json", *TOKENIZER_FILES)]
    return str(folder), digest_of_all([*weights, *(file for file in others if file.is_file())])


def n_gpus_for(what: str, device: str) -> int:
    """Return on how many GPUs something is trained: all, unless cpu is asked for.

    Raises:
        SettingsError: a GPU is asked for where there is none.
    """
    if device == "cpu":
        return 0
    import torch

    if device:
        usable_device(what, device)
    return torch.cuda.device_count()


@contextmanager
def school(learning: str, *, is_needed: bool = False) -> Iterator[None]:
    """Learn small lessons inside the block by one process, which imports what they need once.

    Args:
        learning: the module of the lessons; others are learnt in processes of their own.
        is_needed: start the process at once, and not with the first lesson; a block inside another one has its process.
    """
    global _school  # noqa: PLW0603 - there is one for all that is trained inside the block
    is_inner, _school = _school is not None, _school or _School(learning)
    try:
        if is_needed:
            _school.start()
        yield
    finally:
        if not is_inner:
            _school.close()
            _school = None


def _school_of(lesson: Lesson, n_gpus: int, n_processes: int) -> "AbstractContextManager[_School]":
    """The processes that learn a lesson; if there are others than those of the block, they end with it."""
    is_alone, is_small = n_processes == 1 and not n_gpus, _is_small(lesson)
    if is_alone and is_small and _school is not None and _school.learning == lesson.learning:
        return nullcontext(_school)
    n_threads = 1 if n_gpus or is_small else max(1, (os.cpu_count() or 1) // n_processes)
    return closing(_School(lesson.learning, n_threads, n_gpus, n_processes))


class _School:
    """Processes that learn one lesson after the other, together."""

    def __init__(self, learning: str, n_threads: int = 1, n_gpus: int = 0, n_processes: int = 1) -> None:
        self.learning, self._n_threads, self._n_gpus, self._n_processes = learning, n_threads, n_gpus, n_processes
        self._running: dict[Connection, tuple[subprocess.Popen[bytes], Path]] = {}
        self._room = ExitStack()

    def start(self) -> None:
        """Start the processes, unless they run."""
        if self._running:
            return
        room = Path(self._room.enter_context(tempfile.TemporaryDirectory(prefix="tempkb-school-")))
        port = _free_port()
        for rank in range(self._n_processes):
            ours, theirs = Pipe()
            with theirs, (room / f"complaints-{rank}.txt").open("w") as complaints:
                process = subprocess.Popen(
                    [sys.executable, "-c", _START.format(self.learning), str(theirs.fileno())],
                    env=self._environment(room, rank, port),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=complaints,
                    pass_fds=[theirs.fileno()],
                )
            self._running[ours] = process, Path(complaints.name)

    def learnt(self, lesson: Lesson, folder: Path, keep_seconds: float, meter: Meter) -> Course:
        """Learn a lesson, and return how that went.

        Raises:
            ModelError: it could not be learnt. Then all processes end, since the others wait for one that has failed.
        """
        self.start()
        try:
            for connection in self._running:
                with suppress(ConnectionError):  # it has ended, and its complaint says why
                    connection.send((lesson, folder, keep_seconds))
            return self._followed(lesson, folder, meter)
        except BaseException:
            self.close()
            raise

    def _followed(self, lesson: Lesson, folder: Path, meter: Meter) -> Course:
        waiting, course = {*self._running}, Course(0, (), ())
        while waiting:
            for ready in waiting.intersection(wait(waiting)):
                try:
                    told = ready.recv()
                except (EOFError, ConnectionError):
                    raise ModelError(_failure(lesson, folder, *self._running[ready])) from None
                if isinstance(told, int):
                    meter.at(told)
                    continue
                if isinstance(told, str):
                    raise ModelError(told)
                course = told or course
                waiting.remove(ready)
        return course

    def close(self) -> None:
        """End the processes, and what is trained by them."""
        for connection, (process, _) in self._running.items():
            process.kill()
            process.wait()
            connection.close()
            if process.stdin is not None:
                process.stdin.close()
        self._running.clear()
        self._room.close()

    def _environment(self, room: Path, rank: int, port: int) -> Mapping[str, str]:
        n = self._n_processes
        own = {
            **dict.fromkeys(_CACHES, str(room)),
            **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(self._n_threads)),
            **dict.fromkeys(
                ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY", "DO_NOT_TRACK"), "1"
            ),
            "WANDB_MODE": "disabled",
            "TOKENIZERS_PARALLELISM": "false",
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        }
        if not self._n_gpus:
            own["CUDA_VISIBLE_DEVICES"] = ""
        if n > 1:
            own |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(n), "LOCAL_WORLD_SIZE": str(n)}
            own |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        return os.environ | own


def _is_small(lesson: Lesson) -> bool:
    if not lesson.base:
        return True
    weights = (file for file in Path(lesson.base).iterdir() if file.suffix in (".safetensors", ".bin"))
    return sum(file.stat().st_size for file in weights) < _SMALL_BYTES


def _failure(lesson: Lesson, folder: Path, process: "subprocess.Popen[bytes]", complaint: Path) -> str:
    code, kept = process.wait(), shutil.copy(complaint, folder)
    lines = [line for line in complaint.read_text("utf-8", errors="replace").splitlines() if line.strip()]
    why = " / ".join(lines[-_TAIL:]) or "it said nothing"
    return (
        f"{lesson.what}: training ended with exit code {code} ({why}). The whole message is in {kept}. "
        "If memory was not enough, set a smaller mini_batch_size; the same command goes on from where it ended."
    )


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
