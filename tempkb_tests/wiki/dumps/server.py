"""A web server with dumps, on this machine only, that misbehaves where it is told to."""

import hashlib
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath

Fault = Callable[["Handler", bytes], bool]
"""Given the request and the file, does something odd; True if the request is answered with it."""


class Server:
    """Serves files from memory, with ranges, index pages and faults.

    Attributes:
        files: content by place.
        faults: what goes wrong with a place, one fault per request, in order; afterwards all is well.
        asked: requests as (place, range header), in order.
        busiest: most requests that were open at a time.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.faults: dict[str, list[Fault]] = {}
        self.asked: list[tuple[str, str]] = []
        self.agents: set[str] = set()
        self.open = self.busiest = 0
        self.lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.owner = self
        self._http.daemon_threads = True
        self.root = f"http://127.0.0.1:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def requests_of(self, place: str) -> list[str]:
        """Range headers of the requests for a place."""
        return [asked for one, asked in self.asked if one == place]

    def write_to(self, folder: Path) -> None:
        """Lay all files out in a folder."""
        for place, data in self.files.items():
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_bytes(data)

    def put_legacy(self, wiki: str, day: str, files: dict[str, bytes], **jobs: str) -> str:
        """Put a dump in the legacy layout; `jobs` changes the status of a job."""
        folder = f"{wiki}/{day}"
        said: dict[str, dict] = {}
        for rest, data in files.items():
            name = f"{wiki}-{day}-{rest}"
            self.files[f"{folder}/{name}"] = data
            job = said.setdefault(job_of(rest), {"status": "done", "updated": "2026-04-03 01:02:03", "files": {}})
            job["files"][name] = {
                "size": len(data),
                "url": f"/{folder}/{name}",
                "md5": hashlib.md5(data, usedforsecurity=False).hexdigest(),
                "sha1": hashlib.sha1(data, usedforsecurity=False).hexdigest(),
            }
        for job, status in jobs.items():
            said.setdefault(job, {"status": status, "updated": "", "files": {}})["status"] = status
        self.files[f"{folder}/dumpstatus.json"] = json.dumps({"version": "0.8", "jobs": said}).encode()
        return folder

    def put_content(self, wiki: str, day: str, parts: dict[str, bytes]) -> str:
        """Put a content export."""
        folder = f"other/mediawiki_content_history/{wiki}/{day}/xml/bzip2"
        sums = ""
        for span, data in parts.items():
            name = f"{wiki}-{day}-{span}.xml.bz2"
            self.files[f"{folder}/{name}"] = data
            sums += f"{hashlib.sha256(data).hexdigest()}  {name}\n"
        self.files[f"{folder}/SHA256SUMS"] = sums.encode()
        self.files[f"{folder}/_SUCCESS"] = b""
        return folder


def job_of(rest: str) -> str:
    """The job that makes a file of the legacy layout."""
    if rest.endswith(".7z"):
        return "metahistory7zdump"
    return "metahistorybz2dump" if "history" in rest else rest.split(".")[0].replace("_", "") + "table"


@contextmanager
def serving():
    """A server for the length of the block."""
    server = Server()
    try:
        yield server
    finally:
        server.close()


class Handler(BaseHTTPRequestHandler):
    """Answers one request, or spoils it."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_said: object) -> None:
        """Nothing is printed."""

    def do_GET(self) -> None:
        owner: Server = self.server.owner
        place = self.path.lstrip("/")
        with owner.lock:
            owner.asked.append((place, self.headers.get("Range", "")))
            owner.agents.add(self.headers.get("User-Agent", ""))
            owner.open += 1
            owner.busiest = max(owner.busiest, owner.open)
            faults = owner.faults.get(place, [])
            fault = faults.pop(0) if faults else None
        try:
            data = owner.files.get(place, index_of(owner.files, place) if place.endswith("/") or not place else None)
            if fault is None or not fault(self, data or b""):
                self.give(data)
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:
            with owner.lock:
                owner.open -= 1

    def give(self, data: bytes | None, etag: str = "") -> None:
        """Answer as a good server does."""
        if data is None:
            self.head(404, 0)
            return
        etag = etag or f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'
        begin = self.begin()
        if begin and self.headers.get("If-Range", etag) == etag:
            if begin >= len(data):
                self.head(416, 0)
                return
            self.head(
                206, len(data) - begin, **{"Content-Range": f"bytes {begin}-{len(data) - 1}/{len(data)}", "ETag": etag}
            )
            self.wfile.write(data[begin:])
            return
        self.head(200, len(data), ETag=etag)
        self.wfile.write(data)

    def begin(self) -> int:
        """First byte that is asked for."""
        return int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").split("-")[0])

    def head(self, status: int, length: int | None, **headers: str) -> None:
        self.send_response(status)
        if length is not None:
            self.send_header("Content-Length", str(length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)


def index_of(files: dict[str, bytes], place: str) -> bytes | None:
    """An index page, as nginx writes it; None when nothing lies there."""
    depth = len(PurePosixPath(place).parts)
    names = Counter(
        PurePosixPath(one).parts[depth] + ("/" if len(PurePosixPath(one).parts) > depth + 1 else "")
        for one in files
        if one.startswith(place) and len(PurePosixPath(one).parts) > depth
    )
    if not names:
        return None
    rows = "".join(f'<a href="{name}">{name}</a>      03-Apr-2026 01:02       -\n' for name in sorted(names))
    return (
        f'<html>\n<head><title>Index of /{place}</title></head>\n<body>\n<h1>Index</h1><hr><pre><a href="../">../</a>\n'
        f"{rows}</pre><hr></body>\n</html>\n"
    ).encode()


def drop_after(n_bytes: int) -> Fault:
    """Promise the whole, give so many bytes, hang up."""

    def fault(handler: Handler, data: bytes) -> bool:
        begin = handler.begin()
        rest = data[begin:]
        headers = {"Content-Range": f"bytes {begin}-{len(data) - 1}/{len(data)}"} if begin else {}
        headers["ETag"] = f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'
        handler.head(206 if begin else 200, len(rest), **headers)
        handler.wfile.write(rest[:n_bytes])
        handler.wfile.flush()
        handler.hang_up()
        return True

    return fault


def say(status: int, **headers: str) -> Fault:
    """Answer with a status and no body."""

    def fault(handler: Handler, _data: bytes) -> bool:
        handler.head(status, 0, **headers)
        return True

    return fault


def wrong_range(handler: Handler, data: bytes) -> bool:
    """Give other bytes than were asked for, and say so."""
    handler.head(206, len(data) - 1, **{"Content-Range": f"bytes 1-{len(data) - 1}/{len(data)}"})
    handler.wfile.write(data[1:])
    return True


def ignore_range(handler: Handler, data: bytes) -> bool:
    """Begin anew whatever was asked for."""
    handler.head(200, len(data))
    handler.wfile.write(data)
    return True


def drip(handler: Handler, data: bytes) -> bool:
    """Give a byte now and then, for ever."""
    begin = handler.begin()
    headers = {"Content-Range": f"bytes {begin}-{len(data) - 1}/{len(data)}"} if begin else {}
    handler.head(206 if begin else 200, len(data) - begin, **headers)
    for byte in data[begin:]:
        handler.wfile.write(bytes([byte]))
        handler.wfile.flush()
        time.sleep(0.02)
    return True


def drip_headers(handler: Handler, _data: bytes) -> bool:
    """Begin an answer whose headers never end."""
    handler.send_response(200)
    handler.flush_headers()
    while True:  # until the other side hangs up
        handler.wfile.write(b"x")
        handler.wfile.flush()
        time.sleep(0.02)


def silence(handler: Handler, _data: bytes) -> bool:
    """Answer nothing and keep the line."""
    time.sleep(2)
    handler.hang_up()
    return True


def longer_than_told(handler: Handler, data: bytes) -> bool:
    """A file that grows while it is read: no length is told, and more comes than was listed."""
    handler.head(200, None, Connection="close")
    handler.wfile.write(data + b"more and more")
    handler.close_connection = True
    return True


def with_length(length: str) -> Fault:
    """Give the whole, and a length of any words."""

    def fault(handler: Handler, data: bytes) -> bool:
        handler.head(200, None, Content_Length=length, Connection="close")
        handler.wfile.write(data)
        handler.close_connection = True
        return True

    return fault


def cut_without_length(n_bytes: int) -> Fault:
    """Give the first bytes of a page and end as if that were all."""

    def fault(handler: Handler, data: bytes) -> bool:
        handler.head(200, None, Connection="close")
        handler.wfile.write(data[:n_bytes])
        handler.close_connection = True
        return True

    return fault


def then(change: Callable[[], None], fault: Fault) -> Fault:
    """Do something behind the scenes once the fault is over."""

    def both(handler: Handler, data: bytes) -> bool:
        done = fault(handler, data)
        change()
        return done

    return both
