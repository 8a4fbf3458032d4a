"""The days of the Wikidata dumps that were read."""

from datetime import date

from tempkb.store.lake import Lake
from tempkb.wikidata.tables import FACTS, WIKIDATA_ENTITIES

PROVISIONAL_DAYS = 90
"""Days past its end after which what a dump says of a window is taken as final."""


def dump_dates(lake: Lake) -> dict[str, date]:
    """Return the days of the Wikidata dumps that were read and describe an item of the home, by dump."""
    read = [one for table in (FACTS, WIKIDATA_ENTITIES) for one in lake.versions(table.name)]
    return {one.partition: date.fromisoformat(one.day) for one in read if one.rows and one.day}


def day_of(lake: Lake, dump_id: str) -> date:
    """Return the day of a dump that was read; the first of all days if it is not known."""
    version = lake.current(WIKIDATA_ENTITIES.name, dump_id)
    return date.fromisoformat(version.day) if version is not None and version.day else date.min
