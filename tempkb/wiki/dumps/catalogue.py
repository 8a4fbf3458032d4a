"""The dumps in a home's `dumps` folder or named by a user, and which dump serves which window.

The folder has the layout of a mirror (see `offers.py`). Files that a user names
are remembered in `named/<dump_id>.json`, computed checksums are noted in `sums/`.
"""

import json
import math
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from pathlib import Path

from tempkb.core.errors import SettingsError, SourceError
from tempkb.core.files import own, replace_whole
from tempkb.core.settings import is_wiki_name
from tempkb.core.windows import Window, epoch_seconds, instant
from tempkb.wiki.dumps.offers import ENTITIES, HISTORY, FolderMirror, Offer, offers_of, wikis_in
from tempkb.wiki.dumps.sums import NOTES, hash_of_all, known_sums, verify

_NAMED = re.compile(r"(?P<wiki>[a-z][a-z0-9_]*)-(\d{8}-.+|\d{4}-\d\d-\d\d-p\d.*\.xml(\.\w+)?)")
_FULL_HISTORY = re.compile(r"-(pages-meta-history\.xml|pages-meta-history\d*\.xml-p\d|\d{4}-\d\d-\d\d-p\d)")
_PAGE_RANGE = re.compile(r"[-.]p(\d+)p(\d+)(?=\.|$)")
_ONE_PAGE = re.compile(r"-p(\d+)r\d+r\d+(?=\.|$)")
_SQL = re.compile(r"(?:^|[-.])(page_props|page|redirect)\.sql(\.gz)?$")
_XML = re.compile(r"\.xml(\.\w+|-p\d+p\d+\.\w+)?$")
# Names of Wikidata's entity files; the folder of a dump may hold other JSON, such as its job status.
_JSON = re.compile(r"(wikidata|entities|all)[^/]*\.json(\.\w+)?$")


@dataclass(frozen=True)
class DumpFile:
    """A file of a dump.

    Attributes:
        kind: `history`, `entities` (Wikidata's JSON), or the name of an SQL table.
        checksum: the publisher's checksum, as `sha1:<hex>`; empty if there is none.
        notes: folder where computed checksums are noted; None: they are not noted.
        size: in bytes, as its publisher lists it; None if there is no list, or it gives none.
    """

    path: Path
    kind: str
    checksum: str = field(default="", compare=False)
    notes: Path | None = field(default=None, compare=False)
    size: int | None = field(default=None, compare=False)

    @property
    def page_range(self) -> tuple[int, int] | None:
        """First and last page number in the file's name; None if the name gives none."""
        match = _PAGE_RANGE.search(self.path.name)
        if match:
            return int(match[1]), int(match[2])
        match = _ONE_PAGE.search(self.path.name)
        return (int(match[1]), int(match[1])) if match else None

    @property
    def full_range(self) -> tuple[int, float] | None:
        """First and last number of the pages that it has all, with their histories; None if its name promises none."""
        return (self.page_range or (0, math.inf)) if _FULL_HISTORY.search(self.path.name) else None

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the file's bytes, in hexadecimal."""
        return known_sums(self.path, self.notes)["sha256"]

    def verify(self) -> None:
        """Check that the file exists and has the publisher's checksum, if there is one.

        Raises:
            SourceError: the file is missing, or has another checksum.
        """
        if not self.path.is_file():
            raise SourceError(f"{self.path}: no such file; fetch the dump again, or name files: tempkb build --dump")
        if self.checksum:
            verify(self.path, self.checksum, self.notes)


@dataclass(frozen=True)
class Dump:
    """Files that were published together, or that a user named together.

    Attributes:
        dump_id: `<wiki>-<YYYYMMDD>`, or `<wiki>-<hash>` when no date is known.
        files: history files and SQL tables, or files of entities.
        horizon: first second after the time that the dump covers, since 1970, UTC.
        is_named: named by a user; it is read only when a command or run asks for it.
        flaws: reasons why it is not complete; an incomplete dump serves no window.
        is_listed: does its publisher list its files?
        is_day_given: did a user give its day with an option, because the files' names do not?
    """

    dump_id: str
    wiki: str
    date: date | None
    files: tuple[DumpFile, ...]
    horizon: int
    is_named: bool = False
    flaws: tuple[str, ...] = ()
    is_listed: bool = False
    is_day_given: bool = False

    @property
    def history(self) -> tuple[DumpFile, ...]:
        """The files that hold pages with their revisions."""
        return tuple(file for file in self.files if file.kind == HISTORY)

    @property
    def entities(self) -> tuple[DumpFile, ...]:
        """The files that hold Wikidata's entities."""
        return tuple(file for file in self.files if file.kind == ENTITIES)

    @property
    def holds_pages(self) -> bool:
        """Does it hold pages of a wiki, and not only Wikidata's entities?"""
        return any(file.kind != ENTITIES for file in self.files)

    def table(self, kind: str) -> DumpFile | None:
        """Return the file of an SQL table; None if the dump does not have it."""
        return next((file for file in self.files if file.kind == kind), None)

    def knows(self, window: Window) -> bool:
        """Is the dump complete, with a history that reaches the window's cut?"""
        return bool(self.history) and not self.flaws and self.horizon >= epoch_seconds(window.cut)


def find_dumps(root: Path) -> list[Dump]:
    """Return the dumps below `root`: those in Wikimedia's layouts, oldest first, then those that a user named."""
    mirror = FolderMirror(root, is_own=True)
    dated = [dump_of(root, offer) for wiki in wikis_in(mirror) for offer in offers_of(mirror, wiki)]
    return sorted(dated, key=lambda dump: (dump.horizon, dump.dump_id)) + _remembered(root)


def dump_of(root: Path, offer: Offer) -> Dump:
    """Return an offered dump with the paths below `root` where its files are, or where a fetch will put them."""
    files = tuple(
        DumpFile(root / file.place, file.kind, file.checksum, root / NOTES, file.size) for file in offer.files
    )
    horizon = epoch_seconds(offer.date)
    return Dump(
        offer.dump_id, offer.wiki, offer.date, files, horizon, flaws=tuple(offer.flaws), is_listed=offer.is_listed
    )


def name_dump(paths: Sequence[Path], wiki: str | None = None) -> Dump:
    """Make a dump from files that a user names.

    A file's day comes from its name. Several files of one wiki may have different
    days; the newest is the dump's. If a history file's name gives no day, the history
    is read once to find its last revision.

    Args:
        paths: history files and, optionally, SQL tables.
        wiki: database name; overrides the one that the files name.

    Raises:
        SourceError: a file is missing, nothing can be read from it, or the files are no history with texts.
        SettingsError: no file names the wiki, the files name several, or the name is not one that a home can have.
    """
    # Readers of dumps are imported by those who open one: `tempkb status` only lists them.
    from tempkb.wiki.dumps.looking import look_at, refuse_no_history

    files, wikis, days, seen = [], [], [], Counter[str]()
    for path in distinct_files(paths):
        if not path.is_file():
            raise no_dump_file(path, "export files (.xml, .bz2, .7z, ...) and .sql.gz tables")
        sql = _SQL.search(path.name)
        files.append(DumpFile(path, sql[1] if sql else HISTORY))
        match = _NAMED.match(path.name)
        days.append(day_in(path.name))
        site = look_at(path, files[-1].kind, seen)
        wikis.append((site.dbname if site else None) or (match["wiki"] if match else None))
    found = sorted({name for name in wikis if name})
    if wiki is None and len(found) > 1:
        raise SettingsError(
            f"--dump: the files belong to several wikis ({', '.join(found)}); name those of one, or set TEMPKB_WIKI"
        )
    known = wiki or (found[0] if found else None)
    if known is None:
        raise SettingsError(
            f"--dump: none of the files ({files[0].path.name}, ...) names its wiki; set it: TEMPKB_WIKI=simplewiki"
        )
    if wiki is None and not is_wiki_name(known):
        raise _odd_wiki(files[wikis.index(known)].path, known)
    history = [file for file in files if file.kind == HISTORY]
    if not history:
        raise SourceError("--dump: none of the files holds pages; expected at least one XML export")
    refuse_no_history([file.path for file in history], seen)
    # The oldest dump first: if a revision is in several files, the one in the newest file is kept.
    order = sorted(range(len(files)), key=lambda at: (days[at] or date.max, files[at].path.name))
    ordered = tuple(files[at] for at in order)
    history_days = [day for day, file in zip(days, files, strict=True) if file.kind == HISTORY]
    newest = max((day for day in history_days if day), default=None)
    if all(history_days) and newest:
        return Dump(f"{known}-{newest:%Y%m%d}", known, newest, ordered, epoch_seconds(newest), is_named=True)
    digest = files[0].sha256 if len(files) == 1 else hash_of_all(file.sha256 for file in files)
    return Dump(f"{known}-{digest[:8]}", known, None, ordered, last_revision(history) + 1, is_named=True)


def _odd_wiki(path: Path, found: str) -> SettingsError:
    """Return the error for a wiki's name that no home can have, with the nearest one that it can."""
    near = re.sub(r"[^a-z0-9]+", "_", found.lower()).strip("_").lstrip("_0123456789") or "mywiki"
    return SettingsError(
        f"--dump: {path.name} names its wiki {found!r}; expected a database name of lower-case letters, digits and _ "
        f"that begins with a letter; give it one: TEMPKB_WIKI={near}"
    )


def no_dump_file(path: Path, takes: str) -> SourceError:
    """Return the error for a path that is not a file of a dump; for a folder it lists the dump files in it."""
    if not path.is_dir():
        what = "is not a regular file" if path.exists() else "no such file"
        return SourceError(f"{path}: {what}; --dump takes {takes}")
    try:
        names = [one.name for one in path.iterdir() if one.is_file()]
    except OSError:
        names = []
    # Wikidata's entities are a dump of their own and cannot be named together with a wiki's pages.
    tables = sorted({f"*-{match[1]}.sql{match[2] or ''}" for name in names if (match := _SQL.search(name))})
    found = (["*.xml*"] if any(_XML.search(name) for name in names) else []) + tables
    if not found and any(_JSON.search(name) for name in names):
        found = ["*.json*"]
    if not found:
        return SourceError(
            f"{path}: is a folder without dump files directly in it; --dump takes {takes}; name them one "
            "by one, or as a shell expands them: tempkb build --dump FOLDER/*.xml.bz2"
        )
    folder = shlex.quote(str(path))
    files = " ".join(f"{folder}/{pattern}" for pattern in found)
    return SourceError(
        f"{path}: is a folder; --dump takes files, and the folder has some; name them: tempkb build --dump {files}"
    )


def distinct_files(paths: Sequence[Path]) -> list[Path]:
    """Return absolute paths, each file once.

    A symbolic link keeps its own name, since the name gives the wiki and the day.

    Raises:
        SourceError: two different files have the same name, which no table could tell apart, or a name is not UTF-8.
    """
    absolute: dict[Path, Path] = {}
    for path in paths:
        absolute.setdefault(path.expanduser().resolve(), path.expanduser().absolute())
    by_name: dict[str, Path] = {}
    for path in absolute.values():
        if not _is_utf8(path.name):
            raise SourceError(
                f"--dump: the name {path.name!a} is not UTF-8, and no table can hold it; rename or link the file"
            )
        if path.name in by_name:
            raise SourceError(f"--dump: {by_name[path.name]} and {path} have the same name; rename or link one of them")
        by_name[path.name] = path
    return list(by_name.values())


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def remember(root: Path, dump: Dump) -> None:
    """Write down the files of a named dump below `root`, so that later runs find them."""
    note = {
        "wiki": dump.wiki,
        "date": dump.date.isoformat() if dump.date else None,
        "horizon": dump.horizon,
        "is_day_given": dump.is_day_given,
        "files": [{"path": str(file.path), "kind": file.kind} for file in dump.files],
    }
    # Several first builds may name the same files at the same time.
    replace_whole(own(root, root / "named" / f"{dump.dump_id}.json"), json.dumps(note, indent=1).encode() + b"\n")


def serving_dump(dumps: Iterable[Dump], window: Window) -> Dump | None:
    """Return the earliest complete dump whose horizon is at or after the window's cut; named dumps are left out."""
    serving = (dump for dump in dumps if not dump.is_named and dump.knows(window))
    return min(serving, key=lambda dump: (dump.horizon, dump.dump_id), default=None)


def tables_dump(dumps: Iterable[Dump], dump: Dump) -> Dump | None:
    """Return the dump whose SQL tables are used with `dump`: itself, else the nearest one at or after its horizon.

    A dump qualifies with a table of pages or of their items (`page`, `page_props`). `redirect` alone is used only
    if `dump` itself has it and no other dump qualifies.
    """
    if dump.table("page") or dump.table("page_props"):
        return dump
    complete = (one for one in dumps if one.wiki == dump.wiki and not one.flaws)
    qualified = (one for one in complete if one.table("page") or one.table("page_props"))
    later = (one for one in qualified if one.horizon >= dump.horizon)
    nearest = min(later, key=lambda one: (one.horizon, one.dump_id), default=None)
    return nearest or (dump if dump.table("redirect") else None)


def group_items(files: Sequence[DumpFile]) -> list[tuple[DumpFile, ...]]:
    """Group the files that may share pages: those whose page ranges overlap, and all without a range in their name.

    Files keep their order within a group; groups are in the order of their first page.
    """
    ranged = sorted((file for file in files if file.page_range), key=lambda file: file.page_range or (0, 0))
    if len(ranged) < len(files):
        return [tuple(files)]
    groups: list[list[DumpFile]] = []
    last = -1
    for file in ranged:
        begin, end = file.page_range or (0, 0)
        if not groups or begin > last:
            groups.append([])
        groups[-1].append(file)
        last = max(last, end)
    position = {file: at for at, file in enumerate(files)}
    return [tuple(sorted(group, key=position.__getitem__)) for group in groups]


def last_revision(files: Iterable[DumpFile]) -> int:
    """Return the time of the last revision in the files, in seconds since 1970; reads them once.

    Raises:
        SourceError: there is no revision in them.
    """
    from tempkb.wiki.dumps.files import DamageError, open_dump

    latest, met = -1, ""
    for file in files:
        tail = b""
        try:
            for piece in open_dump(file.path):
                for text in _TIMESTAMP.findall(tail + piece):
                    latest = max(latest, _second(text))
                tail = piece[-60:]
        except DamageError as error:
            # The pass over the pages meets the same damage and records it.
            met = met or f" ({error})"
    if latest < 0:
        names = ", ".join(file.path.name for file in files)
        raise SourceError(f"{names}: no revision with a readable timestamp{met}; expected an export of pages")
    return latest


_TIMESTAMP = re.compile(rb"<timestamp>([^<]{20})</timestamp>")


def _second(text: bytes) -> int:
    from tempkb.wiki.dumps.elements import read_timestamp

    try:
        return read_timestamp(text)
    except ValueError:
        return -1


def _remembered(root: Path) -> list[Dump]:
    return [read_named(root, path) for path in sorted((root / "named").glob("*.json"))]


def read_named(root: Path, path: Path) -> Dump:
    """Read the note that `remember` wrote for a named dump.

    Raises:
        SourceError: the note cannot be read.
    """
    try:
        note = json.loads(path.read_text("utf-8"))
        files = tuple(DumpFile(Path(file["path"]), file["kind"], notes=root / NOTES) for file in note["files"])
        day = date.fromisoformat(note["date"]) if note["date"] else None
        horizon, given = int(note["horizon"]), bool(note.get("is_day_given"))
        return Dump(path.stem, str(note["wiki"]), day, files, horizon, is_named=True, is_day_given=given)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise SourceError(f"{path}: not what tempkb wrote ({error}); remove it and name the files again") from None


def day_in(name: str) -> date | None:
    """Return the day in a file's name; None if it has none."""
    match = re.search(r"-(20\d\d)-?(\d\d)-?(\d\d)-", name)
    try:
        return date(*(int(part) for part in match.groups())) if match else None
    except ValueError:
        return None


def horizon_day(dump: Dump) -> date:
    """Return the last day that begins (00:00 UTC) at or before the dump's horizon."""
    return instant(dump.horizon).date()
