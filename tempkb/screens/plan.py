"""The screen of `tempkb plan`: the missing windows, the dumps that would serve them, and the cost."""

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tempkb.api import open_store
from tempkb.dumps.catalogue import find_dumps
from tempkb.dumps.download import takes_room
from tempkb.dumps.fetching import mirror_of
from tempkb.errors import SourceError
from tempkb.planning.built import missing_windows
from tempkb.planning.due import Due, look_out
from tempkb.revisions.costs import Cost, estimate
from tempkb.revisions.windows import read_windows
from tempkb.screens.console import console, duration, grid, say
from tempkb.screens.failure import tell
from tempkb.settings import Home
from tempkb.windows import Granularity
from tempkb.wording import counted

# Assumed bytes per second of a download without a limit: two connections to a busy public server.
_FETCHED_PER_SECOND = 20e6
_WINDOWS_PER_YEAR = {Granularity.WEEK: 52, Granularity.MONTH: 12, Granularity.QUARTER: 4, Granularity.YEAR: 1}


@dataclass(frozen=True)
class Line:
    """The cost of one dump.

    Attributes:
        due: the dump, and what it is needed for.
        fetch_bytes: number of bytes still to download.
        n_unknown: number of files of unknown size.
        cost: cost of building its windows; None if it has none.
    """

    due: Due
    fetch_bytes: int
    n_unknown: int
    cost: Cost | None


def print_plan(*, wikidata: bool) -> None:
    """Print the missing windows, the dumps that would serve them, and bytes, disk and time.

    Raises:
        SourceError: the disk is too small, or the mirror shows nothing of the wiki.
    """
    store, out = open_store(), console()
    home = store.home
    outlook = look_out(store, only_listed=False, wikidata=wikidata, tell=tell)
    lines = [_line(home, due) for due in outlook.due]
    missing = missing_windows(store, datetime.now(UTC).date())
    served = {window.key for line in lines for window in line.due.windows}
    mirror = mirror_of(home)
    out.print(f"home {home.path}, dumps from {mirror.where if mirror else home.dumps}")
    is_bare = mirror is None and not read_windows(store) and not find_dumps(home.dumps)
    if is_bare:
        say(
            f"Nothing is built, and no dump is here. Put dumps into {home.dumps} as Wikimedia lays them out "
            "(tempkb docs operations), or name their files: tempkb build --all --dump FILE, or say where to fetch "
            "them: TEMPKB_WIKI=simplewiki TEMPKB_MIRROR=https://dumps.wikimedia.org TEMPKB_CONTACT=me@example.org "
            "tempkb plan --no-wikidata"
        )
    elif not lines and not outlook.nothing:
        out.print("Every window that a complete dump serves is built; there is nothing to fetch.")
    elif lines:
        out.print(
            grid(
                (
                    "dump",
                    "for",
                    "windows",
                    "lies",
                    "to fetch",
                    "files",
                    "to fetch in",
                    "processor time",
                    "build in",
                    "disk",
                ),
                [_row(home, line) for line in lines],
            )
        )
    unserved = [window.label for window in missing if window.key not in served]
    if unserved and not is_bare:
        which = f"{unserved[0]} to {unserved[-1]}" if len(unserved) > 1 else unserved[0]
        have = "has" if len(unserved) == 1 else "have"
        say(f"No complete dump reaches {counted(len(unserved), 'window')} that {have} ended: {which}.")
    for passed in outlook.passed:
        say(f"not taken: {passed}")
    _print_needs(home, lines)
    if outlook.nothing:
        raise SourceError(outlook.nothing)


def _line(home: Home, due: Due) -> Line:
    files = due.offer.files if due.offer else ()
    come = sum(
        (home.dumps / "_arriving" / f"{file.place}.part").stat().st_size
        for file in files
        if (home.dumps / "_arriving" / f"{file.place}.part").is_file()
    )
    fetch = max(0, sum(file.size or 0 for file in files) - come)
    unknown = sum(file.size is None for file in files)
    return Line(due, fetch, unknown, _cost(home, due) if due.windows else None)


def _cost(home: Home, due: Due) -> Cost:
    """The cost of reading the dump, which is all of its history, whichever windows are built."""
    sizes: Counter[str] = Counter()
    offered = {file.place: file.size or 0 for file in due.offer.files} if due.offer else {}
    for file in due.dump.history:
        place = file.path.relative_to(home.dumps).as_posix()
        sizes[_suffix(file.path)] += offered[place] if due.offer else file.path.stat().st_size
    per_year = _WINDOWS_PER_YEAR[home.settings.granularity]
    return estimate(sizes, len(due.windows), home.settings.workers, per_year)


def _suffix(path: Path) -> str:
    return path.suffix if path.suffix in (".bz2", ".7z", ".gz", ".zst") else ""


def _row(home: Home, line: Line) -> Sequence[object]:
    windows = line.due.windows
    span = f"{windows[0].label} to {windows[-1].label}" if len(windows) > 1 else "".join(one.label for one in windows)
    n_files = len(line.due.offer.files) if line.due.offer else 0
    unknown = f" and {counted(line.n_unknown, 'file')} of unknown size" if line.n_unknown else ""
    cost = line.cost
    return (
        line.due.dump.dump_id,
        span or line.due.purpose,
        len(windows),
        "in the mirror" if line.due.offer else "here",
        _size(line.fetch_bytes) + unknown,
        n_files,
        duration(round(line.fetch_bytes / _rate(home))),
        duration(round(cost.cpu_seconds)) if cost else "",
        duration(round(cost.wall_seconds)) if cost else "",
        _size(_disk(line)),
    )


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
    needed = staying + drafts
    limit = "the setting bandwidth" if home.settings.bandwidth else "assumed"
    console().print(
        f"In all {_size(staying)} of disk, and up to {_size(drafts)} more while it builds; {_size(free)} are free. "
        f"Times are for {_rate(home) / 1e6:g} MB/s of download "
        f"({limit}), and for measured rates of building on {counted(home.settings.workers, 'worker')}: see "
        "tempkb docs scaling. Sizes inside dumps are estimated from those of the files."
    )
    if needed > free:
        raise SourceError(
            f"{folder}: {_size(needed)} of disk are needed, but only {_size(free)} are free; take a home on a larger "
            "disk (TEMPKB_HOME=...), fewer windows (TEMPKB_FIRST_WINDOW=...) or a part of the wiki (--sample)"
        )


def _disk(line: Line) -> float:
    return line.fetch_bytes + (line.cost.home_bytes if line.cost else 0)


def _rate(home: Home) -> float:
    return home.settings.bandwidth * 1e6 or _FETCHED_PER_SECOND


def _size(n_bytes: float) -> str:
    """Return a number of bytes with a unit.

    >>> _size(1_500_000)
    '1.5 MB'
    """
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.1f} {name}"
    return f"{n_bytes:.0f} B"
