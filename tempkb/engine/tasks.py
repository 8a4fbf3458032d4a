"""Tasks: what a command or a run of Dagster asks for at once. A task makes the tables of some steps, for some keys.

No Dagster here: its assets and jobs follow from these declarations, and commands call the same functions.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tempkb.core.files import own
from tempkb.core.locks import at_work
from tempkb.core.options import Option, Words, as_word, options_of
from tempkb.core.wording import counted
from tempkb.engine.steps import Log, Step, bring, function_named
from tempkb.store.store import Store
from tempkb.store.tables import Family, Table
from tempkb.store.versions import Version

if TYPE_CHECKING:
    import pyarrow as pa

    from tempkb.store.promises import Promise, Subject, Verdict


@dataclass(frozen=True)
class Picture:
    """Markdown that the UI shows of a table."""

    markdown: str


@dataclass(frozen=True)
class Rows:
    """Rows that the UI shows of a table.

    Attributes:
        table: few rows, all of which are shown.
        cell: number of characters after which a cell is cut; None as in the UI's other tables.
    """

    table: "pa.Table"
    cell: int | None = None


Shown = Picture | Rows | Mapping[str, Any] | Sequence[str] | str | int | float | bool
Shows = Mapping[str, Mapping[str, Shown]]
"""What the UI shows, by table and label."""
NOTES = "notes"
"""Label of what a person should know of a run."""


@dataclass(frozen=True)
class Order:
    """What is asked of a task.

    Attributes:
        keys: windows, dumps, releases, or a model, linker or corpus.
        words: how, by the names of the task's options.
        tables: names of those that are wanted.
        is_automatic: did no person ask?
    """

    store: Store
    keys: Sequence[str]
    log: Log
    words: Mapping[str, Any] = field(default_factory=dict)
    tables: frozenset[str] = frozenset()
    is_automatic: bool = False

    @property
    def said(self) -> Words:
        """The words that say something, as people type them."""
        return {name: as_word(word) for name, word in self.words.items() if as_word(word)}


@dataclass
class Done:
    """What a task did.

    Attributes:
        versions: that are whole now of what was asked for, by table and key in the lake.
        bad: why others could not be made, by key; their old versions stay.
        notes: what a person should know, in sentences.
        facts: what only this run can tell, by table and label.
        verdicts: on what only this run can judge, by table and name of the check.
        shows: returns what the UI shows of the run besides.
    """

    versions: dict[tuple[str, str], Version] = field(default_factory=dict)
    bad: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    facts: Shows = field(default_factory=dict)
    verdicts: "Mapping[tuple[str, str], Verdict]" = field(default_factory=dict)
    shows: Callable[[], Shows] = dict

    def add(self, *versions: Version) -> None:
        """Add versions that are whole now."""
        self.versions |= {(one.table, one.partition): one for one in versions}


@dataclass(frozen=True)
class Task:
    """A task.

    Attributes:
        name: also of Dagster's step.
        steps: how the tables are made, in the order of the data.
        make: the function that does it, or its name below `tempkb`; by default `bring`, for a single step.
        keys: returns the keys in the lake, where these are not those of the order.
        shown: the function that returns what the UI shows, beside a sample, of a window, dump, release, ... (None: of
            all), or its name below `tempkb`.
        how: what a run does, in sentences.
        options: what a run may be asked; one with the default None must be said.
        is_skippable: may it leave tables out?
        is_divisible: may a run ask for some of its tables only?
        checks: meaning of what it judges itself, by table and name of the check.
        promises: of its tables, among others.
        judge: returns the verdict on a promise.
        known: returns the keys that the home knows; after a run that fails Dagster forgets others. None for all.
    """

    name: str
    steps: tuple[Step, ...]
    make: str | Callable[[Order], Done] = ""
    keys: Callable[[Store], Sequence[str]] | None = None
    shown: str | Callable[[Store, str | None], Shows] = ""
    how: str = ""
    options: tuple[Option, ...] = ()
    is_skippable: bool = False
    is_divisible: bool = False
    checks: Mapping[tuple[str, str], str] = field(default_factory=dict)
    promises: "tuple[Promise, ...]" = ()
    judge: "Callable[[Any, Store, Subject], Verdict]" = lambda promise, store, subject: promise.judged(store, subject)
    known: Callable[[Store], Sequence[str]] | None = None

    @property
    def makes(self) -> tuple[Table, ...]:
        """Its tables, in the order of the data."""
        return tuple(table for step in self.steps for table in step.makes)

    @property
    def family(self) -> Family:
        """That of its tables."""
        return self.makes[0].family

    def promised(self) -> "list[Promise]":
        """Return the promises of its tables."""
        return [promise for promise in self.promises if promise.about in self.makes]

    def judged(self, order: Order, done: Done) -> "dict[tuple[str, str], Verdict]":
        """Judge what it made, and keep the verdicts beside the versions; return them by table and name of the check."""
        from tempkb.store.promises import Subject

        found = {place: one for place, one in done.verdicts.items() if place[0] in order.tables}
        for promise in self.promised():
            if promise.about.name in order.tables:
                subject = Subject(order.keys or None, done.facts.get(promise.about.name, {}))
                found[promise.about.name, promise.name] = self.judge(promise, order.store, subject)
        keep_verdicts(order.store, order.keys or None, found)
        return found

    def judge_and_keep(self, promise: "Promise", store: Store, subject: "Subject") -> "Verdict":
        """Judge one promise, and keep the verdict beside the versions of a run; return it."""
        verdict = self.judge(promise, store, subject)
        if subject.partitions is not None:
            keep_verdicts(store, subject.partitions, {(promise.about.name, promise.name): verdict})
        return verdict

    def run(self, order: Order, steps: Sequence[Step]) -> Done:
        """Do what is asked.

        Args:
            steps: its own, and those that make its sources.

        Raises:
            LockTimeoutError: what is to be made is being removed, or another program makes it.
        """
        home = order.store.home
        with at_work(own(home.path, home.working), works_on(self.family, order.keys)):
            return self._run(order, steps)

    def _run(self, order: Order, steps: Sequence[Step]) -> Done:
        if self.make:
            make: Callable[[Order], Done] = function_named(self.make)
            return make(order)
        (step,), store = self.steps, order.store
        brought = bring(store, steps, step, self.keys(store) if self.keys else order.keys, order.log)
        return Done(brought.versions, brought.bad)

    def shows(self, store: Store, owner: str | None) -> Shows:
        """Return what the UI shows of what stands, beside a sample; see `shown`."""
        found: Shows = function_named(self.shown)(store, owner) if self.shown else {}
        return found


def keep_verdicts(store: Store, keys: Collection[str] | None, verdicts: "Mapping[tuple[str, str], Verdict]") -> None:
    """Keep verdicts, by table and check, beside the versions of some windows, dumps, ...; None: beside all."""
    for name in {name for name, _ in verdicts}:
        table = store.tables[name]
        said = {
            check: {"passed": one.passed, "is_warning": one.is_warning, "facts": dict(one.facts)}
            for (about, check), one in verdicts.items()
            if about == name
        }
        for version in store.lake.versions(name):
            if keys is None or table.owner_of(version.partition) in (None, *keys):
                version.keep_verdicts(said)


def bad_in_words(task: Task, bad: Mapping[str, str]) -> list[str]:
    """Return what of a task could not be made, and why, in sentences."""
    if task.family is not Family.WINDOW:
        return [*bad.values()]
    return _windows_in_words(bad, task.makes[0].name if len(task.makes) == 1 else "")


def _windows_in_words(bad: Mapping[str, str], table: str = "") -> list[str]:
    """Return which windows were not built and why, one line per reason.

    Args:
        bad: window key -> why.
        table: which table of the windows; empty for all that is read in one pass.

    >>> _windows_in_words({"2020": "the file is empty", "2021": "the file is empty"})
    ['2 windows (2020 to 2021) were not built: the file is empty']
    """
    by_reason: dict[str, list[str]] = {}
    for key in sorted(bad):
        by_reason.setdefault(bad[key], []).append(key)
    of, were = (f"{table} of ", "was") if table else ("", "were")
    return [
        f"{of}window {keys[0]} was not built: {why}"
        if len(keys) == 1
        else f"{of}{counted(len(keys), 'window')} ({keys[0]} to {keys[-1]}) {were} not built: {why}"
        for why, keys in by_reason.items()
    ]


def works_on(family: Family, keys: Sequence[str]) -> list[str]:
    """Return the names of locks of what is worked on while tables of a family are made for some keys.

    Releases have a lock of their own.
    """
    if family is Family.WINDOW:
        return ["windows"]
    kind = "dump" if family is Family.ENTITIES else family.value
    return [f"{kind} {key}" for key in keys] if kind in ("dump", "model", "linker", "corpus") else []


def said_in(*requests: type) -> tuple[Option, ...]:
    """Return the options of requests as a run's words, which may be left out."""
    return tuple(
        Option(one.name, _told(one), kind=one.kind) for request in requests for one in options_of(request).values()
    )


def _told(one: Option) -> str:
    meaning = one.meaning.replace("ay be repeated", "ay be several, with commas between them")
    return meaning if one.allowed == "text" else f"{meaning} Expected: {one.allowed}."
