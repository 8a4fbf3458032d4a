"""Ends a command that fails: one message on standard error, and an exit code.

Words on the command line and data on standard output are UTF-8, whatever the locale says.
"""

import atexit
import io
import os
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

import click

from tempkb.core.errors import TempkbError
from tempkb.core.failures import defect, in_words
from tempkb.core.settings import at_home
from tempkb.core.wording import counted
from tempkb.store.quoting import visible

# Exit codes of programs that a signal ended: 128 plus the number of SIGINT or SIGPIPE.
_INTERRUPTED, _PIPE_CLOSED = 130, 141
# Python's own code for output that is lost at the end.
_NOT_FLUSHED = 120


class Failure(SystemExit):
    """The end of a command that has failed.

    Attributes:
        message: what it has said of that.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(code)
        self.message = message


class OutputError(OSError):
    """Standard output could not be written; this says nothing about the files of the home."""


class _Output(io.FileIO):
    """The file behind standard output. Its errors have a class of their own, unlike those of the home's files."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except (BrokenPipeError, BlockingIOError):
            raise
        except OSError as error:
            raise OutputError(error.errno, error.strerror) from None


def fail(message: str, code: int = 1, above: str = "") -> NoReturn:
    """Print a message to standard error, with lines above it, and exit."""
    message = f"{above}tempkb: {message}"
    tell(message)
    raise Failure(code, message)


def fail_all(failures: Sequence[str]) -> NoReturn:
    """Print one line for each failure to standard error, those in the same words as one, then their number; exit."""
    if len(failures) == 1:
        fail(failures[0])
    above = (f"failed{f' {n} times' if n > 1 else ''}: {failure}\n" for failure, n in Counter(failures).items())
    fail(f"{counted(len(failures), 'failure')}, see above; what is finished is kept", above="".join(above))


def warn(message: str) -> None:
    """Print a note to standard error."""
    tell(f"note: {message}")


def tell(message: str) -> None:
    """Print a message to standard error, as `say` does to standard output."""
    if message:
        click.echo(visible(at_home(message), keep="\n"), err=True)


def end(error: BaseException) -> None:
    """Exit with one line, unless an error is a defect of tempkb; then return."""
    if isinstance(error, TempkbError):
        fail(str(error))
    if isinstance(error, BrokenPipeError):
        # The reader of our output, such as head, has ended.
        _drop_output()
        sys.exit(_PIPE_CLOSED)
    if isinstance(error, OutputError):
        _drop_output()
        fail(
            f"standard output: could not be written completely ({error.strerror}), so the output is not complete. "
            "Send it to a place with enough room, and type the same command again"
        )
    if isinstance(error, KeyboardInterrupt):
        fail("interrupted; what is finished is kept, and the same command continues from there", _INTERRUPTED)
    if (message := in_words(error)) is not None:
        fail(message)


def leave(code: str | int | None) -> NoReturn:
    """End the process with an exit code, but do not take its modules apart.

    That takes longer than some commands, and libraries complain about one another's remains. Threads and what is
    registered for the end of the process are waited for, as Python does.
    """
    threading._shutdown()  # type: ignore[attr-defined]  # what Python calls; joining alone would wait for idle pools
    atexit._run_exitfuncs()
    done = 1 if isinstance(code, str) else code or 0
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        done = done or _NOT_FLUSHED
    os._exit(done)


def _drop_output() -> None:
    """Discard the rest of our output; otherwise Python would report at its end that it cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def prepare_streams() -> None:
    """Prepare the standard streams.

    Characters that their encoding lacks are written as escapes, errors of standard output have a class of their own,
    and the trace of a defect ends with where to report it.
    """
    out = sys.stdout
    for name in ("stdout", "stderr"):
        # Python has no stream if the shell closed it; then nobody reads it.
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - for as long as we run
    # With PYTHONUNBUFFERED there is no buffer between the text and the file.
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
    sys.excepthook = _report_defect


def _report_defect(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    traceback.print_exception(kind, error, trace)
    click.echo(f"tempkb: {defect()} with the lines above", err=True)


def as_utf8(word: str) -> str:
    """Return a word of the command line as text that can be stored and asked for: what is not UTF-8 becomes U+FFFD."""
    # If the locale is not UTF-8, or the bytes are not, Python passes them on without decoding them.
    return os.fsencode(word).decode("utf-8", "replace")


def speak_utf8() -> None:
    """Make standard output UTF-8, so that data are the same with every terminal."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
