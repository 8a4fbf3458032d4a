"""Files of Wikidata's entities that a user names: recognising them and finding their day."""

import contextlib
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from tempkb.core.errors import SettingsError, SourceError
from tempkb.core.windows import epoch_seconds
from tempkb.wiki.dumps.catalogue import Dump, DumpFile, day_in, distinct_files, no_dump_file
from tempkb.wiki.dumps.files import DamageError, open_dump
from tempkb.wiki.dumps.looking import look_at
from tempkb.wiki.dumps.offers import ENTITIES, WIKIDATA
from tempkb.wiki.dumps.sums import hash_of_all

_JSON = re.compile(r"\.json(\.\w+)?$")
_SQL = re.compile(r"\.sql(\.gz)?$")
_MODIFIED = re.compile(rb'"modified": ?"(20\d\d-\d\d-\d\d)T')


def name_entities(paths: Sequence[Path], day: date | None = None) -> Dump:
    """Make a dump from files of Wikidata's entities that a user names.

    Args:
        day: the dump's day. None: the newest day in the files' names, else the day
            after the last change that the entities report.

    Raises:
        SourceError: a file is missing or holds no entity, or the day cannot be found.
        SettingsError: the day is in the future.
    """
    today = datetime.now(UTC).date()
    if day is not None and day > today:
        raise SettingsError(
            f"--day {day}: is in the future, today is {today}; expected the day on which the files were written"
        )
    files = []
    for path in distinct_files(paths):
        if not path.is_file():
            raise no_dump_file(path, "Wikidata's JSON (.json, .json.gz, .json.bz2)")
        files.append(DumpFile(path, ENTITIES))
        look_at(path, ENTITIES)
    named = [day_in(file.path.name) for file in files]
    named_day = max((one for one in named if one), default=None)
    digest = files[0].sha256 if len(files) == 1 else hash_of_all(file.sha256 for file in files)
    known = day or named_day or _day_after_changes(files)
    name = f"{known:%Y%m%d}" if named_day == known and all(named) else digest[:8]
    return Dump(
        f"{WIKIDATA}-{name}",
        WIKIDATA,
        known,
        tuple(files),
        epoch_seconds(known),
        is_named=True,
        is_day_given=day is not None and day != named_day,
    )


def holds_entities(path: Path) -> bool:
    """Is a file Wikidata's JSON, by its name or by its first bytes?"""
    if _JSON.search(path.name):
        return True
    if not path.is_file() or _SQL.search(path.name):
        return False
    pieces = open_dump(path)
    with contextlib.closing(pieces):
        try:
            return next(pieces, b"").lstrip()[:1] in (b"[", b"{")
        except DamageError:
            return False


def _day_after_changes(files: Iterable[DumpFile]) -> date:
    days: set[bytes] = set()
    for file in files:
        tail = b""
        with contextlib.suppress(DamageError):
            for piece in open_dump(file.path):
                days.update(_MODIFIED.findall(tail + piece))
                tail = piece[-40:]
    latest = max((day for one in days if (day := _day_or_none(one))), default=None)
    if latest is None:
        names = ", ".join(file.path.name for file in files)
        raise SourceError(
            f"{names}: neither the name nor an entity gives the day of the dump; add it: --day YYYY-MM-DD"
        )
    return latest + timedelta(days=1)


def _day_or_none(text: bytes) -> date | None:
    try:
        return date.fromisoformat(text.decode())
    except ValueError:
        # A damaged number; the pass over the entities reports what is broken.
        return None
