"""Commands that only read, measured as whole processes on the built demo world."""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from tempkb_tests.bench.measuring import PAIRS, row, spread

_CUTS = "SELECT cut, count(*) AS pages FROM stable_snapshots GROUP BY cut ORDER BY cut"
_COMMANDS = (
    ("--help",),
    ("build", "--help"),
    ("release", "--help"),
    ("tables",),
    ("status",),
    ("sql", _CUTS),
    ("sql", _CUTS, "--csv"),
    ("show", "Harbour Clock", "--cut", "2021-10-01"),
)


def measure_all(folder: Path) -> None:
    """Build the demo world in a folder and print what each command takes, wall and CPU."""
    # Without its bytecode each command would be compiled each time.
    unwanted = ("TEMPKB_", "PYTHONDONTWRITEBYTECODE")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    environment["TEMPKB_HOME"] = str(folder / "demo")
    for build in (("demo",), ("build",)):
        _run(build, environment)
    # Wall time says nothing on a machine that has other work; CPU time grows with it, too, but less.
    print(f"{os.cpu_count()} cores; {os.getloadavg()[0]:.1f} processes were running on average before the first.\n")
    row("command that only reads", "wall s", "CPU s")
    row(*["---"] * 3)
    for command in _COMMANDS:
        # The first run finds neither bytecode nor libraries in memory.
        _run(command, environment)
        taken = [_run(command, environment) for _ in range(PAIRS)]
        shown = " ".join(["tempkb", *(_shown(word) for word in command if word != "--help")])
        row(
            f"{'help of ' if '--help' in command else ''}`{shown}`",
            spread([wall for wall, _ in taken]),
            spread([cpu for _, cpu in taken]),
        )


def _shown(word: str) -> str:
    """A word of a command as it is typed; a long query is left out."""
    return "..." if word == _CUTS else f'"{word}"' if " " in word else word


def _run(arguments: tuple[str, ...], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds of wall time, and of CPU, user and system."""
    begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "tempkb.commands.cli", *arguments], env=environment, check=True, capture_output=True
    )
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
