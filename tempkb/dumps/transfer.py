"""Downloads one file from a web server in as many requests as needed, resuming where it stopped, and hashes it."""

import json
import os
import re
import shutil
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import requests

from tempkb.dumps.http import HttpMirror, TroubleError, stated_length
from tempkb.dumps.offers import OfferedFile
from tempkb.dumps.sums import Hashes, kind_of
from tempkb.errors import SourceError
from tempkb.store.files import NO_ROOM

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
