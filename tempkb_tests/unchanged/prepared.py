"""Forty homes in which something was changed, and what of their tables is current, stale or lost.

Each is a copy of the demo home to which something was done: a command typed, a file
of the lake altered, or the code of a table raised. What is done names
tables and partitions only, so that it can be done to a lake of any layout.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from unittest import mock

from tempkb.engine.steps import Look
from tempkb.platform.api import open_store
from tempkb.platform.planning.built import OF_WINDOW, missing_windows
from tempkb.platform.rooms import steps
from tempkb.wiki.revisions.tables import REVISION_LOG, STABLE_SNAPSHOTS
from tempkb.wiki.revisions.windows import read_windows
from tempkb_tests.damage import cut_off, flip
from tempkb_tests.unchanged.homes import require, typed

Change = Callable[[Path], None]
CURRENT, STALE, LOST, ABSENT = "current", "stale", "lost", "absent"
_WINDOW, _QUARTER = "2022-04-01", "2022-04-01"
_DAY = date(2024, 1, 1)
_HISTORY, _WIKIDATA = "demowiki-20240101", "wikidatawiki-20240101"


@dataclass(frozen=True)
class Prepared:
    """A home in which something was changed.

    Attributes:
        changes: what is done to a copy of the demo home, one after another.
        raised: tables whose code is a later one when it is asked what is current.
    """

    name: str
    changes: tuple[Change, ...] = ()
    raised: tuple[str, ...] = ()


def type_(*arguments: str) -> Change:
    """Type a command, which succeeds."""
    return lambda home: require(home, *arguments)


def find_damage(home: Path) -> None:
    """Have all files compared with their sums."""
    typed(home, "verify")


def rows_of(table: str, partition: str) -> Callable[[Path], Path]:
    """Find the first file with rows of a partition, which has one version."""
    return lambda home: sorted((home / "lake" / table / partition).glob("*/part-*.parquet"))[0]


def pointer_of(table: str, partition: str) -> Callable[[Path], Path]:
    """Find the file that names the current version of a partition."""
    return lambda home: home / "lake" / table / partition / "CURRENT"


def flipped(place: Callable[[Path], Path]) -> Change:
    """Turn over a bit in the middle of a file, whose size stays."""
    return lambda home: flip(place(home))


def cut(place: Callable[[Path], Path]) -> Change:
    """Take away the end of a file."""
    return lambda home: cut_off(place(home))


def gone(place: Callable[[Path], Path]) -> Change:
    """Remove a file."""
    return lambda home: place(home).unlink()


def version_gone(table: str, partition: str) -> Change:
    """Remove the folder of a version."""
    return lambda home: shutil.rmtree(rows_of(table, partition)(home).parent)


def _damaged(table: str, partition: str) -> Prepared:
    return Prepared(f"flipped {table}", (flipped(rows_of(table, partition)), find_damage))


def _older(*tables: str) -> Prepared:
    return Prepared(f"later code of {', '.join(tables)}", raised=tables)


_QUARTER_LOST = flipped(rows_of("page_wikitexts", _QUARTER)), find_damage
_ONE_WINDOW = "build", "--window", f"{_WINDOW}..2022-07-01"
_MODEL = "demo-causal-2022-01-01"

PREPARED = (
    Prepared("as built"),
    # Older code.
    _older("stable_snapshots"),
    _older("page_wikitexts"),
    _older("pages"),
    _older("page_texts", "page_links", "mentions"),
    _older("mention_priors"),
    _older("facts"),
    _older("late_edits"),
    _older("tempel_mentions"),
    _older("dynamic_templama_prompts"),
    _older("prompt_scores"),
    _older("entity_vectors"),
    _older("judged_answers"),
    # Removed.
    Prepared("window removed", (type_("rm", "--window", _WINDOW, "--yes"),)),
    Prepared("window removed and built", (type_("rm", "--window", _WINDOW, "--yes"), type_("build"))),
    Prepared("history removed", (type_("rm", "--dump", _HISTORY, "--force", "--yes"),)),
    Prepared("Wikidata removed", (type_("rm", "--dump", _WIKIDATA, "--force", "--yes"),)),
    Prepared("release removed", (type_("rm", "--release", "demo-quarters", "--yes"),)),
    Prepared("model removed", (type_("model", "rm", _MODEL, "--yes"),)),
    Prepared("linker removed", (type_("linker", "rm", "demo-2022-01-01-demo", "--yes"),)),
    # Damaged.
    _damaged("dump_files", _HISTORY),
    _damaged("pages", _HISTORY),
    _damaged("stable_snapshots", _WINDOW),
    _damaged("page_wikitexts", _QUARTER),
    _damaged("page_texts", _QUARTER),
    _damaged("mentions", _WINDOW),
    _damaged("facts", _WIKIDATA),
    _damaged("fact_spells", "demo-quarters"),
    _damaged("ecbd_cloze", "demo-cloze"),
    _damaged("models", _MODEL),
    _damaged("prompt_scores", f"{_MODEL}--causal.sentence-1.f32"),
    _damaged("linking_scores", "prior--demo--2024-01-01--own"),
    _damaged("knows", "all"),
    Prepared("snapshot cut off", (cut(rows_of("stable_snapshots", _WINDOW)),)),
    Prepared("mentions without a version", (version_gone("mentions", _WINDOW),)),
    Prepared("facts without a version", (version_gone("facts", _WIKIDATA),)),
    Prepared("mentions without a pointer", (gone(pointer_of("mentions", _WINDOW)),)),
    Prepared("pointer altered", (flipped(pointer_of("inverted_index", _WINDOW)),)),
    # Half made again.
    Prepared("lost quarter that one window refilled", (*_QUARTER_LOST, type_(*_ONE_WINDOW))),
    Prepared(
        "snapshot built again, not what follows",
        (type_("rm", "--window", _WINDOW, "--yes"), type_(*_ONE_WINDOW, "--select", STABLE_SNAPSHOTS.name)),
    ),
    Prepared("damage mended", (flipped(rows_of("page_texts", _QUARTER)), find_damage, type_("build"))),
)


def states(demo: Path) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield by table what is current of the home as it was built, and for each other one the tables that differ.

    Args:
        demo: the demo home, beside which the copies are made and removed.
    """
    built: dict[str, str] = {}
    for one in PREPARED:
        home = demo.with_name("prepared")
        shutil.copytree(demo, home, symlinks=True)
        try:
            for change in one.changes:
                change(home)
            found = _in_words(states_of(home, one.raised))
        finally:
            shutil.rmtree(home)
        yield from (
            ((one.name, table), found.get(table, "nothing"))
            for table in sorted(found.keys() | built.keys())
            if found.get(table) != built.get(table)
        )
        built = built or found


def _in_words(found: Mapping[tuple[str, str], str]) -> dict[str, str]:
    """How many partitions of each table are in each state; if only some are not current, which."""
    told: dict[str, dict[str, list[str]]] = {}
    for (table, key), state in found.items():
        told.setdefault(table, {}).setdefault(state, []).append(key)
    return {
        table: ", ".join(
            f"{len(keys)} {state}" if state == CURRENT or len(of) == 1 else f"{state}: {' '.join(keys)}"
            for state, keys in sorted(of.items())
        )
        for table, of in told.items()
    }


def states_of(home: Path, raised: tuple[str, ...] = ()) -> dict[tuple[str, str], str]:
    """Return the state of each partition of a home that is there, was lost, or follows from one that is there."""
    with mock.patch.dict("os.environ", {"TEMPKB_HOME": str(home)}):
        store = open_store()
        store.tables = {
            name: replace(table, code_version=f"{table.code_version} later") if name in raised else table
            for name, table in store.tables.items()
        }
        look = Look(store, steps())
        whole = {(name, key) for name in store.tables for key in store.lake.partitions(name)}
        found = {place: CURRENT if look.is_current(*place) else STALE for place in whole}
        windows = {(name, window.key) for name in OF_WINDOW for window in read_windows(store)}
        windows |= {
            (one.name, window.key)
            for one in (REVISION_LOG, STABLE_SNAPSHOTS)
            for window in missing_windows(store, _DAY)
        }
        due = {place for place in windows if not look.is_current(*place)}
        lost = {(fault.table, fault.partition) for fault in store.faults()}
        told = found | {key: STALE if key in found else ABSENT for key in due} | dict.fromkeys(lost, LOST)
        return dict(sorted(told.items()))
