"""Steps: how the partitions of tables are made from those of others, and which are current. No Dagster here.

A partition is current if it is whole and was made by the present code, with the present settings, from the present
versions of what it is made from. A digest of all that is its *stamp*, which its version keeps. So one rule tells what
is missing, stale, half made by a run that was killed, damaged or removed: whatever is not current is to be made. Equal
rows written again are the same version, so that what lies behind them is current without a run.
"""

import contextlib
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tempkb.core.errors import ContractError, TempkbError
from tempkb.core.filtering import LeftOut
from tempkb.store.drafts import Exclusion, Provenance
from tempkb.store.store import Store
from tempkb.store.tables import Table
from tempkb.store.versions import Version

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

Log = Callable[[str], None]
_BATCH_ROWS = 1 << 16
_NAMED = 3  # keys that a refusal names


@dataclass(frozen=True)
class Source:
    """What a step reads: partitions of a table, as a view.

    Attributes:
        keys: of the partitions, by the key of what is made; by default that key. None stands for all there are.
        name: of the view; by default that of the table.
        stamped: the part of a version on which the rows depend; by default all of it.
        grows: others add to the partitions what changes nothing here. So they need not be current for what was made
            from them to be; but nothing new is made from them before they are.
        command: what to type to make a partition of the table, by its key.
    """

    table: Table
    keys: Callable[[Store, str], Sequence[str] | None] = lambda _store, key: (key,)
    name: str = ""
    stamped: Callable[[Version], object] = lambda version: version.version
    grows: bool = False
    command: Callable[[Store, Table, str], str] = lambda _store, _table, _key: "tempkb build"

    @property
    def view(self) -> str:
        """Name of the view."""
        return self.name or self.table.name

    def versions(self, store: Store, key: str) -> list[Version]:
        """Return the current versions of the partitions that a key is made from."""
        return store.lake.versions(self.table.name, self.keys(store, key))


@dataclass
class Work:
    """What a step's function gets: a connection with the views of its sources, and a count of what it leaves out.

    Attributes:
        table, key: what is made.
        inputs: the versions of the sources, as that of what is made will have them.
    """

    store: Store
    table: Table
    key: str
    connection: "duckdb.DuckDBPyConnection"
    log: Log
    inputs: Mapping[str, str]
    left_out: LeftOut = field(default_factory=LeftOut)

    def rows(self, query: str, **params: Any) -> "Iterator[pa.Table]":
        """Yield the rows of a query over the sources, a batch at a time."""
        import pyarrow as pa

        for batch in self.connection.sql(query, params=params or None).to_arrow_reader(_BATCH_ROWS):
            yield pa.Table.from_batches([batch])


@dataclass(frozen=True)
class Step:
    """How some tables are made, key by key: a *derived* step, whose partitions are as new as what they are made from.

    Attributes:
        makes: the tables.
        sources: of each key.
        run: makes a key of the one table: the function that yields its rows in key order, or its name below `tempkb`.
        settings: on which rows depend.
        make_all: likewise what makes several keys in one pass instead, each with the provenance that the function it
            is given returns for a table and a key; returns the versions.
        is_complete: does a whole version have all that belongs to it?
    """

    makes: tuple[Table, ...]
    sources: tuple[Source, ...] = ()
    run: "str | Callable[[Work], Iterable[pa.Table]]" = ""
    settings: Callable[[Store], Mapping[str, Any]] = lambda _store: {}
    make_all: "str | Callable[[Store, Sequence[str], Callable[[Table, str], Provenance], Log], list[Version]]" = ""
    is_complete: Callable[[Store, Version], bool] = lambda _store, _version: True

    def is_current(self, look: "Look", version: Version) -> bool:
        """Was a whole version made as it would be made now, is it complete, and is what it is made from current?"""
        if not self.is_complete(look.store, version):
            return False
        return version.stamp == look.stamp(self, version.table, version.partition) and all(
            one.grows or look.is_current(held.table, held.partition)
            for one, versions in look.read(self, version.partition)
            for held in versions
        )


@dataclass(frozen=True)
class Standing(Step):
    """How tables are made whose partitions stand as they are, also if code or sources are others by now.

    What was *read once* from a dump is read again only if it is lost, or somebody asks for it; of what *grows*, only
    keys that are not there are made; releases are *frozen*.
    """

    def is_current(self, look: "Look", version: Version) -> bool:
        """Is a whole version complete?"""
        return self.is_complete(look.store, version)


class Look:
    """Tells which partitions are current; each is asked once, so that the parts of a screen agree.

    Args:
        steps: that make the tables asked for, and those from which these are made. Other tables count as current.
    """

    def __init__(self, store: Store, steps: Iterable[Step]) -> None:
        self.store = store
        self.steps = {table.name: step for step in steps for table in step.makes}
        self._known: dict[tuple[str, str], bool] = {}
        self._read: dict[tuple[str, str], list[tuple[Source, list[Version]]]] = {}

    def is_current(self, table: str, key: str) -> bool:
        """Is a partition whole, and as it would be made now?"""
        place = table, key
        if place not in self._known:
            held = self.store.lake.current(table, key)
            step = self.steps.get(table)
            is_fit = held is not None and held.fits(self.store.tables[table])
            self._known[place] = held is not None and is_fit and (step is None or step.is_current(self, held))
        return self._known[place]

    def stale(self, table: str, keys: Iterable[str] | None = None) -> list[str]:
        """Return those of some partitions (default: all whole ones) that are not current."""
        every = self.store.lake.partitions(table) if keys is None else keys
        return [key for key in every if not self.is_current(table, key)]

    def read(self, step: Step, key: str) -> list[tuple[Source, list[Version]]]:
        """Return the versions that a key is made from, by source.

        They are looked up once, so that a stamp is never that of a version which replaced what was read.
        """
        place = step.makes[0].name, key
        if place not in self._read:
            self._read[place] = [(one, one.versions(self.store, key)) for one in step.sources]
        return self._read[place]

    def is_of_earlier_rules(self, version: Version) -> bool:
        """Does a version stand, though the code by which it was made is another one by now?"""
        is_present = version.is_of_present_code(self.store.tables[version.table])
        return not is_present and self.is_current(version.table, version.partition)

    def stamp(self, step: Step, table: str, key: str) -> str:
        """Return a digest of everything on which the rows of a partition depend, as it is now."""
        declared = self.store.tables[table]
        made_from = [
            [one.view, held.partition, one.stamped(held)] for one, versions in self.read(step, key) for held in versions
        ]
        said = [table, declared.code_version, dict(step.settings(self.store)), made_from]
        return hashlib.sha256(json.dumps(said, default=str, sort_keys=True).encode()).hexdigest()[:16]

    def provenance(self, step: Step, table: Table, key: str) -> Provenance:
        """Return what a partition is made from and with, and its stamp."""
        held = (version for _, versions in self.read(step, key) for version in versions)
        inputs = {f"{one.table} {one.partition}": one.version for one in held}
        return Provenance(inputs, step.settings(self.store), stamp=self.stamp(step, table.name, key))


@dataclass
class Brought:
    """What `bring` did.

    Attributes:
        versions: of all partitions that are current now, by table and key.
        made: those that were not current before.
        bad: why others could not be made, by key; their old versions stay.
    """

    versions: dict[tuple[str, str], Version] = field(default_factory=dict)
    made: dict[tuple[str, str], Version] = field(default_factory=dict)
    bad: dict[str, str] = field(default_factory=dict)


def bring(store: Store, steps: Sequence[Step], step: Step, keys: Iterable[str], log: Log) -> Brought:
    """Make those of some keys of a step that are not current, each under its lock.

    Args:
        steps: see `Look`.
    """
    brought, wanted = Brought(), sorted(keys)
    due = _due(Look(store, steps), step, wanted)
    if due:
        (_bring_all if step.make_all else _bring_each)(store, steps, step, due, log, brought)
    everything = (one for table in step.makes for one in store.lake.versions(table.name, wanted))
    brought.versions = {(one.table, one.partition): one for one in everything if one.partition not in brought.bad}
    return brought


def _due(look: "Look", step: Step, keys: Sequence[str]) -> list[str]:
    return [key for key in keys if not all(look.is_current(table.name, key) for table in step.makes)]


def _bring_each(
    store: Store, steps: Sequence[Step], step: Step, keys: Sequence[str], log: Log, brought: Brought
) -> None:
    from tempkb.store.memory import spilling_to

    with store.lake.staging() as folder, spilling_to(folder) as connection:
        for key in keys:
            place = step.makes[0].name, key
            try:
                with store.lake.partition_lock(*place, "making"):
                    # Another program may have made it meanwhile.
                    look = Look(store, steps)
                    if not look.is_current(*place):
                        brought.made[place] = _make(look, step, key, connection, log)
            except TempkbError as error:
                brought.bad[key] = str(error)


def _make(look: Look, step: Step, key: str, connection: "duckdb.DuckDBPyConnection", log: Log) -> Version:
    """Make one key of a step with one table."""
    from tempkb.store.memory import view_files

    began, (table,) = time.monotonic(), step.makes
    _refuse_absent(look, step, key)
    for one, versions in look.read(step, key):
        files = [path for version in versions for path in version.paths()]
        view_files(connection, one.view, files, one.table.schema)
    provenance = look.provenance(step, table, key)
    work = Work(look.store, table, key, connection, log, provenance.inputs)
    rows = function_named(step.run)(work) if step.run else ()
    # What was left out is asked for after the rows, with which it is counted.
    left_out = (Exclusion(*row) for row in work.left_out.rows())
    version = look.store.write(table, key, rows, provenance, left_out)
    log(f"{table.name} {key}: {version.rows:,} rows in {time.monotonic() - began:.1f} s")
    return version


def _bring_all(
    store: Store, steps: Sequence[Step], step: Step, keys: Sequence[str], log: Log, brought: Brought
) -> None:
    with contextlib.ExitStack() as held:
        for key in keys:
            held.enter_context(store.lake.partition_lock(step.makes[0].name, key, "making"))
        look = Look(store, steps)
        due = _due(look, step, keys)
        for key in due:
            try:
                _refuse_absent(look, step, key)
            except TempkbError as error:
                brought.bad[key] = str(error)
        due = [key for key in due if key not in brought.bad]
        if due:
            made = function_named(step.make_all)(store, due, partial(look.provenance, step), log)
            brought.made = {(one.table, one.partition): one for one in made}


def _refuse_absent(look: Look, step: Step, key: str) -> None:
    """Refuse to make something from less than all of its sources, which would be taken for all.

    Raises:
        ContractError: names what is missing, and the command that makes it.
    """
    with look.store.lake.one_look():
        for one in step.sources:
            wanted = one.keys(look.store, key)
            names = look.store.lake.keys(one.table.name) if wanted is None else sorted(wanted)
            if lacking := look.stale(one.table.name, names):
                first = " && ".join(dict.fromkeys(one.command(look.store, one.table, name) for name in lacking))
                raise lacking_source(f"{step.makes[0].name} {key}", one.table, lacking, f"build it first: {first}")


def lacking_source(made: str, table: Table, lacking: Sequence[str], how: str) -> ContractError:
    """Return the refusal to make something from less than all of its sources: what is missing, and how it is made."""
    named = ", ".join(lacking[:_NAMED]) + (" and others" if len(lacking) > _NAMED else "")
    return ContractError(
        f"{made}: {table.name} of {named} is not built, was lost to damage, or is older than its sources; {how}"
    )


def function_named(place: str | Callable[..., Any]) -> Callable[..., Any]:
    """Return a function, or import the one of a name below `tempkb`: who only looks needs none of what it imports."""
    if not isinstance(place, str):
        return place
    module, _, name = place.rpartition(".")
    found: Callable[..., Any] = getattr(import_module(f"tempkb.{module}"), name)
    return found
