"""What a folder or web server offers by the publisher's own lists: dumps, their files, and whether they are complete.

    <wiki>/<YYYYMMDD>/dumpstatus.json                                   jobs, their files, sizes, sha1
    other/mediawiki_content_history/<wiki>/<YYYY-MM-DD>/xml/bzip2/      SHA256SUMS, and _SUCCESS once it is complete
    wikidatawiki/entities/<YYYYMMDD>/wikidata-<YYYYMMDD>-sha1sums.txt   names and checksums

A folder without such a list was put together by hand. It is used as it is, but nothing shows whether it is complete
(`is_listed` is false). A place is a path below the mirror's root, with slashes: `simplewiki/20260401`.
"""

import difflib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Protocol

from tempkb.core.errors import SourceError
from tempkb.core.settings import is_wiki_name
from tempkb.core.windows import in_the_future

_STEP = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
# Lists of files are small: that of the largest wiki has a few megabytes.
LONGEST_LIST = 64 << 20


class Mirror(Protocol):
    """What the catalogue needs of a place where dumps are published."""

    @property
    def where(self) -> str:
        """The root, as people would write it."""

    def folders(self, place: str) -> list[str]:
        """Return the names of the folders in a place, sorted; none if there is no such place."""

    def sizes(self, place: str) -> dict[str, int]:
        """Return the sizes in bytes of the files in a place, by name, as far as they are known."""

    def small_file(self, place: str) -> bytes | None:
        """Return the content of a list of files; None if there is none.

        Raises:
            SourceError: it is longer than any list of files, or cannot be read.
        """


@dataclass(frozen=True)
class FolderMirror:
    """A folder of this machine, or one that is mounted on it.

    Args:
        is_own: is it the home's own folder? A link in it may lead anywhere. A mirror is filled by others, so a link
            in a mirror must lead to a place in the mirror.
    """

    root: Path
    is_own: bool = False

    @property
    def where(self) -> str:
        """The folder."""
        return str(self.root)

    def folders(self, place: str) -> list[str]:
        """Return the names of the folders in a place, sorted."""
        folder = self.path_of(place)
        return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []

    def small_file(self, place: str) -> bytes | None:
        """Return the content of a list of files; None if there is none."""
        path = self.path_of(place)
        if not path.is_file():
            return None
        if path.stat().st_size > LONGEST_LIST:
            raise SourceError(f"{path}: {path.stat().st_size} bytes; expected a list of files, which is much shorter")
        return path.read_bytes()

    def sizes(self, place: str) -> dict[str, int]:
        """Return the sizes in bytes of the files in a place, by name."""
        folder = self.path_of(place)
        files = sorted(path for path in folder.iterdir() if path.is_file()) if folder.is_dir() else []
        return {path.name: path.stat().st_size for path in files}

    def size_of(self, place: str) -> int | None:
        """Return the size of a file in bytes; None if it does not exist."""
        path = self.path_of(place)
        return path.stat().st_size if path.is_file() else None

    def path_of(self, place: str) -> Path:
        """Return the path of a place.

        Raises:
            SourceError: a link on the way leads out of the mirror.
        """
        path = self.root / place
        if not self.is_own and not (found := path.resolve()).is_relative_to(self.root.resolve()):
            raise SourceError(
                f"{path}: a link that leads to {found}, outside of the mirror {self.root}; expected a file or folder "
                "in the mirror. Nothing is read from there. Put the file itself into the mirror, or set the folder "
                "that has it as the mirror"
            )
        return path


def below(root: Path, place: str) -> Path:
    """Return the path of a place below a folder.

    Raises:
        SourceError: the place would be elsewhere, or has steps that no dump has.
    """
    steps = place.split("/")
    if not all(_STEP.fullmatch(step) for step in steps):
        raise SourceError(
            f"{place!r}: the mirror gives a name that is not a plain path below its root; expected steps such as "
            "simplewiki/20260401/simplewiki-20260401-page.sql.gz. Nothing was written; check what the mirror offers."
        )
    return root.joinpath(*steps)


_LEGACY = re.compile(r"(?P<wiki>[a-z][a-z0-9_]*)-(?P<date>\d{8})-(?P<rest>.+)")
_CONTENT = re.compile(r"(?P<wiki>[a-z][a-z0-9_]*)-(?P<date>\d{4}-\d\d-\d\d)-p\d\w*\.xml(\.\w+)?")
_ENTITIES = re.compile(r"wikidata-(?P<date>\d{8})-all\.json(\.\w+)?")
_HISTORY = re.compile(r"pages-meta-history\d*\.xml(-p\d+p\d+)?(\.\w+)?")
_SQL = re.compile(r"(page_props|page|redirect)\.sql(\.gz)?")
_DUMP_OF = re.compile(r"([a-z][a-z0-9_]*-\d{8})-")
_DAY = re.compile(r"\d{8}")
_SUM = re.compile(r"([0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}) [ *](\S+)")
_SUM_KINDS = {32: "md5", 40: "sha1", 64: "sha256"}
# If a part exists in several compressions, the one that is cheapest to read is chosen.
_CHEAPEST = (".zst", ".7z", ".gz", ".xz", ".lzma", ".bz2", "")
HISTORY = "history"
ENTITIES = "entities"
WIKIDATA = "wikidatawiki"
END = "_SUCCESS"

# Before a job has files, only its name shows what it will make.
_HISTORY_JOBS = ("metahistory7zdump", "metahistorybz2dump")
_JOBS = dict.fromkeys(_HISTORY_JOBS, HISTORY) | {
    "pagetable": "page",
    "pagepropstable": "page_props",
    "redirecttable": "redirect",
}
# Without these a window would have no items, and would be kept like that.
_NEEDED = ("page", "page_props")
CONTENT_HISTORY = "other/mediawiki_content_history"
# Folders beside dumps, or beside wikis, that are neither.
_NO_DUMPS = {"latest", "entities"}
_NO_WIKIS = {"named", "other"}


@dataclass(frozen=True)
class OfferedFile:
    """A file of a dump according to its publisher's list.

    Attributes:
        place: path below the mirror's root.
        kind: `history`, `entities` (Wikidata's JSON), or the name of an SQL table.
        size: in bytes; None if the list does not give it.
        checksum: `sha1:<hex>`, `sha256:<hex>` or `md5:<hex>`; empty if the list gives none.
    """

    place: str
    kind: str
    size: int | None = None
    checksum: str = ""

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.place.rpartition("/")[2]


@dataclass
class Offer:
    """A dump as a mirror offers it.

    Attributes:
        files: one per part, in the compression that is cheapest to read.
        flaws: reasons in words why it is not complete; none if it is.
        lists: contents of the publisher's lists by place, the end marker last.
        is_listed: does the publisher list the files of the dump?
        lacks: what is missing, in words, though the dump may be complete without it; for example a failed history.
    """

    wiki: str
    date: date
    files: tuple[OfferedFile, ...] = ()
    flaws: list[str] = field(default_factory=list)
    lists: dict[str, bytes] = field(default_factory=dict)
    is_listed: bool = True
    lacks: list[str] = field(default_factory=list)

    @property
    def dump_id(self) -> str:
        """Name of the dump."""
        return f"{self.wiki}-{self.date:%Y%m%d}"


@dataclass(frozen=True)
class Shown:
    """Everything that a mirror has of a wiki, including what cannot be used.

    Attributes:
        offers: dumps from the requested day on, oldest first; one without files and flaws has nothing of the wiki.
        older: days of the earlier dumps, whose lists were not read.
        misnamed: folders beside them whose name is not a dump's, with the expected name, in words.
    """

    offers: list[Offer]
    older: list[date]
    misnamed: list[str]
    places: list[str]

    @property
    def is_nothing(self) -> bool:
        """Does the mirror have nothing at all of the wiki?"""
        return not (self.offers or self.older or self.misnamed)


def shown_of(mirror: Mirror, wiki: str, since: date = date.min, *, entities_only: bool = False) -> Shown:
    """Return what a mirror has of a wiki.

    A list of files that is broken, or that names files of no dump, is a flaw of that dump
    alone and does not affect the others.

    Args:
        wiki: database name; for `wikidatawiki` the dumps of entities are included.
        since: day of the oldest dump wanted; the lists of older ones are not read.
        entities_only: for `wikidatawiki`, leave out the wiki's pages, which a home of another wiki does not use.
    """
    found: dict[date, Offer] = {}
    older: set[date] = set()
    misnamed, places = [], []
    names = [] if entities_only else ["legacy", "content"]
    names += ["entities"] if wiki == WIKIDATA else []
    for layout, form, example, read in (_LAYOUTS[name] for name in names):
        place = layout.format(wiki=wiki)
        places.append(place)
        for name in mirror.folders(place):
            day = _day(name, form)
            if day is None:
                if name not in _NO_DUMPS:
                    misnamed.append(f"{place}/{name}: is not the name of a dump; expected a date, such as {example}")
                continue
            if day < since:
                older.add(day)
                continue
            offer = Offer(wiki, day)
            try:
                read(mirror, f"{place}/{name}", offer)
            except SourceError as error:
                offer = Offer(wiki, day, flaws=[str(error)])
            found[day] = _together(found[day], offer) if day in found else offer
    today = datetime.now(UTC).date()
    for one in found.values():
        _choose_files(mirror, one)
        one.flaws += [flaw] if (flaw := in_the_future(one.date, today)) else []
    return Shown([found[day] for day in sorted(found)], sorted(older), misnamed, places)


def offers_of(mirror: Mirror, wiki: str, since: date = date.min, *, entities_only: bool = False) -> list[Offer]:
    """Return the dumps of a wiki that a mirror offers, oldest first; the arguments are those of `shown_of`."""
    shown = shown_of(mirror, wiki, since, entities_only=entities_only)
    return [offer for offer in shown.offers if offer.files or offer.flaws]


def near_wikis(mirror: Mirror, wiki: str) -> list[str]:
    """Return at most five names of wikis in the mirror that are similar to the wanted one, the most similar first.

    Empty if the mirror gives no list of its folders.
    """
    there: set[str] = set()
    for place in ("", CONTENT_HISTORY):
        try:
            there.update(mirror.folders(place))
        except SourceError:
            # A server's root need not have an index page, and may be forbidden.
            continue
    known = sorted(name for name in there - _NO_WIKIS if is_wiki_name(name))
    alike = difflib.get_close_matches(wiki, known, n=5, cutoff=0.5)
    return alike or known[:5]


def _note_unlisted(there: Iterable[str], listed: Sequence[OfferedFile], offer: Offer) -> None:
    """Add a flaw for each part that exists but is in no list: the list was cut, perhaps exactly between two lines."""
    parts = {_part_of(file) for file in listed}
    for name in there:
        kind = HISTORY if _is_content(name, offer) else legacy_kind(name, offer)
        if kind and _part_of(OfferedFile(name, kind)) not in parts:
            offer.flaws.append(f"{name} exists, but no list of files names it")


def _choose_files(mirror: Mirror, offer: Offer) -> None:
    """Keep one file per part; in a folder, one that exists. A part without any file is a flaw."""
    listed = _without_older_kind(offer.files)
    offer.files = cheapest(listed)
    if not isinstance(mirror, FolderMirror):
        return
    led_out = _leading_out(mirror, listed)
    offer.flaws += led_out
    if led_out or not offer.is_listed:
        return
    there = [file for file in listed if mirror.size_of(file.place) is not None]
    held = {_part_of(file) for file in there}
    offer.flaws += [f"file {file.name} is missing" for file in offer.files if _part_of(file) not in held]
    offer.files = cheapest(there)
    for file in offer.files:
        size = mirror.size_of(file.place)
        if file.size is not None and size != file.size:
            offer.flaws.append(f"{file.name} has {size} of {file.size} bytes")


def _leading_out(mirror: FolderMirror, files: Sequence[OfferedFile]) -> list[str]:
    """Return in words what is wrong with the files of a folder that are links out of it."""
    flaws = []
    for file in files:
        try:
            mirror.path_of(file.place)
        except SourceError as error:
            flaws.append(str(error))
    return flaws


def wikis_in(mirror: FolderMirror) -> list[str]:
    """Return the names of the wikis of which a folder has dumps."""
    named = {*mirror.folders(""), *mirror.folders(CONTENT_HISTORY)} - _NO_WIKIS
    return sorted(name for name in named if is_wiki_name(name))


def read_sums(data: bytes, where: str) -> dict[str, str]:
    """Read a checksum list, one line `<hex>  <name>` per file, as `{name: "sha1:<hex>"}`.

    Args:
        data: content of `SHA256SUMS`, `...-sha1sums.txt` or `...-md5sums.txt`.
        where: address or path of the list, for messages.

    Raises:
        SourceError: a line is cut or has another form, or a name has two different checksums.
    """
    sums: dict[str, str] = {}
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        text = line.decode("utf-8", "replace").rstrip("\r")
        if not text and number == len(lines):
            return sums
        match = _SUM.fullmatch(text)
        if not match or number == len(lines):
            found = "the list ends in the middle of a line" if number == len(lines) else f"found {text[:80]!r}"
            raise SourceError(
                f"{where}, line {number}: {found}; expected a checksum, two blanks, a name and a line break. "
                "Fetch the list again."
            )
        checksum = f"{_SUM_KINDS[len(match[1])]}:{match[1]}"
        if sums.setdefault(match[2], checksum) != checksum:
            raise SourceError(f"{where}, line {number}: {match[2]!r} has two different checksums; fetch the list again")
    return sums


def read_status(data: bytes, where: str) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Read `dumpstatus.json` as `{job: (status, {file name: its description})}`.

    Raises:
        SourceError: it is not JSON, is cut, or has another form.
    """
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        at = getattr(error, "pos", 0)
        raise SourceError(
            f"{where}: broken at character {at} ({str(error) or type(error).__name__}); fetch it again"
        ) from None
    jobs = content.get("jobs") if isinstance(content, dict) else None
    if not isinstance(jobs, dict):
        raise SourceError(f"{where}: found no jobs; expected a dumpstatus.json as Wikimedia writes it")
    read: dict[str, tuple[str, Mapping[str, Any]]] = {}
    for name, job in jobs.items():
        files = job.get("files", {}) if isinstance(job, dict) else None
        status = job.get("status") if isinstance(job, dict) else None
        if not isinstance(status, str) or not isinstance(files, dict):
            raise SourceError(
                f"{where}: job {name!r} has no status and files; expected a dumpstatus.json as Wikimedia writes it"
            )
        if not all(isinstance(one, dict) for one in files.values()):
            raise SourceError(f"{where}: the files of job {name!r} are not described; expected sizes and checksums")
        read[name] = (status, files)
    return read


def cheapest(files: Sequence[OfferedFile]) -> tuple[OfferedFile, ...]:
    """Keep one file per part, in the compression that is cheapest to read."""
    kept: dict[str, OfferedFile] = {}
    for file in files:
        held = kept.get(_part_of(file))
        if held is None or _cost(file) < _cost(held):
            kept[_part_of(file)] = file
    return tuple(kept[part] for part in sorted(kept))


def _without_older_kind(files: Sequence[OfferedFile]) -> list[OfferedFile]:
    """Leave out the older kind of history if there is a content export."""
    has_content = any(file.place.startswith(CONTENT_HISTORY) for file in files)
    return [file for file in files if file.kind != HISTORY or not has_content or file.place.startswith(CONTENT_HISTORY)]


def _read_legacy(mirror: Mirror, folder: str, offer: Offer) -> None:
    place = f"{folder}/dumpstatus.json"
    status = mirror.small_file(place)
    if status is not None:
        _take_status(status, f"{mirror.where}/{place}", folder, offer)
        offer.lists[place] = status
        if not offer.flaws:
            _note_unlisted(mirror.sizes(folder), offer.files, offer)
    elif isinstance(mirror, FolderMirror):
        names = mirror.sizes(folder)
        kinds = {name: legacy_kind(name, offer) for name in names}
        offer.files = tuple(OfferedFile(f"{folder}/{name}", kind) for name, kind in kinds.items() if kind)
        offer.is_listed = False
        _note_nothing(folder, names, offer)
    else:
        offer.flaws.append("there is no dumpstatus.json")


def _take_status(status: bytes, where: str, folder: str, offer: Offer) -> None:
    """Take the files of jobs that are done; an unfinished job or a table whose job failed is a flaw."""
    files, undone, done = [], [], set()
    jobs = read_status(status, where)
    named = {match[1] for _, listed in jobs.values() for name in listed if (match := _DUMP_OF.match(name))}
    if named and offer.dump_id not in named:
        others = ", ".join(sorted(named)[:3])
        raise SourceError(f"{where}: names files of {others}, and none of {offer.dump_id}; the list is not used")
    for job, (state, listed) in jobs.items():
        wanted = {name: kind for name in listed if (kind := legacy_kind(_checked(name, where), offer))}
        kinds = set(wanted.values()) or ({_JOBS[job]} if job in _JOBS else set())
        if state == "done":
            done |= kinds
            files += [_described(f"{folder}/{name}", kind, listed[name], where) for name, kind in wanted.items()]
        elif kinds:
            undone.append((job, state, kinds))
    for job, state, kinds in undone:
        # If the job of the history failed, the dump is offered without it, for its tables are still good. A job that is
        # still running is waited for.
        is_wanted = state not in ("failed", "skipped") or not kinds <= {*done, HISTORY}
        (offer.flaws if is_wanted else offer.lacks).append(f"job {job} is {state}")
    undone_kinds = {kind for _, _, kinds in undone for kind in kinds}
    offer.flaws += [f"there is no SQL table {table}" for table in _NEEDED if table not in done | undone_kinds]
    offer.files = tuple(files)


def _described(place: str, kind: str, entry: Mapping[str, Any], where: str) -> OfferedFile:
    size = entry.get("size")
    sums = [f"{name}:{entry[name]}" for name in ("sha1", "md5") if isinstance(entry.get(name), str)]
    if not isinstance(size, int) or size < 0 or not sums or not re.fullmatch(r"[0-9a-f]+", sums[0].partition(":")[2]):
        raise SourceError(
            f"{where}: {place.rpartition('/')[2]} has no size and checksum though its job is done; expected both. "
            "Fetch the list again."
        )
    return OfferedFile(place, kind, size, sums[0])


def _read_content(mirror: Mirror, folder: str, offer: Offer) -> None:
    forms = mirror.folders(f"{folder}/xml")
    for form in forms:
        _take_sums(mirror, f"{folder}/xml/{form}", offer)
    if not forms:
        offer.lacks.append(f"{folder} has no folder xml/bzip2 or the like, which holds a content export")


def _take_sums(mirror: Mirror, folder: str, offer: Offer) -> None:
    sums = mirror.small_file(f"{folder}/SHA256SUMS")
    is_done = mirror.small_file(f"{folder}/{END}") is not None
    if sums is None and not is_done and isinstance(mirror, FolderMirror):
        names = [name for name in mirror.sizes(folder) if _is_content(name, offer)]
        offer.files += tuple(OfferedFile(f"{folder}/{name}", HISTORY) for name in names)
        offer.is_listed = False
        _note_nothing(folder, mirror.sizes(folder), offer)
        return
    if not is_done:
        offer.flaws.append(f"there is no {END}, which marks the end")
    if sums is None:
        offer.flaws.append("there is no SHA256SUMS")
        return
    where = f"{mirror.where}/{folder}/SHA256SUMS"
    files, sizes = [], mirror.sizes(folder)
    for name, checksum in read_sums(sums, where).items():
        if not _is_content(name, offer):
            raise SourceError(f"{where}: names {name!r}, which is not a file of {offer.dump_id}; the list is not used")
        files.append(OfferedFile(f"{folder}/{name}", HISTORY, sizes.get(name), checksum))
    if not files:
        offer.flaws.append("SHA256SUMS is empty")
    _note_unlisted(sizes, files, offer)
    offer.files += tuple(files)
    offer.lists |= {f"{folder}/SHA256SUMS": sums, f"{folder}/{END}": b""}


def _read_entities(mirror: Mirror, folder: str, offer: Offer) -> None:
    day = f"{offer.date:%Y%m%d}"
    for kind in ("sha1", "md5"):
        place = f"{folder}/wikidata-{day}-{kind}sums.txt"
        sums = mirror.small_file(place)
        if sums is None:
            continue
        where = f"{mirror.where}/{place}"
        listed = {_checked(name, where): checksum for name, checksum in read_sums(sums, where).items()}
        sizes = mirror.sizes(folder)
        files = (OfferedFile(f"{folder}/{name}", ENTITIES, sizes.get(name), listed[name]) for name in listed)
        offer.files = tuple(file for file in files if _is_entities(file.name, day))
        offer.lists[place] = sums
        if not offer.files:
            offer.flaws.append(f"{place.rpartition('/')[2]} has no checksum of its JSON")
        return
    if not isinstance(mirror, FolderMirror):
        offer.flaws.append("there is no checksum list")
        return
    names = (name for name in mirror.sizes(folder) if _is_entities(name, day))
    offer.files = tuple(OfferedFile(f"{folder}/{name}", ENTITIES) for name in names)
    offer.is_listed = False
    _note_nothing(folder, mirror.sizes(folder), offer)


def _note_nothing(folder: str, names: Iterable[str], offer: Offer) -> None:
    """Add a note that a folder without a list has no file of the dump, with what it holds instead."""
    if offer.files:
        return
    there = sorted(names)
    more = f" and {len(there) - 2} more" if len(there) > 2 else ""
    listed = f"only {', '.join(there[:2])}{more}" if there else "nothing"
    offer.lacks.append(f"{folder} has no file that tempkb reads for {offer.dump_id}; it holds {listed}")


_LAYOUTS: Mapping[str, tuple[str, str, str, Callable[[Mirror, str, Offer], None]]] = {
    "legacy": ("{wiki}", "%Y%m%d", "20260401", _read_legacy),
    "content": (f"{CONTENT_HISTORY}/{{wiki}}", "%Y-%m-%d", "2026-04-01", _read_content),
    "entities": (f"{WIKIDATA}/entities", "%Y%m%d", "20260401", _read_entities),
}


def _together(one: Offer, other: Offer) -> Offer:
    """Join the offers of one day in two layouts. With a content export, the older history's jobs need not be done."""
    files = (*one.files, *other.files)
    if any(file.place.startswith(CONTENT_HISTORY) for file in files):
        one.flaws = [flaw for flaw in one.flaws if not flaw.startswith(tuple(f"job {job} " for job in _HISTORY_JOBS))]
    return Offer(
        one.wiki,
        one.date,
        files,
        [*one.flaws, *other.flaws],
        one.lists | other.lists,
        is_listed=one.is_listed and other.is_listed,
        lacks=[*one.lacks, *other.lacks],
    )


def wiki_and_day(dump_id: str) -> tuple[str, date] | None:
    """Return the wiki and the day in the id of a dump; None if it has a hash for a day, be it of digits alone."""
    wiki, _, last = dump_id.rpartition("-")
    day = _day(last, "%Y%m%d") if _DAY.fullmatch(last) else None
    return (wiki, day) if day and is_wiki_name(wiki) else None


def legacy_kind(name: str, offer: Offer) -> str | None:
    """Return what a file of a dump in the legacy layout holds; None if tempkb does not read it."""
    match = _LEGACY.fullmatch(name)
    if not match or match["wiki"] != offer.wiki or match["date"] != f"{offer.date:%Y%m%d}":
        return None
    if _HISTORY.fullmatch(match["rest"]):
        return HISTORY
    sql = _SQL.fullmatch(match["rest"])
    return sql[1] if sql else None


def _is_content(name: str, offer: Offer) -> bool:
    match = _CONTENT.fullmatch(name)
    return bool(match) and match["wiki"] == offer.wiki and match["date"] == offer.date.isoformat()  # type: ignore[index]


def _is_entities(name: str, day: str) -> bool:
    match = _ENTITIES.fullmatch(name)
    return bool(match) and match["date"] == day  # type: ignore[index]


def _checked(name: str, where: str) -> str:
    if "/" in name or "\\" in name or name.startswith(".") or not name.isprintable():
        raise SourceError(f"{where}: names {name!r}, which is not a plain file name; the list is not used")
    return name


def _day(name: str, form: str) -> date | None:
    try:
        return datetime.strptime(name, form).replace(tzinfo=UTC).date()
    except ValueError:
        return None


def _part_of(file: OfferedFile) -> str:
    return file.place.rpartition("/")[2].removesuffix(_CHEAPEST[_cost(file)])


def _cost(file: OfferedFile) -> int:
    suffix = "." + file.name.rpartition(".")[2]
    return _CHEAPEST.index(suffix) if suffix in _CHEAPEST else len(_CHEAPEST) - 1
