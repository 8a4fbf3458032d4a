"""The dumps that a person names with `--dump`, and the dumps of Wikidata that lie here. Nothing is written here."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tempkb.dumps.catalogue import Dump, find_dumps, horizon_day, name_dump
from tempkb.dumps.entities import name_entities
from tempkb.errors import SettingsError
from tempkb.settings import Home
from tempkb.windows import in_the_future, parse_day


def named_dump(home: Home, files: Sequence[Path]) -> Dump | None:
    """Return the dump of the history files that were named; None if there are none.

    Raises:
        SettingsError: the home's folder holds other files of the same dump, the home holds another wiki, or the dump
            is from the future.
    """
    if not files:
        return None
    dump = name_dump(files, home.chosen_wiki)
    _refuse_future(dump)
    for other in find_dumps(home.dumps):
        if other.dump_id == dump.dump_id and not other.is_named and not set(dump.history) <= set(other.history):
            raise _other_files(home, dump)
    home.refuse_other(dump.wiki)
    return dump


def named_entities(home: Home, files: Sequence[Path], day: str) -> Dump:
    """Return the dump of the files of Wikidata's entities that were named.

    Args:
        files: at least one.
        day: of the files, as a person typed it; empty if their names tell it.

    Raises:
        SettingsError: the home's folder holds other files of the same dump, or the dump is from the future.
    """
    dump = name_entities(files, parse_day(day) if day else None)
    _refuse_future(dump)
    sums = {file.sha256 for file in dump.entities}
    for other in find_dumps(home.dumps):
        is_same_id = other.dump_id == dump.dump_id and not other.is_named
        if is_same_id and other.entities and {file.sha256 for file in other.entities} != sums:
            raise _other_files(home, dump)
    return dump


def entity_dumps(home: Home) -> list[Dump]:
    """Return the complete dumps of Wikidata's entities in the home's folder, oldest first."""
    there = (one for one in find_dumps(home.dumps) if one.entities and not one.flaws)
    return sorted(there, key=lambda one: (one.horizon, one.dump_id))


def _refuse_future(dump: Dump) -> None:
    if flaw := in_the_future(horizon_day(dump), datetime.now(UTC).date()):
        raise SettingsError(f"--dump: {dump.dump_id} {flaw}")


def _other_files(home: Home, dump: Dump) -> SettingsError:
    return SettingsError(
        f"--dump: the files are of {dump.dump_id}, and {home.dumps} holds other files of that dump; "
        "leave out --dump to use those, or take another home for these"
    )
