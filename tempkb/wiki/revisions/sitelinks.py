"""Wikidata items of pages from site links, where there is no `page_props`, and the update of windows that follows.

`pages` is filled first: an item belongs to the page that has the title of its site link on the day of the page's dump,
by the Wikidata dump nearest to that day. Snapshots take their items from `pages`. Both depend only on what the home
holds, so the order in which the two dumps were read makes no difference.
"""

from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

from tempkb.core.windows import Window, window_of_key
from tempkb.engine.steps import Look, Standing
from tempkb.store.drafts import Exclusion, Provenance
from tempkb.store.memory import spilling_to, view_files
from tempkb.store.store import Store, read_files
from tempkb.store.tables import Table
from tempkb.store.versions import Version
from tempkb.wiki.dumps.tables import PAGES, SITELINK
from tempkb.wiki.revisions.losses import pages_input, pages_of
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS
from tempkb.wiki.wikidata.tables import WIKIDATA_ENTITIES

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from tempkb.core.titles import Site

_BATCH_ROWS = 1 << 16
_TWICE = "site link that a second item has"


def link_pages(store: Store, dump_id: str) -> Version | None:
    """Update the items of a dump's `pages` from the nearest Wikidata dump; None if there are no such pages.

    Raises:
        SourceError: there are site links, but the wiki's namespaces have not been built.
    """
    with store.lake.partition_lock(PAGES.name, dump_id):
        pages = _standing(store, PAGES, dump_id)
        if pages is None or is_linked(store, pages):
            return pages
        links = nearest_links(store, pages)
        files = {name: sha for name, sha in pages.inputs.items() if not name.startswith(_LINKS)}
        provenance = Provenance(files | _links_input(links), pages.settings)
        with store.lake.staging() as folder, spilling_to(folder) as connection:
            view_files(connection, "pages", pages.paths(), PAGES.schema)
            repeated = _make_items(connection, store, dump_id, links)
            rows = connection.sql(_LINKED, params={"source": SITELINK}).to_arrow_reader(_BATCH_ROWS)
            return store.write(PAGES, dump_id, rows, provenance, repeated)


def is_linked(store: Store, pages: Version) -> bool:
    """Are the items of a version of `pages` those of its `page_props`, or of the site links nearest in time?"""
    if pages.settings.get("has_page_props"):
        return True
    used = {name: version for name, version in pages.inputs.items() if name.startswith(_LINKS)}
    return used == _links_input(nearest_links(store, pages))


def _links_input(links: Version | None) -> dict[str, str]:
    return {f"{_LINKS}{links.partition}": links.version} if links else {}


def nearest_links(store: Store, pages: Version) -> Version | None:
    """Return the Wikidata dump whose day is nearest to that of `pages`, the earlier of two; None if none was read."""
    day = date.fromisoformat(pages.settings["day"])
    read = store.lake.versions(WIKIDATA_ENTITIES.name)
    dated = [(date.fromisoformat(one.day), one) for one in read if one.rows and one.day]
    return min(dated, key=lambda pair: (abs(pair[0] - day), pair[0], pair[1].partition), default=(day, None))[1]


def unlinked_windows(store: Store) -> list[Window]:
    """Return the windows whose snapshot has other items than `pages` has, or should have."""
    look = Look(store, (Standing((PAGES,), is_complete=is_linked),))
    return [
        window_of_key(snapshot.partition, store.home.settings.granularity)
        for snapshot in store.lake.versions(STABLE_SNAPSHOTS.name)
        if snapshot.fits(STABLE_SNAPSHOTS) and (used := pages_of(snapshot)) and not _are_items(look, *used)
    ]


def _are_items(look: Look, dump_id: str, version: str) -> bool:
    """Are the items of `pages` those of a version of it? Pages that were removed, or are stale, are ignored."""
    pages = _standing(look.store, PAGES, dump_id)
    return pages is None or (pages.version == version and look.is_current(PAGES.name, dump_id))


def link_windows(store: Store, windows: Sequence[Window]) -> dict[tuple[str, str], Version]:
    """Update the items of the windows' snapshots from `pages`; no other column changes.

    Returns:
        the versions of `pages` and of the snapshots, by table and partition.
    """
    # NumPy and Arrow come with it, which `unlinked_windows`, a question of `tempkb status`, does without.
    from tempkb.wiki.revisions.entities import EntityIds

    versions: dict[tuple[str, str], Version] = {}
    entities: dict[str, EntityIds] = {}
    for window in windows:
        snapshot = _standing(store, STABLE_SNAPSHOTS, window.key)
        if snapshot is None or (used := pages_of(snapshot)) is None:
            continue
        dump_id = used[0]
        if dump_id not in entities:
            pages = link_pages(store, dump_id)
            if pages is None:
                continue
            versions[PAGES.name, dump_id] = pages
            entities[dump_id] = EntityIds(pages.paths())
        inputs = snapshot.inputs | pages_input(versions[PAGES.name, dump_id])
        rows = map(entities[dump_id].attach, read_files(snapshot.paths()))
        left_out = [Exclusion(row["reason"], row["n"], row["example"]) for row in snapshot.exclusions]
        provenance = Provenance(inputs, snapshot.settings, snapshot.fills)
        written = store.write(STABLE_SNAPSHOTS, window.key, rows, provenance, left_out)
        versions[STABLE_SNAPSHOTS.name, window.key] = written
    return versions


_LINKS = f"{WIKIDATA_ENTITIES.name} "

# The page of an item is the one with the title. If two pages have it, as the parts of one dump may, an article
# goes before a redirect and then the older page goes first, as in resolving links.
_LINKED = """
    WITH found AS (
        SELECT any_value(items.entity_id) AS entity_id, arg_min(page_id, (is_redirect, page_id)) AS page_id
        FROM pages JOIN items USING (namespace, title) GROUP BY namespace, title
    )
    SELECT pages.* REPLACE (
        found.entity_id AS entity_id, CASE WHEN found.entity_id IS NOT NULL THEN $source END AS entity_id_source
    )
    FROM pages LEFT JOIN found USING (page_id) ORDER BY page_id
"""


def _make_items(
    connection: "duckdb.DuckDBPyConnection", store: Store, dump_id: str, links: Version | None
) -> list[Exclusion]:
    """Make the table `items`, one item per title, and count the titles that a second item claims."""
    connection.execute("CREATE TEMP TABLE site_links (entity_id VARCHAR, namespace INTEGER, title VARCHAR)")
    if links is not None:
        from tempkb.wiki.dumps.pages import read_site

        site = read_site(store, dump_id)
        for rows in read_files(links.paths(), ["entity_id", "site_title"]):
            connection.register("some_links", _normalised(rows.drop_null(), site))
            connection.execute("INSERT INTO site_links FROM some_links")
            connection.unregister("some_links")
    connection.execute(
        """
        CREATE TEMP TABLE items AS
        SELECT namespace, title, arg_min(entity_id, CAST(substr(entity_id, 2) AS BIGINT)) AS entity_id,
               count(*) - 1 AS more
        FROM site_links GROUP BY namespace, title
        """
    )
    n, example = connection.execute(
        "SELECT sum(more)::BIGINT, min(format('{}: {} counts', title, entity_id)) FROM items WHERE more > 0"
    ).fetchall()[0]
    return [Exclusion(_TWICE, n, example)] if n else []


def _normalised(rows: "pa.Table", site: "Site") -> "pa.Table":
    """Return site links with their titles in the form of `pages`: without the namespace in front."""
    import pyarrow as pa

    titles = [site.normalize(text) for text in rows["site_title"].to_pylist()]
    namespaces = pa.array([one.namespace for one in titles], pa.int32())
    names = pa.array([one.title for one in titles], pa.string())
    return pa.table({"entity_id": rows["entity_id"], "namespace": namespaces, "title": names})


def _standing(store: Store, table: Table, partition: str) -> Version | None:
    """Return the current version if it was written under the present declaration of the table."""
    version = store.lake.current(table.name, partition)
    return version if version is not None and version.fits(table) else None
