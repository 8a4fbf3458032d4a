"""Taking dumps out of a home: which may go, and their files."""

import shutil
from collections.abc import Collection, Sequence
from pathlib import Path

from tempkb.dumps.catalogue import Dump
from tempkb.dumps.download import ARRIVING
from tempkb.dumps.offers import END
from tempkb.dumps.sums import NOTES, forget_sums


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
    """Remove the files of a dump below `root`, and return their bytes; of a named one only forget where it lies.

    The lists go first, so that of a removal that is killed nothing is left that counts as a complete dump.
    """
    if dump.is_named:
        (root / "named" / f"{dump.dump_id}.json").unlink(missing_ok=True)
        for file in dump.files:
            forget_sums(file.path, root / NOTES)
        return 0
    folders = {file.path.parent for file in dump.files}
    for folder in folders:
        for name in (END, "SHA256SUMS", "dumpstatus.json"):
            (folder / name).unlink(missing_ok=True)
    freed = 0
    for file in dump.files:
        freed += file.path.stat().st_size
        file.path.unlink()
        forget_sums(file.path, root / NOTES)
    for folder in folders:
        freed += _remove_rest(root, folder)
    return freed


def _remove_rest(root: Path, folder: Path) -> int:
    """Remove what else the folder of a dump holds, other compressions of its parts for one, and empty folders."""
    day = folder if folder.name.isdigit() else folder.parents[1]
    rest = sum(path.stat().st_size for path in day.rglob("*") if path.is_file())
    shutil.rmtree(day, ignore_errors=True)
    shutil.rmtree(root / ARRIVING / day.relative_to(root), ignore_errors=True)
    above = day.parent
    while above != root and above.is_dir() and not any(above.iterdir()):
        above.rmdir()
        above = above.parent
    return rest
