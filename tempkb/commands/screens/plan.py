"""The screen of `tempkb plan`: the missing windows, the dumps that would serve them, and the cost."""

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from tempkb.commands.screens.console import duration, say, show
from tempkb.commands.screens.failure import tell
from tempkb.core.errors import SourceError
from tempkb.core.settings import Home
from tempkb.core.windows import Granularity
from tempkb.core.wording import counted, sized, spanned
from tempkb.platform.api import open_store
from tempkb.platform.planning.built import missing_windows
from tempkb.platform.planning.due import Due, look_out
from tempkb.store.listings import Listing
from tempkb.wiki.dumps.catalogue import find_dumps
from tempkb.wiki.dumps.download import mirror_of, takes_room
from tempkb.wiki.dumps.offers import OfferedFile
from tempkb.wiki.revisions.costs import Cost, estimate
from tempkb.wiki.revisions.windows import read_windows

# Assumed bytes per second of a download without a limit: two connections to a busy public server.
_FETCHED_PER_SECOND = 20e6
_WINDOWS_PER_YEAR = {Granularity.WEEK: 52, Granularity.MONTH: 12, Granularity.QUARTER: 4, Granularity.YEAR: 1}


@dataclass(frozen=True)
class Line:
    """A dump, and what it costs to fetch it (bytes) and to build its windows."""

    home: Home
    due: Due

    @property
    def files(self) -> Sequence[OfferedFile]:
        """The files to be fetched."""
        return self.due.offer.files if self.due.offer else ()

    @cached_property
    def fetch_bytes(self) -> int:
        """Number of bytes still to download."""
        arriving = (self.home.dumps / "_arriving" / f"{file.place}.part" for file in self.files)
        come = sum(path.stat().st_size for path in arriving if path.is_file())
        return max(0, sum(file.size or 0 for file in self.files) - come)

    @cached_property
    def cost(self) -> Cost | None:
        """The cost of reading the dump, which is all of its history, whichever windows are built; None without any."""
        if not self.due.windows:
            return None
        sizes: Counter[str] = Counter()
        offered = {file.place: file.size or 0 for file in self.files}
        for file in self.due.dump.history:
            suffix = file.path.suffix if file.path.suffix in (".bz2", ".7z", ".gz", ".zst") else ""
            place = file.path.relative_to(self.home.dumps).as_posix()
            sizes[suffix] += offered[place] if self.due.offer else file.path.stat().st_size
        settings = self.home.settings
        return estimate(sizes, len(self.due.windows), settings.workers, _WINDOWS_PER_YEAR[settings.granularity])

    @property
    def to_fetch(self) -> str:
        """How much is to be fetched, in words."""
        n_unknown = sum(file.size is None for file in self.files)
        unknown = f" and {counted(n_unknown, 'file')} of unknown size" if n_unknown else ""
        return sized(self.fetch_bytes) + unknown


_LINES = Listing(
    {
        "dump": lambda line: line.due.dump.dump_id,
        "for": lambda line: spanned([one.label for one in line.due.windows]) or line.due.purpose,
        "windows": lambda line: len(line.due.windows),
        "lies": lambda line: "in the mirror" if line.due.offer else "here",
        "to fetch": lambda line: line.to_fetch,
        "files": lambda line: len(line.files),
        "to fetch in": lambda line: duration(round(line.fetch_bytes / _rate(line.home))),
        "processor time": lambda line: duration(round(line.cost.cpu_seconds)) if line.cost else "",
        "build in": lambda line: duration(round(line.cost.wall_seconds)) if line.cost else "",
        "disk": lambda line: sized(line.fetch_bytes + (line.cost.home_bytes if line.cost else 0)),
    }
)


def print_plan(*, wikidata: bool) -> None:
    """Print the missing windows, the dumps that would serve them, and bytes, disk and time.

    Raises:
        SourceError: the disk is too small, or the mirror shows nothing of the wiki.
    """
    store = open_store()
    home = store.home
    outlook = look_out(store, only_listed=False, wikidata=wikidata, tell=tell)
    lines = [Line(home, due) for due in outlook.due]
    missing = missing_windows(store, datetime.now(UTC).date())
    served = {window.key for line in lines for window in line.due.windows}
    mirror = mirror_of(home)
    say(f"home {home.path}, dumps from {mirror.where if mirror else home.dumps}")
    is_bare = mirror is None and not read_windows(store) and not find_dumps(home.dumps)
    if is_bare:
        say(
            f"Nothing is built, and no dump is here. Put dumps into {home.dumps} as Wikimedia lays them out "
            "(tempkb docs operations), or name their files: tempkb build --all --dump FILE, or say where to fetch "
            "them: TEMPKB_WIKI=simplewiki TEMPKB_MIRROR=https://dumps.wikimedia.org TEMPKB_CONTACT=me@example.org "
            "tempkb plan --no-wikidata"
        )
    elif not lines and not outlook.nothing:
        say("Every window that a complete dump serves is built; there is nothing to fetch.")
    elif lines:
        show(_LINES, lines)
    unserved = [window.label for window in missing if window.key not in served]
    if unserved and not is_bare:
        have = "has" if len(unserved) == 1 else "have"
        say(f"No complete dump reaches {counted(len(unserved), 'window')} that {have} ended: {spanned(unserved)}.")
    for passed in outlook.passed:
        say(f"not taken: {passed}")
    _print_needs(home, lines)
    if outlook.nothing:
        raise SourceError(outlook.nothing)


def _rate(home: Home) -> float:
    return home.settings.bandwidth * 1e6 or _FETCHED_PER_SECOND


def _print_needs(home: Home, lines: Sequence[Line]) -> None:
    """Print the total and its assumptions; refuse a disk that is too small."""
    if not lines:
        return
    folder = next(path for path in (home.path, *home.path.parents) if path.exists())
    free = shutil.disk_usage(folder).free
    # Dumps and tables stay on the disk; drafts exist for one dump at a time.
    takes = takes_room(mirror_of(home), home.dumps)
    staying = sum(line.fetch_bytes * takes + (line.cost.home_bytes if line.cost else 0) for line in lines)
    drafts = max((line.cost.staging_bytes for line in lines if line.cost), default=0)
    limit = "the setting bandwidth" if home.settings.bandwidth else "assumed"
    say(
        f"In all {sized(staying)} of disk, and up to {sized(drafts)} more while it builds; {sized(free)} are free. "
        f"Times are for {_rate(home) / 1e6:g} MB/s of download "
        f"({limit}), and for measured rates of building on {counted(home.settings.workers, 'worker')}: see "
        "tempkb docs scaling. Sizes inside dumps are estimated from those of the files."
    )
    if (needed := staying + drafts) > free:
        raise SourceError(
            f"{folder}: {sized(needed)} of disk are needed, but only {sized(free)} are free; take a home on a larger "
            "disk (TEMPKB_HOME=...), fewer windows (TEMPKB_FIRST_WINDOW=...) or a part of the wiki (--sample)"
        )
