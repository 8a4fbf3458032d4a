"""Taking dumps out of a home: which may go, and their files."""

import shutil
import uuid
from collections.abc import Collection, Sequence
from pathlib import Path

from tempkb.dumps.catalogue import Dump
from tempkb.dumps.download import ARRIVING
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
    """Remove the folders of a dump below `root`, and return their bytes; of a named one only forget where it lies.

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
    for day in {_folder_of_day(file.path) for file in dump.files}:
        freed += sum(path.stat().st_size for path in day.rglob("*") if path.is_file())
        bin_folder.mkdir(exist_ok=True)
        day.rename(bin_folder / uuid.uuid4().hex)
        shutil.rmtree(root / ARRIVING / day.relative_to(root), ignore_errors=True)
        _remove_empty(root, day.parent)
    # Also what an earlier removal that was killed has left.
    shutil.rmtree(bin_folder, ignore_errors=True)
    return freed


def _folder_of_day(path: Path) -> Path:
    """The folder that holds a dump of a layout and nothing else."""
    return path.parent if path.parent.name.isdigit() else path.parents[2]


def _remove_empty(root: Path, folder: Path) -> None:
    while folder != root and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
