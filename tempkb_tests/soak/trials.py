"""One kill after another: what was half or lost behind each, and what is unequal in the end."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tempkb_tests.soak import homes
from tempkb_tests.soak.commands import KILLED, Commands, Ended
from tempkb_tests.soak.jobs import Homes, Job

# Homes that are made from one that a job leaves.
_MADE_FROM = {"pages": ("read",), "gap": ("built",), "unpublished": ("released",)}


@dataclass
class Undisturbed:
    """How a job ends when nobody disturbs it.

    Attributes:
        told: what its home holds then, after `tempkb gc`.
        before: partitions that stood before it.
        after: partitions that stand behind it.
        changes: labels of the changes it makes, in order.
        seconds: how long it takes.
        cpu_seconds: what it takes of the machine.
    """

    told: homes.Told
    before: set[str]
    after: set[str]
    changes: list[str]
    seconds: float
    cpu_seconds: float


@dataclass
class Trial:
    """What became of one kill.

    Attributes:
        job: which was killed.
        where: at which change, or after how many seconds.
        was_killed: was it still at work then?
        half: what was neither there nor absent behind the kill.
        lost: partitions that stood before and after, and not behind the kill.
        unequal: what differs from the undisturbed home once the command was typed again.
        failed: what the command said when it could not be ended.
    """

    job: str
    where: str
    was_killed: bool = True
    half: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    unequal: list[str] = field(default_factory=list)
    failed: str = ""

    @property
    def is_sound(self) -> bool:
        """Was nothing half, lost or unequal, and did the command end?"""
        return not (self.half or self.lost or self.unequal or self.failed)


class Trials:
    """Kills the commands of one home.

    Args:
        commands: that are killed.
        kept: homes to begin with.
        jobs: all that there are.
        notes: folder for what children tell.
        tidy: type `tempkb gc` before homes are compared, so that they hold nothing old, and look for what it leaves.
    """

    def __init__(self, commands: Commands, kept: Homes, jobs: Sequence[Job], notes: Path, *, tidy: bool = True) -> None:
        self._commands, self._kept, self._notes, self._tidy = commands, kept, notes, tidy
        self.jobs = jobs
        self._leaving = {job.leaves: job for job in jobs}
        self._known: dict[str, Undisturbed] = {}

    def undisturbed(self, job: Job) -> Undisturbed:
        """Do a job in peace, once.

        Raises:
            RuntimeError: it fails.
        """
        if job.name not in self._known:
            self._begin(job)
            before = homes.partitions(self._commands.home)
            ended = self._type(job)
            if ended.code:
                raise RuntimeError(f"{job.name}: {ended.said}")
            after = homes.partitions(self._commands.home)
            if job.leaves:
                self._kept.keep(job.leaves)
            self._known[job.name] = Undisturbed(
                self._describe(), before, after, ended.changes, ended.seconds, ended.cpu_seconds
            )
        return self._known[job.name]

    def kill_at(self, job: Job, number: int) -> Trial:
        """Kill a job right before a change that it makes, by its number."""
        return self._try(job, f"{number}: {self.undisturbed(job).changes[number]}", die_before=number)

    def kill_after(self, job: Job, seconds: float) -> Trial:
        """Kill a job and its children after some seconds."""
        self.undisturbed(job)
        return self._try(job, f"after {seconds:.2f} s", kill_after=seconds)

    def _try(self, job: Job, where: str, die_before: int | None = None, kill_after: float | None = None) -> Trial:
        wanted, home = self.undisturbed(job), self._commands.home
        self._begin(job)
        first = self._type(job, die_before, kill_after)
        trial = Trial(job.name, where, first.code == KILLED)
        trial.half = self._asked(lambda: homes.half(home))
        trial.lost = sorted((wanted.before & wanted.after) - homes.partitions(home))
        second = self._type(job)
        if second.code not in job.ends:
            trial.failed = second.said
        told = self._describe()
        trial.unequal = [
            what for what in sorted(told.keys() | wanted.told.keys()) if told.get(what) != wanted.told.get(what)
        ]
        return trial

    def _begin(self, job: Job) -> None:
        """Put the home into place with which a job begins, after the jobs that leave it."""
        for name in (job.given, *_MADE_FROM.get(job.given, ())):
            if name in self._leaving and not self._kept.has(name):
                self.undisturbed(self._leaving[name])
        self._kept.put(job.given)

    def _type(self, job: Job, die_before: int | None = None, kill_after: float | None = None) -> Ended:
        return self._commands.run(*job.typed, die_before=die_before, kill_after=kill_after, **job.variables)

    def _describe(self) -> homes.Told:
        home = self._commands.home
        if self._tidy:
            self._commands.run("gc")
        told: homes.Told = self._asked(lambda: homes.describe(home))
        if not self._tidy:
            return told
        return told | {f"left: {name}": "there" for name in homes.leftovers(home)}

    def _asked(self, question):
        """Ask in a child, since DuckDB leaves threads behind, which no fork may meet."""
        answer = self._notes / "answer.json"
        self._commands.ask(lambda: answer.write_text(json.dumps(question()), "utf-8") and None)
        return json.loads(answer.read_text("utf-8"))
