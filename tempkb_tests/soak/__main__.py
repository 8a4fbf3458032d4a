"""`make soak`: kill every job many times, and print what was half, lost or unequal.

    python -m tempkb_tests.soak [--kills N] [--job NAME ...] [--folder FOLDER] [--at LABEL]

By default each job is killed at some of its edges, spread over all that it does, and after
some seconds, 8 times in all. Ends with status 1 if anything was not sound.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tempkb_tests.soak.commands import Commands
from tempkb_tests.soak.jobs import FIRST_WINDOW, Job, Prepared, jobs
from tempkb_tests.soak.trials import Trial, Trials


def main() -> None:
    """Kill, type again, compare, and print a table."""
    reader = argparse.ArgumentParser(prog="tempkb_tests.soak", description=__doc__)
    reader.add_argument("--kills", type=int, default=8, help="of each job")
    reader.add_argument("--job", action="append", help="only this one; may be repeated")
    reader.add_argument("--at", default="", help="kill only at changes whose label holds this")
    reader.add_argument("--folder", type=Path, help="keep the homes here; by default a temporary folder")
    asked = reader.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as temporary:
        slot = (asked.folder or Path(temporary)).resolve()
        sys.exit(0 if _soak(slot, asked.kills, asked.job, asked.at) else 1)


def _soak(slot: Path, kills: int, names: Sequence[str] | None, at: str) -> bool:
    trials = trials_in(slot)
    rows = []
    for job in jobs(slot):
        if names and job.name not in names:
            continue
        found = []
        began = time.monotonic()
        for trial in _kill(trials, job, kills, at):
            found.append(trial)
            if not trial.is_sound:
                _tell(trial)
        rows.append((job.name, found, time.monotonic() - began))
        sys.stdout.write(_row(*rows[-1]))
        sys.stdout.flush()
    sys.stdout.write(
        "\njob                        kills  half  lost  unequal  failed\n" + "".join(_row(*row) for row in rows)
    )
    return all(trial.is_sound for _, found, _ in rows for trial in found)


def trials_in(slot: Path) -> Trials:
    """Make what kills the commands of the home below a folder."""
    home, notes = slot / "home", slot / "notes"
    for folder in (home, notes):
        folder.mkdir(parents=True, exist_ok=True)
    (home / "tempkb.toml").write_text(f"first_window = {FIRST_WINDOW}\n", "utf-8")
    commands = Commands(home, notes)
    prepared = Prepared(commands, slot)
    # First of all, since other jobs name the second dump's files.
    prepared.put("dumps")
    return Trials(commands, prepared, notes)


def _kill(trials: Trials, job: Job, kills: int, at: str) -> Iterator[Trial]:
    """Two of three kills at edges, spread over the job; one of three by time, from the first moment on."""
    known = trials.undisturbed(job)
    if at:
        for number, label in enumerate(known.changes):
            if at in label:
                yield trials.kill_at(job, number)
        return
    by_time = kills // 3
    edges = kills - by_time
    n = len(known.changes)
    numbers = sorted({round(at * (n - 1) / max(edges - 1, 1)) for at in range(edges)}) if n else []
    for number in numbers:
        yield trials.kill_at(job, number)
    for number in range(by_time):
        yield trials.kill_after(job, known.seconds * (number + 0.5) / by_time)


def _tell(trial: Trial) -> None:
    lines = [f"{trial.job}, killed {trial.where}:"]
    lines += [f"  {what}: {one}" for what in ("half", "lost", "unequal") for one in getattr(trial, what)[:12]]
    lines += [f"  failed: {trial.failed[-600:]}"] if trial.failed else []
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def _row(name: str, found: Sequence[Trial], seconds: float) -> str:
    counts = [
        sum(map(bool, values))
        for values in zip(*((one.half, one.lost, one.unequal, one.failed) for one in found), strict=True)
    ]
    half, lost, unequal, failed = counts or [0] * 4
    n = sum(one.was_killed for one in found)
    return f"{name:<26} {n:>5} {half:>5} {lost:>5} {unequal:>8} {failed:>7}   {seconds:.0f} s\n"


if __name__ == "__main__":
    main()
