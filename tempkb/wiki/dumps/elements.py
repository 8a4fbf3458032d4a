"""Reading one `<page>` head and one `<revision>` from bytes. Pure. Finding them in a stream is the work of `xml.py`."""

import calendar
import html
import re
from dataclasses import dataclass
from enum import IntEnum
from xml.etree import ElementTree as ET

SHA1_CHARS = 31
"""Characters of a SHA-1 as MediaWiki writes it: 160 bits in base 36, with leading zeros."""
_EMPTY_SHA1 = b"phoiac9h4m842xq45sp7s6u21eteeq1"


NO_CHARACTER = b"\xff"
"""A byte of no UTF-8 stands for what no text holds, half of a surrogate pair or a tag, so that decoding finds it."""


class TextState(IntEnum):
    """What a dump holds of a revision's text."""

    PRESENT = 0
    BLANK = 1  # saved as empty
    SUPPRESSED = 2  # hidden from the public
    ABSENT = 3  # not in this file: a stub, or lost when the dump was made


@dataclass(slots=True)
class Revision:
    """One `<revision>`, with its text still escaped as in the file.

    Attributes:
        timestamp: seconds since 1970, UTC.
        user_id: number of the account; None for IP addresses, imported names and hidden users.
        user_name: name or IP address if there is no number; None if hidden.
        comment: the escaped edit summary; empty when there is none.
        sha1: MediaWiki's base-36 hash of the main text, `SHA1_CHARS` long; empty if the file has none.
        text_bytes: UTF-8 length according to the file; -1 if the file does not give it.
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
    """What a `<page>` holds before its revisions; the title is that of the dump's day."""

    page_id: int
    namespace: int
    title: str
    is_redirect: bool


class BrokenPageError(Exception):
    """This page cannot be used; the stream can continue with the next one."""


def read_plain_revision(buffer: bytes, at: int) -> tuple[Revision, int] | None:
    """Read the revision at `at` if it has the usual form and is wholly in the buffer.

    This is the hot path: two matches and a search. No value holds a raw "<", so the
    first one after the text begins the closing tag.

    Returns:
        the revision and the place behind it; None if it has another form.

    Raises:
        BrokenPageError: its date does not exist, or it has zero bytes, which no XML has.
    """
    head = _PLAIN_HEAD.match(buffer, at)
    if head is None:
        return None
    text_at = head.end()
    text_end = buffer.find(b"<", text_at)
    tail = _PLAIN_TAIL.match(buffer, text_end) if text_end > text_at else None
    if tail is None:
        return None
    if buffer.find(b"\0", at, text_end) >= 0:
        raise BrokenPageError("zero bytes stand where a part of the file should be")
    (
        revision_id,
        parent_id,
        day,
        hour,
        minute,
        second,
        name,
        address,
        user_id,
        minor,
        comment,
        size,
        sha1,
        late_size,
    ) = head.groups()
    midnight = _DAYS.get(day)
    if midnight is None:
        try:
            midnight = _read_day(day)
        except ValueError as error:
            raise BrokenPageError(f"revision {revision_id.decode()}: {error}") from None
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
    return revision, tail.end()


def unescape(text: bytes) -> bytes:
    """Undo XML's escapes and normalise line ends as a parser does; a reference to no character gives `NO_CHARACTER`."""
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
    """Return the seconds since 1970 of `YYYY-MM-DDThh:mm:ssZ`.

    Raises:
        ValueError: the text has another form, or no such time exists.
    """
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise ValueError(f"timestamp {text.decode('latin-1')!r}; expected YYYY-MM-DDThh:mm:ssZ")
    day, hour, minute, second = match.groups()
    return _read_day(day) + int(hour) * 3600 + int(minute) * 60 + int(second)


_TIMESTAMP = re.compile(rb"(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):([0-5]\d):([0-5]\d)Z")
_DAYS: dict[bytes, int] = {}
# Years that make sense: one with a damaged first digit would give windows for thousands of years.
_END_OF_TIME = 2100


def _read_day(text: bytes) -> int:
    seconds = _DAYS.get(text)
    if seconds is None:
        year, month, day = (int(part) for part in text.split(b"-"))
        if not (year < _END_OF_TIME and 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]):
            raise ValueError(f"timestamp {text.decode()!r}: no such day")
        _DAYS[text] = seconds = calendar.timegm((year, month, day, 0, 0, 0))
    return seconds


# The usual form of a revision, from its first tag to its text, and from its text to its last tag.
_PLAIN_HEAD = re.compile(
    rb"\s*<revision>\s*<id>(\d{1,18})</id>\s*(?:<parentid>(\d{1,18})</parentid>\s*)?"
    rb"<timestamp>(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):([0-5]\d):([0-5]\d)Z</timestamp>\s*"
    rb"<contributor>\s*(?:<username>([^<]*)</username>|<ip>([^<]*)</ip>)\s*(?:<id>(\d{1,18})</id>\s*)?</contributor>\s*"
    rb"(<minor\s*/>)?\s*(?:<comment>([^<]*)</comment>\s*)?(?:<origin>\d{1,18}</origin>\s*)?"
    rb"(?:<model>[^<]*</model>\s*)?(?:<format>[^<]*</format>\s*)?"
    rb'<text(?: bytes="(\d{1,18})")?(?: sha1="([0-9a-z]{31})")?(?: xml:space="preserve")?(?: bytes="(\d{1,18})")?>'
)
_PLAIN_TAIL = re.compile(
    rb"</text>\s*(?:<sha1>([0-9a-z]{31})</sha1>\s*)?(?:<model>[^<]*</model>\s*)?(?:<format>[^<]*</format>\s*)?</revision>"
)
_TEXT_BYTES = re.compile(rb'\bbytes="(-?\d{1,18})"')
_TEXT_SHA1 = re.compile(rb'\bsha1="([0-9a-z]{31})"')
_NUMERIC = re.compile(rb"&#(?:(\d{1,7})|x([0-9a-fA-F]{1,6}));")


def _character(match: re.Match[bytes]) -> bytes:
    number = int(match[1]) if match[1] else int(match[2], 16)
    if number > 0x10FFFF or 0xD800 <= number < 0xE000:
        return NO_CHARACTER
    # An escaped ampersand must stay escaped until the named escapes are undone.
    return b"&amp;" if number == ord("&") else chr(number).encode()


def _text_facts(attributes: bytes, text: bytes, element_sha1: bytes | None) -> tuple[TextState, int, bytes]:
    """Return state, length and hash of the main text, from the `<text>` tag and the revision's own `<sha1>`.

    The hash on the tag is that of the main slot. The revision's own hash covers all
    slots together, so callers pass it only if there is a single slot.
    """
    match = _TEXT_BYTES.search(attributes)
    text_bytes = int(match[1]) if match else -1
    if b'deleted="' in attributes or (match and text_bytes < 0):
        return TextState.SUPPRESSED, -1, b""
    match = _TEXT_SHA1.search(attributes)
    sha1 = match[1] if match else element_sha1 or b""
    if len(sha1) != SHA1_CHARS:
        sha1 = b""
    if text:
        return TextState.PRESENT, text_bytes, sha1
    is_stub = b' id="' in attributes or b'location="' in attributes
    if text_bytes == 0 or sha1 == _EMPTY_SHA1 or (text_bytes < 0 and not sha1 and not is_stub):
        return TextState.BLANK, 0, _EMPTY_SHA1
    return TextState.ABSENT, text_bytes, sha1


def _escape(text: str) -> str:
    return html.escape(text, quote=False)


def read_odd_revision(element: bytes) -> Revision:
    """Read a whole `<revision>` of any form with an XML parser: slower, but it accepts every valid revision.

    Raises:
        BrokenPageError: it is not well formed, a number or time in it is invalid, or it has parts of two revisions.
    """
    if element.count(b"<") > _MAX_TAGS or _LONG_TAG.search(element):
        raise BrokenPageError(
            f"a revision of more than {_MAX_TAGS} tags, or with a tag longer than {_MAX_TAG_BYTES} bytes"
        )
    try:
        # A fragment without a document type, so no entity can expand.
        return _revision_of(ET.fromstring(element))  # noqa: S314
    except (ET.ParseError, ValueError, TypeError) as error:
        raise BrokenPageError(f"a revision cannot be read ({error})") from None


# A parser needs many times an element's size in memory if tags or attributes are dense; no wiki writes such elements.
_MAX_TAGS = 10_000
_MAX_TAG_BYTES = 1 << 16
_LONG_TAG = re.compile(rb"<[^<>]{%d}" % _MAX_TAG_BYTES)
_PART_NUMBER = re.compile(r"\s*(-?\d{1,18})\s*", re.ASCII)


def _number(text: str | None, name: str) -> int:
    match = _PART_NUMBER.fullmatch(text or "")
    if match is None:
        raise ValueError(f"<{name}> is {(text or '')[:40]!r}; expected a number")
    return int(match[1])


def _revision_of(element: ET.Element) -> Revision:
    """Read a parsed `<revision>`; its parts may be in any order."""
    twice = [name for name in ("id", "timestamp", "contributor", "text") if len(element.findall(name)) > 1]
    if twice or element.find(".//revision") is not None:
        raise ValueError(f"parts of two revisions are in it (<{twice[0] if twice else 'revision'}> twice)")
    who, text = element.find("contributor"), element.find("text")
    user_id = who.findtext("id") if who is not None else None
    number = _number(user_id, "id") if user_id else 0
    name = (who.findtext("username") or who.findtext("ip")) if who is not None else None
    parent = element.findtext("parentid")
    slots = len(element.findall("content"))
    attributes, content = b' id="absent"', b""
    if text is not None:
        attributes = "".join(f' {key}="{value}"' for key, value in text.attrib.items()).encode()
        content = NO_CHARACTER.join(_escape(part).encode() for part in text.itertext())
    state, text_bytes, sha1 = _text_facts(
        attributes, content, None if slots else (element.findtext("sha1") or "").encode()
    )
    return Revision(
        _number(element.findtext("id"), "id"),
        _number(parent, "parentid") if parent and parent not in ("0", "-1") else None,
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
