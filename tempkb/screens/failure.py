"""The end of a command that cannot do what it was asked for: one message and an exit code."""

import io
import os
import sys
import traceback
from types import TracebackType
from typing import NoReturn

import click

from tempkb.errors import TempkbError
from tempkb.failures import defect, in_words
from tempkb.store.visible import visible

# What a shell gives a program that a signal has ended: 128 and the number of SIGINT, SIGPIPE.
_INTERRUPTED, _PIPE_CLOSED = 130, 141
_LINES = "\n"
_DAGSTERS_INTERRUPT = "DagsterExecutionInterruptedError"


def fail(message: str, code: int = 1) -> NoReturn:
    """Print a message to standard error and leave."""
    click.echo(f"tempkb: {visible(message, keep=_LINES)}", err=True)
    sys.exit(code)


def warn(message: str) -> None:
    """Print to standard error what a person should know all the same."""
    click.echo(f"note: {visible(message, keep=_LINES)}", err=True)


def end(error: BaseException) -> None:
    """Leave with one line if an error is no defect of ours; come back if it is."""
    if isinstance(error, TempkbError):
        fail(str(error))
    if isinstance(error, BrokenPipeError):
        # Whoever read our output, such as head, has enough; Python would complain at the end that it cannot flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(_PIPE_CLOSED)
    if isinstance(error, KeyboardInterrupt) or type(error).__name__ == _DAGSTERS_INTERRUPT:
        fail("interrupted; what is finished stays, and the same command goes on from there", _INTERRUPTED)
    said = in_words(error)
    if said is not None:
        fail(said)


def prepare_streams() -> None:
    """Let both streams write what their encoding lacks as escapes, and a defect tell where to report it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.excepthook = _tell_defect


def _tell_defect(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    traceback.print_exception(kind, error, trace)
    click.echo(f"tempkb: {defect()} with the lines above", err=True)
