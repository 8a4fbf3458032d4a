"""One pass over one item: files that share pages, read once, page by page.

Runs in a worker. Several files are read side by side, each in its own order of
page numbers. A page that occurs again later, in the same file or another, is read
again in a second pass over the item, with all its parts together.
"""

import os
import time
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tempkb.core.errors import ContractError, SourceError
from tempkb.core.titles import Site, Title
from tempkb.core.windows import Window, epoch_seconds
from tempkb.engine.items import peak_megabytes
from tempkb.wiki.dumps.elements import BrokenPageError, PageHead
from tempkb.wiki.dumps.files import DamageError, Progress, open_dump
from tempkb.wiki.dumps.looking import no_page_in
from tempkb.wiki.dumps.xml import Damage, PageStream
from tempkb.wiki.revisions.choice import PageChoice
from tempkb.wiki.revisions.history import Cuts, PageHistory, TextStore, Who
from tempkb.wiki.revisions.snapshots import Cut, PageSnapshots, Reading, TextMissingError
from tempkb.wiki.revisions.staging import Run, Staging

_REPORT_SECONDS = 0.5
_ODD_TEXT = "holds bytes that are not UTF-8, a tag or a reference to no character"


@dataclass(frozen=True)
class SourceFile:
    """A file of an item.

    Attributes:
        sha256: hash of its bytes, if it is known.
        horizon: first second after the time that its dump covers; None if it is not known.
        full_range: first and last page number of which it has every page, with its history; None if it may lack some.
    """

    path: Path
    dump_id: str
    sha256: str = ""
    horizon: int | None = None
    full_range: tuple[int, float] | None = None

    def is_after(self, other: "SourceFile") -> bool:
        """Is its dump known to be newer than that of another file?"""
        return self.horizon is not None and other.horizon is not None and self.horizon > other.horizon

    def would_have(self, page_id: int) -> bool:
        """Would it have the page, had the page not been deleted?"""
        return self.full_range is not None and self.full_range[0] <= page_id <= self.full_range[1]


@dataclass(frozen=True)
class Item:
    """The work of one worker; all of it can be sent to another process.

    Attributes:
        files: oldest dump first; if a revision is in several, the last file's is kept.
        windows: all windows of the home up to the horizon, oldest first.
        to_build: keys of the windows to build.
        dump_id: of all items together; the pages' headers are written under it.
        lookback_days: length of the lookback interval.
        namespaces: numbers to keep in snapshots; None keeps all.
        strict: fail at the first damage instead of keeping complete pages.
        rule: how a revision is chosen, `standing` or `tempel`.
    """

    name: str
    files: tuple[SourceFile, ...]
    wiki: str
    windows: tuple[Window, ...]
    to_build: frozenset[str]
    dump_id: str
    lookback_days: int
    namespaces: frozenset[int] | None
    salt: bytes
    strict: bool = False
    rule: str = "standing"
    choice: PageChoice = PageChoice()


@dataclass
class Receipt:
    """Result of an item.

    Attributes:
        runs: sorted rows; from those of the first pass, which are marked, the pages in `superseded` are left out.
        superseded: pages whose rows of the first pass are replaced by the second.
        elements: `<revision>` tags counted in the bytes of each file.
        pages: pages read from each file.
        whole: pages of each file that could be read, whether the home holds them or not.
        kept: revisions of complete pages, each once.
        outside: of these, revisions in none of the windows to build.
        after: of these, revisions after all windows.
        duplicates: repeats of a revision, in the same dump or a newer one.
        not_chosen: revisions of pages that the home does not hold.
        other_namespace: pages left out of each window's snapshot for their namespace.
        not_in_newer: pages left out of each window's snapshot because a newer file lacks them, or has them damaged.
        notes: which program read each file, where there was a choice.
        peak_mb: largest memory of the process so far.
        cpu_seconds: processor time of the item, including the programs that decompress for it.
    """

    runs: list[tuple[Run, bool]] = field(default_factory=list)
    superseded: list[int] = field(default_factory=list)
    elements: Counter[str] = field(default_factory=Counter)
    pages: Counter[str] = field(default_factory=Counter)
    whole: Counter[str] = field(default_factory=Counter)
    kept: int = 0
    outside: int = 0
    after: int = 0
    duplicates: int = 0
    not_chosen: int = 0
    damages: dict[str, list[Damage]] = field(default_factory=dict)
    other_namespace: Counter[str] = field(default_factory=Counter)
    not_in_newer: Counter[str] = field(default_factory=Counter)
    notes: dict[str, str] = field(default_factory=dict)
    peak_mb: int = 0
    cpu_seconds: float = 0.0


Report = Callable[[float], None]
"""Called from time to time with the number of bytes on disk that have been read."""


def read_item(item: Item, folder: Path, report: Report = lambda _done: None) -> Receipt:
    """Read an item and write its rows as sorted runs to `folder`.

    Args:
        folder: an empty folder for this item alone.
        report: called about twice a second with the bytes read so far.

    Raises:
        DamageError: in strict mode, at the first damage.
        SourceError: a file is missing, is not an export, or holds no complete page.
    """
    receipt = Receipt()
    began = sum(os.times()[:4])
    first = _Pass(item, folder, report, only=None)
    first.run()
    for file in item.files:
        if not first.whole[file.path.name]:
            raise no_page_in(file.path, first.damages[file.path.name])
    receipt.superseded = sorted(first.to_read_again())
    passes = [first]
    if receipt.superseded:
        second = _Pass(item, folder / "second", report, only=frozenset(receipt.superseded))
        second.run()
        passes.append(second)
    for one in passes:
        without = receipt.superseded if one is first else []
        receipt.runs += [(run, one is first) for run in one.staging.runs()]
        one.tally(receipt, without)
    receipt.elements, receipt.pages, receipt.whole = first.elements, first.pages_read, first.whole
    receipt.damages = {name: damages for name, damages in first.damages.items() if damages}
    receipt.notes, receipt.not_chosen = first.notes, first.not_chosen
    receipt.cpu_seconds = sum(os.times()[:4]) - began
    receipt.peak_mb = peak_megabytes()
    return receipt


class _Pass:
    """One pass over the files of an item, over all pages or only some."""

    def __init__(self, item: Item, folder: Path, report: Report, only: frozenset[int] | None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.item, self._report, self._only = item, report, only
        self._folder = folder
        dump_ids = [file.dump_id for file in item.files]
        self.staging = Staging(folder, item.wiki, item.dump_id, dump_ids, item.windows, item.to_build, item.rule)
        to_build = [window for window in item.windows if window.key in item.to_build]
        self._cuts = [Cut(window.key, epoch_seconds(window.cut)) for window in to_build]
        self._lookback = item.lookback_days * 86_400
        # The rule `tempel` counts whole days, rounded down, and includes what was saved exactly at the cut.
        more = (1, 86_400 + 1) if item.rule == "tempel" else (0, 0)
        self._seconds = Cuts([cut.second + more[0] for cut in self._cuts], self._lookback + more[1])
        self._who = Who(item.salt)
        self._choice = item.choice
        self._texts = TextStore(folder)
        self.elements: Counter[str] = Counter()
        self.pages_read: Counter[str] = Counter()
        self.whole: Counter[str] = Counter()
        self.damages: dict[str, list[Damage]] = {file.path.name: [] for file in item.files}
        self.notes: dict[str, str] = {}
        self.not_chosen = 0
        self._seen = array("q")
        self._again: set[int] = set()
        # By page, because a page may have to be read again: kept and dropped revisions, and ranges of positions of the
        # cuts at which it was in another namespace, or lay after the last file that has it.
        self._counts = (array("q"), array("l"), array("l"))
        self._elsewhere, self._ended = _Ranges(), _Ranges()
        self._broken: defaultdict[int, set[int]] = defaultdict(set)
        self._bad_texts: defaultdict[str, list[Damage]] = defaultdict(list)
        self._late: dict[int, tuple[PageHistory, PageHead, Site, int]] = {}
        self._reported = 0.0

    def run(self) -> None:
        """Read all files side by side."""
        progress = [Progress() for _ in self.item.files]
        streams = [
            PageStream(open_dump(file.path, own), file.path.name)
            for file, own in zip(self.item.files, progress, strict=True)
        ]
        self._check_streams(streams)
        # All files of an item are of one wiki.
        self._choice = self._choice.on(streams[0].site)
        heads = [stream.next_page() for stream in streams]
        while any(heads):
            page_id = min(head.page_id for head in heads if head is not None)
            self._read_page(page_id, streams, heads)
            self._report_progress(progress)
        self._check_streams(streams)
        for history, head, site, rank in self._late.values():
            self._finish(history, head, site, rank)
        self.staging.flush()
        for file, stream, own in zip(self.item.files, streams, progress, strict=True):
            self.elements[file.path.name] += stream.elements
            self.damages[file.path.name] = stream.damages + self._bad_texts[file.path.name]
            if own.note:
                self.notes[file.path.name] = own.note

    def to_read_again(self) -> set[int]:
        """Return pages that occur in several places, or whose chosen text was dropped too early."""
        ids, counts = np.unique(np.array(self._seen), return_counts=True)
        return self._again | set(ids[counts > 1].tolist())

    def tally(self, receipt: Receipt, without: Sequence[int]) -> None:
        """Add this pass's counts, leaving out the pages in `without`."""
        skip = np.array(without, np.int64)
        pages, kept, dropped = (np.array(column) for column in self._counts)
        counted = ~np.isin(pages, skip)
        receipt.kept += int(kept[counted].sum())
        receipt.duplicates += int(dropped[counted].sum())
        receipt.outside += self.staging.n_outside(without)
        receipt.after += self.staging.n_after(without)
        for ranges, by_window in ((self._elsewhere, receipt.other_namespace), (self._ended, receipt.not_in_newer)):
            for cut, n in zip(self._cuts, ranges.sums(len(self._cuts), skip), strict=True):
                by_window[cut.window] += n

    def _read_page(self, page_id: int, streams: Sequence[PageStream], heads: list[PageHead | None]) -> None:
        """Collect the page from every file in which it is next."""
        history: PageHistory | None = None
        newest: tuple[PageHead, Site, int] | None = None
        for rank, stream in enumerate(streams):
            head = heads[rank]
            while head is not None and head.page_id == page_id:
                if self._is_wanted(head):
                    history = history or self._history(page_id, stream.site)
                    is_whole = self._gather(history, stream, rank)
                    if is_whole:
                        newest = (head, stream.site, rank)
                    else:
                        self._broken[page_id].add(rank)
                    self.pages_read[stream.name] += is_whole
                else:
                    is_whole = self._skip(stream)
                self.whole[stream.name] += is_whole
                heads[rank] = head = stream.next_page()
        if history is None or newest is None:
            return
        if self._only is not None:
            held = self._late.get(page_id)
            if held is None or newest[2] >= held[3]:
                self._late[page_id] = (history, *newest)
        elif len(history):
            self._seen.append(page_id)
            self._finish(history, *newest)
            self._texts.clear()

    def _is_wanted(self, head: PageHead) -> bool:
        if self._only is not None:
            return head.page_id in self._only
        return self._choice.takes(head.page_id, head.title)

    def _history(self, page_id: int, site: Site) -> PageHistory:
        if page_id in self._late:
            return self._late[page_id][0]
        return PageHistory(page_id, self._seconds, self._texts, site, self._who, prune=self._only is None)

    def _gather(self, history: PageHistory, stream: PageStream, rank: int) -> bool:
        """Add the page's revisions from one file; False if the page is broken there."""
        before = len(history)
        try:
            for revision in stream.revisions():
                history.add(revision, rank)
        except BrokenPageError:
            # The stream has noted what is lost; nothing of this page is kept from this file.
            history.take_back(before)
            return False
        return True

    def _skip(self, stream: PageStream) -> bool:
        """Skip a page that the home does not hold; False if it is broken, which the stream has noted."""
        try:
            self.not_chosen += sum(1 for _ in stream.revisions())
        except BrokenPageError:
            return False
        return True

    def _finish(self, history: PageHistory, head: PageHead, site: Site, rank: int) -> None:
        if not len(history):
            return
        dropped = history.settle()
        today = Title(head.namespace, head.title)
        until, is_deleted = self._known_until(history.page_id, rank)
        cuts = self._cuts if until is None else [cut for cut in self._cuts if cut.second <= until]
        snapshots = PageSnapshots(history, today, site, cuts, self._lookback, self.item.namespaces, self.item.rule)
        try:
            readings = self._keep_texts(history, snapshots)
        except TextMissingError:
            if self._only is not None:
                raise ContractError(
                    f"{self.item.name}: the text chosen for page {history.page_id} was dropped though texts were not "
                    "pruned; please report it. Nothing was written."
                ) from None
            self._again.add(history.page_id)
            return
        for window, row in snapshots.rows(readings):
            self.staging.add_snapshot(window, row)
        self.staging.add_log(history)
        if not is_deleted:
            self.staging.add_head(history.page_id, head.namespace, head.title, is_redirect=head.is_redirect)
        for column, value in zip(self._counts, (history.page_id, len(history), dropped), strict=True):
            column.append(value)
        for begin, end in _stretches(snapshots.elsewhere):
            self._elsewhere.add(history.page_id, begin, end)
        if len(cuts) < len(self._cuts) and (self.item.namespaces is None or head.namespace in self.item.namespaces):
            self._ended.add(history.page_id, len(cuts), len(self._cuts))

    def _known_until(self, page_id: int, rank: int) -> tuple[int | None, bool]:
        """Return until when the files show a page's text, and whether it was deleted before the newest of them.

        Args:
            page_id: a page that is whole in the file of this rank and in none after it.
            rank: position of the file.

        Returns:
            the horizon of that file if a newer one lacks the page though it has all others of its range, or has it
            damaged; else None, since a newer selection of pages does not show that others have changed.
        """
        own = self.item.files[rank]
        newer = {at for at, file in enumerate(self.item.files) if file.is_after(own)}
        is_damaged = bool(newer & self._broken.get(page_id, set()))
        is_deleted = not is_damaged and any(self.item.files[at].would_have(page_id) for at in newer)
        return (own.horizon if is_damaged or is_deleted else None), is_deleted

    def _keep_texts(self, history: PageHistory, snapshots: PageSnapshots) -> dict[int, Reading]:
        readings = {}
        for index, text in snapshots.texts(self._texts):
            readings[index] = snapshots.read(text)
            self.staging.add_text(
                history.page_id, history.ids[index], history.times[index], history.sources[index], text
            )
        for revision_id, source in snapshots.not_utf8:
            if self.item.strict:
                raise SourceError(
                    f"{self.item.name}: the text of revision {revision_id} {_ODD_TEXT}; fetch the file again"
                )
            reason = f"the text of revision {revision_id} {_ODD_TEXT}; each is shown as U+FFFD"
            self._bad_texts[self.item.files[source].path.name].append(Damage(-1, "plain bytes", reason, 0))
        return readings

    def _check_streams(self, streams: Sequence[PageStream]) -> None:
        if not self.item.strict:
            return
        for stream in streams:
            for damage in stream.damages:
                instead = " (without the setting strict the complete pages before that place are kept)"
                raise DamageError(stream.name, damage.position, damage.of, damage.reason, instead)

    def _report_progress(self, progress: Sequence[Progress]) -> None:
        now = time.monotonic()
        if now - self._reported > _REPORT_SECONDS:
            self._reported = now
            self._report(float(sum(one.done for one in progress)))


class _Ranges:
    """Ranges of positions of cuts, by page."""

    def __init__(self) -> None:
        self._columns = (array("q"), array("i"), array("i"))

    def add(self, page_id: int, begin: int, end: int) -> None:
        """Add the half-open range [begin, end) of a page."""
        for column, value in zip(self._columns, (page_id, begin, end), strict=True):
            column.append(value)

    def sums(self, n: int, without: NDArray[np.int64]) -> list[int]:
        """Count for each of `n` positions the pages with a range that contains it, leaving out some pages."""
        pages, begins, ends = (np.array(column) for column in self._columns)
        counted = ~np.isin(pages, without)
        steps = np.zeros(n + 1, np.int64)
        np.add.at(steps, begins[counted], 1)
        np.add.at(steps, ends[counted], -1)
        sums: list[int] = np.cumsum(steps)[:-1].tolist()
        return sums


def _stretches(positions: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the half-open ranges that increasing positions form."""
    begin = None
    for at, position in enumerate(positions):
        if begin is None:
            begin = position
        if at + 1 == len(positions) or positions[at + 1] != position + 1:
            yield begin, position + 1
            begin = None
