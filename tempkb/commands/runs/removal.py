"""Removing windows, releases, dumps, models, linkers and corpora from a home. Independent of Dagster.

A partition is forgotten in the lake at once, and in DuckDB by the next
publication; its files are deleted by `tempkb gc`. Texts are partitioned by quarter and
shared by all windows, so they are kept.
"""

import contextlib
import re
import shutil
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path

from tempkb.benchmarks.register import entry_path, frozen_versions, release_names, strike
from tempkb.core.errors import SettingsError, TempkbError
from tempkb.core.files import own_tree, real_folders, remove_tree
from tempkb.core.model_words import NAME_PATTERN
from tempkb.core.windows import Window
from tempkb.models.corpora.tables import DATED_TEXTS, HOME, partition_of
from tempkb.models.generations.kind import KINDS
from tempkb.models.known import TRAINING, unless_damaged
from tempkb.models.linking.known import known_linkers
from tempkb.models.linking.tables import LINKERS, LINKING_SCORES, parts_of
from tempkb.models.tables import MODELS, drafts_of
from tempkb.platform.planning.due import look_out
from tempkb.store.said import forget_release, said_names, said_path
from tempkb.store.store import Store
from tempkb.store.tables import Family, Table
from tempkb.wiki.dumps.catalogue import Dump, find_dumps
from tempkb.wiki.dumps.verification import empty_bin, folders_of, remove_dump

_LITTLE = 1 << 20  # bytes, without which DuckDB cannot be changed


@dataclass
class Removal:
    """What is to be removed.

    Attributes:
        partitions: (table, partition), in the order in which they are removed.
        dumps: dumps whose files are deleted.
        drafts: names of folders of drafts that are deleted first.
        paths: files and folders of the home that are deleted last.
        notes: what the user should know before confirming.
    """

    partitions: list[tuple[str, str]] = field(default_factory=list)
    dumps: list[Dump] = field(default_factory=list)
    releases: list[str] = field(default_factory=list)
    drafts: list[str] = field(default_factory=list)
    paths: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def of_windows(store: Store, windows: Sequence[Window]) -> Removal:
    """Find what is built of some windows.

    Raises:
        SettingsError: nothing is built of them.
    """
    found = _of(store, {window.key for window in windows}, Family.WINDOW)
    # Dated texts go with their snapshot, without which they could not be made again.
    dated = {(DATED_TEXTS.name, partition_of(HOME, window.key)) for window in windows}
    found += [one for one in _of(store, {HOME}, Family.CORPUS) if one in dated]
    if not found:
        raise SettingsError(f"--window: nothing is built of {', '.join(window.label for window in windows)}")
    notes = ["The next build, by hand or by the sensor, builds these windows again if a dump serves them."]
    if release_names(store.home):
        notes.append("Releases that were built from these windows stay as they are: they are frozen.")
    return Removal(found, notes=notes)


def of_release(store: Store, name: str) -> Removal:
    """Find the partitions of a release, and where linkers ranked the entities of its mentions.

    Another release may get its name, for whose these would be taken.

    Raises:
        SettingsError: there is no such release.
    """
    links = [key for table, keys in _held(store) if table is LINKING_SCORES for key in keys if parts_of(key)[1] == name]
    found = [*_of(store, {name}, Family.RELEASE), *((LINKING_SCORES.name, key) for key in links)]
    names = release_names(store.home)
    if name not in names and not found:
        raise SettingsError(f"--release {name}: no such release; there: {', '.join(names) or 'none'}")
    trained = [row["linker"] for row in unless_damaged(known_linkers, store.lake) if row["release"] == name]
    notes = [
        f"Linkers that were trained on it stay ({', '.join(trained)}): they link no mentions of another release of "
        "this name; to remove one: tempkb linker rm NAME"
    ]
    return Removal(found, releases=[name], notes=notes if trained else [])


def of_dump(store: Store, dump_id: str, *, force: bool = False) -> Removal:
    """Find the files of a dump, and the tables that were made for it.

    Args:
        force: remove it even if windows or the tables of Wikidata are still to be built from it.

    Raises:
        SettingsError: there is no such dump, or something is still to be built from it.
    """
    dumps = {dump.dump_id: dump for dump in find_dumps(store.home.dumps)}
    found = _of(store, {dump_id}, Family.DUMP, Family.ENTITIES)
    if dump_id not in dumps and not found:
        raise SettingsError(f"--dump {dump_id}: no such dump; there: {', '.join(dumps) or 'none'}")
    due = look_out(store, from_mirror=False, only_listed=False).due
    waiting = [one for one in due if one.dump.dump_id == dump_id]
    if waiting and not force:
        what = ", ".join(window.label for one in waiting for window in one.windows) or waiting[0].purpose
        raise SettingsError(f"--dump {dump_id}: still needed for {what}; build that first, or add --force")
    removal = Removal(found, [dumps[dump_id]] if dump_id in dumps else [])
    if removal.dumps and removal.dumps[0].is_named:
        removal.notes.append("Its files were named with --dump: they are not deleted, only forgotten.")
    if dump_id in dumps and dumps[dump_id].entities:
        removal.notes.append("If it is the newest in the mirror, the sensor and tempkb fetch will fetch it again.")
    removal.notes.append("Windows that were built from it are kept; to build them from another dump: --rebuild.")
    return removal


def of_model(store: Store, name: str) -> Removal:
    """Find what was made for a language model: its scores, finished or not, and its row.

    Raises:
        SettingsError: there is no such model.
    """
    removal = _of_row(store, MODELS, store.home.checkpoints, name)
    removal.drafts = [*(drafts_of(one.drafts, name) for one in KINDS), drafts_of("training", name)]
    checkpoint = store.home.checkpoints / name
    if not checkpoint.is_symlink() and (checkpoint / TRAINING).is_file():
        removal.paths.append(checkpoint)
        removal.notes.append(f"Its checkpoint {checkpoint}, which was trained here, is deleted.")
    else:
        removal.notes.append("Its checkpoint stays where it is. The name is free then, also for other files.")
    if name in dict(store.home.settings.models):
        removal.notes.append(f"tempkb.toml has lines [models.{name}]: adding the models of the home adds it again.")
    return removal


def of_linker(store: Store, name: str) -> Removal:
    """Find what was made for a linker: its scores, its vectors, its row, and the checkpoint that was trained here.

    Raises:
        SettingsError: there is no such linker.
    """
    checkpoint = store.home.linkers / name
    # A text such as `..` is no name, and would lead to a folder of other things.
    has_checkpoint = re.fullmatch(NAME_PATTERN, name) is not None and checkpoint.is_dir()
    removal = _of_row(store, LINKERS, store.home.linkers, name, has_more=has_checkpoint)
    removal.drafts = [drafts_of("linker", name)]
    rows = unless_damaged(known_linkers, store.lake)
    has_row = any(one["checkpoint"] == f"{checkpoint.parent.name}/{name}" for one in rows)
    if has_checkpoint and (checkpoint.is_symlink() or not (has_row or (checkpoint / TRAINING).is_file())):
        removal.notes.append(f"{checkpoint} stays, since tempkb did not write it.")
    elif has_checkpoint:
        removal.paths.append(checkpoint)
        removal.notes.append(f"Its checkpoint {checkpoint}, which was trained here, is deleted.")
    return removal


def of_corpus(store: Store, name: str) -> Removal:
    """Find the texts of a corpus; a SettingsError if there is no such corpus."""
    return _of_row(store, DATED_TEXTS, None, name)


def _of_row(store: Store, table: Table, folder: Path | None, name: str, *, has_more: bool = False) -> Removal:
    """Find what was made for a model, linker or corpus: its partitions, and the file with what was said of it, if any.

    Args:
        table: that has a row for it.
        folder: of what was said, if anything is said of such.
        has_more: is there something else of it?

    Raises:
        SettingsError: there is nothing of it.
    """
    found, kind = _of(store, {name}, table.family), table.family.value
    paths = [said_path(folder, name)] if folder and name in said_names(folder) else []
    if not found and not paths and not has_more:
        there = ", ".join(sorted({table.owner_of(key) or "" for key in store.lake.partitions(table.name)})) or "none"
        raise SettingsError(f"{kind} {name!r}: no such {kind}; there: {there}")
    # Its row is removed last: a name without a row is free for other files, to which no score must be left.
    return Removal(sorted(found, key=lambda one: one[0] == table.name), paths=paths)


BY_NAME = {"release": of_release, "model": of_model, "linker": of_linker, "corpus": of_corpus}
"""What finds all of something by its name, by the kind of thing."""


def remove(store: Store, removal: Removal) -> int:
    """Remove what was found, publish, and return the bytes of dump files that were freed.

    Raises:
        LockTimeoutError: a run works on drafts that are to be deleted; nothing is removed.
        LinkError: a link lies where something is to be removed; nothing is removed.
    """
    for path in (*removal.paths, *(entry_path(store.home, name) for name in removal.releases)):
        own_tree(store.home.path, path)
    for place in removal.partitions:
        store.lake.own_folder(*place)
    for dump in removal.dumps:
        folders_of(store.home.dumps, dump)
    is_full = shutil.disk_usage(store.home.path).free < _LITTLE
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(store.lake.resumable(name)) for name in removal.drafts]
        for drafts in held:
            for kept in real_folders(drafts.folder):
                remove_tree(drafts.folder, kept)
            drafts.is_finished = True
        for table, partition in removal.partitions:
            store.lake.remove(table, partition)
    # The register is changed last: rows without an entry would be taken for those of a new release of that name.
    for name in removal.releases:
        forget_release(store.home.checkpoints, name)
        forget_release(store.home.linkers, name)
        strike(store.home, name)
    for path in removal.paths:
        remove_tree(store.home.path, path, TRAINING) if path.is_dir() else path.unlink(missing_ok=True)
    freed = sum(remove_dump(store.home.dumps, dump) for dump in removal.dumps)
    # Also what an interrupted removal has left.
    empty_bin(store.home.dumps)
    if is_full:
        # DuckDB cannot be changed before there is room.
        store.collect_garbage(frozen_versions(store))
    else:
        store.publish()
    return freed


def _of(store: Store, owners: Set[str], *families: Family) -> list[tuple[str, str]]:
    """The partitions of tables of some families that belong to some windows, a release, a dump, ..."""
    return [
        (table.name, key)
        for table, keys in _held(store)
        if table.family in families
        for key in keys
        if table.owner_of(key) in owners
    ]


def _held(store: Store) -> Iterator[tuple[Table, list[str]]]:
    """Yield tables with their partitions in the lake, lost ones, and those that only DuckDB shows.

    The last ones are what a removal that was killed has left.
    """
    try:
        shown = store.database.shown_versions()
    except TempkbError:
        shown = set()
    for table in store.tables.values():
        left = {key for name, key, _ in shown if name == table.name}
        yield table, sorted({*store.lake.partitions(table.name), *store.lake.lost(table.name), *left})
