"""The revisions of one page, collected in any order and kept small, its texts and its earlier titles.

A few dozen bytes are kept of each revision, in arrays, and only those texts that can still be chosen at some cut,
within a fixed amount of memory. A dump gives today's title, and the summaries of moves give the earlier ones.
Choosing revisions (`stable.py`) and writing rows (`staging.py`) are done elsewhere.
"""

import hashlib
import re
import tempfile
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

import zstandard

from tempkb.core.titles import Site, Title
from tempkb.wiki.dumps.elements import SHA1_CHARS, Revision, TextState, unescape
from tempkb.wiki.wikitext.page_kinds import redirect_target, starts_like_redirect

BLOCK_BYTES = 1 << 24


class TextStore:
    """Keeps texts by number; full blocks are compressed and written to disk.

    Neighbouring revisions are nearly equal, so a block of them compresses to about
    a thirtieth, and a page of any length stays small.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: list[bytes] = []
        self._open_bytes = 0
        self._first_open = 0
        self._blocks: list[tuple[int, int, list[int]]] = []  # place in the file, length, text lengths
        self._file: IO[bytes] | None = None

    def add(self, text: bytes) -> int:
        """Keep a text and return its number; numbers increase by one."""
        number = self._first_open + len(self._open)
        self._open.append(text)
        self._open_bytes += len(text)
        if self._open_bytes >= BLOCK_BYTES:
            self._spill()
        return number

    def get(self, numbers: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        """Yield (number, text) for each wanted number, in increasing order; each block is read once."""
        wanted = sorted(set(numbers))
        first = 0
        for place, length, sizes in self._blocks:
            inside = [number for number in wanted if first <= number < first + len(sizes)]
            if inside:
                yield from self._from_block(place, length, sizes, first, inside)
            first += len(sizes)
        for number in wanted:
            if number >= self._first_open:
                yield number, self._open[number - self._first_open]

    def clear(self) -> None:
        """Remove all texts, for the next page."""
        self._open, self._open_bytes, self._first_open = [], 0, 0
        self._blocks = []
        if self._file is not None:
            self._file.seek(0)
            self._file.truncate()

    def _from_block(
        self, place: int, length: int, sizes: list[int], first: int, inside: list[int]
    ) -> Iterator[tuple[int, bytes]]:
        file = self._spill_file()
        file.seek(place)
        block = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompress(file.read(length))
        wanted = set(inside)
        at = 0
        for number, size in enumerate(sizes, first):
            if number in wanted:
                yield number, block[at : at + size]
            at += size

    def _spill(self) -> None:
        # The window is as long as a block (2 ** 24 bytes), so that each revision is compressed against its neighbours.
        fast = zstandard.ZstdCompressionParameters.from_level(1, window_log=24, enable_ldm=True)
        block = zstandard.ZstdCompressor(compression_params=fast).compress(b"".join(self._open))
        file = self._spill_file()
        place = file.seek(0, 2)
        file.write(block)
        self._blocks.append((place, len(block), [len(text) for text in self._open]))
        self._first_open += len(self._open)
        self._open, self._open_bytes = [], 0

    def _spill_file(self) -> IO[bytes]:
        if self._file is None:
            # The file has no name, so that a killed worker leaves nothing behind.
            self._file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 - open as long as the store
        return self._file


TitleSource = Literal["move_comment", "today"]

_LINK = r"\[\[:?([^\[\]|]+)(?:\|[^\[\]]*)?\]\]"
_ENGLISH = re.compile(rf"(?:^|\s)moved (?:page )?{_LINK} to {_LINK}|{_LINK} moved to {_LINK}")
_UNLINKED = re.compile(r"^([^\[\]]+?) moved to ([^\[\]]+?)(?: over redirect)?(?::.*)?$", re.DOTALL)
_TWO_LINKS = re.compile(rf"{_LINK}.*?{_LINK}", re.DOTALL)


@dataclass(frozen=True)
class Remark:
    """An edit summary that may describe a move.

    Attributes:
        time: seconds since 1970 of the revision.
        comment: the summary, unescaped.
        is_null_edit: did the revision leave the text unchanged, as every move does?
    """

    time: int
    comment: str
    is_null_edit: bool


@dataclass(frozen=True)
class Naming:
    """A title that a page had from some second on."""

    since: int | None
    title: Title
    source: TitleSource


def may_be_move(comment: bytes) -> bool:
    """Test cheaply whether a summary may be a move; never misses one that `names_over_time` would use."""
    return b"moved" in comment or comment.count(b"]]") > 1


def names_over_time(remarks: Sequence[Remark], today: Title, site: Site) -> list[Naming]:
    """Return the titles that a page had, oldest first; the first has no beginning.

    English summaries are recognised by their words. A summary in another language
    counts as a move if the edit changed nothing and its second link is the
    title that the page had next. Summaries that people typed are ignored
    unless they fit the chain of titles, read backwards from today's.

    The source of a title is `move_comment` if a summary says that the page was moved to it
    or from it, else `today`.

    Args:
        remarks: candidate summaries of one page, oldest first.
    """
    moves: list[tuple[int, Title, Title]] = []
    expected = today
    for remark in reversed(remarks):
        pair = _read_move(remark, site, expected)
        if pair is not None:
            moves.append((remark.time, *pair))
            expected = pair[0]
    moves.reverse()
    if not moves:
        return [Naming(None, today, "today")]
    namings = [Naming(None, moves[0][1], "move_comment")]
    namings += [Naming(time, after, "move_comment") for time, _, after in moves]
    last = namings[-1]
    if last.title != today:
        # The page was moved once more without a summary, at an unknown time.
        namings[-1] = Naming(last.since, today, "today")
    return namings


def naming_at(namings: Sequence[Naming], cut: int) -> Naming:
    """Return the title that the page had just before the second `cut`."""
    borne = namings[0]
    for naming in namings[1:]:
        if naming.since is not None and naming.since >= cut:
            break
        borne = naming
    return borne


def _read_move(remark: Remark, site: Site, expected: Title) -> tuple[Title, Title] | None:
    match = _ENGLISH.search(remark.comment)
    if match:
        before, after = (site.normalize(part) for part in match.groups() if part is not None)
        return (before, after) if before != after and (remark.is_null_edit or after == expected) else None
    match = _UNLINKED.match(remark.comment)
    if match is None and remark.is_null_edit:
        match = _TWO_LINKS.search(remark.comment)
    if match is None:
        return None
    before, after = site.normalize(match[1]), site.normalize(match[2])
    return (before, after) if before != after and after == expected else None


MINOR, SUPPRESSED, BLANK, ABSENT, REDIRECT = 1, 2, 4, 8, 16
NO_SHA1 = bytes(SHA1_CHARS)
"""Stands for an unknown hash: zero bytes, which are not digits of base 36."""
_HEAD_BYTES = 2048
_BASE36 = b"0123456789abcdefghijklmnopqrstuvwxyz"


class Cuts:
    """The cuts to build with their lookback intervals, in whole seconds since 1970."""

    def __init__(self, cuts: Sequence[int], lookback: int) -> None:
        self.cuts = sorted(cuts)
        self.lookback = lookback

    def any_touched(self, start: int, end: int) -> bool:
        """Is a text that is current in [start, end) current within some lookback interval?"""
        at = bisect_right(self.cuts, start)
        return at < len(self.cuts) and self.cuts[at] - self.lookback < end

    def any_after(self, start: int) -> bool:
        """Does some cut come after `start`?"""
        return bool(self.cuts) and self.cuts[-1] > start


@dataclass(frozen=True)
class Who:
    """How contributors are distinguished: by account number, or by a keyed hash of name or address."""

    salt: bytes

    def number(self, revision: Revision) -> int:
        """Return the account number, or a negative hash; 0 if the contributor is hidden."""
        if revision.user_id is not None:
            return revision.user_id
        if revision.user_name is None:
            return 0
        digest = hashlib.blake2b(unescape(revision.user_name), digest_size=8, key=self.salt).digest()
        # Account numbers are positive and 0 means hidden, so a hash is negative; it loses a bit to fit a signed number.
        return -(int.from_bytes(digest) >> 1 or 1)


class PageHistory:
    """The revisions of one page.

    Args:
        cuts: the cuts to build; they decide which texts are kept.
        prune: drop texts that can no longer be chosen. Exact as long as no revision
            is taken back.

    Attributes:
        ids, parents, times, contents, sizes, people, flags: one entry per revision,
            in order of arrival. `contents` names the text; `sizes` is -1 when unknown.
        sources: rank of the file within the item; a higher rank is newer.
        arrival: positions in the order of arrival if `settle` had to sort; None if they arrived sorted.
    """

    def __init__(self, page_id: int, cuts: Cuts, texts: TextStore, site: Site, who: Who, *, prune: bool = True) -> None:
        self.page_id = page_id
        self.ids, self.parents, self.times = array("q"), array("q"), array("q")
        self.contents, self.sizes, self.people = array("q"), array("q"), array("q")
        self.flags, self.sources = array("B"), array("H")
        self.sha1s = bytearray()
        self.remarks: list[tuple[int, bytes]] = []
        self.text_numbers: dict[int, int] = {}
        self._cuts, self._texts, self._site, self._who, self._prune = cuts, texts, site, who, prune
        self.arrival: list[int] | None = None
        self._waiting: tuple[int, bytes] | None = None
        self._ordered = True

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, revision: Revision, source: int) -> None:
        """Add a revision of the page; revisions may come in any order."""
        state, text = revision.state, revision.text
        flags = MINOR if revision.is_minor else 0
        sha1, size = revision.sha1, revision.text_bytes
        if state is TextState.PRESENT:
            if not sha1 or size < 0:
                sha1, size = _measure(text, sha1)
            # A cheap test for the few texts that may be blank or a redirect. They begin with white space or "#", which
            # are all at or below "#", or with an escape ("&"), or with a character beyond ASCII.
            first = text[:1]
            if first <= b"#" or first >= b"\x80" or first == b"&":
                flags |= self._look_closer(text)
        elif state is TextState.BLANK:
            flags |= BLANK
        elif state is TextState.SUPPRESSED:
            flags |= SUPPRESSED
        else:
            flags |= ABSENT
        index = len(self.ids)
        # The first twelve digits of base 36, 62 bits of the hash, identify the content. A text without a hash counts
        # as different from all others: it gets a negative number of its own.
        content = int(sha1[:12], 36) if sha1 and state is not TextState.SUPPRESSED else -1 - index
        time = revision.timestamp
        comment = revision.comment
        if comment and may_be_move(comment):
            self.remarks.append((index, comment))
        if self._ordered and index:
            follows = (time, revision.revision_id) > (self.times[-1], self.ids[-1])
            self._ordered = follows and source == self.sources[-1]
        self._keep_or_drop_waiting((time, revision.revision_id))
        if state is TextState.PRESENT and content not in self.text_numbers:
            self._waiting = (content, text)
        self.ids.append(revision.revision_id)
        self.parents.append(revision.parent_id or 0)
        self.times.append(time)
        self.contents.append(content)
        self.sizes.append(size)
        self.people.append(self._who.number(revision))
        self.flags.append(flags)
        self.sources.append(source)
        self.sha1s += sha1 or NO_SHA1

    def take_back(self, length: int) -> None:
        """Remove all revisions but the first `length`; the others came from a damaged part of a file."""
        if length == len(self):
            # The damaged file gave no revision, and the waiting text is that of a good one.
            return
        for column in (
            self.ids,
            self.parents,
            self.times,
            self.contents,
            self.sizes,
            self.people,
            self.flags,
            self.sources,
        ):
            del column[length:]
        del self.sha1s[length * SHA1_CHARS :]
        self.remarks = [remark for remark in self.remarks if remark[0] < length]
        self._waiting = None
        # The rest may be in order, but `_ordered` described the longer history, so `settle` checks again.
        self._ordered = False

    def settle(self) -> int:
        """Sort the history by (time, revision id) and keep each revision once, as it is in the newest file.

        Returns:
            how many repeated revisions were dropped.
        """
        self._keep_or_drop_waiting(None)
        # Nearly every page arrives sorted and without repeats. The rest handles files that overlap or are not sorted.
        if self._ordered and len(set(self.ids)) == len(self.ids):
            return 0
        # Revision id -> position of its newest row. Of two rows in one file the later one is kept (hence >=).
        newest: dict[int, int] = {}
        for index, revision_id in enumerate(self.ids):
            held = newest.get(revision_id)
            if held is None or self.sources[index] >= self.sources[held]:
                newest[revision_id] = index
        first_source: dict[int, int] = {}
        for index, revision_id in enumerate(self.ids):
            first_source.setdefault(revision_id, self.sources[index])
        # `order` maps new positions to old ones, `position` is its inverse.
        order = sorted(newest.values(), key=lambda index: (self.times[index], self.ids[index]))
        dropped = len(self.ids) - len(order)
        position = {index: at for at, index in enumerate(order)}
        self.arrival = [position[index] for index in range(len(self.ids)) if index in position]
        # The row is the one in the newest file, but its source is the file that had the revision first.
        self.sources = array("H", (min(first_source[self.ids[index]], self.sources[index]) for index in order))
        for name in ("parents", "times", "contents", "sizes", "people", "flags"):
            column = getattr(self, name)
            setattr(self, name, array(column.typecode, (column[index] for index in order)))
        self.sha1s = bytearray(b"".join(self._sha1_bytes(index) for index in order))
        # The ids are replaced last, since the lines above look up sources by the old ids.
        self.ids = array("q", (self.ids[index] for index in order))
        self.remarks = sorted((position[index], comment) for index, comment in self.remarks if index in position)
        self._ordered = True
        return dropped

    def possible_moves(self) -> list[Remark]:
        """Return the edit summaries that may describe a move, oldest first. Call after `settle`."""
        moves = []
        for at, comment in self.remarks:
            is_null_edit = at > 0 and self.contents[at] == self.contents[at - 1]
            # The first revision is not a move of this page: a redirect that a move leaves behind has the same summary.
            if at > 0 and (is_null_edit or b"moved" in comment):
                moves.append(Remark(self.times[at], unescape(comment).decode("utf-8", "replace"), is_null_edit))
        return moves

    def once_had_text(self, positions: Sequence[int]) -> bool:
        """Did the file give the text of the content at any of these positions, there or at an earlier one?

        Args:
            positions: in increasing order.
        """
        last = {self.contents[index]: index for index in positions}
        return any(
            at <= last.get(content, -1) and not self.flags[at] & (ABSENT | SUPPRESSED)
            for at, content in enumerate(self.contents)
        )

    def sha1_at(self, index: int) -> str | None:
        """Return the base-36 SHA-1 of the text at a position; None if unknown or suppressed."""
        sha1 = self._sha1_bytes(index)
        return None if sha1 == NO_SHA1 else sha1.decode()

    def _sha1_bytes(self, index: int) -> bytes:
        """Return the hash at a position, or `NO_SHA1`; all hashes are stored one after another."""
        return bytes(self.sha1s[index * SHA1_CHARS : (index + 1) * SHA1_CHARS])

    def _keep_or_drop_waiting(self, following: tuple[int, int] | None) -> None:
        """Keep the text of the last revision if it can be chosen at some cut; drop it otherwise.

        For how long it was current, and so whether it can be chosen, is known only with the next revision.

        Args:
            following: (time, id) of the next revision; None at the end of the page.
        """
        if self._waiting is None:
            return
        content, text = self._waiting
        self._waiting = None
        time = self.times[-1]
        if self._prune and following is not None and following > (time, self.ids[-1]):
            wanted = self._cuts.any_touched(time, following[0])
        else:
            # No next revision, or an older one (revisions are not sorted): the text may be current until any later cut.
            wanted = self._cuts.any_after(time)
        if wanted:
            self.text_numbers[content] = self._texts.add(text)

    def _look_closer(self, text: bytes) -> int:
        # Cutting a character at the end of the head is harmless; chosen texts are decoded strictly later.
        head = unescape(text[:_HEAD_BYTES]).decode("utf-8", "ignore")
        if not head.strip() and not unescape(text).decode("utf-8", "replace").strip():
            return BLANK
        if starts_like_redirect(text) and redirect_target(head, self._site) is not None:
            return REDIRECT
        return 0


def _measure(text: bytes, sha1: bytes) -> tuple[bytes, int]:
    """Return the hash (computed as MediaWiki does if the file has none) and the length of an escaped text."""
    plain = unescape(text)
    return sha1 or base36_sha1(plain), len(plain)


def base36_sha1(text: bytes) -> bytes:
    """Return the SHA-1 in MediaWiki's form: base 36, always `SHA1_CHARS` long.

    >>> base36_sha1(b"")
    b'phoiac9h4m842xq45sp7s6u21eteeq1'
    """
    number = int.from_bytes(hashlib.sha1(text, usedforsecurity=False).digest())
    digits = bytearray()
    while number:
        number, digit = divmod(number, 36)
        digits.append(_BASE36[digit])
    return bytes(digits[::-1]).rjust(SHA1_CHARS, b"0")
