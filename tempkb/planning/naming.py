"""The dumps that a person names with `--dump`, and the dumps of Wikidata that lie here. Nothing is written here."""

from collections.abc import Callable, Sequence
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
    _refuse_odd(home, dump, lambda there: not {*dump.history} <= {*there.history})
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
    _refuse_odd(home, dump, lambda there: bool(there.entities) and _sums(there) != _sums(dump))
    return dump


def entity_dumps(home: Home) -> list[Dump]:
    """Return the complete dumps of Wikidata's entities in the home's folder, oldest first."""
    there = (one for one in find_dumps(home.dumps) if one.entities and not one.flaws)
    return sorted(there, key=lambda one: (one.horizon, one.dump_id))


def _sums(dump: Dump) -> set[str]:
    return {file.sha256 for file in dump.entities}


def _refuse_odd(home: Home, dump: Dump, is_other: Callable[[Dump], bool]) -> None:
    """Refuse a dump from the future, or of which other files lie in the home's folder."""
    if flaw := in_the_future(horizon_day(dump), datetime.now(UTC).date()):
        raise SettingsError(f"--dump: {dump.dump_id} {flaw}")
    there = (one for one in find_dumps(home.dumps) if one.dump_id == dump.dump_id and not one.is_named)
    if any(map(is_other, there)):
        raise SettingsError(
            f"--dump: the files are of {dump.dump_id}, and {home.dumps} holds other files of that dump; "
            "leave out --dump to use those, or take another home for these"
        )
