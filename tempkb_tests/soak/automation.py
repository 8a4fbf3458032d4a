"""Kill what the platform consists of while a job is at its nastiest: with no further hand each home ends as an undisturbed one.

    python -m tempkb_tests.soak.automation [--job NAME ...] [--victim NAME ...]

`tempkb ui` runs over a home into which dumps have dropped. The process of a run is stopped right before it puts a
table in place. Then that process, the daemon or all processes are killed with SIGKILL; where the UI has ended by that,
it is opened again. Prints a line for each trial, and ends with 1 if a home differs or nothing went on.
"""

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tempkb_tests.conftest import run_tempkb
from tempkb_tests.platform.test_platform import ask, in_session, ui_over, wait_for
from tempkb_tests.soak import homes
from tempkb_tests.soak.jobs import FIRST_WINDOW

RELEASE_JOB = "build_templama"
# Job -> table before whose appearance its process is stopped: something of the run is done then, and something is not.
PLACES = {
    "register_dump": "pages",
    "build_windows": "mentions",
    "read_wikidata": "facts",
    RELEASE_JOB: "templama_queries",
}
VICTIMS = ("worker", "daemon", "all")
_RELEASE = ("2022-04-01..2023-01-01", "--granularity", "quarter", "--set", "max_subjects=20", "--name", "y")
_STEP = {
    "windows": _RELEASE[0],
    "granularity": "quarter",
    "dump_id": "wikidatawiki-20230101",
    "changes": {"max_subjects": 20},
}
# Python imports a module of this name when it begins. Each file in the folder of stops is good for one stop.
_STOPPING = """
import os, signal, sys
STOPS = {stops!r}
def heard(event, told):
    if event == "os.rename" and "/lake/" in str(told[1]):
        table = str(told[1]).partition("/lake/")[2].partition("/")[0]
        try:
            os.rename(f"{{STOPS}}/{{table}}", f"{{STOPS}}/{{table}}.{{os.getpid()}}")
        except OSError:
            return
        os.kill(os.getpid(), signal.SIGSTOP)
sys.addaudithook(heard)
"""
_LOCATION = {"repositoryLocationName": "tempkb.platform.definitions", "repositoryName": "__repository__"}
_RUNS = "query { runsOrError { ... on Runs { results { jobName status tags { key value } } } } }"


@dataclass
class Platform:
    """`tempkb ui` over a home, whose runs can be stopped at a table, and which can be killed and opened again.

    Attributes:
        home: over which it runs.
        folder: for its log and the stops.
    """

    home: Path
    folder: Path
    address: str = ""
    _opened: Any = None
    _session: int = 0
    _variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        stops = self.folder / "stops"
        stops.mkdir(parents=True)
        (self.folder / "sitecustomize.py").write_text(_STOPPING.format(stops=str(stops)), "utf-8")
        self._variables = {"TEMPKB_AUTOMATION": "true", "TEMPKB_WORKERS": "1", "PYTHONPATH": str(self.folder)}

    def open(self) -> None:
        """Open the UI."""
        self._opened = ui_over(self.home, self.folder / "ui.log", self.folder, **self._variables)
        process, self.address = self._opened.__enter__()
        self._session = process.pid

    def close(self) -> None:
        """End all processes."""
        if self._opened:
            kill_session(self._session)
            self._opened.__exit__(None, None, None)
            self._opened = None

    def stop_before(self, table: str) -> None:
        """Let the next process that puts this table in place stop before it."""
        (self.folder / "stops" / table).touch()

    def stopped(self, table: str, seconds: float = 300) -> int:
        """Wait for that, and return the id of the process."""
        found: list[Path] = []
        wait_for(lambda: found.extend(self.folder.glob(f"stops/{table}.*")) or found, seconds, self._explain)
        pid = int(found[0].suffix[1:])
        found[0].unlink()
        return pid

    def kill(self, victim: str, worker: int) -> None:
        """Kill the process of a run, the daemon, or all; behind the latter two the UI is opened again."""
        if victim == "worker":
            os.kill(worker, signal.SIGKILL)
            return
        if victim == "all":
            kill_session(self._session)
        else:
            (daemon,) = (pid for pid in pids_of(self._session) if b"dagster._daemon" in _arguments(pid))
            os.kill(daemon, signal.SIGKILL)
            os.kill(worker, signal.SIGCONT)
            wait_for(lambda: not Path(f"/proc/{self._session}").exists() or _is_zombie(self._session), 60)
        self._opened.__exit__(None, None, None)
        self.open()

    def launch(self) -> None:
        """Launch a release, as the UI's launchpad does."""
        key = {"partitionsDefName": "templama_releases", "partitionKey": "y", "repositorySelector": _LOCATION}
        ask(
            self.address,
            """mutation($partitionsDefName: String!, $partitionKey: String!, $repositorySelector: RepositorySelector!) {
                 addDynamicPartition(partitionsDefName: $partitionsDefName, partitionKey: $partitionKey,
                                     repositorySelector: $repositorySelector) { __typename } }""",
            **key,
        )
        launched = ask(
            self.address,
            """mutation($p: ExecutionParams!) { launchRun(executionParams: $p) { __typename
                 ... on PythonError { message } ... on RunConfigValidationInvalid { errors { message } } } }""",
            p={
                "selector": {**_LOCATION, "jobName": RELEASE_JOB},
                "runConfigData": {"ops": {"templama_spells": {"config": _STEP}}},
                "executionMetadata": {"tags": [{"key": "dagster/partition", "value": "y"}]},
            },
        )["launchRun"]
        assert launched["__typename"] == "LaunchRunSuccess", launched

    def runs(self) -> list[tuple[str, str]]:
        """Job and status of all runs, oldest first."""
        return [(one["jobName"], one["status"]) for one in reversed(ask(self.address, _RUNS)["runsOrError"]["results"])]

    def wait_until_equal(self, wanted: homes.Told, seconds: float = 400) -> list[str]:
        """Wait until all runs have ended and the lake is as wanted, and return what differs still."""
        deadline = time.monotonic() + seconds
        while True:
            going_on = [run for run in self.runs() if run[1] not in ("SUCCESS", "FAILURE", "CANCELED")]
            told = lake_of(self.home)
            unequal = sorted(name for name in told.keys() | wanted.keys() if told.get(name) != wanted.get(name))
            if not (unequal or going_on) or time.monotonic() > deadline:
                return unequal + [f"{job} {status}" for job, status in going_on or (self.runs() if unequal else ())]
            time.sleep(1)

    def _explain(self) -> Any:
        return self.runs(), (self.folder / "ui.log").read_text("utf-8")[-3000:]


def lake_of(home: Path) -> homes.Told:
    """The current version of every partition of every table."""
    return {f"{one['table']}/{one['partition']}": one["version"] for _, one in homes.versions(home)}


def pids_of(session: int) -> list[int]:
    """Processes of a session."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            if int(path.read_text("utf-8").rpartition(")")[2].split()[3]) == session:
                found.append(int(path.parent.name))
    return found


def kill_session(session: int) -> None:
    """Kill all processes of a session at once."""
    while in_session(session):
        for pid in pids_of(session):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def _arguments(pid: int) -> bytes:
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def _is_zombie(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] == "Z"


@dataclass(frozen=True)
class Ends:
    """Homes to begin with, and what lies in the lake of each in the end if nobody disturbs it.

    Attributes:
        dropped: dumps have dropped into it, and nothing is built.
        built: all that the automation builds of them is there.
    """

    dropped: Path
    built: Path
    in_the_end: dict[str, homes.Told]

    def before(self, job: str) -> Path:
        """Return the home with which a job begins."""
        return self.built if job == RELEASE_JOB else self.dropped


def make_homes(folder: Path, *, with_wikidata: bool = True) -> Ends:
    """Make the homes, and let commands do in peace what the automation is to do; without Wikidata it is no release."""
    dropped, built, released = (folder / name for name in ("dropped", "built", "released"))
    dropped.mkdir(parents=True)
    (dropped / "tempkb.toml").write_text(f"first_window = {FIRST_WINDOW}\n", "utf-8")
    run_tempkb(dropped, "demo", "--pages", "250", "--quarters", "8")
    if not with_wikidata:
        shutil.rmtree(dropped / "dumps" / "wikidatawiki")
    shutil.copytree(dropped, built)
    run_tempkb(built, "build")
    # With the salt under which contributors are hashed.
    shutil.copy(built / "home.toml", dropped)
    ends = dict.fromkeys(PLACES, lake_of(built))
    if with_wikidata:
        shutil.copytree(built, released)
        run_tempkb(released, "release", "templama", *_RELEASE)
        ends[RELEASE_JOB] = lake_of(released)
    return Ends(dropped, built, ends)


def trial(ends: Ends, folder: Path, job: str, victim: str) -> list[str]:
    """Kill one of the platform in a job, and return what differs from an undisturbed home in the end."""
    home = folder / "home"
    shutil.copytree(ends.before(job), home)
    platform = Platform(home, folder / "platform")
    platform.stop_before(PLACES[job])
    try:
        platform.open()
        if job == RELEASE_JOB:
            platform.launch()
        platform.kill(victim, platform.stopped(PLACES[job]))
        return platform.wait_until_equal(ends.in_the_end[job])
    finally:
        platform.close()


def main() -> None:
    """Kill each in each job, and print a line for each trial."""
    reader = argparse.ArgumentParser(prog="tempkb_tests.soak.automation", description=__doc__)
    reader.add_argument("--job", action="append", choices=PLACES, help="only this one; may be repeated")
    reader.add_argument("--victim", action="append", choices=VICTIMS, help="only this one; may be repeated")
    asked = reader.parse_args()
    is_sound = True
    with tempfile.TemporaryDirectory(prefix="soak-") as temporary:
        ends = make_homes(Path(temporary))
        for job in asked.job or PLACES:
            for victim in asked.victim or VICTIMS:
                began = time.monotonic()
                unequal = trial(ends, Path(temporary) / f"{job}-{victim}", job, victim)
                is_sound &= not unequal
                said = ", ".join(unequal) or "equal"
                sys.stdout.write(f"{job:<16} {victim:<8} {time.monotonic() - began:>6.1f} s  {said}\n")
                sys.stdout.flush()
    sys.exit(0 if is_sound else 1)


if __name__ == "__main__":
    main()
