"""One file from a web server: in as many parts as it takes, going on where it stopped, hashed on the way."""

import errno
import json
import os
import re
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import requests

from tempkb.dumps.http import HttpMirror, TroubleError
from tempkb.dumps.offers import OfferedFile
from tempkb.dumps.sums import Hashes, kind_of
from tempkb.errors import SourceError

_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
_FULL = {errno.ENOSPC, errno.EDQUOT}
_PIECE = 1 << 20
_ENDLESS = 1 << 62


@dataclass
class _Part:
    """Of which file a draft is a part; it goes on only with the same.

    Attributes:
        checksum: that the list of files gives.
        size: in bytes; None until the list or the server tells.
        etag: that the server gave with the first byte; empty if none.
    """

    checksum: str
    size: int | None
    etag: str = ""


class Transfer:
    """Brings one file into a draft.

    Args:
        mirror: the server.
        file: what to bring.
        draft: where it comes to lie; what lies there from an earlier try is gone on with.
        report: called with the bytes that have come.
        stopped: set when others have failed, so that this one need not go on.
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
        """Bring the file and return its hashes by kind.

        Raises:
            SourceError: it cannot be had, or is another than was listed. What has come stays for a later try if it
                may still become the file.
        """
        self._draft.parent.mkdir(parents=True, exist_ok=True)
        self._take_up()
        failed, furthest = 0, self._come
        while self._part.size is None or self._come < self._part.size:
            if self._stopped.is_set():
                raise SourceError(f"{self._address}: not gone on with, since another file failed")
            try:
                self._go_on()
                self._refuse_early_end()
            except TroubleError as trouble:
                failed = 1 if self._come > furthest else failed + 1
                furthest = max(furthest, self._come)
                if failed == self._mirror.manners.tries:
                    raise SourceError(
                        f"{self._address}: {trouble}, {failed} times; {self._come} bytes have come and are kept. "
                        "Go on later: tempkb fetch"
                    ) from None
                self._mirror.wait(failed, trouble, self._address, self._stopped)
        if not self._part.size:
            self._draft.touch()
        return self._hashes.told()

    def _refuse_early_end(self) -> None:
        """An answer whose length was not told may end early without a word."""
        if self._part.size is not None and self._come < self._part.size:
            raise TroubleError(f"the answer ended after {self._come} of {self._part.size} bytes")

    def _take_up(self) -> None:
        """Go on with what came in an earlier try, if it is of this very file; else throw it away."""
        if not self._took_up():
            # Not written over: it may be a link to a file of a folder.
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
        """Ask for the rest once and write what comes."""
        headers = {"Range": f"bytes={self._come}-"} if self._come else {}
        if self._come and self._part.etag:
            headers["If-Range"] = self._part.etag
        with self._mirror.answer(self._address, headers) as answer:
            if answer.status_code == 416:
                self._begin_anew()
                raise TroubleError("the server has fewer bytes of it than have come")
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
        """At which byte the answer's body begins; 0 when the server begins anew.

        Raises:
            SourceError: the file is not there, or is not the one that the list tells of.
            TroubleError: the answer does not fit the question.
        """
        if answer.status_code not in (200, 206):
            raise SourceError(
                f"{self._address}: the server said {answer.status_code} {answer.reason}; expected the file. Old dumps "
                "are removed after some months: see what there is with tempkb plan"
            )
        begins, told = 0, answer.headers.get("Content-Length", "")
        total = int(told) if told.isdigit() else None
        if answer.status_code == 206:
            said = answer.headers.get("Content-Range", "")
            match = _RANGE.fullmatch(said)
            if not match or int(match[1]) != self._come:
                raise TroubleError(f"asked for the bytes from {self._come} on, the server gave {said!r}")
            begins, total = self._come, int(match[3])
        if total is not None and self._part.size is None:
            self._part.size = total
        if total is not None and total != self._part.size:
            self._draft.unlink(missing_ok=True)
            raise SourceError(
                f"{self._address}: the file has {total} bytes, but {self._part.size} were told of before, so it is "
                "being changed; nothing of it is kept. Look at the dump again later."
            )
        return begins

    def _write(self, answer: requests.Response) -> None:
        most = _ENDLESS if self._part.size is None else self._part.size - self._come
        try:
            with self._draft.open("r+b" if self._come else "wb") as handle:
                handle.seek(self._come)
                for piece in self._mirror.pieces(answer, self._address, most):
                    handle.write(piece)
                    self._hashes.take(piece)
                    self._come += len(piece)
                    self._report(self._come)
                    if self._stopped.is_set():
                        raise SourceError(f"{self._address}: not gone on with, since another file failed")
                handle.flush()
                os.fsync(handle.fileno())
        except OSError as error:
            if error.errno not in _FULL:
                raise
            raise SourceError(
                f"{self._draft}: the disk is full after {self._come} bytes; make room (tempkb rm --dump, tempkb gc) "
                "and go on: tempkb fetch. What has come is kept."
            ) from None


def note_of(draft: Path) -> Path:
    """Where it is noted of which file a draft is a part."""
    return draft.with_name(draft.name + ".json")
