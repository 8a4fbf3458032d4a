"""Sides of a comparison, run in turn in processes of their own, and the tables they give."""

import os
import resource
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PAIRS = int(os.environ.get("BENCH_PAIRS", "5"))


@dataclass
class Side:
    """A measured command and the runs it had."""

    name: str
    arguments: list[str]
    workers: int = 1
    prepare: Path | None = None
    template: Path | None = None

    def __post_init__(self) -> None:
        self.cpu: list[float] = []
        self.peak_mb = 0.0

    def run(self) -> None:
        """Run once, in a fresh home, and note CPU time and peak memory."""
        if self.prepare is not None:
            shutil.rmtree(self.prepare, ignore_errors=True)
            if self.template is not None:
                shutil.copytree(self.template, self.prepare)
            else:
                self.prepare.mkdir(parents=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        environment = {key: value for key, value in os.environ.items() if not key.startswith("TEMPKB_")}
        command = [sys.executable, "-m", "tempkb_tests.bench.sides", *self.arguments]
        subprocess.run(
            [sys.executable, "-c", _MEASURE, *command],
            check=True,
            capture_output=True,
            env={**environment, "BENCH_WORKERS": str(self.workers), "OPENBLAS_NUM_THREADS": "1"},
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        self.peak_mb = max(self.peak_mb, float(Path(os.environ["BENCH_PEAK"]).read_text()))


# Started anew for each run, so that the peak is of this run's processes alone. It adopts what the run leaves behind, such
# as the server that forks workers, and waits for its end: only then is its CPU time counted.
_MEASURE = """
import ctypes, os, resource, subprocess, sys
PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
done = subprocess.run(sys.argv[1:], check=True)
try:
    while True:
        os.wait()
except ChildProcessError:
    pass
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
open(os.environ["BENCH_PEAK"], "w").write(str(peak))
"""


def measure(*sides: Side, pairs: int = PAIRS) -> None:
    """Run the sides in turn."""
    for number in range(pairs):
        for side in sides:
            side.run()
        print(
            f"  {number + 1} of {pairs}: " + ", ".join(f"{side.name} {side.cpu[-1]:.2f} s" for side in sides),
            file=sys.stderr,
        )


def spread(values: list[float], form: str = "{:.2f}") -> str:
    """Return median (minimum .. maximum)."""
    return " ".join(
        (form.format(statistics.median(values)), f"({form.format(min(values))} .. {form.format(max(values))})")
    )


def ratios(one: Side, other: Side) -> list[float]:
    """Return one/other, pair by pair."""
    return [a / b for a, b in zip(one.cpu, other.cpu, strict=True)]


def row(*cells: object) -> None:
    """Print a row of a Markdown table."""
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def speed(side: Side, megabytes: float) -> str:
    """Return MB of plain XML per CPU second."""
    return spread([megabytes / cpu for cpu in side.cpu], "{:.0f}")
