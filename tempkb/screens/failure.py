"""The end of a command that cannot do what it was asked for: one message and an exit code."""

import io
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

import click

from tempkb.errors import TempkbError
from tempkb.failures import defect, in_words
from tempkb.settings import at_home
from tempkb.store.visible import visible
from tempkb.wording import counted

# What a shell gives a program that a signal has ended: 128 and the number of SIGINT, SIGPIPE.
_INTERRUPTED, _PIPE_CLOSED = 130, 141
_LINES = "\n"
_DAGSTERS_INTERRUPT = "DagsterExecutionInterruptedError"


class OutputError(OSError):
    """Standard output could not be written, whatever became of the files of the home."""


class _Output(io.FileIO):
    """The file behind standard output, whose errors are told from those of the home's files."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except (BrokenPipeError, BlockingIOError):
            raise
        except OSError as error:
            raise OutputError(error.errno, error.strerror) from None


def fail(message: str, code: int = 1) -> NoReturn:
    """Print a message to standard error and leave."""
    tell(f"tempkb: {message}")
    sys.exit(code)


def fail_all(failures: Sequence[str]) -> NoReturn:
    """Print what went wrong to standard error, a line for each and how many, and leave."""
    if len(failures) == 1:
        fail(failures[0])
    for failure in failures:
        tell(f"failed: {failure}")
    fail(f"{counted(len(failures), 'failure')}, as told above; what is finished stays")


def warn(message: str) -> None:
    """Print to standard error what a person should know all the same."""
    tell(f"note: {message}")


def tell(message: str) -> None:
    """Print a message to standard error, with its commands as they are typed for this home."""
    click.echo(visible(at_home(message), keep=_LINES), err=True)


def end(error: BaseException) -> None:
    """Leave with one line if an error is no defect of ours; come back if it is."""
    if isinstance(error, TempkbError):
        fail(str(error))
    if isinstance(error, BrokenPipeError):
        # Whoever read our output, such as head, has enough.
        _drop_output()
        sys.exit(_PIPE_CLOSED)
    if isinstance(error, OutputError):
        _drop_output()
        fail(
            f"standard output: could not be written to its end ({error.strerror}), so what it has got is not whole. "
            "Send it to where there is room, then give the same command again"
        )
    if isinstance(error, KeyboardInterrupt) or type(error).__name__ == _DAGSTERS_INTERRUPT:
        fail("interrupted; what is finished stays, and the same command goes on from there", _INTERRUPTED)
    said = in_words(error)
    if said is not None:
        fail(said)


def _drop_output() -> None:
    """Send what is left of our output nowhere; Python would complain at the end that it cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def prepare_streams() -> None:
    """Make the standard streams ours.

    Both write what their encoding lacks as escapes; errors of standard output are told from others; a defect tells
    where to report it.
    """
    out = sys.stdout
    for name in ("stdout", "stderr"):
        # Python has none where the shell has closed it; nobody reads it then.
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - for as long as we run
    # Under PYTHONUNBUFFERED there is no buffer between the text and the file.
    if isinstance(out, io.TextIOWrapper) and type(getattr(out.buffer, "raw", out.buffer)) is io.FileIO:
        out.flush()
        raw = _Output(out.fileno(), "w", closefd=False)
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(raw) if hasattr(out.buffer, "raw") else raw,
            encoding=out.encoding,
            line_buffering=out.line_buffering,
            write_through=out.write_through,
            newline="\n",
        )
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.excepthook = _tell_defect


def _tell_defect(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    traceback.print_exception(kind, error, trace)
    click.echo(f"tempkb: {defect()} with the lines above", err=True)
