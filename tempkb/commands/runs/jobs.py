"""What commands do: tasks one after the other, and what became of them. No Dagster here."""

import shlex
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tempkb.core.errors import SettingsError, StoredDamageError, TempkbError
from tempkb.core.failures import call_hook, in_words
from tempkb.core.journal import journaled
from tempkb.core.locks import LockTimeoutError
from tempkb.core.settings import at_home
from tempkb.core.wording import shortened
from tempkb.engine import progress
from tempkb.engine.tasks import Done, Order, Task, bad_in_words
from tempkb.platform.api import open_store
from tempkb.platform.rooms import steps, tasks
from tempkb.store.quoting import visible
from tempkb.store.store import Store
from tempkb.store.tables import Family, Table
from tempkb.store.versions import Fault

# Letters of a command that the hook and Dagster are told; a pattern of the shell may have named many files.
_MOST_TYPED = 200


@dataclass
class Summary:
    """What a command did, for the closing screen.

    Attributes:
        failures: what went wrong, in words; empty when all is well.
        notes: what a person should know all the same: damage, windows that were kept, what a rebuild changed.
        entity_dumps: dumps of Wikidata's entities that this build was about.
        has_run: was there anything to do?
        is_held: did a task stop because another program does the same?
    """

    windows: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    entity_dumps: list[str] = field(default_factory=list)
    has_run: bool = False
    is_held: bool = False


def run_of(
    family: Family, keys: Sequence[str], summary: Summary, tables: Collection[str] = (), **words: Any
) -> Sequence[str]:
    """Make tables of a family, by default all, for some keys; see `run`."""
    return run([task for task in tasks() if task.family is family], keys, summary, tables, words)


def run_each(tables: Sequence[Table], wanted: Mapping[str, Mapping[str, Any]]) -> Summary:
    """Make tables for each of some keys, one after the other; one that fails does not stop the others.

    Args:
        wanted: what is asked of the task, by key.
    """
    summary, names = Summary(), {table.name for table in tables}
    for key, words in wanted.items():
        run([task for task in tasks() if {*task.makes} & {*tables}], [key], summary, names, words)
    return summary


def run(
    chosen: Sequence[Task],
    keys: Sequence[str],
    summary: Summary,
    tables: Collection[str] = (),
    words: Mapping[str, Any] = {},  # noqa: B006 - is only read
) -> Sequence[str]:
    """Do tasks one after the other; what could not be made is left out behind it. Judge what was made at the end.

    Args:
        chosen: in the order of the data.
        tables: names of those that are wanted; empty for all.
        words: how.

    Returns:
        the keys of which all was made.
    """
    store, summary.has_run = open_store(), True
    asked = [(task, wanted) for task in chosen if (wanted := _wanted(task, tables))]
    if not asked:
        return keys
    first = next(table.name for table in asked[0][0].makes if table.name in asked[0][1])
    with journaled(store.home, _typed(), first, keys, summary.failures), progress.on_terminal():
        return _run(store, asked, keys, summary, words)


def _wanted(task: Task, tables: Collection[str]) -> frozenset[str]:
    return frozenset(table.name for table in task.makes if not tables or table.name in tables)


def _run(
    store: Store,
    asked: Sequence[tuple[Task, frozenset[str]]],
    keys: Sequence[str],
    summary: Summary,
    words: Mapping[str, Any],
) -> Sequence[str]:
    every, made = steps(), list[tuple[Task, Order, Done]]()
    for task, wanted in asked:
        order = Order(store, keys, lambda _line: None, words, wanted)
        try:
            done = task.run(order, every)
        except Exception as error:
            said = str(error) if isinstance(error, TempkbError) else in_words(error)
            if said is None:
                raise
            summary.failures.append(said)
            summary.is_held |= isinstance(error, LockTimeoutError)
            keys = ()
            break
        made.append((task, order, done))
        summary.notes += [note for note in done.notes if note not in summary.notes]
        if done.bad:
            summary.failures += bad_in_words(task, done.bad)
            keys = [key for key in keys if key not in done.bad]
            if not keys:
                break
    summary.failures += [said for one in made for said in _broken(*one)]
    return keys


def _broken(task: Task, order: Order, done: Done) -> list[str]:
    """What the verdicts on a task say is broken; a warning is for people to know, and no failure."""
    return [
        f"check {table}.{name} failed ({', '.join(f'{what}: {said}' for what, said in verdict.facts.items())})"
        for (table, name), verdict in task.judged(order, done).items()
        if not verdict.passed and not verdict.is_warning
    ]


def past_damage(work: Callable[[], Summary]) -> Summary:
    """Do some work; do it again where reading has found damage. The summary, or standard error, names what is damaged.

    What is damaged counts as absent, so that work which needs it makes it again. What this run has written is
    whole, so that the rounds end. However it ends, it is published then.
    """
    store = open_store()
    found = {str(fault): fault for fault in store.faults()}
    try:
        summary = _rounds(work, store, found)
    except BaseException:
        for line in found:
            _tell(f"damaged: {line}")
        raise
    finally:
        publication = store.publish()
        if publication.reason:
            _tell(f"note: {publication.reason}")
    said = [
        f"damaged{'' if store.lake.current(one.table, one.partition) is None else ', and made again'}: {line}"
        for line, one in found.items()
    ]
    summary.notes[:0] = [*said, *filter(None, (publication.set_aside, *publication.damaged))]
    hook = store.home.settings.failure_hook
    if hook and summary.failures:
        told = {"command": _typed(), "home": str(store.home.path), "message": "\n".join(summary.failures)}
        try:
            call_hook(hook, told)
        except SettingsError as error:
            summary.failures.append(str(error))
    return summary


def _typed() -> str:
    return shortened(visible(shlex.join(["tempkb", *sys.argv[1:]])), _MOST_TYPED)


def _tell(said: str) -> None:
    sys.stderr.write(visible(at_home(said)) + "\n")


def _rounds(work: Callable[[], Summary], store: Store, found: dict[str, Fault]) -> Summary:
    while True:
        try:
            summary, error = work(), None
        except StoredDamageError as met:
            # Met while it was worked out what there is to do.
            summary, error = Summary(failures=[str(met)]), met
        more = {str(fault): fault for fault in store.faults()}
        is_new = not more.keys() <= found.keys()
        found |= more
        if is_new and summary.failures:
            continue
        if error:
            raise error
        return summary
