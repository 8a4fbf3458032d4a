"""Builds the tables of a cut from links and snapshots, and says whether they are current. Does not use Dagster."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import date

import duckdb

from tempkb.errors import ContractError
from tempkb.mentions.currency import cleaner_settings, was_cleaned_with
from tempkb.mentions.resolution import (
    ENTITY_POPULARITY_SQL,
    INVERTED_INDEX_SQL,
    MENTION_PRIORS_SQL,
    MENTIONS_SQL,
    articles_without_text,
    links_left_out,
    resolve,
    rows_of,
    view_files,
)
from tempkb.mentions.tables import ENTITY_POPULARITY, INVERTED_INDEX, MENTION_PRIORS, MENTIONS, PAGE_LINKS, PAGE_TEXTS
from tempkb.revisions.losses import lacking_quarters
from tempkb.revisions.tables import PAGE_WIKITEXTS, STABLE_SNAPSHOTS
from tempkb.store.drafts import Provenance
from tempkb.store.memory import spilling_to
from tempkb.store.store import Store
from tempkb.store.tables import Table
from tempkb.store.versions import Version
from tempkb.windows import Window
from tempkb.wording import counted

Connection = duckdb.DuckDBPyConnection


def write_mentions(store: Store, window: Window, connection: Connection) -> Version:
    """Resolve the links of all articles of a window's snapshot, and write those that are mentions.

    Raises:
        ContractError: the snapshot is not built, quarters are not cleaned yet, or texts were lost to damage.
    """
    snapshot = _need(store, STABLE_SNAPSHOTS, window)
    _refuse_lost(store, snapshot)
    # Quarters that begin at or after the cut contain no winner of it. By the law, later history changes no snapshot, so
    # they must not become inputs.
    known = store.lake.versions(PAGE_LINKS.name)
    quarters = [one for one in known if holds_winners(store, one.partition, window.cut)]
    inputs = {f"{one.table} {one.partition}": one.version for one in (snapshot, *quarters)}
    paths = [path for one in quarters for path in one.paths()]
    cleaned = {one.partition for one in quarters}
    wanted = [key for key in store.lake.partitions(PAGE_WIKITEXTS.name) if holds_winners(store, key, window.cut)]
    if not cleaned.issuperset(wanted):
        n = len(set(wanted) - cleaned)
        raise ContractError(
            f"{PAGE_LINKS.name}: {counted(n, 'quarter')} of {PAGE_WIKITEXTS.name} {'is' if n == 1 else 'are'} not "
            f"cleaned yet; clean them first: tempkb build --select {PAGE_LINKS.name}"
        )
    view_files(connection, "snapshot", snapshot.paths())
    view_files(connection, "links", paths)
    resolve(connection)
    texts = [version for key in cleaned if (version := store.lake.current(PAGE_TEXTS.name, key)) is not None]
    view_files(connection, "texts", [path for version in texts for path in version.paths()])
    left_out = [*links_left_out(connection), *articles_without_text(connection)]
    provenance = Provenance(inputs, cleaner_settings(store))
    return store.write(MENTIONS, window.key, rows_of(connection, MENTIONS_SQL), provenance, left_out)


def write_inverted_index(store: Store, window: Window, connection: Connection) -> Version:
    """Count the mentions of a window by entity, surface and article."""
    return _derive(store, connection, INVERTED_INDEX, window, INVERTED_INDEX_SQL, (MENTIONS,))


def write_mention_priors(store: Store, window: Window, connection: Connection) -> Version:
    """Compute P(entity | surface) at a window's cut."""
    return _derive(store, connection, MENTION_PRIORS, window, MENTION_PRIORS_SQL, (INVERTED_INDEX,))


def write_entity_popularity(store: Store, window: Window, connection: Connection) -> Version:
    """Count how often each article is mentioned and edited up to a window's cut."""
    return _derive(
        store, connection, ENTITY_POPULARITY, window, ENTITY_POPULARITY_SQL, (MENTION_PRIORS, STABLE_SNAPSHOTS)
    )


def holds_winners(store: Store, quarter: str, cut: date) -> bool:
    """Return whether revisions of a quarter, named by its first day, can win at a cut.

    By TempEL's rule a revision that was saved on the day of the cut can win too.
    """
    first = date.fromisoformat(quarter)
    return first < cut or (first == cut and store.home.settings.stability_rule == "tempel")


WRITERS: dict[str, Callable[[Store, Window, Connection], Version]] = {
    MENTIONS.name: write_mentions,
    INVERTED_INDEX.name: write_inverted_index,
    MENTION_PRIORS.name: write_mention_priors,
    ENTITY_POPULARITY.name: write_entity_popularity,
}
"""The function that writes each table of a window, in the order of the data. They share a connection, because opening
one takes longer than the queries of a small window."""


@contextmanager
def connected(store: Store) -> Iterator[Connection]:
    """Yield a DuckDB connection for the windows of a run; it spills to the staging folder of the lake."""
    with store.lake.staging() as spill, spilling_to(spill) as connection:
        yield connection


def is_current(store: Store, table: str, window: Window) -> bool:
    """Return whether a table of a window was made from the window's present snapshot, and by the present cleaner."""
    return are_current(store, [table], window)


def are_current(store: Store, tables: Iterable[str], window: Window) -> bool:
    """Return whether several tables of a window are all current; shared sources are looked up once."""
    known: dict[str, bool] = {}
    return all(_is_current(store, table, window, known) for table in tables)


def _is_current(store: Store, table: str, window: Window, known: dict[str, bool]) -> bool:
    if table not in known:
        version = store.lake.current(table, window.key)
        known[table] = version is not None and _follows(store, version, window, known)
    return known[table]


def _follows(store: Store, version: Version, window: Window, known: dict[str, bool]) -> bool:
    if version.table == MENTIONS.name and not (
        was_cleaned_with(version, cleaner_settings(store)) and has_all_texts(store, window.cut)
    ):
        return False
    for name, made_from in version.inputs.items():
        source, _, partition = name.partition(" ")
        # Quarters of links grow with later windows, which changes nothing for this window.
        if source == PAGE_LINKS.name:
            continue
        held = store.lake.current(source, partition)
        if held is None or held.version != made_from:
            return False
        if source in WRITERS and not _is_current(store, source, window, known):
            return False
    return True


def has_all_texts(store: Store, cut: date) -> bool:
    """Return whether no quarter of texts or links with winners of a cut was lost to damage."""
    return not any(holds_winners(store, quarter, cut) for quarter in _lost(store))


def _lost(store: Store) -> set[str]:
    """Quarters of which texts or links were lost, or of which only some texts were read again."""
    lost = {quarter for table in (PAGE_TEXTS, PAGE_LINKS) for quarter in store.lake.lost(table.name)}
    return lost | lacking_quarters(store, store.lake.versions(STABLE_SNAPSHOTS.name))


def require_all_texts(store: Store, cuts: Iterable[date]) -> None:
    """Refuse cuts with texts that were lost to damage, because the remaining texts would be taken for all of them.

    Raises:
        ContractError: a quarter with texts of a cut is lost; the message names the first one.
    """
    lost = _lost(store)
    for cut in cuts:
        if quarters := sorted(quarter for quarter in lost if holds_winners(store, quarter, cut)):
            raise ContractError(
                f"{PAGE_TEXTS.name} {quarters[0]}: lost to damage; expected it to be complete, since it has texts of "
                f"articles at snapshot {cut}; build it again: tempkb build"
            )


def _refuse_lost(store: Store, snapshot: Version) -> None:
    """Refuse a window whose texts or links were lost to damage, because mentions would be missing from then on."""
    lost = {quarter for table in (PAGE_TEXTS, PAGE_LINKS) for quarter in store.lake.lost(table.name)}
    lacking = lost.intersection(snapshot.fills.get(PAGE_WIKITEXTS.name, ())) | lacking_quarters(store, [snapshot])
    if lacking:
        raise ContractError(
            f"{MENTIONS.name} of window {snapshot.partition}: texts of the quarters {', '.join(sorted(lacking))} were "
            "lost to damage and are not all restored; read them again first: tempkb build"
        )


def _derive(
    store: Store, connection: Connection, table: Table, window: Window, query: str, sources: tuple[Table, ...]
) -> Version:
    versions = [_need(store, source, window) for source in sources]
    for one in versions:
        view_files(connection, "snapshot" if one.table == STABLE_SNAPSHOTS.name else one.table, one.paths())
    inputs = {f"{one.table} {one.partition}": one.version for one in versions}
    return store.write(table, window.key, rows_of(connection, query), Provenance(inputs))


def _need(store: Store, table: Table, window: Window) -> Version:
    version = store.lake.current(table.name, window.key)
    if version is None:
        raise ContractError(
            f"{table.name} of window {window.label} ({window.key}) is not built; build it first: "
            f"tempkb build --select {table.name} --windows {window.start}..{window.end}"
        )
    return version
