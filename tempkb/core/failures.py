"""Messages about commands and runs that failed, and the call of the user's failure hook."""

import ast
import builtins
import errno
import json
import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tempkb.core.errors import SettingsError

_SECONDS = 60
_REPORTS = "https://github.com/tempkb/tempkb/issues"

_ROOM = (
    "make room, then run the same command again; old versions of partitions are deleted by: tempkb gc; a dump by: "
    "tempkb rm --dump ID"
)
_WRITE = "let this user write there, or use another home: TEMPKB_HOME=..."
_MOUNT = "check that the disk is mounted, healthy and not full, then run the same command again"
_GONE = (
    "it may have been moved or removed, or a disk is not mounted. Put it back or name another, then run the same "
    "command again"
)
# Words of the system's message -> what the user can do. DuckDB and SQLite repeat the system's words, or have their own.
_REMEDIES = {
    os.strerror(errno.ENOSPC): _ROOM,
    "database or disk is full": _ROOM,
    os.strerror(errno.EDQUOT): _ROOM,
    os.strerror(errno.EROFS): _WRITE,
    "readonly database": _WRITE,
    os.strerror(errno.EACCES): _WRITE,
    os.strerror(errno.EPERM): _WRITE,
    "unable to open database file": _WRITE,
    os.strerror(errno.ESTALE): _MOUNT,
    os.strerror(errno.EIO): _MOUNT,
    "disk I/O error": _MOUNT,
    os.strerror(errno.ENODEV): _MOUNT,
    os.strerror(errno.ENOTCONN): _MOUNT,
    os.strerror(errno.ENXIO): _MOUNT,
    os.strerror(errno.ENOENT): _GONE,
    os.strerror(errno.ENAMETOOLONG): "use a shorter name",
    os.strerror(errno.EMFILE): "allow more open files: ulimit -n 65536",
    os.strerror(errno.EADDRINUSE): "use another port",
    "is locked": "close the other program that uses it, then run the same command again",
    "malformed": "the file is damaged; restore it from a copy",
    "not a database": "the file is damaged; restore it from a copy",
    "Out of Memory": "use fewer workers (TEMPKB_WORKERS=1) or a machine with more memory",
    "Conflicting lock": "close the other program that uses it, then run the same command again",
}
# Classes of errors of the machine, not of the code; by name, since errors of steps come as text.
_OF_SYSTEM = {"OSError"} | {
    name for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, OSError)
}
_OF_DATABASES = {
    "IOException",
    "OutOfMemoryException",
    "FatalException",
    "InternalException",
    "ConnectionException",
    "SerializationException",
    "OperationalError",
    "DatabaseError",
}
# DuckDB's commit fails with this class on a full disk, and also where two transactions contradict each other, which is
# a defect: only the words tell.
_OF_EITHER = {"TransactionException"}


def in_words(error: BaseException) -> str | None:
    """Return one line about an error of the machine (disk, memory, another program); None for any other error.

    Args:
        error: of the system, of DuckDB or SQLite, or one caused by such an error.
    """
    link: BaseException | None = error
    while link is not None:
        path = getattr(link, "filename", None)
        line = _line_for(type(link).__name__, str(link), os.fsdecode(path) if isinstance(path, str | bytes) else "")
        if line is not None:
            return line
        link = link.__cause__
    return None


def _line_for(kind: str, message: str, path: str = "") -> str | None:
    """Return the line for an error of the machine, from the name of its class and its message."""
    if kind == "MemoryError":
        return f"memory ran out; {_REMEDIES['Out of Memory']}"
    first = message.strip().split("\n", 1)[0]
    remedy = next((what for words, what in _REMEDIES.items() if words.lower() in first.lower()), "")
    if kind not in _OF_SYSTEM | _OF_DATABASES and not (kind in _OF_EITHER and remedy):
        return None
    if kind in _OF_SYSTEM:
        # Python: `No such file or directory: 'name'`; Arrow: `... Detail: [errno 2] No such file or directory`.
        reason = re.sub(r"^(\[Errno \d+\] )?(.* Detail: \[errno \d+\] )?", "", first)
        reason, _, rest = reason.partition(": ") if re.search(r": ['\"]", reason) else (reason, "", "")
        path = path or _path_in(rest)
    else:
        # SQLAlchemy puts the class of SQLite's own error before the message.
        reason = re.sub(r"^\(\w+(?:\.\w+)*\) ", "", first)
    home = os.environ.get("TEMPKB_HOME", "data/demo")
    if not path and not Path(home).exists():
        return f"home {home}: does not exist ({reason}); {_GONE}"
    place = path or ("" if '"' in reason else f"home {home}")
    line = f"{place}: {reason}" if place else reason
    return f"{line}; {remedy}" if remedy else line


def _path_in(text: str) -> str:
    """Return the file in a system error's message, in which it is written as a Python string."""
    quoted = re.match(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", text)
    return str(ast.literal_eval(quoted[0])) if quoted else text


def call_hook(command: str, report: Mapping[str, str]) -> str:
    """Run a user's program without a shell, with JSON on its standard input, and return what it printed.

    Args:
        command: program and arguments, as one would type them.
        report: the content of the JSON, such as run, job, partition, message.

    Raises:
        SettingsError: there is no such program, it failed, or it took longer than a minute.
    """
    try:
        done = subprocess.run(
            shlex.split(command),
            input=json.dumps(report) + "\n",
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
    except (OSError, ValueError, IndexError, subprocess.TimeoutExpired) as error:
        raise SettingsError(
            f"failure_hook: {command!r} could not be run ({error}); set another: TEMPKB_FAILURE_HOOK"
        ) from None
    if done.returncode:
        raise SettingsError(f"failure_hook: {command!r} ended with {done.returncode}: {done.stderr.strip()[:300]}")
    return done.stdout


def innermost(error: Any) -> str:
    """Return the message of the error behind a failed run, from a chain of errors as Dagster keeps them.

    It is the first error of tempkb in the chain, whatever caused it, without its class's name; else the innermost
    error. Errors of the machine come with advice. Any other error is reported as a probable defect.
    """
    while True:
        message = str(error.message).strip()
        kind, _, words = message.partition(": ")
        name = kind.rpartition(".")[2]
        # Dagster's own class is raised with what could not be made.
        if kind.startswith("tempkb.") or name == "Failure":
            return words
        if error.cause is None:
            return _line_for(name, words) or f"{message} ({defect()}; its trace is in tempkb ui, under Runs)"
        error = error.cause


def defect() -> str:
    """Return the sentence for an error that tempkb does not expect."""
    import tempkb

    return f"this looks like a defect of tempkb {tempkb.__version__}; please report it: {_REPORTS}"
