"""The default sources of a release, the newest cut and Wikidata dump, and the dumps' files from which it was made.

A manifest names such a file `<dump>/<file>`, beside the tables from which the rows were made; a card names them, too.
"""

from collections.abc import Collection

from tempkb.core.errors import SourceError
from tempkb.core.windows import window_of_key
from tempkb.store.store import Store
from tempkb.store.versions import Version
from tempkb.wiki.dumps.tables import PAGES
from tempkb.wiki.mentions.tables import ENTITY_POPULARITY
from tempkb.wiki.revisions.losses import setting_of
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS
from tempkb.wiki.wikidata.scope import dump_dates
from tempkb.wiki.wikidata.tables import TABLES as OF_WIKIDATA


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


# Whatever else a release is made from, such as mentions and texts, is made from the dumps of the same snapshots.
_FOLLOWED = {STABLE_SNAPSHOTS.name, PAGES.name, *(table.name for table in OF_WIKIDATA)}


def with_files(store: Store, versions: Collection[Version]) -> dict[str, str]:
    """Return the inputs of a release's rows for their manifest: the tables that were read, and the files behind them.

    Returns:
        table and partition -> version; `<dump>/<file>` -> SHA-256; and `<dump>/` -> nothing for a dump whose files are
        not known any more, because its tables were removed or read again after a snapshot was made from them.
    """
    found = {f"{one.table} {one.partition}": one.version for one in versions}
    for one in versions:
        found |= _files_behind(store, one) if one.table in _FOLLOWED else files_of(one)
    return found


def files_of(version: Version) -> dict[str, str]:
    """Return the files from which a version of a release's rows was made, by `<dump>/<file>`."""
    return {name: digest for name, digest in version.inputs.items() if "/" in name}


def _files_behind(store: Store, version: Version) -> dict[str, str]:
    found: dict[str, str] = {}
    dump_id = setting_of(version, "dump_id") or version.partition
    for name, digest in version.inputs.items():
        table, _, partition = name.partition(" ")
        if table not in _FOLLOWED:
            found[f"{dump_id}/{name}"] = digest
        elif (source := store.lake.current(table, partition)) is not None and source.version == digest:
            found |= _files_behind(store, source)
        else:
            found[f"{partition}/"] = ""
    return found
