"""The default sources of a release: the newest cut that is built, and the newest Wikidata dump that was read."""

from tempkb.errors import SourceError
from tempkb.mentions.tables import ENTITY_POPULARITY
from tempkb.store.store import Store
from tempkb.wikidata.days import dump_dates
from tempkb.windows import window_of_key


def newest_cut(store: Store) -> str:
    """Return the cut of the newest window that is built.

    Raises:
        SourceError: no window is built.
    """
    windows = store.lake.partitions(ENTITY_POPULARITY.name)
    if not windows:
        raise SourceError("no window is built yet, so there is no text at any cut; build first: tempkb build")
    return window_of_key(max(windows), store.home.settings.granularity).cut.isoformat()


def newest_wikidata(store: Store) -> str:
    """Return the newest Wikidata dump that was read.

    Raises:
        SourceError: no Wikidata dump that describes an item of the home was read.
    """
    read = dump_dates(store.lake)
    if not read:
        raise SourceError(
            "no Wikidata dump was read yet; put one into the home's dumps, as "
            "wikidatawiki/entities/20260101/wikidata-20260101-all.json.gz, or name it: tempkb build --dump FILE"
        )
    return max(read, key=lambda name: (read[name], name))
