"""A web server as a mirror: few requests, patient retries, and every answer checked.

Wikimedia asks for few connections and for a User-Agent that says whom to write to (https://dumps.wikimedia.org/,
"Rate limiting"); requests without one are blocked. All headers of an answer together have a limit of time: the timeout
of requests is one of each single read, and a server that sends a byte now and then would hold us for ever.
"""

import email.utils
import random
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection

from tempkb import __version__
from tempkb.core.errors import SettingsError, SourceError
from tempkb.wiki.dumps.offers import LONGEST_LIST, below

_HEADERS = 30.0  # seconds


class _Timed(HTTPConnection):
    """A connection on which all headers of an answer must arrive within the time that one read may take, and 30 s."""

    def getresponse(self) -> Any:
        """Read the headers of an answer.

        Raises:
            TimeoutError: they did not arrive in time.
        """
        limit, sock, is_late = min(_HEADERS, self.timeout or _HEADERS), self.sock, threading.Event()

        def stop() -> None:
            is_late.set()
            with suppress(OSError):  # closed meanwhile
                sock.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads

        timer = threading.Timer(limit, stop)
        timer.daemon = True
        timer.start()
        try:
            return super().getresponse()
        finally:
            timer.cancel()
            if is_late.is_set():
                raise TimeoutError(f"its headers did not arrive within {limit:g} s") from None


class _TimedTls(_Timed, HTTPSConnection):
    """The same with encryption."""


class _Pool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Timed


class _PoolTls(urllib3.HTTPSConnectionPool):
    ConnectionCls = _TimedTls


_POOLS = {"http": _Pool, "https": _PoolTls}


class TimedAdapter(HTTPAdapter):
    """Lets a session of requests make such connections, also through a proxy."""

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        """Make the pools of connections."""
        super().init_poolmanager(*arguments, **options)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, *arguments: Any, **options: Any) -> Any:
        """Return the pools of connections through a proxy."""
        manager = super().proxy_manager_for(*arguments, **options)
        manager.pool_classes_by_scheme = _POOLS
        return manager


_LISTED = re.compile(r'href="([^"/]+)">[^<]*</a>\s+\d\d-\w{3}-\d{4} \d\d:\d\d\s+([0-9]{1,18})\s')
_FOLDER = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.-]*)/")
_CONTACT = re.compile(r"https?://\S+|[^@\s]+@[^@\s]+\.[^@\s]+")
_RETRIED = {429, 500, 502, 503, 504}
_PORTS = {"http": 80, "https": 443}
_REDIRECTS = {301, 302, 303, 307, 308}
# Wikimedia allows three per address; one is left for the user's browser.
CONNECTIONS = 2
_PIECE = 1 << 18
_LENGTH = re.compile(r"[0-9]{1,18}")


class TroubleError(Exception):
    """A request failed in a way that may be temporary; it is repeated."""

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


@dataclass(frozen=True)
class Manners:
    """How patient and how careful we are with a server.

    Attributes:
        tries: attempts at one request, or at one file without any progress, before giving up.
        first_wait: seconds before the second attempt; doubled each time, with jitter.
        longest_wait: seconds; the longest wait, also if the server asks for a longer one.
        timeout: seconds of silence after which a connection counts as dead.
        slowest: bytes per second, over `patience` seconds, below which a connection is closed and opened again.
        patience: seconds.
    """

    tries: int = 6
    first_wait: float = 2.0
    longest_wait: float = 900.0
    timeout: float = 60.0
    slowest: float = 1024.0
    patience: float = 60.0

    def wait(self, failed: int, requested: float | None) -> float:
        """Return the seconds to wait after `failed` failures in a row, and at least what the server requested."""
        grown = self.first_wait * 2.0 ** (failed - 1) * random.uniform(0.75, 1.25)  # noqa: S311 - jitter only
        return min(self.longest_wait, max(grown, requested or 0.0))


# For a sensor: its evaluation has one minute in all and is repeated soon.
HURRIED = Manners(tries=2, first_wait=1.0, longest_wait=5.0, timeout=10.0)
_WORTH_LOGGING = 5.0  # seconds


class Brake:
    """Keeps all connections together below a number of bytes per second; 0 means no limit.

    Args:
        clock, sleep: those of the machine, or of a test.
    """

    def __init__(
        self,
        bytes_per_second: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._rate, self._clock, self._sleep = bytes_per_second, clock, sleep
        self._free_at = clock()
        self._lock = threading.Lock()

    def passed(self, n_bytes: int) -> None:
        """Wait until `n_bytes` more are within the limit."""
        if not self._rate:
            return
        with self._lock:
            now = self._clock()
            self._free_at = max(self._free_at, now) + n_bytes / self._rate
            wait = self._free_at - now
        self._sleep(wait)


@dataclass
class HttpMirror:
    """The root of a web server with dumps.

    Args:
        root: such as `https://dumps.wikimedia.org`.
        contact: e-mail address or web page of the person who runs this; part of the User-Agent.
        pause: waits for some seconds, or until the event is set.

    Raises:
        SettingsError: no contact is given, or the root is not an http address.
    """

    root: str
    contact: str
    brake: Brake = field(default_factory=lambda: Brake(0))
    manners: Manners = field(default_factory=Manners)
    pause: Callable[[float, threading.Event], object] = lambda seconds, stopped: stopped.wait(seconds)
    log: Callable[[str], None] = lambda _line: None

    def __post_init__(self) -> None:
        if not _is_address(self.root):
            raise SettingsError(f"mirror: found {self.root!r}; expected a folder or https://dumps.wikimedia.org")
        if not _CONTACT.fullmatch(self.contact):
            raise SettingsError(
                f"contact: found {self.contact!r}; Wikimedia blocks programs that do not say whom to write to. "
                "Set your e-mail address or web page: TEMPKB_CONTACT=me@example.org"
            )
        self.root = self.root.rstrip("/")
        self._session = requests.Session()
        self._session.mount("http://", TimedAdapter())
        self._session.mount("https://", TimedAdapter())
        self._session.headers["User-Agent"] = f"tempkb/{__version__} ({self.contact}) requests/{requests.__version__}"
        # Dumps are compressed already, and the bytes must be those of which the publisher computed the checksums.
        self._session.headers["Accept-Encoding"] = "identity"

    @property
    def where(self) -> str:
        """The address."""
        return self.root

    def folders(self, place: str) -> list[str]:
        """Return the names of the folders that an index page links to, sorted; none if there is no such page."""
        page = self.small_file(f"{place}/", is_page=True)
        if page is None:
            return []
        reader = _Links()
        reader.feed(page.decode("utf-8", "replace"))
        names = (match[1] for link in reader.links if (match := _FOLDER.fullmatch(link)))
        return sorted(set(names))

    def sizes(self, place: str) -> dict[str, int]:
        """Return the sizes in bytes of the files in a place, by name, where the index page gives exact sizes."""
        page = self.small_file(f"{place}/", is_page=True) or b""
        return {name: int(size) for name, size in _LISTED.findall(page.decode("utf-8", "replace"))}

    def small_file(self, place: str, *, is_page: bool = False) -> bytes | None:
        """Return the content of a list of files; None if there is none."""
        address = f"{self.root}/{_checked(place)}"

        def ask() -> bytes | None:
            with self.answer(address, {}) as answer:
                if answer.status_code == 404:
                    return None
                if answer.status_code != 200:
                    raise SourceError(
                        f"{address}: the server answered {answer.status_code} {answer.reason}; expected 200"
                    )
                data = b"".join(self.pieces(answer, address, LONGEST_LIST))
                if is_page and b"</html>" not in data[-200:].lower():
                    raise TroubleError("the page ends early")
                return data

        return self.patiently(ask, address)

    def patiently(self, ask: Callable[[], "bytes | None"], address: str) -> "bytes | None":
        """Repeat a request after temporary trouble, with longer waits each time.

        Raises:
            SourceError: the trouble did not pass.
        """
        for failed in range(1, self.manners.tries + 1):
            try:
                return ask()
            except TroubleError as trouble:
                if failed == self.manners.tries:
                    raise SourceError(f"{address}: {trouble}, {failed} times; try again later") from None
                self.wait(failed, trouble, address)
        raise AssertionError("unreachable")

    def wait(self, failed: int, trouble: TroubleError, address: str, stopped: threading.Event | None = None) -> None:
        """Wait before the next attempt, or until `stopped` is set; log a long wait."""
        seconds = self.manners.wait(failed, trouble.after)
        if seconds >= _WORTH_LOGGING:
            self.log(f"{address}: {trouble}; asking again in {seconds:.0f} s")
        self.pause(seconds, stopped or threading.Event())

    @contextmanager
    def answer(self, address: str, headers: dict[str, str]) -> Iterator[requests.Response]:
        """Make one request and give the response, whose body is not read yet; redirects stay on the host and port.

        Raises:
            TroubleError: the server is busy or cannot be reached.
            SourceError: it redirects to another server.
        """
        response = self._ask(address, headers)
        try:
            if response.status_code in _RETRIED:
                reason = f"the server answered {response.status_code} {response.reason}"
                raise TroubleError(reason, _seconds(response.headers.get("Retry-After")))
            yield response
        finally:
            response.close()

    def _ask(self, address: str, headers: dict[str, str]) -> requests.Response:
        requested = address
        for _ in range(3):
            try:
                response = self._session.get(
                    requested, headers=headers, stream=True, allow_redirects=False, timeout=(30, self.manners.timeout)
                )
            except requests.RequestException as error:
                root = _root_of(error)
                if isinstance(root, socket.gaierror) and root.errno == socket.EAI_NONAME:
                    raise SourceError(
                        f"{requested}: no server has the name {urlsplit(requested).hostname} ({root}); expected that "
                        "of a mirror, and a network. Set another: TEMPKB_MIRROR=..."
                    ) from None
                raise TroubleError(f"no answer ({_said(root)})") from None
            except ValueError as error:
                # requests looks where a redirect leads, also where it is not to follow it.
                raise SourceError(
                    f"{requested}: the server redirects to what is not an address ({error}); expected the file "
                    "itself. Try another mirror: TEMPKB_MIRROR=..."
                ) from None
            if response.status_code not in _REDIRECTS:
                return response
            response.close()
            target = urljoin(requested, response.headers.get("Location", ""))
            otherwise = _elsewhere(requested, target)
            if otherwise:
                raise SourceError(
                    f"{requested}: the server redirects to {target}, {otherwise}; expected the file itself. If you "
                    "trust that server, set it: TEMPKB_MIRROR=..."
                )
            requested = target
        raise SourceError(f"{address}: the server redirects too often; try another mirror")

    def pieces(self, answer: requests.Response, address: str, most: int, expected: str = "") -> Iterator[bytes]:
        """Yield the body as it arrives, within the bandwidth limit.

        Args:
            most: how many bytes it may have.
            expected: where this number comes from, for messages; by default a list of files.

        Raises:
            TroubleError: the connection broke, or is too slow to be alive.
            SourceError: the body is longer.
        """
        taken, began, taken_then = 0, time.monotonic(), 0
        try:
            # Not `stream`, which waits for a whole piece: what has arrived is kept even if the rest never does.
            while piece := answer.raw.read1(_PIECE, decode_content=False):
                taken += len(piece)
                if taken > most:
                    expected = expected or f"the expected {most} bytes, so the file is not the listed one"
                    raise SourceError(f"{address}: more than {expected}; nothing is kept. Try this dump again later.")
                yield piece
                self.brake.passed(len(piece))
                now = time.monotonic()
                if now - began >= self.manners.patience:
                    if (taken - taken_then) / (now - began) < self.manners.slowest:
                        raise TroubleError(f"only {taken - taken_then} bytes arrived in {now - began:.0f} s")
                    began, taken_then = now, taken
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise TroubleError(f"the connection broke after {taken} bytes ({_said(_root_of(error))})") from None
        length = stated_length(answer)
        if length is not None and taken < length:
            raise TroubleError(f"the connection broke after {taken} of {length} bytes")


def stated_length(answer: requests.Response) -> int | None:
    """Return how many bytes the body of an answer has by its Content-Length; None if that is missing or no number."""
    length = answer.headers.get("Content-Length", "")
    return int(length) if _LENGTH.fullmatch(length) else None


def _is_address(root: str) -> bool:
    """Is this the address of a web server?"""
    try:
        parts = urlsplit(root)
        is_port = parts.port != 0  # raises an error where it is none
    except ValueError:
        return False
    return parts.scheme in _PORTS and bool(parts.hostname) and is_port


def _elsewhere(requested: str, target: str) -> str:
    """Return in words how a redirect leaves the requested server; empty if it stays there.

    From http to https on the standard ports is the same server with a safer protocol.
    """
    one, other = urlsplit(requested), urlsplit(target)
    try:
        ports = (one.port or _PORTS.get(one.scheme), other.port or _PORTS.get(other.scheme))
    except ValueError:
        return "which is not an address"
    if other.scheme not in _PORTS:
        return "which is not the address of a web server"
    if one.hostname != other.hostname:
        return "another host"
    if (one.scheme, other.scheme) == ("https", "http"):
        return "without encryption"
    is_better = (one.scheme, other.scheme) == ("http", "https") and ports == (_PORTS["http"], _PORTS["https"])
    return "" if is_better or ports[0] == ports[1] else "another port"


class _Links(HTMLParser):
    """Collects the targets of a page's links."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.links += [value for name, value in attrs if name == "href" and value]


def _checked(place: str) -> str:
    """Return the place if it is below the root; for the root itself, the empty path of its index page."""
    if place == "/":
        return ""
    below(Path(), place.rstrip("/"))
    return place


def _seconds(header: str | None) -> float | None:
    """Read Retry-After: seconds, or a date (RFC 9110, 10.2.3)."""
    if header is None:
        return None
    try:
        if re.fullmatch(r"[0-9]{1,9}", header.strip()):
            return float(header)
        until = email.utils.parsedate_to_datetime(header)
        return max(0.0, (until.astimezone(UTC) - datetime.now(UTC)).total_seconds())
    except (ValueError, OverflowError):
        return None


def _root_of(error: BaseException) -> BaseException:
    """Return the innermost reason of a chain of wrapped errors."""
    while inner := error.__cause__ or (None if error.__suppress_context__ else error.__context__):
        error = inner
    return error


def _said(error: BaseException) -> str:
    return str(error)[:120] or type(error).__name__
