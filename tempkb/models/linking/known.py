"""The linkers that a home knows, the benchmarks that they link, and the packages that they need, read without Arrow.

Each benchmark brings its tables, and no other module of linking knows its name.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tempkb.benchmarks.benchmark import Benchmark
from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.linkable.declaration import Linkable
from tempkb.benchmarks.reading import Part, united
from tempkb.benchmarks.register import entry_if_any, releases_of
from tempkb.core.errors import SettingsError
from tempkb.core.options import Words, nearest
from tempkb.core.settings import Home
from tempkb.models.linking.requests import command_of
from tempkb.models.linking.tables import BASELINES, KINDS, LINKERS
from tempkb.store.lake import Lake
from tempkb.store.memory import declared_rows
from tempkb.store.said import readable_said

if TYPE_CHECKING:
    from tempkb.benchmarks.linkable.pools import Snapshots


def known_linkers(lake: Lake) -> list[dict[str, Any]]:
    """Return the rows of `linkers`, sorted by name, and behind them those of the baselines, which no table has.

    The checkpoint of a linker that was trained here is where it is now, also in a home that was copied or moved.
    """
    found = [_located(lake, row) for row in declared_rows(lake.files(LINKERS.name), LINKERS)]
    baselines = [{**dict.fromkeys(LINKERS.column_names()), "linker": name, "kind": name} for name in BASELINES]
    return [*found, *baselines]


def known_linker(lake: Lake, name: str) -> dict[str, Any] | None:
    """Return the row of a linker; None if there is none of that name."""
    return next((row for row in known_linkers(lake) if row["linker"] == name), None)


def require_linker(lake: Lake, name: str) -> dict[str, Any]:
    """Return the row of a linker.

    Raises:
        SettingsError: there is none of that name.
    """
    row = known_linker(lake, name)
    if row is None:
        there = [one["linker"] for one in known_linkers(lake)]
        how = "Train it first: tempkb linker train RELEASE, or add an encoder: tempkb linker add NAME CHECKPOINT"
        near = nearest(name, there, f"there: {', '.join(there)}. {how}")
        raise SettingsError(f"linker {name!r}: no such linker{near}")
    return row


def words_of(row: Mapping[str, Any]) -> Words:
    """Return the words with which a linker was trained or added; of one that was trained nothing if they are lost."""
    if row["kind"] == KINDS[0]:
        return readable_said(Path(row["checkpoint"]).parent, row["linker"]).words
    return {"checkpoint": row["checkpoint"]} | ({"revision": row["hub_revision"]} if row["hub_revision"] else {})


def gone(row: Mapping[str, Any]) -> str:
    """Return what is found if the folder of a checkpoint is not there, else nothing; the hub is not asked."""
    place, is_of_hub = row["checkpoint"], row["hub_revision"] is not None
    is_there = place is None or is_of_hub or Path(place).is_dir()
    return "" if is_there else f"found no {place}; expected the files of its checkpoint"


def mend_in_words(row: Mapping[str, Any]) -> str:
    """Return what to do about a linker whose files are not those to which its name is bound."""
    name = row["linker"]
    again = command_of(name, words_of(row))
    if row["hub_revision"]:
        return f"Fetch them again: {again}"
    if row["kind"] == KINDS[1]:
        return f"Put them back, or name the folder where they are now: tempkb linker add {name} FOLDER"
    return (
        "Put them back, or remove the linker with its vectors and scores and train it again: "
        f"tempkb linker rm {name} && {again}"
    )


def _located(lake: Lake, row: dict[str, Any]) -> dict[str, Any]:
    """A row in which the folder of a linker that was trained in the home is absolute."""
    if row["kind"] == KINDS[0] and row["checkpoint"] is not None:
        row["checkpoint"] = str(lake.root.parent / row["checkpoint"])
    return row


LINKED: dict[str, tuple[Benchmark, Linkable]] = {
    one.name: (one, one.linkable) for one in BENCHMARKS if one.linkable is not None
}
"""The benchmarks that have mentions, by name, with what they bring."""
FIRST, DEFAULT = next(iter(LINKED.values()))
"""The first of them: the candidates of a day without a release are those of its default design."""


def linkable_of(home: Home, release: str) -> Linkable:
    """Return what the benchmark of a release brings; of a name that no release has, what the first one does."""
    name = entry_if_any(home, release).asked.get("benchmark", FIRST.name)
    return LINKED.get(name, (FIRST, DEFAULT))[1]


def snapshots_of(home: Home, release: str) -> "Snapshots | None":
    """Return the snapshots of a release as it was last built completely; None if it never was."""
    entry = entry_if_any(home, release).built
    return linkable_of(home, release).loaded().snapshots(entry) if entry is not None else None


def linked_releases(home: Home) -> "dict[str, Snapshots]":
    """Return the snapshots of the releases that have mentions and were built, by name."""
    names = [name for benchmark, _ in LINKED.values() for name in releases_of(home, benchmark.name)]
    return {name: found for name in names if (found := snapshots_of(home, name)) is not None}


def rows_of(name: str) -> Part:
    """Return the rows of one of the tables that these benchmarks bring, such as `mentions`, of all of them."""
    tables = [getattr(linkable, name).name for _, linkable in LINKED.values()]
    return united([Part(f"FROM {table}", (table,)) for table in tables])
