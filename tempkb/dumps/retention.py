"""Removing dumps from a home: which ones may be removed, and deleting their files."""

import uuid
from collections.abc import Collection, Sequence
from pathlib import Path

from tempkb.dumps.catalogue import Dump
from tempkb.dumps.offers import CONTENT_HISTORY, WIKIDATA
from tempkb.dumps.sums import ARRIVING, NOTES, forget_sums
from tempkb.store.owned import own, remove_tree

_REMOVED = "_removed"


def superfluous(dumps: Sequence[Dump], keep: int, needed: Collection[str]) -> list[Dump]:
    """Return the dumps that may be removed, oldest first.

    Args:
        dumps: those of the home's wiki and of Wikidata; named and incomplete ones are always kept.
        keep: how many of the newest are kept, counted separately for the wiki's pages and for Wikidata's entities;
            0 keeps all.
        needed: ids of dumps that are kept whatever their age: a window or the assets of Wikidata are still to be
            built from them.
    """
    if not keep:
        return []
    complete = [dump for dump in dumps if not dump.is_named and not dump.flaws]
    gone = []
    for of_entities in (False, True):
        family = sorted((one for one in complete if bool(one.entities) == of_entities), key=lambda one: one.horizon)
        gone += [dump for dump in family[:-keep] if dump.dump_id not in needed]
    return gone


def remove_dump(root: Path, dump: Dump) -> int:
    """Remove the folders of a dump below `root`, with any partial downloads, and return their size in bytes.

    For a named dump only the note of its paths is removed; its files stay.
    A folder is first moved out of the catalogue's sight in one step, so that a removal that is killed leaves nothing
    that could be taken for a dump.
    """
    bin_folder, folders = own(root, root / _REMOVED), folders_of(root, dump)
    for file in dump.files:
        forget_sums(file.path, root / NOTES)
    if dump.is_named:
        own(root, root / "named" / f"{dump.dump_id}.json").unlink(missing_ok=True)
        return 0
    freed = 0
    for folder in folders:
        if folder.is_dir():
            freed += sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())
            bin_folder.mkdir(exist_ok=True)
            folder.rename(bin_folder / uuid.uuid4().hex)
            _remove_empty(root, folder.parent)
    empty_bin(root)
    return freed


def folders_of(root: Path, dump: Dump) -> list[Path]:
    """Return the folders in which files of a dump may lie, or arrive; raise a LinkError where one is behind a link."""
    return [own(root, base / place) for place in _places_of(dump) for base in (root, root / ARRIVING)]


def empty_bin(root: Path) -> None:
    """Delete the folders that removals have moved aside, including those of a removal that was killed."""
    remove_tree(root, root / _REMOVED, may_fail=True)


def _places_of(dump: Dump) -> list[str]:
    """Return the places of a dump in all layouts, each a folder that holds nothing else."""
    if dump.date is None or dump.is_named:
        return []
    day = f"{dump.date:%Y%m%d}"
    of_entities = [f"{WIKIDATA}/entities/{day}"] if dump.wiki == WIKIDATA else []
    return [f"{dump.wiki}/{day}", f"{CONTENT_HISTORY}/{dump.wiki}/{dump.date}", *of_entities]


def _remove_empty(root: Path, folder: Path) -> None:
    while folder != root and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
