"""Fetching a dump from a mirror into the home, whole and verified.

    <root>/_arriving/<place>.part     the part of a file that has been downloaded; a later try resumes there
    <root>/<place>                    the whole file, once its checksum is right

The publisher's lists are put in place before the files and the end marker after
them, so that the catalogue can tell a dump that is still being fetched from a
complete one.
"""

import os
import shutil
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from tempkb.dumps.http import CONNECTIONS, HttpMirror
from tempkb.dumps.mirrors import FolderMirror, below
from tempkb.dumps.offers import END, Offer, OfferedFile
from tempkb.dumps.sums import ARRIVING, NOTES, kind_of, known_sums, note_sums
from tempkb.dumps.transfer import Transfer, note_of
from tempkb.errors import SourceError
from tempkb.store.locks import LockTimeoutError, Patience, locked
from tempkb.store.owned import own

# How often a file with a wrong checksum is downloaded from its beginning.
_TRIES = 2


class Download:
    """Fetches the files of one offered dump.

    Args:
        report: called from several threads with the number of bytes present so far, of all files together.
    """

    def __init__(
        self,
        mirror: HttpMirror | FolderMirror,
        offer: Offer,
        root: Path,
        report: Callable[[float], None] = lambda _done: None,
    ) -> None:
        self.mirror, self.offer, self.root = mirror, offer, root
        self._report = report
        self._come: dict[str, float] = {}
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def run(self) -> list[Path]:
        """Fetch the files that are missing, and return the paths of all files of the dump.

        Raises:
            SourceError: the dump is not complete, does not fit on the disk, or cannot be fetched. What has been
                downloaded is kept for a later try.
        """
        if self.offer.flaws:
            raise SourceError(f"dump {self.offer.dump_id} is not complete: {'; '.join(self.offer.flaws)}; wait for it")
        for place in (*self.offer.lists, *(file.place for file in self.offer.files)):
            own(self.root, below(self.root, place).parent)
            own(self.root, below(self.root / ARRIVING, place).parent)
        folder = self.root / ARRIVING
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with locked(folder / f".{self.offer.dump_id}.lock", Patience(0)):
                self._bring()
        except LockTimeoutError:
            raise SourceError(f"dump {self.offer.dump_id} is being fetched by another program; wait for it") from None
        return [below(self.root, file.place) for file in self.offer.files]

    def _bring(self) -> None:
        missing = [file for file in self.offer.files if not self._is_here(file)]
        self._refuse_full_disk(missing)
        ends = {place for place in self.offer.lists if place.endswith(f"/{END}")}
        self._put(self.offer.lists.keys() - ends)
        connections = CONNECTIONS if isinstance(self.mirror, HttpMirror) else 1
        with ThreadPoolExecutor(connections, thread_name_prefix="fetch") as pool:
            waiting = [pool.submit(self._bring_file, file) for file in missing]
            try:
                for one in as_completed(waiting):
                    one.result()
            except BaseException:
                self._stopped.set()
                for one in waiting:
                    one.cancel()
                raise
        self._put(ends)

    def _is_here(self, file: OfferedFile) -> bool:
        path = below(self.root, file.place)
        if not path.is_file():
            return False
        kind, _, wanted = file.checksum.partition(":")
        if wanted and known_sums(path, self.root / NOTES, [kind])[kind] != wanted:
            path.unlink()
            return False
        self._report_sum(file, path.stat().st_size)
        return True

    def _refuse_full_disk(self, files: Iterable[OfferedFile]) -> None:
        """Check the free space. Files of unknown size are not counted; the transfer reports a disk that is full."""
        if not takes_room(self.mirror, self.root):
            return
        drafts = [(file.size or 0, self._draft(file)) for file in files]
        needed = sum(max(0, size - (draft.stat().st_size if draft.is_file() else 0)) for size, draft in drafts)
        free = shutil.disk_usage(self.root).free
        if needed > free:
            raise SourceError(
                f"{self.root}: {needed} bytes of {self.offer.dump_id} are still to be fetched, but only {free} are "
                "free; make room (tempkb rm --dump, tempkb gc), or use a home on a larger disk"
            )

    def _put(self, places: Iterable[str]) -> None:
        for place in places:
            path = below(self.root, place)
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = own(self.root, path.with_name(path.name + ".draft"))
            draft.write_bytes(self.offer.lists[place])
            draft.replace(path)

    def _bring_file(self, file: OfferedFile) -> None:
        draft = self._draft(file)
        kind, _, wanted = file.checksum.partition(":")
        for _ in range(_TRIES):
            sums = self._receive(file, draft)
            if not wanted or sums[kind] == wanted:
                self._accept(file, draft, sums)
                return
            # A file that was downloaded in several parts may mix two versions of it.
            draft.unlink()
        raise SourceError(
            f"{self.mirror.where}/{file.place}: its {kind} is {sums[kind]}, but the checksum list says {wanted}; "
            f"fetched {_TRIES} times, nothing is kept. Try this dump again later."
        )

    def _receive(self, file: OfferedFile, draft: Path) -> dict[str, str]:
        def report_file(come: float) -> None:
            self._report_sum(file, come)

        if isinstance(self.mirror, HttpMirror):
            return Transfer(self.mirror, file, draft, report_file, self._stopped).run()
        draft.parent.mkdir(parents=True, exist_ok=True)
        _link(self.mirror.path_of(file.place), draft)
        report_file(draft.stat().st_size)
        return known_sums(draft, None, [kind_of(file.checksum)] if file.checksum else [])

    def _accept(self, file: OfferedFile, draft: Path, sums: dict[str, str]) -> None:
        path = below(self.root, file.place)
        path.parent.mkdir(parents=True, exist_ok=True)
        # Before the move: after it nobody looks for the note, so a run killed in between would leave it forever.
        note_of(draft).unlink(missing_ok=True)
        draft.replace(path)
        note_sums(path, self.root / NOTES, sums)

    def _draft(self, file: OfferedFile) -> Path:
        path = below(self.root / ARRIVING, file.place)
        return own(self.root, path.with_name(path.name + ".part"))

    def _report_sum(self, file: OfferedFile, come: float) -> None:
        with self._lock:
            self._come[file.place] = come
            self._report(sum(self._come.values()))


def takes_room(mirror: HttpMirror | FolderMirror | None, root: Path) -> bool:
    """Do fetched files need disk space? Those of a mirror folder on the same disk are hard links."""
    if not isinstance(mirror, FolderMirror):
        return True
    there = next(path for path in (root, *root.parents) if path.exists())
    return mirror.root.stat().st_dev != there.stat().st_dev


def _link(source: Path, target: Path) -> None:
    """Link a file, which takes no space, or copy it where linking is impossible."""
    target.unlink(missing_ok=True)
    try:
        os.link(source.resolve(), target)
    except OSError:
        shutil.copyfile(source, target)
