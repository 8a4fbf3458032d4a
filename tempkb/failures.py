"""What to say of a run that has failed, and whom to tell."""

import json
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from typing import Any

from tempkb.errors import SettingsError, TempkbError

_SECONDS = 60


def call_hook(command: str, told: Mapping[str, str]) -> str:
    """Run a person's program without a shell, what is told on its standard input as JSON, and return what it printed.

    Args:
        command: program and arguments, as one would type them.
        told: such as run, job, partition, message.

    Raises:
        SettingsError: there is no such program, it failed, or it took longer than a minute.
    """
    try:
        done = subprocess.run(
            shlex.split(command), input=json.dumps(told) + "\n", capture_output=True, text=True, check=False,
            timeout=_SECONDS,
        )  # fmt: skip
    except (OSError, ValueError, IndexError, subprocess.TimeoutExpired) as error:
        raise SettingsError(
            f"failure_hook: {command!r} could not be run ({error}); set another: TEMPKB_FAILURE_HOOK"
        ) from None
    if done.returncode:
        raise SettingsError(f"failure_hook: {command!r} ended with {done.returncode}: {done.stderr.strip()[:300]}")
    return done.stdout


def windows_in_words(bad: Mapping[str, str]) -> str:
    """Say which windows were not built and why, windows of one reason together.

    Args:
        bad: window key -> why.

    >>> windows_in_words({"2020": "the file is empty", "2021": "the file is empty"})
    '2 windows (2020 to 2021) were not built: the file is empty'
    """
    by_reason: dict[str, list[str]] = {}
    for key in sorted(bad):
        by_reason.setdefault(bad[key], []).append(key)
    return "; ".join(
        f"window {keys[0]} was not built: {why}"
        if len(keys) == 1
        else f"{len(keys)} windows ({keys[0]} to {keys[-1]}) were not built: {why}"
        for why, keys in by_reason.items()
    )


def innermost(error: Any) -> str:
    """The words of the innermost of a chain of errors, as Dagster keeps them; of ours without the class's name."""
    while error.cause is not None:
        error = error.cause
    ours = {kind.__name__ for kind in _family(TempkbError)} | {"Failure"}
    message = str(error.message).strip()
    kind, _, words = message.partition(": ")
    return words if kind.rpartition(".")[2] in ours else message


def _family(kind: type[TempkbError]) -> Iterator[type[TempkbError]]:
    yield kind
    for child in kind.__subclasses__():
        yield from _family(child)
