"""Starts the processes that train, one for each GPU, or one that computes on the CPU; follows them; writes the card.

They are processes of their own so that numbers of threads, caches and telemetry are decided before anything is
imported, and so that their memory is free again at the end. They end when this one does. Nothing is written outside
the folder of the lesson.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tempkb.core.errors import ModelError, SettingsError
from tempkb.core.files import own, remove_tree
from tempkb.engine.progress import Meter, on_terminal
from tempkb.models.known import TRAINING
from tempkb.models.training.lessons import CHECKPOINT, Course, Lesson

_school: "_School | None" = None

KEEP_SECONDS = 600.0
"""After how long the state of training is kept again."""

_CACHES = ("HF_HOME", "HF_DATASETS_CACHE", "XDG_CACHE_HOME", "MPLCONFIGDIR", "TORCH_HOME", "TRITON_CACHE_DIR", "TMPDIR")
_SMALL_BYTES = 100_000_000  # weights of which a step takes so little that threads would wait for one another
_TAIL = 5  # lines of a process's complaint


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
    _make_room(lesson, folder)
    n_processes = n_gpus or n_processes
    if lesson.recipe.batch_size % n_processes:
        raise ModelError(
            f"{lesson.what}: found batch_size={lesson.recipe.batch_size} and {n_processes} processes; expected a "
            "multiple, since each takes as many examples. Set another batch_size, or a device."
        )
    if Course.read(folder) is None or not (folder / CHECKPOINT).is_dir():
        _train(lesson, folder, log, n_gpus, n_processes, keep_seconds)
    course = Course.read(folder)
    assert course is not None  # noqa: S101 - written by what was trained
    return folder / CHECKPOINT, course


def require_free(home: Path, what: str, place: Path) -> None:
    """Raise a SettingsError if there is something at a place that was not trained here."""
    if own(home, place).exists() and not (place / TRAINING).is_file():
        raise SettingsError(
            f"{what}: found {place}, which tempkb did not write, since it has no {TRAINING}; expected it free for what "
            "is trained. Move it away, or choose another name"
        )


def refuse_other(what: str, held: Mapping[str, Any], asked: Mapping[str, Any], remove: str) -> None:
    """Refuse a name that is bound to something of which other things were said; `remove` is the command to free it."""
    differing = [
        f"{one} {_short(held.get(one))}, found {_short(asked.get(one))}"
        for one in {**held, **asked}
        if held.get(one) != asked.get(one)
    ]
    if differing:
        said = "; ".join(differing) if held else "not trained here"
        raise SettingsError(
            f"{what}: expected the {what.split()[0]} to which the name is bound ({said}). A name keeps its files for "
            f"good, because scores refer to it. Choose another name, or remove it first: {remove}"
        )


def _short(value: Any) -> str:
    found = "none" if value is None else str(value)
    return found[:12] if len(found) == 64 else found  # noqa: PLR2004 - digits of a digest


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
        SettingsError: another device is asked for, or a GPU where there is none.
    """
    if device not in ("", "cpu", "cuda"):
        raise SettingsError(
            f"{what}: found the device {device!r}; expected cpu, or cuda for all GPUs. "
            "CUDA_VISIBLE_DEVICES chooses among them."
        )
    if device == "cpu":
        return 0
    import torch

    found = torch.cuda.device_count()
    if device and not found:
        raise SettingsError(f"{what}: found no GPU; expected one for the device cuda. Leave it out.")
    return found


def _make_room(lesson: Lesson, folder: Path) -> None:
    """Remove what another lesson left in a folder, and write this one; its files may be elsewhere now."""
    for path in folder.iterdir() if lesson.with_key(folder, lesson.key) is None else ():
        if path.is_dir():
            remove_tree(folder, path)
        else:
            path.unlink()
    lesson.write(folder)


def _train(
    lesson: Lesson, folder: Path, log: Callable[[str], None], n_gpus: int, n_processes: int, keep_seconds: float
) -> None:
    complaints = [folder / f"complaints-{rank}.txt" for rank in range(n_processes)]
    is_taught = _school is not None and _school.learning == lesson.learning
    if _school is not None and is_taught and n_processes == 1 and not n_gpus and _is_small(lesson):
        with on_terminal(), Meter(f"training {lesson.what}", lesson.n_steps(1), log, "steps") as meter:
            code, failure = _school.teach(folder, keep_seconds, complaints[0], meter)
        if failure or code:
            raise ModelError(failure or _failure(lesson, code, complaints[0]))
        return
    with (
        _started(lesson, folder, n_gpus, complaints, keep_seconds) as processes,
        on_terminal(),
        Meter(f"training {lesson.what}", lesson.n_steps(n_processes), log, "steps") as meter,
    ):
        failure = _follow(processes[0], meter)[1]
        # If one has failed, the others wait for it in vain.
        codes = [process.wait() if not failure else process.poll() for process in processes]
    failed = [rank for rank, code in enumerate(codes) if code]
    if failure or failed:
        raise ModelError(failure or _failure(lesson, codes[failed[0]], complaints[failed[0]]))


@contextmanager
def school(learning: str, *, is_needed: bool) -> Iterator[None]:
    """Learn small lessons inside the block by one process, which imports what they need once.

    Each is learnt in a fork of it, so that none finds what another has left in memory. Imports take longer than to
    train a linker of the demo. A block inside another one shares its process.

    Args:
        learning: the module of the lessons; others are learnt in processes of their own.
        is_needed: whether there surely is a small lesson. Its process then imports what it needs from now on,
            beside what is done before; else it is started by the first lesson.
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


class _School:
    """A process that waits for lessons."""

    def __init__(self, learning: str) -> None:
        self.learning = learning
        self._process: subprocess.Popen[str] | None = None
        self._room: tempfile.TemporaryDirectory[str] | None = None

    def start(self) -> "subprocess.Popen[str]":
        """Start the process, unless it runs."""
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._room = tempfile.TemporaryDirectory(prefix="tempkb-school-")
            with self._complaint.open("w") as errors:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", self.learning],
                    env=_environment(Path(self._room.name), n_threads=1),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    text=True,
                )
        return self._process

    def teach(self, folder: Path, keep_seconds: float, complaint: Path, meter: Meter) -> tuple[int | None, str]:
        """Learn a lesson; return the exit code of its process, and its failure in words, if it told one."""
        process = self.start()
        environment = _environment(folder, n_threads=1)
        asked = {
            "folder": str(folder),
            "keep_seconds": keep_seconds,
            "complaint": str(complaint),
            "environment": {name: environment[name] for name in _CACHES},
        }
        with suppress(BrokenPipeError):  # it has ended, and its complaint says why
            assert process.stdin is not None  # noqa: S101 - it was opened above
            process.stdin.write(json.dumps(asked) + "\n")
            process.stdin.flush()
        code, failure = _follow(process, meter)
        if code is None:
            # Not the lesson has ended, but the process that should have taken it.
            code = process.wait()
            shutil.copy(self._complaint, complaint)
        return code, failure

    @property
    def _complaint(self) -> Path:
        assert self._room is not None  # noqa: S101 - it is made before the process
        return Path(self._room.name) / "complaints.txt"

    def close(self) -> None:
        """End the process, and what is trained by it."""
        if self._process is not None:
            _end(self._process)
            self._process = None
        if self._room is not None:
            self._room.cleanup()
            self._room = None


@contextmanager
def _started(
    lesson: Lesson, folder: Path, n_gpus: int, complaints: list[Path], keep_seconds: float
) -> Iterator[list["subprocess.Popen[str]"]]:
    command = [sys.executable, "-m", lesson.learning, str(folder), str(keep_seconds)]
    port = _free_port()
    threads = 1 if n_gpus or _is_small(lesson) else max(1, (os.cpu_count() or 1) // len(complaints))
    processes = []
    try:
        for rank, complaint in enumerate(complaints):
            with complaint.open("w") as errors:
                processes.append(
                    subprocess.Popen(
                        command,
                        env=_environment(folder, threads, n_gpus, rank, len(complaints), port),
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
                        stderr=errors,
                        text=True,
                    )
                )
        yield processes
    finally:
        for process in processes:
            _end(process)


def _end(process: "subprocess.Popen[str]") -> None:
    """End a process; what it has forked ends as well, since its input does."""
    if process.poll() is None:
        process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()


def _environment(
    folder: Path, n_threads: int, n_gpus: int = 0, rank: int = 0, n_processes: int = 1, port: int = 0
) -> Mapping[str, str]:
    caches = folder / "caches"
    caches.mkdir(exist_ok=True)
    own = {
        **dict.fromkeys(_CACHES, str(caches)),
        **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(n_threads)),
        **dict.fromkeys(("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY", "DO_NOT_TRACK"), "1"),
        "WANDB_MODE": "disabled",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    if not n_gpus:
        own["CUDA_VISIBLE_DEVICES"] = ""
    if n_processes > 1:
        own |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(n_processes)}
        own |= {"LOCAL_WORLD_SIZE": str(n_processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    return os.environ | own


def _is_small(lesson: Lesson) -> bool:
    if not lesson.base:
        return True
    weights = (file for file in Path(lesson.base).iterdir() if file.suffix in (".safetensors", ".bin"))
    return sum(file.stat().st_size for file in weights) < _SMALL_BYTES


def _follow(process: "subprocess.Popen[str]", meter: Meter) -> tuple[int | None, str]:
    """Show how far training is until it ends; return the exit code that a school tells, and a failure in words."""
    failure = ""
    for line in process.stdout or ():
        told = _told(line)
        if "step" in told:
            meter.at(told["step"])
        failure = told.get("failure", failure)
        if "ended" in told:
            return told["ended"], failure
    return None, failure


def _told(line: str) -> dict[str, Any]:
    """What a process tells by a line; nothing if the words are a library's own, which may be JSON as well."""
    try:
        told = json.loads(line)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _failure(lesson: Lesson, code: int | None, complaint: Path) -> str:
    lines = [line for line in complaint.read_text("utf-8", errors="replace").splitlines() if line.strip()]
    why = " / ".join(lines[-_TAIL:]) or "it said nothing"
    return (
        f"{lesson.what}: training ended with exit code {code} ({why}). The whole message is in {complaint}. "
        "If memory was not enough, set a smaller mini_batch_size; the same command goes on from where it ended."
    )


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
