"""Taking dumps out of a home: which may go, and their files."""

import shutil
import uuid
from collections.abc import Collection, Sequence
from pathlib import Path

from tempkb.dumps.catalogue import Dump
from tempkb.dumps.download import ARRIVING
from tempkb.dumps.offers import CONTENT_HISTORY, WIKIDATA
from tempkb.dumps.sums import NOTES, forget_sums

_REMOVED = "_removed"


def superfluous(dumps: Sequence[Dump], keep: int, needed: Collection[str]) -> list[Dump]:
    """Return the dumps that may go, oldest first.

    Args:
        dumps: of the home's folder; named and incomplete ones never go.
        keep: how many of the newest stay, of the wiki's pages and of Wikidata's entities each; 0 keeps all.
        needed: ids of dumps that stay whatever their age: a window that is not built, or a reading, waits for them.
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
    """Remove the folders of a dump below `root`, also what has come of it so far, and return their bytes.

    Of a dump that was named it is only forgotten where it lies.
    A folder goes out of the catalogue's sight in one step, so that of a removal that is killed nothing is left that
    could be taken for a dump.
    """
    for file in dump.files:
        forget_sums(file.path, root / NOTES)
    if dump.is_named:
        (root / "named" / f"{dump.dump_id}.json").unlink(missing_ok=True)
        return 0
    bin_folder = root / _REMOVED
    freed = 0
    for place in _places_of(dump):
        for folder in (root / place, root / ARRIVING / place):
            if folder.is_dir():
                freed += sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
                bin_folder.mkdir(exist_ok=True)
                folder.rename(bin_folder / uuid.uuid4().hex)
                _remove_empty(root, folder.parent)
    empty_bin(root)
    return freed


def empty_bin(root: Path) -> None:
    """Remove what removals have put out of sight, also one that was killed before it was through."""
    shutil.rmtree(root / _REMOVED, ignore_errors=True)


def _places_of(dump: Dump) -> list[str]:
    """The folders that hold a dump, in any layout, and nothing else."""
    if dump.date is None:
        return []
    day = f"{dump.date:%Y%m%d}"
    of_entities = [f"{WIKIDATA}/entities/{day}"] if dump.wiki == WIKIDATA else []
    return [f"{dump.wiki}/{day}", f"{CONTENT_HISTORY}/{dump.wiki}/{dump.date}", *of_entities]


def _remove_empty(root: Path, folder: Path) -> None:
    while folder != root and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
