"""A web server as a mirror: polite, patient, and never taken at its word.

Wikimedia asks for few connections and for a User-Agent that says whom to
write to (https://dumps.wikimedia.org/, "Rate limiting"); requests without one
are blocked.
"""

import email.utils
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import requests
import urllib3

from tempkb import __version__
from tempkb.dumps.mirrors import LONGEST_LIST, below
from tempkb.errors import SettingsError, SourceError

_LISTED = re.compile(r'href="([^"/]+)">[^<]*</a>\s+\d\d-\w{3}-\d{4} \d\d:\d\d\s+(\d+)\s')
_FOLDER = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.-]*)/")
_CONTACT = re.compile(r"https?://\S+|[^@\s]+@[^@\s]+\.[^@\s]+")
_RETRIED = {429, 500, 502, 503, 504}
_PORTS = {"http": 80, "https": 443}
_REDIRECTS = {301, 302, 303, 307, 308}
# Wikimedia allows three per address; one is left to the person at the browser.
CONNECTIONS = 2
_PIECE = 1 << 18


class TroubleError(Exception):
    """A request failed in a way that may pass; it is made again."""

    def __init__(self, said: str, after: float | None = None) -> None:
        super().__init__(said)
        self.after = after


@dataclass(frozen=True)
class Manners:
    """How patient and how careful we are with a server.

    Attributes:
        tries: of one request, or of one file without a byte of progress, before giving up.
        first_wait: seconds before the second try; doubled each time, with jitter.
        longest_wait: seconds; a server that asks for more is asked again after so much.
        timeout: seconds of silence after which a connection counts as dead.
        slowest: bytes per second, over `patience` seconds, below which a connection is dropped and made anew.
        patience: seconds.
    """

    tries: int = 6
    first_wait: float = 2.0
    longest_wait: float = 900.0
    timeout: float = 60.0
    slowest: float = 1024.0
    patience: float = 60.0

    def wait(self, failed: int, asked: float | None) -> float:
        """Seconds to wait after so many failures in a row, or as the server has asked."""
        grown = self.first_wait * 2.0 ** (failed - 1) * random.uniform(0.75, 1.25)  # noqa: S311 - jitter only
        return min(self.longest_wait, max(grown, asked or 0.0))


# For a sensor, whose tick has a minute in all and comes again.
HURRIED = Manners(tries=2, first_wait=1.0, longest_wait=5.0, timeout=10.0)
_WORTH_TELLING = 5.0  # seconds


class Brake:
    """Keeps all connections together below a number of bytes per second; 0 does not brake.

    Args:
        bytes_per_second: the limit.
        clock, sleep: of the machine, or of a test.
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
        """Wait until so many bytes more are within the limit."""
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
        contact: an address or page of whoever runs this; part of the User-Agent.
        brake: the bandwidth limit.
        manners: patience.
        pause: waits so many seconds, or until the event.
        tell: takes a line when we have to wait for long.

    Raises:
        SettingsError: nobody to write to is named, or the root is no http address.
    """

    root: str
    contact: str
    brake: Brake = field(default_factory=lambda: Brake(0))
    manners: Manners = field(default_factory=Manners)
    pause: Callable[[float, threading.Event], object] = lambda seconds, stopped: stopped.wait(seconds)
    tell: Callable[[str], None] = lambda _line: None

    def __post_init__(self) -> None:
        if urlsplit(self.root).scheme not in ("http", "https") or not urlsplit(self.root).netloc:
            raise SettingsError(f"mirror: found {self.root!r}; expected a folder or https://dumps.wikimedia.org")
        if not _CONTACT.fullmatch(self.contact):
            raise SettingsError(
                f"contact: found {self.contact!r}; Wikimedia blocks programs that do not say whom to write to. "
                "Set an e-mail address or a page of yours: TEMPKB_CONTACT=me@example.org"
            )
        self.root = self.root.rstrip("/")
        self._session = requests.Session()
        self._session.headers["User-Agent"] = f"tempkb/{__version__} ({self.contact}) requests/{requests.__version__}"
        # What is compressed is compressed already, and the bytes must be those that the sums are of.
        self._session.headers["Accept-Encoding"] = "identity"

    @property
    def where(self) -> str:
        """The address."""
        return self.root

    def folders(self, place: str) -> list[str]:
        """Names of the folders that an index page links to, sorted; none when there is no such page."""
        page = self.small_file(f"{place}/", is_page=True)
        if page is None:
            return []
        reader = _Links()
        reader.feed(page.decode("utf-8", "replace"))
        names = (match[1] for link in reader.links if (match := _FOLDER.fullmatch(link)))
        return sorted(set(names))

    def sizes(self, place: str) -> dict[str, int]:
        """Sizes of the files in a place, where its index page tells them to the byte."""
        page = self.small_file(f"{place}/", is_page=True) or b""
        return {name: int(size) for name, size in _LISTED.findall(page.decode("utf-8", "replace"))}

    def small_file(self, place: str, *, is_page: bool = False) -> bytes | None:
        """Content of a list of files; None when there is none."""
        address = f"{self.root}/{_checked(place)}"

        def ask() -> bytes | None:
            with self.answer(address, {}) as answer:
                if answer.status_code == 404:
                    return None
                if answer.status_code != 200:
                    raise SourceError(f"{address}: the server said {answer.status_code} {answer.reason}; expected 200")
                data = b"".join(self.pieces(answer, address, LONGEST_LIST))
                if is_page and b"</html>" not in data[-200:].lower():
                    raise TroubleError("the page ends early")
                return data

        return self.patiently(ask, address)

    def patiently(self, ask: Callable[[], "bytes | None"], address: str) -> "bytes | None":
        """Ask again after trouble that may pass, waiting longer each time.

        Raises:
            SourceError: it did not pass.
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
        """Wait before the next try, saying so if it takes long; no longer than until `stopped`."""
        seconds = self.manners.wait(failed, trouble.after)
        if seconds >= _WORTH_TELLING:
            self.tell(f"{address}: {trouble}; asking again in {seconds:.0f} s")
        self.pause(seconds, stopped or threading.Event())

    @contextmanager
    def answer(self, address: str, headers: dict[str, str]) -> Iterator[requests.Response]:
        """Ask once and give the answer with its body still to come; redirects stay on the host and port.

        Raises:
            TroubleError: the server is busy or cannot be reached.
            SourceError: it sends us elsewhere.
        """
        response = self._ask(address, headers)
        try:
            if response.status_code in _RETRIED:
                said = f"the server said {response.status_code} {response.reason}"
                raise TroubleError(said, _seconds(response.headers.get("Retry-After")))
            yield response
        finally:
            response.close()

    def _ask(self, address: str, headers: dict[str, str]) -> requests.Response:
        asked = address
        for _ in range(3):
            try:
                response = self._session.get(
                    asked, headers=headers, stream=True, allow_redirects=False, timeout=(30, self.manners.timeout)
                )
            except requests.RequestException as error:
                raise TroubleError(f"no answer ({_root_of(error)})") from None
            if response.status_code not in _REDIRECTS:
                return response
            response.close()
            target = urljoin(asked, response.headers.get("Location", ""))
            otherwise = _elsewhere(asked, target)
            if otherwise:
                raise SourceError(
                    f"{asked}: the server sends us to {target}, {otherwise}; expected the file itself. If what answers "
                    "there is to be trusted, set it: TEMPKB_MIRROR=..."
                )
            asked = target
        raise SourceError(f"{address}: the server sends us in circles; try another mirror")

    def pieces(self, answer: requests.Response, address: str, most: int) -> Iterator[bytes]:
        """Yield the body as it comes, at most so many bytes, within the bandwidth limit.

        Raises:
            TroubleError: the connection broke, or is slower than any that works.
            SourceError: the body is longer.
        """
        taken, began, taken_then = 0, time.monotonic(), 0
        try:
            # Not `stream`, which waits for a whole piece: what has come is kept even if the rest never does.
            while piece := answer.raw.read1(_PIECE, decode_content=False):
                taken += len(piece)
                if taken > most:
                    raise SourceError(
                        f"{address}: more than the {most} bytes that were to come, so the file is not what was listed; "
                        "nothing of it is kept. Look at the dump again later."
                    )
                yield piece
                self.brake.passed(len(piece))
                now = time.monotonic()
                if now - began >= self.manners.patience:
                    if (taken - taken_then) / (now - began) < self.manners.slowest:
                        raise TroubleError(f"only {taken - taken_then} bytes came in {now - began:.0f} s")
                    began, taken_then = now, taken
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise TroubleError(f"the connection broke after {taken} bytes ({_root_of(error)})") from None
        told = answer.headers.get("Content-Length")
        if told is not None and told.isdigit() and taken < int(told):
            raise TroubleError(f"the connection broke after {taken} of {told} bytes")


def _elsewhere(asked: str, target: str) -> str:
    """Say in what a redirect leads elsewhere; empty when it stays with the server that was asked.

    On its standard port a server may send us from http to https, which is the same server, better spoken to.
    """
    one, other = urlsplit(asked), urlsplit(target)
    try:
        ports = (one.port or _PORTS.get(one.scheme), other.port or _PORTS.get(other.scheme))
    except ValueError:
        return "which is no address"
    if other.scheme not in _PORTS:
        return "which is no address of a web server"
    if one.hostname != other.hostname:
        return "another host"
    if (one.scheme, other.scheme) == ("https", "http"):
        return "where nothing is encrypted any more"
    is_better = (one.scheme, other.scheme) == ("http", "https") and ports == (_PORTS["http"], _PORTS["https"])
    return "" if is_better or ports[0] == ports[1] else "another port"


class _Links(HTMLParser):
    """Gathers where the links of a page lead."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.links += [value for name, value in attrs if name == "href" and value]


def _checked(place: str) -> str:
    """The place, if it lies below the root; of the root itself nothing is left but its index page."""
    if place == "/":
        return ""
    below(Path(), place.rstrip("/"))
    return place


def _seconds(said: str | None) -> float | None:
    """Read Retry-After: seconds, or an instant (RFC 9110, 10.2.3)."""
    if said is None:
        return None
    try:
        if re.fullmatch(r"[0-9]{1,9}", said.strip()):
            return float(said)
        until = email.utils.parsedate_to_datetime(said)
        return max(0.0, (until.astimezone(UTC) - datetime.now(UTC)).total_seconds())
    except (ValueError, OverflowError):
        return None


def _root_of(error: BaseException) -> str:
    """The innermost reason of a chain of wrapped errors, in few words."""
    while error.__context__ is not None:
        error = error.__context__
    return str(error)[:120] or type(error).__name__
