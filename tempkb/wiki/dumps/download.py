"""Fetching a dump from the home's mirror, whole and verified, in as many requests as needed.

    <root>/_arriving/<place>.part     the part of a file that has been downloaded; a later try resumes there
    <root>/<place>                    the whole file, once its checksum is right

The publisher's lists are put in place before the files and the end marker after them, so that the catalogue can tell
a dump that is still being fetched from a complete one.
"""

import json
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

import requests

from tempkb.core.errors import MissingDumpError, SettingsError, SourceError
from tempkb.core.files import NO_ROOM, own
from tempkb.core.locks import LockTimeoutError, Patience, locked
from tempkb.core.settings import Home
from tempkb.engine.progress import Meter
from tempkb.wiki.dumps.catalogue import Dump, find_dumps
from tempkb.wiki.dumps.http import CONNECTIONS, HURRIED, Brake, HttpMirror, Manners, TroubleError, stated_length
from tempkb.wiki.dumps.offers import END, WIKIDATA, FolderMirror, Offer, OfferedFile, below, offers_of, wiki_and_day
from tempkb.wiki.dumps.sums import ARRIVING, NOTES, Hashes, kind_of, known_sums, note_sums

_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18})")
_PIECE = 1 << 20
# Bytes of a file whose size neither the list nor the server states; Wikimedia's largest have some hundred gigabytes.
_MOST = 10**12


@dataclass
class _Part:
    """Identifies the file that a partial download belongs to; it is resumed only for the same file.

    Attributes:
        size: in bytes; None until the list or the server gives it.
        etag: from the server's first answer; empty if it gave none.
    """

    checksum: str
    size: int | None
    etag: str = ""


class Transfer:
    """Downloads one file.

    Args:
        draft: path of the partial download; one that exists from an earlier try is resumed.
        report: called with the number of bytes that have arrived.
        stopped: set if another file failed, so that this one need not continue.
    """

    def __init__(
        self,
        mirror: HttpMirror,
        file: OfferedFile,
        draft: Path,
        report: Callable[[float], None],
        stopped: threading.Event,
    ) -> None:
        self._mirror, self._file, self._draft = mirror, file, draft
        self._report, self._stopped = report, stopped
        self._address = f"{mirror.root}/{file.place}"
        self._part = _Part(file.checksum, file.size)
        self._come = 0
        self._hashes = self._no_hashes()

    def run(self) -> dict[str, str]:
        """Download the file and return its hashes by kind.

        Raises:
            SourceError: it cannot be downloaded, or is not the listed file. What has arrived is kept if a later try
                can continue from it.
        """
        self._draft.parent.mkdir(parents=True, exist_ok=True)
        self._take_up()
        failed, furthest = 0, self._come
        while self._part.size is None or self._come < self._part.size:
            if self._stopped.is_set():
                raise SourceError(f"{self._address}: stopped, since another file failed")
            try:
                self._go_on()
                self._refuse_early_end()
            except TroubleError as trouble:
                failed = 1 if self._come > furthest else failed + 1
                furthest = max(furthest, self._come)
                if failed == self._mirror.manners.tries:
                    raise SourceError(
                        f"{self._address}: {trouble}, {failed} times; {self._come} bytes have arrived and are kept. "
                        "Continue later: tempkb fetch"
                    ) from None
                self._mirror.wait(failed, trouble, self._address, self._stopped)
        if not self._part.size:
            self._draft.touch()
        return self._hashes.hexdigests()

    def _refuse_early_end(self) -> None:
        """Raise if the answer ended early; without a Content-Length the connection does not show it."""
        if self._part.size is not None and self._come < self._part.size:
            raise TroubleError(f"the answer ended after {self._come} of {self._part.size} bytes")

    def _take_up(self) -> None:
        """Resume an earlier partial download if it is of this very file; delete it otherwise."""
        if not self._took_up():
            # Deleted rather than overwritten: it may be a link to a file of a folder.
            self._draft.unlink(missing_ok=True)

    def _took_up(self) -> bool:
        come = self._draft.stat().st_size if self._draft.is_file() else 0
        try:
            noted = _Part(**json.loads(note_of(self._draft).read_text("utf-8")))
        except (FileNotFoundError, ValueError, TypeError):
            return False
        if noted.checksum != self._part.checksum or self._part.size not in (None, noted.size):
            return False
        if not come or (noted.size is not None and come > noted.size):
            return False
        self._part, self._come = noted, come
        with self._draft.open("rb") as handle:
            while piece := handle.read(_PIECE):
                self._hashes.take(piece)
        self._report(come)
        return True

    def _go_on(self) -> None:
        """Request the rest of the file once and write what arrives."""
        headers = {"Range": f"bytes={self._come}-"} if self._come else {}
        if self._come and self._part.etag:
            headers["If-Range"] = self._part.etag
        with self._mirror.answer(self._address, headers) as answer:
            if answer.status_code == 416:
                self._begin_anew()
                raise TroubleError("the server has fewer bytes of it than have arrived")
            if self._begins_at(answer) == 0:
                self._begin_anew()
                self._part.etag = answer.headers.get("ETag", "")
            note_of(self._draft).write_text(json.dumps(asdict(self._part)) + "\n", "utf-8")
            self._write(answer)
        if self._part.size is None:
            self._part.size = self._come

    def _begin_anew(self) -> None:
        self._draft.unlink(missing_ok=True)
        self._come, self._hashes = 0, self._no_hashes()

    def _no_hashes(self) -> Hashes:
        return Hashes([kind_of(self._file.checksum)] if self._file.checksum else [])

    def _begins_at(self, answer: requests.Response) -> int:
        """Return the byte at which the answer's body begins; 0 if the server sends the file from its beginning.

        Raises:
            SourceError: the file does not exist, or is not the listed one.
            TroubleError: the answer does not fit the request.
        """
        if answer.status_code not in (200, 206):
            raise SourceError(
                f"{self._address}: the server answered {answer.status_code} {answer.reason}; expected the file. Old "
                "dumps are removed after some months; list the available ones: tempkb plan"
            )
        begins, total = 0, stated_length(answer)
        if answer.status_code == 206:
            content_range = answer.headers.get("Content-Range", "")
            match = _RANGE.fullmatch(content_range)
            if not match or int(match[1]) != self._come:
                raise TroubleError(f"requested the bytes from {self._come} on, but the server sent {content_range!r}")
            begins, total = self._come, int(match[3])
        if total is not None and self._part.size is None:
            self._part.size = total
        if total is not None and total != self._part.size:
            self._draft.unlink(missing_ok=True)
            raise SourceError(
                f"{self._address}: the file has {total} bytes, but {self._part.size} were listed before, so it is "
                "being changed; nothing is kept. Try this dump again later."
            )
        return begins

    def _write(self, answer: requests.Response) -> None:
        most, expected = self._most()
        try:
            with self._draft.open("r+b" if self._come else "wb") as handle:
                handle.seek(self._come)
                for piece in self._mirror.pieces(answer, self._address, most, expected):
                    handle.write(piece)
                    self._hashes.take(piece)
                    self._come += len(piece)
                    self._report(self._come)
                    if self._stopped.is_set():
                        raise SourceError(f"{self._address}: stopped, since another file failed")
                handle.flush()
                os.fsync(handle.fileno())
        except OSError as error:
            if error.errno not in NO_ROOM:
                raise
            raise SourceError(
                f"{self._draft}: the disk is full after {self._come} bytes; make room (tempkb rm --dump, tempkb gc) "
                "and continue: tempkb fetch. What has arrived is kept."
            ) from None
        except SourceError:
            if self._part.size is None and not self._stopped.is_set():
                # It may fill the disk.
                self._draft.unlink(missing_ok=True)
            raise

    def _most(self) -> tuple[int, str]:
        """Return how many bytes may still arrive, and where the number comes from, if not from the list."""
        if self._part.size is not None:
            return self._part.size - self._come, ""
        free = shutil.disk_usage(self._draft.parent).free
        if free < _MOST:
            return free, f"the {free} bytes that are free on the disk, of a file whose size nobody states"
        return _MOST, f"{_MOST} bytes of a file whose size nobody states"


def note_of(draft: Path) -> Path:
    """Return the path of the note that says which file a partial download belongs to."""
    return draft.with_name(draft.name + ".json")


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


_MEGABYTE = 1e6


def mirror_of(
    home: Home, log: Callable[[str], None] = lambda _line: None, *, hurried: bool = False
) -> HttpMirror | FolderMirror | None:
    """Return the mirror in which the home looks for new dumps; None if no mirror is set.

    Args:
        hurried: give up after some seconds; for callers that try again soon.

    Raises:
        SettingsError: the mirror is neither a folder nor an address, or a server needs a contact.
    """
    settings = home.settings
    if not settings.mirror:
        return None
    if "://" in settings.mirror:
        manners = HURRIED if hurried else Manners()
        return HttpMirror(settings.mirror, settings.contact, Brake(settings.bandwidth * _MEGABYTE), manners, log=log)
    folder = Path(settings.mirror).expanduser().resolve()
    if not folder.is_dir():
        raise SettingsError(f"mirror: {folder} is not a folder; expected a folder or an address such as https://...")
    return None if folder == home.dumps else FolderMirror(folder)


def fetch_offer(home: Home, mirror: HttpMirror | FolderMirror, offer: Offer, log: Callable[[str], None]) -> None:
    """Fetch an offered dump into the home, with a progress bar in a terminal and log lines elsewhere.

    Raises:
        SourceError: it cannot be fetched as a whole. What has been downloaded is kept for a later try.
    """
    total = sum(file.size or 0 for file in offer.files)
    with Meter(f"fetching {offer.dump_id}", total, log) as meter:
        Download(mirror, offer, home.dumps, meter.at).run()


def present_dump(home: Home, dump_id: str, log: Callable[[str], None]) -> Dump:
    """Return a complete dump of the home's folder; fetch it from the mirror if it is not there.

    Raises:
        MissingDumpError: neither the folder nor the mirror has it as a whole; the message lists the dumps there are.
        SourceError: it is in the folder, but not complete, or it cannot be fetched.
    """
    dumps = find_dumps(home.dumps)
    here = next((dump for dump in dumps if dump.dump_id == dump_id), None)
    if here is not None and not here.flaws:
        return here
    offer = _offered(home, dump_id, log)
    if offer is not None:
        fetch_offer(home, offer[0], offer[1], log)
        return next(dump for dump in find_dumps(home.dumps) if dump.dump_id == dump_id)
    if here is not None:
        raise SourceError(f"dump {dump_id} is not complete: {'; '.join(here.flaws)}. Wait for it, or fetch it again.")
    there = ", ".join(dump.dump_id for dump in dumps) or "none"
    mirror = mirror_of(home)
    gone = f", and no longer in the mirror {mirror.where}" if mirror else ""
    raise MissingDumpError(
        f"dump {dump_id!r}: not below {home.dumps}{gone}; there: {there}. Put its files there in Wikimedia's layout, "
        "or name them: tempkb build --dump FILE"
    )


def _offered(home: Home, dump_id: str, log: Callable[[str], None]) -> tuple[HttpMirror | FolderMirror, Offer] | None:
    """Return the mirror and its offer of a dump; None if the mirror does not list the dump.

    Raises:
        MissingDumpError: the mirror has it, but it is not complete.
    """
    dated, mirror = wiki_and_day(dump_id), mirror_of(home, log)
    if dated is None or mirror is None:
        return None
    wiki, day = dated
    offers = offers_of(mirror, wiki, since=day, entities_only=wiki == WIKIDATA != home.wiki)
    offer = next((one for one in offers if one.dump_id == dump_id and one.is_listed), None)
    if offer is not None and offer.flaws:
        raise MissingDumpError(
            f"dump {dump_id!r}: not below {home.dumps}, and in the mirror {mirror.where} it is not complete: "
            f"{'; '.join(offer.flaws)}. tempkb fetches it once it is complete."
        )
    return (mirror, offer) if offer is not None else None
