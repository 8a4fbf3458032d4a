"""`make soak`: kill every job many times, and print what was half, lost or unequal.

    python -m tempkb_tests.soak [--kills N] [--job NAME ...] [--at LABEL] [--edges] [--folder FOLDER]

By default each job is killed 8 times: at edges that are spread over all that it
does, and after some seconds. Ends with status 1 if anything was not sound.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tempkb_tests.soak.commands import Commands
from tempkb_tests.soak.jobs import FIRST_WINDOW, TESTED, Homes, Job, jobs
from tempkb_tests.soak.server import served
from tempkb_tests.soak.trials import Trial, Trials


def main() -> None:
    """Kill, type again, compare, and print a table."""
    reader = argparse.ArgumentParser(prog="tempkb_tests.soak", description=__doc__)
    reader.add_argument("--kills", type=int, default=8, help="of each job")
    reader.add_argument("--job", action="append", help="only this one; may be repeated")
    reader.add_argument("--at", default="", help="kill only at changes whose label holds this")
    reader.add_argument("--edges", action="store_true", help="kill one job of each kind, once, where it is nastiest")
    reader.add_argument("--folder", type=Path, help="keep the homes here; by default a temporary folder")
    asked = reader.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as temporary:
        slot = (asked.folder or Path(temporary)).resolve()
        with served(slot / "second" / "dumps") as address:
            trials = _trials_in(slot, address, tidy=not asked.edges)
            is_sound = _soak(trials, asked.job or (TESTED if asked.edges else None), lambda *told: _kill(*told, asked))
    sys.exit(0 if is_sound else 1)


def _soak(trials: Trials, names: Sequence[str] | None, kill: Callable[[Trials, Job], Iterator[Trial]]) -> bool:
    rows = []
    for job in trials.jobs:
        if names and job.name not in names:
            continue
        found = []
        for trial in kill(trials, job):
            found.append(trial)
            if not trial.is_sound:
                _tell(trial)
        rows.append((job.name, found, trials.undisturbed(job).cpu_seconds))
        sys.stdout.write(_row(*rows[-1]))
        sys.stdout.flush()
    sys.stdout.write(
        "\njob                        kills  half  lost  unequal  failed  seconds\n"
        + "".join(_row(*row) for row in rows)
    )
    return all(trial.is_sound for _, found, _ in rows for trial in found)


def _trials_in(slot: Path, address: str, *, tidy: bool) -> Trials:
    """Make what kills the commands of the home below a folder, beside which a server shows another home's dumps."""
    home, notes = slot / "home", slot / "notes"
    for folder in (home, notes):
        folder.mkdir(parents=True, exist_ok=True)
    (home / "tempkb.toml").write_text(f"first_window = {FIRST_WINDOW}\n", "utf-8")
    commands = Commands(home, notes)
    kept = Homes(commands, slot)
    # First of all, since jobs name the second dump's files.
    kept.put("dumps")
    return Trials(commands, kept, jobs(slot, address), notes, tidy=tidy)


def _kill(trials: Trials, job: Job, asked: argparse.Namespace) -> Iterator[Trial]:
    """Two of three kills at edges, spread over the job; one of three by time, from the first moment on.

    Raises:
        RuntimeError: the job makes no change of the label that was asked for.
    """
    known = trials.undisturbed(job)
    if asked.edges or asked.at:
        label = asked.at or job.edge
        found = [number for number, change in enumerate(known.changes) if label in change]
        if not found:
            raise RuntimeError(f"{job.name}: no change is called {label}; there are: {', '.join(known.changes)}")
        # The middle one, so that something of the kind is done and something is not.
        for number in found if asked.at else found[len(found) // 2 :][:1]:
            yield trials.kill_at(job, number)
        return
    by_time = asked.kills // 3
    edges, n = asked.kills - by_time, len(known.changes)
    for number in sorted({round(at * (n - 1) / max(edges - 1, 1)) for at in range(edges)}):
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
    return f"{name:<26} {n:>5} {half:>5} {lost:>5} {unequal:>8} {failed:>7} {seconds:>8.1f}\n"


if __name__ == "__main__":
    main()
