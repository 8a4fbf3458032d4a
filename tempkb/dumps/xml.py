"""Pages and revisions out of a MediaWiki export, as a stream over bytes.

MediaWiki escapes every `<` inside a value, so a search for tags in the bytes is
exact, and several times faster than an XML parser. Whatever does not look
like what MediaWiki writes goes through a real parser, revision by revision.
Schemas 0.3 to 0.11 and the content exports of 2025 and later are read.
What does not belong here: which revision counts (`revisions/`).
"""

import calendar
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from xml.etree import ElementTree as ET

from tempkb.dumps.files import DamageError
from tempkb.dumps.siteinfo import read_siteinfo
from tempkb.errors import SourceError
from tempkb.titles import Site

# No revision is larger than a few megabytes; beyond this the file is not an export (or a decompression bomb).
MAX_ELEMENT_BYTES = 1 << 26
_EMPTY_SHA1 = b"phoiac9h4m842xq45sp7s6u21eteeq1"


class TextState(IntEnum):
    """What a dump gives of a revision's text."""

    PRESENT = 0
    BLANK = 1  # saved as empty
    SUPPRESSED = 2  # hidden from the public
    ABSENT = 3  # not in this file: a stub, or lost when the dump was made


@dataclass(slots=True)
class Revision:
    """One `<revision>`, with its text still escaped as in the file.

    Attributes:
        timestamp: seconds since 1970, UTC.
        user_id: number of the account; None for addresses, imported names and hidden users.
        user_name: name or address when there is no number; None when hidden.
        comment: the escaped edit summary; empty when there is none.
        sha1: MediaWiki's base-36 hash of the main text, 31 characters; empty when the file gives none.
        text_bytes: UTF-8 length as the file says it; -1 when it does not.
        text: escaped UTF-8; empty unless `state` is PRESENT.
    """

    revision_id: int
    parent_id: int | None
    timestamp: int
    user_id: int | None
    user_name: bytes | None
    is_minor: bool
    comment: bytes
    sha1: bytes
    text_bytes: int
    state: TextState
    text: bytes


@dataclass(slots=True)
class PageHead:
    """What a `<page>` says before its revisions; its title is the one of the dump's day."""

    page_id: int
    namespace: int
    title: str
    is_redirect: bool


class BrokenPageError(Exception):
    """The page at hand cannot be used; the stream can go on with the next one."""


@dataclass(frozen=True)
class Damage:
    """A place in a file where something was lost.

    Attributes:
        position: byte offset, of `of` (plain or compressed bytes).
        reason: what was found.
        lost_revisions: `<revision>` elements that could not be used.
    """

    position: int
    of: str
    reason: str
    lost_revisions: int


class PageStream:
    """Reads one export, page by page.

    Call `next_page`, then iterate `revisions` to its end, and so on. When
    `revisions` raises `BrokenPageError` forget the page and ask for the next.

    Args:
        pieces: plain bytes of the file.
        name: file name, for messages.

    Attributes:
        site: what the header says.
        damages: places where something was lost, so far.
        elements: `<revision` start tags counted in the bytes, without parsing.
    """

    def __init__(self, pieces: Iterator[bytes], name: str) -> None:
        self.name = name
        self.damages: list[Damage] = []
        self.elements = 0
        self._pieces = pieces
        self._tail = b""
        self._buffer = b""
        self._at = 0
        self._dropped = 0
        self._ended = False
        self._failure: DamageError | None = None
        self._lost_in_page = 0
        self._has_root = False
        self.site = self._read_head()

    def next_page(self) -> PageHead | None:
        """Go to the next usable page; None at the end of the file."""
        while self._find_page():
            try:
                return self._read_page_head()
            except BrokenPageError as error:
                self._note_broken_page(str(error), 0)
        return None

    def revisions(self) -> Iterator[Revision]:
        """Yield the revisions of the page that `next_page` gave, in file order.

        Raises:
            BrokenPageError: the page is damaged or cut off; `damages` says where.
        """
        given = 0
        try:
            while (revision := self._next_plain_revision() or self._next_revision()) is not None:
                given += 1
                yield revision
        except BrokenPageError as error:
            self._note_broken_page(str(error), given)
            raise

    def _next_plain_revision(self) -> Revision | None:
        """Parse the next revision if it looks as nearly all do and lies in the buffer as a whole; else None.

        Two matches and a search: the hot path. No value holds a raw "<", so the
        first one after the text begins the closing tag.
        """
        buffer = self._buffer
        head = _PLAIN_HEAD.match(buffer, self._at)
        if head is None:
            return None
        text_at = head.end()
        text_end = buffer.find(b"<", text_at)
        tail = _PLAIN_TAIL.match(buffer, text_end) if text_end > text_at else None
        if tail is None:
            return None
        (revision_id, parent_id, day, hour, minute, second, name, address, user_id, minor, comment, size, sha1,
         late_size) = head.groups()  # fmt: skip
        midnight = _DAYS.get(day)
        if midnight is None:
            midnight = _plain_timestamp(revision_id, day + b"T00:00:00Z")
        number = int(user_id) if user_id else 0
        revision = Revision(
            int(revision_id),
            int(parent_id) if parent_id else None,
            midnight + int(hour) * 3600 + int(minute) * 60 + int(second),
            number or None,
            None if number else (name or address or None),
            minor is not None,
            comment or b"",
            sha1 or tail[1] or b"",
            int(size or late_size or -1),
            TextState.PRESENT,
            buffer[text_at:text_end],
        )
        self._at = tail.end()
        return revision

    def _next_revision(self) -> Revision | None:
        while True:
            gap = self._find(b"<", 0)
            if gap < 0:
                raise BrokenPageError("the file ends inside a page")
            self._at += gap
            self._ensure(16)
            if self._starts(b"<revision"):
                return self._read_revision()
            if self._starts(b"</page>"):
                self._at += 7
                return None
            if self._starts((b"<page", b"</mediawiki")):
                raise BrokenPageError("a page is not closed before the next begins")
            # <upload>, <discussionthreadinginfo> and the like: skipped tag by tag.
            end = self._find(b">", 0)
            if end < 0:
                raise BrokenPageError("the file ends inside a tag")
            self._at += end + 1

    def _read_revision(self) -> Revision:
        """Parse the `<revision>` that begins at the current place. Offsets are relative to that place."""
        opened = self._find(b"<text", 0)
        closed = self._find(b">", opened) if opened >= 0 else -1
        if closed < 0:
            return self._read_oddly_shaped()
        head = _HEAD.fullmatch(self._buffer, self._at, self._at + opened)
        if head is None:
            return self._read_oddly_shaped()
        attributes = self._slice(opened + 5, closed)
        text_at = closed + 1
        if attributes.endswith(b"/"):
            text_end, after = text_at, text_at
        else:
            # No value holds a raw "<", so the first one must begin the closing tag.
            text_end = self._find(b"<", text_at)
            if text_end < 0:
                raise BrokenPageError("the file ends inside a revision's text")
            after = text_end + 7
        end = self._find(b"</revision>", after)
        if end < 0:
            raise BrokenPageError("the file ends inside a revision")
        text = self._slice(text_at, text_end)
        tail = self._slice(after, end)
        slots = _TAIL.fullmatch(tail)
        if after > text_at and self._slice(text_end, after) != b"</text>":
            return self._read_oddly_shaped()
        if slots is None and b"<content>" not in tail:
            return self._read_oddly_shaped()
        revision = _revision(head, attributes, text, slots[1] if slots else None)
        self._at += end + 11
        return revision

    def _read_oddly_shaped(self) -> Revision:
        """Parse a revision of another shape with a real XML parser: slower, exact, and strict."""
        end = self._find(b"</revision>", 0)
        if end < 0:
            raise BrokenPageError("the file ends inside a revision")
        element = self._slice(0, end + 11)
        try:
            # A fragment without a document type: nothing in it can expand.
            revision = _revision_of(ET.fromstring(element))  # noqa: S314
        except (ET.ParseError, ValueError, TypeError, UnicodeDecodeError) as error:
            raise BrokenPageError(f"a revision cannot be read ({error})") from None
        self._at += end + 11
        return revision

    def _read_head(self) -> Site:
        while True:
            at = self._buffer.find(b"<page")
            if at >= 0 or not self._read_on():
                break
            if len(self._buffer) > MAX_ELEMENT_BYTES:
                raise SourceError(f"{self.name}: no <page> in the first {MAX_ELEMENT_BYTES >> 20} MB; not an export")
        head = self._buffer if at < 0 else self._buffer[:at]
        self._has_root = b"<mediawiki" in head
        if at < 0 and self._failure is None and not self._has_root:
            raise SourceError(f"{self.name}: holds neither <mediawiki> nor <page>; expected a MediaWiki XML export")
        if at < 0:
            closing = head.rfind(b"</mediawiki>")
            self._at = closing if closing >= 0 else len(self._buffer)
        else:
            self._at = at
        return read_siteinfo(head, self.name)

    def _read_page_head(self) -> PageHead:
        end = 0
        while True:
            end = self._find(b"<", end + 1)
            if end < 0:
                raise BrokenPageError("the file ends inside a page's head")
            self._ensure(end + 12)
            if self._starts((b"<revision", b"</page>", b"<upload"), end):
                break
            if self._starts((b"<page>", b"</mediawiki"), end):
                self._at += end
                raise BrokenPageError("a page is not closed before the next begins")
        head = self._slice(0, end)
        title, number, page_id = _TITLE.search(head), _NAMESPACE.search(head), _PAGE_ID.search(head)
        self._at += end
        if title is None or page_id is None:
            raise BrokenPageError(f"a page without {'a title' if title is None else 'an id'}")
        try:
            name = unescape(title[1]).decode()
        except UnicodeDecodeError as error:
            raise BrokenPageError(f"a title is not UTF-8 ({error.reason})") from None
        is_redirect = b"<redirect" in head
        if number is None:
            split = self.site.normalize(name)
            return PageHead(int(page_id[1]), split.namespace, split.title, is_redirect)
        namespace = int(number[1])
        return PageHead(int(page_id[1]), namespace, self.site.within(name, namespace), is_redirect)

    def _find_page(self) -> bool:
        """Go to the next `<page>`; False at the end. Whatever else stands between pages is damage."""
        while True:
            if not self._skip_space():
                self._note_end(closed=False)
                return False
            self._ensure(12)
            if self._starts((b"<page>", b"<page ")):
                return True
            if self._starts(b"</mediawiki>"):
                self._at += 12
                if not self._skip_space():
                    self._note_end(closed=True)
                    return False
            elif self._starts(b"<!--"):
                self._skip_comment()
            elif self._starts((b"<?xml", b"<mediawiki", b"<siteinfo", b"<logitem")):
                # Several exports one after another, as `cat` makes them, or a log of events: not pages.
                self._skip_to_page()
            else:
                self._note_broken_page("something other than a page stands between pages", 0)

    def _skip_comment(self) -> None:
        end = self._find(b"-->", 0)
        self._at = self._at + end + 3 if end >= 0 else len(self._buffer)

    def _skip_space(self) -> bool:
        """Go to the next byte that is not white space; False at the end of the file."""
        while True:
            match = _NOT_SPACE.search(self._buffer, self._at)
            if match:
                self._at = match.start()
                return True
            self._at = len(self._buffer)
            if not self._read_on():
                return False

    def _note_broken_page(self, reason: str, given: int) -> None:
        """Record what is lost from here to the next page, and go there."""
        if self._failure is not None:
            position, of, reason = self._failure.position, self._failure.of, self._failure.reason
        else:
            position, of = self._dropped + self._at, "plain bytes"
        lost = given + self._skip_to_page()
        self.damages.append(Damage(position, of, reason, lost))

    def _skip_to_page(self) -> int:
        """Go to the next `<page>` or `</mediawiki>` after this place; count the revisions passed."""
        passed, at = 0, 1
        while True:
            match = _PAGE_OR_END.search(self._buffer, self._at + at)
            if match:
                passed += self._buffer.count(b"<revision", self._at, match.start())
                self._at = match.start()
                return passed
            # A tag may begin in the last bytes at hand: keep as many as the longest that is looked for, less one.
            stop = max(self._at + at, len(self._buffer) - len(b"</mediawiki"))
            passed += self._buffer.count(b"<revision", self._at, stop)
            more = self._keep_and_read_on(stop)
            at = 0
            if not more:
                passed += self._buffer.count(b"<revision", self._at)
                self._at = len(self._buffer)
                return passed

    def _keep_and_read_on(self, stop: int) -> bool:
        self._at = stop
        return self._read_on()

    def _note_end(self, *, closed: bool) -> None:
        failure, self._failure = self._failure, None
        if failure is not None and not (self.damages and self.damages[-1].position == failure.position):
            self.damages.append(Damage(failure.position, failure.of, failure.reason, 0))
        elif failure is None and self._has_root and not closed and not self.damages:
            where = self._dropped + len(self._buffer)
            self.damages.append(Damage(where, "plain bytes", "the file ends without </mediawiki>", 0))
        self._has_root = False

    def _starts(self, what: bytes | tuple[bytes, ...], offset: int = 0) -> bool:
        return self._buffer.startswith(what, self._at + offset)

    def _slice(self, start: int, end: int) -> bytes:
        return self._buffer[self._at + start : self._at + end]

    def _find(self, what: bytes, offset: int) -> int:
        """Find `what` at or after `offset`, reading on as needed; -1 at the end of the file.

        Offsets, given and returned, count from the current place, so that they
        stay right when reading on moves the buffer.
        """
        found = self._buffer.find(what, self._at + offset)
        while found < 0:
            offset = max(offset, len(self._buffer) - self._at - len(what) + 1)
            if not self._read_on():
                return -1
            found = self._buffer.find(what, self._at + offset)
        return found - self._at

    def _ensure(self, n: int) -> None:
        while len(self._buffer) - self._at < n and self._read_on():
            pass

    def _read_on(self) -> bool:
        """Append the next piece to what is left from the current place on; False at the end."""
        if self._ended:
            return False
        try:
            piece = next(self._pieces)
        except StopIteration:
            self._ended = True
            return False
        except DamageError as error:
            self._ended, self._failure = True, error
            return False
        self.elements += piece.count(b"<revision") + (self._tail + piece[:8]).count(b"<revision")
        self._tail = (self._tail + piece[-8:])[-8:]
        if len(self._buffer) - self._at > MAX_ELEMENT_BYTES:
            self._ended = True
            reason = f"an element longer than {MAX_ELEMENT_BYTES >> 20} MB"
            self._failure = DamageError(self.name, self._dropped + self._at, "plain bytes", reason)
            return False
        self._buffer = self._buffer[self._at :] + piece
        self._dropped += self._at
        self._at = 0
        return True


def unescape(text: bytes) -> bytes:
    """Undo XML's escapes and line ends, as a parser would; nothing else is ever expanded."""
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if b"&" not in text:
        return text
    if b"&#" in text:
        text = _NUMERIC.sub(_character, text)
    for escaped, plain in ((b"&lt;", b"<"), (b"&gt;", b">"), (b"&quot;", b'"'), (b"&apos;", b"'"), (b"&amp;", b"&")):
        text = text.replace(escaped, plain)
    return text


def read_timestamp(text: bytes) -> int:
    """Seconds since 1970 of `YYYY-MM-DDThh:mm:ssZ`.

    Raises:
        ValueError: if it is not such a time.
    """
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise ValueError(f"timestamp {text.decode('latin-1')!r}; expected YYYY-MM-DDThh:mm:ssZ")
    day, hour, minute, second = match.groups()
    seconds = _DAYS.get(day)
    if seconds is None:
        _DAYS[day] = seconds = _read_day(day)
    return seconds + int(hour) * 3600 + int(minute) * 60 + int(second)


_TIMESTAMP = re.compile(rb"(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):([0-5]\d):([0-5]\d)Z")
_DAYS: dict[bytes, int] = {}


def _read_day(text: bytes) -> int:
    year, month, day = (int(part) for part in text.split(b"-"))
    if not (1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]):
        raise ValueError(f"timestamp {text.decode()!r}: no such day")
    return calendar.timegm((year, month, day, 0, 0, 0))


def _plain_timestamp(revision_id: bytes, text: bytes) -> int:
    try:
        return read_timestamp(text)
    except ValueError as error:
        raise BrokenPageError(f"revision {revision_id.decode()}: {error}") from None


_HEAD = re.compile(
    rb"<revision>\s*<id>(\d+)</id>\s*(?:<parentid>(-?\d+)</parentid>\s*)?<timestamp>([^<]*)</timestamp>\s*"
    rb"(?:<contributor>\s*(?:<username>([^<]*)</username>|<username\s*/>|<ip>([^<]*)</ip>|<ip\s*/>)\s*"
    rb"(?:<id>(-?\d+)</id>\s*)?</contributor>|<contributor deleted=\"deleted\"\s*/>)\s*"
    rb"(<minor\s*/>)?\s*(?:<comment[^<>/]*>([^<]*)</comment>|<comment[^<>]*/>)?\s*"
    rb"(?:<origin>-?\d+</origin>\s*)?(?:<model>[^<]*</model>\s*)?(?:<format>[^<]*</format>\s*)?"
)
_TAIL = re.compile(
    rb"\s*(?:<sha1>([0-9a-z]*)</sha1>|<sha1\s*/>)?\s*(?:<model>[^<]*</model>\s*)?(?:<format>[^<]*</format>\s*)?"
)
# How nearly every revision looks, from its first tag to its text, and from its text to its last tag.
_PLAIN_HEAD = re.compile(
    rb"\s*<revision>\s*<id>(\d+)</id>\s*(?:<parentid>(\d+)</parentid>\s*)?"
    rb"<timestamp>(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):([0-5]\d):([0-5]\d)Z</timestamp>\s*"
    rb"<contributor>\s*(?:<username>([^<]*)</username>|<ip>([^<]*)</ip>)\s*(?:<id>(\d+)</id>\s*)?</contributor>\s*"
    rb"(<minor\s*/>)?\s*(?:<comment>([^<]*)</comment>\s*)?(?:<origin>\d+</origin>\s*)?"
    rb"(?:<model>[^<]*</model>\s*)?(?:<format>[^<]*</format>\s*)?"
    rb'<text(?: bytes="(\d+)")?(?: sha1="([0-9a-z]{31})")?(?: xml:space="preserve")?(?: bytes="(\d+)")?>'
)
_PLAIN_TAIL = re.compile(
    rb"</text>\s*(?:<sha1>([0-9a-z]{31})</sha1>\s*)?(?:<model>[^<]*</model>\s*)?(?:<format>[^<]*</format>\s*)?</revision>"
)
_TITLE = re.compile(rb"<title>([^<]*)</title>")
_NAMESPACE = re.compile(rb"<ns>(-?\d+)</ns>")
_PAGE_ID = re.compile(rb"<id>(\d+)</id>")
_NOT_SPACE = re.compile(rb"\S")
_PAGE_OR_END = re.compile(rb"<page[> ]|</mediawiki>")
_TEXT_BYTES = re.compile(rb'\bbytes="(-?\d+)"')
_TEXT_SHA1 = re.compile(rb'\bsha1="([0-9a-z]{31})"')
_NUMERIC = re.compile(rb"&#(?:(\d{1,7})|x([0-9a-fA-F]{1,6}));")


def _character(match: re.Match[bytes]) -> bytes:
    number = int(match[1]) if match[1] else int(match[2], 16)
    if number > 0x10FFFF or 0xD800 <= number < 0xE000:
        return match[0]
    # An escaped ampersand must stay escaped until the named escapes are undone.
    return b"&amp;" if number == 38 else chr(number).encode()


def _revision(head: re.Match[bytes], attributes: bytes, text: bytes, element_sha1: bytes | None) -> Revision:
    revision_id, parent_id, timestamp, name, address, user_id, minor, comment = head.groups()
    state, text_bytes, sha1 = _text_facts(attributes, text, element_sha1)
    seconds = _plain_timestamp(revision_id, timestamp)
    number = int(user_id) if user_id else 0
    return Revision(
        int(revision_id),
        int(parent_id) if parent_id and parent_id not in (b"0", b"-1") else None,
        seconds,
        number if number > 0 else None,
        None if number > 0 else (name or address or None),
        minor is not None,
        comment or b"",
        sha1,
        text_bytes,
        state,
        text if state is TextState.PRESENT else b"",
    )


def _text_facts(attributes: bytes, text: bytes, element_sha1: bytes | None) -> tuple[TextState, int, bytes]:
    """State, length and hash of the main text, from the `<text>` tag and the revision's own `<sha1>`.

    The hash on the tag is the main slot's. The revision's hash is that of all
    slots together, so callers pass it only when there is one slot.
    """
    match = _TEXT_BYTES.search(attributes)
    text_bytes = int(match[1]) if match else -1
    if b'deleted="' in attributes or (match and text_bytes < 0):
        return TextState.SUPPRESSED, -1, b""
    match = _TEXT_SHA1.search(attributes)
    sha1 = match[1] if match else element_sha1 or b""
    if len(sha1) != 31:
        sha1 = b""
    if text:
        return TextState.PRESENT, text_bytes, sha1
    is_stub = b' id="' in attributes or b'location="' in attributes
    if text_bytes == 0 or sha1 == _EMPTY_SHA1 or (text_bytes < 0 and not is_stub):
        return TextState.BLANK, 0, _EMPTY_SHA1
    return TextState.ABSENT, text_bytes, sha1


def _escape(text: str) -> str:
    return html.escape(text, quote=False)


def _revision_of(element: ET.Element) -> Revision:
    """Read a parsed `<revision>`, whatever the order of its parts."""
    who, text = element.find("contributor"), element.find("text")
    number = int(who.findtext("id") or 0) if who is not None else 0
    name = (who.findtext("username") or who.findtext("ip")) if who is not None else None
    parent = element.findtext("parentid")
    slots = len(element.findall("content"))
    attributes, content = b' id="absent"', b""
    if text is not None:
        attributes = "".join(f' {key}="{value}"' for key, value in text.attrib.items()).encode()
        content = _escape("".join(text.itertext())).encode()
    state, text_bytes, sha1 = _text_facts(
        attributes, content, None if slots else (element.findtext("sha1") or "").encode()
    )
    return Revision(
        int(element.findtext("id", "")),
        int(parent) if parent and parent not in ("0", "-1") else None,
        read_timestamp(element.findtext("timestamp", "").strip().encode()),
        number if number > 0 else None,
        None if number > 0 or not name else _escape(name).encode(),
        element.find("minor") is not None,
        _escape(element.findtext("comment") or "").encode(),
        sha1,
        text_bytes,
        state,
        content if state is TextState.PRESENT else b"",
    )
