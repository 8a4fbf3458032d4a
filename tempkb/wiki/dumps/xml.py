"""Reads pages, revisions and the header of a MediaWiki export, as a stream over bytes.

MediaWiki escapes every `<` inside a value, so a search for tags in the bytes is exact, and several times faster than
an XML parser. The few revisions without the usual form go through a real parser, one by one. Schemas 0.3 to 0.11 and
the content exports of 2025 and later are read. Choosing among revisions is not done here, but in `revisions/`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET

from tempkb.core.errors import SourceError
from tempkb.core.titles import CANONICAL_NAMESPACES, Site
from tempkb.wiki.dumps.elements import (
    BrokenPageError,
    PageHead,
    Revision,
    read_odd_revision,
    read_plain_revision,
    unescape,
)
from tempkb.wiki.dumps.files import DamageError

_LANGUAGE = re.compile(rb"""<mediawiki\b[^>]*\sxml:lang=["']([A-Za-z]{2,}(?:-[A-Za-z0-9]+)*)["']""")
_SITEINFO = re.compile(rb"<siteinfo>.*?</siteinfo>", re.DOTALL)
_MAX_BYTES = 1 << 20
_TAGS = {"sitename", "dbname", "base", "generator", "case", "namespaces"}
_LARGEST_NAMESPACE = 1 << 30
_PROJECTS = {"wikipedia": "wiki", "wikimedia": "wiki", "wikidata": "wiki", "mediawiki": "wiki"}


def read_siteinfo(head: bytes, file: str) -> Site:
    """Read the language and the `<siteinfo>` in `head`, the bytes before the first page.

    Schemas before 0.10 do not give the database name; it is then derived from
    the base address. Without a `<siteinfo>`, MediaWiki's default namespaces are assumed.

    Raises:
        SourceError: a document type is declared (its entities could expand without end), or the element is broken.
    """
    for word in (b"<!DOCTYPE", b"<!ENTITY"):
        if word in head:
            raise SourceError(
                f"{file}: declares a document type at byte {head.find(word)}; MediaWiki exports have none, so this "
                "file is refused"
            )
    match, language = _SITEINFO.search(head), _LANGUAGE.search(head)
    stated = language[1].decode().lower() if language else ""
    if not match:
        _refuse_half(head, file)
        return Site(language=stated)
    try:
        return replace(_site_of(_parsed(match[0])), language=stated)
    except (ET.ParseError, ValueError) as error:
        raise SourceError(
            f"{file}: the <siteinfo> at byte {match.start()} cannot be read ({error}); fetch the file again"
        ) from None


def _refuse_half(head: bytes, file: str) -> None:
    """Refuse a cut `<siteinfo>`: MediaWiki's default namespaces must not replace those that were lost."""
    places = [place for tag in (b"<siteinfo", b"<namespace", b"</siteinfo>") if (place := head.find(tag)) >= 0]
    if places:
        raise SourceError(
            f"{file}: the <siteinfo> at byte {min(places)} is not whole, in a head of {len(head)} bytes; "
            "fetch the file again"
        )


def _parsed(text: bytes) -> ET.Element:
    if len(text) > _MAX_BYTES:
        raise ValueError(f"it has {len(text)} bytes; expected some thousands")
    # The head declares no document type, so there are no entities that could expand.
    return ET.fromstring(text)  # noqa: S314


def _site_of(element: ET.Element) -> Site:
    by_default = element.findtext("case", "first-letter")
    names, sensitive = {}, set()
    for namespace in element.iter("namespace"):
        number = int(namespace.get("key", "0"))
        if abs(number) > _LARGEST_NAMESPACE or number in names:
            raise ValueError(f"namespace {number}: out of range, or given twice")
        names[number] = namespace.text or ""
        if namespace.get("case", by_default) == "case-sensitive":
            sensitive.add(number)
    strange = [child.tag for child in element if child.tag not in _TAGS]
    if strange and not names:
        raise ValueError(f"it names no namespaces, but has <{strange[0]}>")
    dbname = element.findtext("dbname") or _from_address(element.findtext("base", ""))
    return Site(dbname, names or {0: "", **CANONICAL_NAMESPACES}, frozenset(sensitive))


def _from_address(base: str) -> str | None:
    """Derive a database name from the main page's address: en.wikipedia.org -> enwiki."""
    parts = (urlsplit(base).hostname or "").removeprefix("www.").split(".")
    if len(parts) < 2 or parts[-1] != "org":
        return None
    language, project = (parts[-3] if len(parts) > 2 else ""), parts[-2]
    if project == "wikimedia" and language:
        return language.replace("-", "_") + "wiki"
    if not language:
        return f"{project}wiki" if project in _PROJECTS else None
    return language.replace("-", "_") + _PROJECTS.get(project, project)


# No revision is larger than a few megabytes; beyond this the file is not an export (or a decompression bomb).
MAX_ELEMENT_BYTES = 1 << 26
# What precedes a page's revisions takes some hundred bytes; beyond this it is not a page.
_MAX_PAGE_HEAD_BYTES = 1 << 20
# At most so many places are reported one by one and the rest is counted together, to bound the memory.
_MAX_DAMAGES = 200


@dataclass(frozen=True)
class Damage:
    """A place in a file where something was lost.

    Attributes:
        position: byte offset, of `of` (plain or compressed bytes).
        lost_revisions: `<revision>` elements that could not be used.
    """

    position: int
    of: str
    reason: str
    lost_revisions: int


class PageStream:
    """Reads one export, page by page.

    Call `next_page`, then iterate `revisions` to its end, and repeat. If
    `revisions` raises `BrokenPageError`, discard the page and go to the next.

    Attributes:
        damages: places where something was lost, so far; beyond two hundred, the last one counts for all the rest.
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
        self._damage_ahead: DamageError | None = None
        self._has_root = False
        self._end_is_noted = False
        self._page_id = 0
        self.site = self._read_head()

    def next_page(self) -> PageHead | None:
        """Return the head of the next usable page; None at the end of the file."""
        while self._find_page():
            self._page_id, start = 0, self._dropped + self._at
            try:
                head = self._read_page_head()
            except BrokenPageError as error:
                if self._dropped + self._at == start:
                    self._at += 1  # so that the search for the next page does not find this one again
                self._note_broken_page(str(error), 0)
            else:
                self._page_id = head.page_id
                return head
        return None

    def revisions(self) -> Iterator[Revision]:
        """Yield the revisions of the page that `next_page` returned, in file order.

        Raises:
            BrokenPageError: the page is damaged or cut off; `damages` has the place.
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
        """Parse the next revision if it has the usual form and is wholly in the buffer; else return None."""
        found = read_plain_revision(self._buffer, self._at)
        if found is None:
            return None
        revision, self._at = found
        return revision

    def _next_revision(self) -> Revision | None:
        """Find the next `<revision>`, read all of it into the buffer, and parse it; None at the end of the page."""
        while True:
            gap = self._find(b"<", 0)
            if gap < 0:
                raise BrokenPageError("the file ends inside a page")
            _refuse_hole(self._slice(0, gap))
            self._at += gap
            self._ensure(_LONGEST_PART)
            if self._starts(b"<revision"):
                end = self._find(b"</revision>", 0)
                if end < 0:
                    raise BrokenPageError("the file ends inside a revision")
                revision = self._next_plain_revision()
                if revision is None:
                    end += len(b"</revision>")
                    revision = read_odd_revision(self._slice(0, end))
                    self._at += end
                return revision
            if self._starts(b"</page>"):
                self._at += len(b"</page>")
                return None
            if self._starts((b"<page", b"</mediawiki")):
                raise BrokenPageError("a page is not closed before the next begins")
            self._skip_between_revisions()

    def _skip_between_revisions(self) -> None:
        """Skip a tag between revisions; raise if it belongs inside a revision or in a page's head."""
        if self._starts(b"<upload"):
            self._skip_upload()
            return
        if self._starts(_PARTS):
            part = next(part for part in _PARTS if self._starts(part)).decode().rstrip(">")
            raise BrokenPageError(f"{part}> stands outside a revision")
        # <discussionthreadinginfo> and the like are skipped tag by tag.
        end = self._find(b">", 0)
        if end < 0:
            raise BrokenPageError("the file ends inside a tag")
        if b"<" in self._slice(1, end):
            raise BrokenPageError("a tag is not closed before the next begins")
        self._at += end + 1

    def _skip_upload(self) -> None:
        """Skip an `<upload>`, whose parts have the same names as a revision's."""
        end = self._find(b"</upload>", 0)
        if end < 0 or any(tag in self._slice(0, end) for tag in _NOT_IN_UPLOADS):
            raise BrokenPageError("an upload is not closed")
        self._at += end + len(b"</upload>")

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
            raise SourceError(
                f"{self.name}: holds neither <mediawiki> nor <page> from byte 0 to byte {len(head)} (plain bytes); "
                "expected a MediaWiki XML export"
            )
        if at < 0:
            closing = head.rfind(b"</mediawiki>")
            self._at = closing if closing >= 0 else len(self._buffer)
        else:
            self._at = at
        if at < 0 and self._failure is not None and b"</siteinfo>" not in head:
            # Cut off inside the head: report what broke the file, not what is missing as a result.
            return Site()
        site = read_siteinfo(head, self.name)
        self._note_pages_in(head)
        return site

    def _note_pages_in(self, head: bytes) -> None:
        """Record parts of pages that come before the first whole `<page>`."""
        places = [place for tag in _PARTS_OF_PAGES if (place := head.find(tag)) >= 0]
        if places:
            reason = "parts of a page stand before the first <page>"
            self._note(Damage(min(places), "plain bytes", reason, head.count(b"<revision")))

    def _read_page_head(self) -> PageHead:
        end = 0
        while True:
            end = self._find(b"<", end + 1)
            if end < 0:
                raise BrokenPageError("the file ends inside a page's head")
            self._ensure(end + _LONGEST_TAG)
            if self._starts((b"<revision", b"</page>", b"<upload"), end):
                break
            if self._starts((b"<page>", b"</mediawiki"), end):
                self._at += end
                raise BrokenPageError("a page is not closed before the next begins")
            if self._starts(_PARTS_OF_REVISIONS, end) or end > _MAX_PAGE_HEAD_BYTES:
                self._at += end
                raise BrokenPageError("a page's head is not followed by <revision> or </page>")
        head = self._slice(0, end)
        _refuse_hole(head)
        title, number, page_id = _TITLE.search(head), _NAMESPACE.search(head), _PAGE_ID.search(head)
        self._at += end
        if title is None or page_id is None:
            raise BrokenPageError(f"a page without {'a title' if title is None else 'an id'}")
        if head.count(b"<title>") > 1 or head.count(b"<id>") > 1:
            raise BrokenPageError("two pages run into one: it has two titles or ids before its first revision")
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
        """Go to the next `<page>`; False at the end. Anything else between pages is recorded as damage."""
        while True:
            if not self._skip_space():
                self._note_end(closed=False)
                return False
            self._ensure(_LONGEST_TAG)
            if self._starts((b"<page>", b"<page ")):
                return True
            if self._starts(b"</mediawiki>"):
                self._at += len(b"</mediawiki>")
                if not self._skip_space():
                    self._note_end(closed=True)
                    return False
            elif self._starts(b"<!--"):
                self._skip_comment()
            elif self._starts((b"<?xml", b"<mediawiki", b"<siteinfo", b"<logitem")):
                # Several exports one after another, as `cat` makes them, or a log of events; these are not pages.
                self._has_root = self._has_root or self._starts(b"<mediawiki")
                self._skip_what_is_no_page()
            else:
                self._note_broken_page("something other than a page stands between pages", 0)

    def _skip_what_is_no_page(self) -> None:
        """Go to the next page; revisions before it are lost and recorded."""
        where = self._dropped + self._at
        lost = self._skip_to_page()
        if lost:
            self._note(Damage(where, "plain bytes", "revisions stand outside pages", lost))

    def _skip_comment(self) -> None:
        try:
            end = self._find(b"-->", 0)
        except BrokenPageError:
            end = -1
        if end < 0:
            self._note_broken_page("a comment is not closed", 0)
            return
        inside = self._slice(0, end)
        if any(tag in inside for tag in _PARTS_OF_PAGES):
            where = self._dropped + self._at
            self._note(Damage(where, "plain bytes", "pages stand inside a comment", inside.count(b"<revision")))
        self._at += end + len(b"-->")

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
        """Go to the next page and record what is lost: the page's `given` revisions and all that are passed."""
        if self._failure is not None:
            position, of, reason = self._failure.position, self._failure.of, self._failure.reason
        else:
            position, of = self._dropped + self._at, "plain bytes"
        lost = given + self._skip_to_page()
        self._end_is_noted = self._at == len(self._buffer)
        self._note(Damage(position, of, reason, lost))

    def _note(self, damage: Damage) -> None:
        if len(self.damages) < _MAX_DAMAGES:
            self.damages.append(damage)
            return
        last = self.damages[-1]
        reason = f"{last.reason.removesuffix(_AND_MORE)}{_AND_MORE}"
        self.damages[-1] = Damage(last.position, last.of, reason, last.lost_revisions + damage.lost_revisions)

    def _skip_to_page(self) -> int:
        """Go to the next `<page>` or `</mediawiki>` from here on; return the number of revisions that were passed."""
        passed = 0
        while True:
            match = _PAGE_OR_END.search(self._buffer, self._at)
            if match:
                passed += self._buffer.count(b"<revision", self._at, match.start())
                self._at = match.start()
                return passed
            # The last bytes may be the beginning of a tag, so they are kept and searched again with what follows.
            stop = max(self._at, len(self._buffer) - _LONGEST_TAG + 1)
            passed += _starts_before(self._buffer, self._at, stop)
            self._at = stop
            if not self._read_on():
                passed += self._buffer.count(b"<revision", self._at)
                self._at = len(self._buffer)
                return passed

    def _note_end(self, *, closed: bool) -> None:
        failure, self._failure = self._failure, None
        if failure is not None and not (self.damages and self.damages[-1].position == failure.position):
            self._note(Damage(failure.position, failure.of, failure.reason, 0))
        elif failure is None and self._has_root and not closed and not self._end_is_noted:
            where = self._dropped + len(self._buffer)
            self._note(Damage(where, "plain bytes", "the file ends without </mediawiki>", 0))
        self._has_root = False

    def _starts(self, what: bytes | tuple[bytes, ...], offset: int = 0) -> bool:
        return self._buffer.startswith(what, self._at + offset)

    def _slice(self, start: int, end: int) -> bytes:
        return self._buffer[self._at + start : self._at + end]

    def _find(self, what: bytes, offset: int) -> int:
        """Find `what` at or after `offset`, reading on as needed; -1 at the end of the file.

        Offsets, both given and returned, count from the current place, so that they
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
        """Append the next piece to the unread rest of the buffer, unless that is too long; False at the end."""
        if self._ended:
            return False
        unread = len(self._buffer) - self._at
        if unread > MAX_ELEMENT_BYTES:
            where = f"page {self._page_id}" if self._page_id else "a page without a whole head"
            raise BrokenPageError(f"{where} has an element longer than {MAX_ELEMENT_BYTES >> 20} MB")
        piece = self._next_piece(min(unread // 2, MAX_ELEMENT_BYTES - unread))
        if not piece:
            return False
        # A tag that is split between two pieces is in neither: the last eight bytes before and the first eight of this
        # piece can hold such a tag of nine bytes, and no other.
        self.elements += piece.count(b"<revision") + (self._tail + piece[:8]).count(b"<revision")
        self._tail = (self._tail + piece[-8:])[-8:]
        self._buffer = self._buffer[self._at :] + piece
        self._dropped += self._at
        self._at = 0
        return True

    def _next_piece(self, least: int) -> bytes:
        """Return the next piece, or several together; none at the end of the file.

        A long element is copied whenever something is appended to it, so it grows by half, not by a piece.

        Args:
            least: bytes to read, if there are as many.
        """
        pieces: list[bytes] = []
        n = 0
        try:
            while self._damage_ahead is None and (not pieces or n < least):
                pieces.append(next(self._pieces))
                n += len(pieces[-1])
        except StopIteration:
            self._ended = not pieces
        except DamageError as error:
            self._damage_ahead = error
        if self._damage_ahead is not None and not pieces:
            # Only now: what was read before it is good, and may have faults of its own.
            self._ended, self._failure, self._damage_ahead = True, self._damage_ahead, None
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


_LONGEST_TAG = len(b"</mediawiki>")
_AND_MORE = "; and more places behind it"
# If one of these is outside its place, a tag that opened or closed something was lost.
_PARTS_OF_REVISIONS = (b"</revision", b"<timestamp", b"<contributor", b"<text", b"</text", b"<sha1>")
_PARTS = (*_PARTS_OF_REVISIONS, b"<title", b"<ns>", b"<id>", b"<parentid", b"<restrictions")
_LONGEST_PART = max(map(len, _PARTS))
_NOT_IN_UPLOADS = (b"<revision", b"</revision", b"<page", b"</page", b"<text", b"<format")
_PARTS_OF_PAGES = (b"<revision", b"</revision", b"</page>", b"<title>")


def _refuse_hole(found: bytes) -> None:
    """Refuse what has zero bytes, which no XML has: a part of the file was never written."""
    if b"\0" in found:
        raise BrokenPageError("zero bytes stand where a part of the file should be")


def _starts_before(buffer: bytes, start: int, stop: int) -> int:
    """Count the `<revision` tags that begin in [start, stop), including one that ends behind it."""
    return buffer.count(b"<revision", start, min(len(buffer), stop + len(b"<revision") - 1))


# A title has at most 255 bytes plus its namespace's name, escaped; numbers fit a column of 64 (namespaces: 32) bits.
_TITLE = re.compile(rb"<title>([^<]{1,2048})</title>")
_NAMESPACE = re.compile(rb"<ns>(-?\d{1,9})</ns>")
_PAGE_ID = re.compile(rb"<id>(\d{1,18})</id>")
_NOT_SPACE = re.compile(rb"\S")
_PAGE_OR_END = re.compile(rb"<page[> ]|</mediawiki>")
