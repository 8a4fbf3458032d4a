"""The screens of `tempkb tables`, a line for each table or all that is declared of one, and of what a release holds."""

import difflib
import re
from collections.abc import Iterator, Sequence
from typing import Any

from tempkb.benchmarks.benchmark import Benchmark, benchmark_named
from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.register import (
    entries,
    entry_of,
    load,
    places_of_release,
    require_whole,
    unfinished_releases,
)
from tempkb.commands.screens.console import FIELDS, Screen, exact, grid, print_next, print_sheet, say, show
from tempkb.core.errors import SettingsError
from tempkb.core.wording import counted, shortened
from tempkb.platform.api import open_store
from tempkb.platform.rooms import TABLES, meanings_of, tasks
from tempkb.store.listings import Listing, in_order
from tempkb.store.quoting import literal
from tempkb.store.store import Store
from tempkb.store.tables import SIDE_TABLES, Family, Table, View, by_name

_LONGEST = 400  # characters of a part of a design that are shown
_WIDTH = 80  # columns of a list in a file or a pipe
_SHORTEST = 12  # letters of a meaning that are shown in however narrow a terminal
_SHOWN_COLUMNS, _SHOWN_ROWS = 6, 5
_OF_EVERY_ROW = ("wiki", "dump_id")  # nothing to look at, unless it is part of a key
_COLUMNS = Listing(in_order("column", "type", "meaning"))
_QUERY = re.compile(r"`(SELECT [^`]+)`")


def print_tables() -> None:
    """Print a line for each table, with its rows, its form in DuckDB and what it is, and one for each view."""
    store = open_store()
    tables = [(table.name, *_built(store, table)[:2], table.meaning) for table in store.tables.values()]
    _print_list(("table", "rows", "kind", "meaning"), tables)
    _print_list(("view", "meaning"), [(view.name, view.meaning) for view in store.views.values()])
    Screen().print("One of them, its columns and a query: tempkb tables NAME")


def print_table(name: str) -> None:
    """Print what a table or view is, its columns, what it is made from, and an example of a query.

    Raises:
        SettingsError: there is none of that name.
    """
    store = open_store()
    known: dict[str, Table | View] = {**store.tables, **by_name(SIDE_TABLES), **store.views}
    if name not in known:
        close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        near = f"; similar: {', '.join(close)}" if close else ""
        raise SettingsError(f"no table or view {name!r}{near}. List all: tempkb tables")
    declared = known[name]
    Screen().print(f"{name}: {declared.meaning}")
    for line in _facts(store, declared):
        say(line)
    columns = columns_of(store, declared)
    show(_COLUMNS, columns)
    print_next(f'sql "{example_of(declared, [name for name, *_ in columns])}"')


def columns_of(store: Store, declared: Table | View) -> list[tuple[str, str, str]]:
    """Return name, type and meaning of each column."""
    if isinstance(declared, Table):
        return [(one.name, one.sql_type, one.meaning) for one in declared.columns]
    meanings = meanings_of(declared)
    return [(name, kind, meanings.get(name, "")) for name, kind in store.columns_of(declared)]


def example_of(declared: Table | View, names: Sequence[str]) -> str:
    """Return a query of a table or view: the one in its meaning, else one that shows its first rows and columns."""
    told = _QUERY.search(declared.meaning)
    if told:
        return told[1]
    if isinstance(declared, View):
        return f"SELECT {', '.join(names[:_SHOWN_COLUMNS])} FROM {declared.name} LIMIT {_SHOWN_ROWS}"
    key = list(dict.fromkeys([*declared.partition_columns, *declared.key]))
    short = (one.name for one in declared.columns if not one.is_bulk and one.name not in _OF_EVERY_ROW)
    shown = list(dict.fromkeys([*key, *short]))[: max(len(key), _SHOWN_COLUMNS)]
    return f"SELECT {', '.join(shown)} FROM {declared.name} ORDER BY {', '.join(key)} LIMIT {_SHOWN_ROWS}"


def _print_list(columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    """Print a table whose last column is cut where the line would not fit."""
    out = Screen()
    bare = grid(columns, [(*row[:-1], "") for row in rows])
    room = (out.width if out.is_bounded else _WIDTH) - out.width_of(bare) + len(columns[-1])
    # The first sentence of what each means.
    rows = [(*row[:-1], shortened(row[-1].split(". ")[0].removesuffix("."), max(room, _SHORTEST))) for row in rows]
    out.print(grid(columns, rows))


def _built(store: Store, table: Table) -> tuple[int, str, int]:
    """Return the rows of a table, its form in DuckDB, and the number of its partitions."""
    versions = store.lake.versions(table.name)
    n_rows = sum(one.rows for one in versions)
    return n_rows, table.form(n_rows, store.home.settings.duckdb_max_rows), len(versions)


def _facts(store: Store, declared: Table | View) -> Iterator[str]:
    """What a table has and what it is made from, as lines."""
    if isinstance(declared, View):
        yield f"A view, made from {', '.join((*declared.needs, *declared.optional))}"
        return
    yield f"key: {', '.join(declared.key)}"
    if declared.name not in store.tables:
        yield "A table, written beside every other one"
        return
    n_rows, form, n_partitions = _built(store, declared)
    share = "" if declared.partitioned_by == "nothing" else f", one per {declared.partitioned_by}"
    has = f"{counted(n_rows, 'row')} in {counted(n_partitions, 'partition')}" if n_partitions else "not built yet"
    yield f"{has}{share}; in DuckDB a {form}"
    yield f"made from {', '.join(_sources(declared)) or 'files'}"


def _sources(table: Table) -> list[str]:
    """The tables that a table is made from, in the order of the data."""
    from tempkb.benchmarks.tasks import tasks_of

    of_benchmarks = (task for one in BENCHMARKS if table.family is Family.RELEASE for task in tasks_of(one))
    made = [step for task in (*tasks(), *of_benchmarks) for step in task.steps if table in step.makes]
    names = {one.table.name for step in made for one in step.sources}
    return [one.name for one in TABLES if one.name in names]


_RELEASES = Listing(in_order("release", "benchmark", "preset", "state", "partitions", "rows"))


def print_releases() -> None:
    """Print the releases of the home, and why entries of others cannot be read."""
    store = open_store()
    readable, unreadable = entries(store.home)
    if not readable and not unreadable:
        say("The home has no releases yet.")
        print_next("release dynamic-templama 2021-01-01..2024-01-01", "release --help")
    unfinished, rows = unfinished_releases(store), []
    for name, entry in readable.items():
        versions = [store.lake.current(*place) for place in places_of_release(store, name)]
        of = benchmark_named(BENCHMARKS, entry.asked["benchmark"]).title
        state = "not finished" if name in unfinished else "built"
        n_rows = sum(one.rows for one in versions if one is not None)
        rows.append((name, of, entry.asked["preset"], state, len(versions), n_rows))
    if rows:
        show(_RELEASES, rows)
    for reason in unreadable.values():
        say(reason)


def print_design(name: str) -> None:
    """Print the design of a release, and what it holds if it is whole.

    Raises:
        DesignError: there is no such release, its entry was altered, or it is not whole.
    """
    store = open_store()
    asked = entry_of(store.home, name).asked
    fields = {**{key: value for key, value in asked.items() if key != "design"}, **asked["design"]}
    show(FIELDS, [(key, shortened(exact(value), _LONGEST)) for key, value in fields.items()])
    require_whole(store, name)
    print_release(benchmark_named(BENCHMARKS, asked["benchmark"]), name)


def print_release(benchmark: Benchmark, name: str) -> None:
    """Print what a release that is built holds, and what to type next."""
    store = open_store()
    closing = benchmark.loaded().closing(store, load(store.home, benchmark, name))
    say(f"release {name}: {closing.headline}")
    for sheet in closing.grids:
        print_sheet(sheet)
    query = f"SELECT {closing.columns} FROM {closing.table} WHERE release = {literal(name)} LIMIT 5"
    print_next(f"release export {name} exports", f'sql "{query}"')
