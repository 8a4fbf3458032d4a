"""What the tables of linking promise. Does not use Dagster."""

from collections.abc import Collection, Iterator
from pathlib import Path

from tempkb.benchmarks.register import release_version
from tempkb.engine.steps import Look
from tempkb.errors import ModelError
from tempkb.linking.asked import linkable_of
from tempkb.linking.known import known_linkers
from tempkb.linking.steps import STEPS, candidates_of
from tempkb.linking.tables import (
    BASELINES,
    ENTITY_VECTORS,
    LINKERS,
    LINKING_SCORES,
    linker_of,
    parts_of,
)
from tempkb.store.lake import Lake
from tempkb.store.memory import asking
from tempkb.store.promises import Promise, Subject
from tempkb.store.quoting import parquet
from tempkb.store.store import Store
from tempkb.store.tables import Table
from tempkb.store.versions import Version
from tempkb.wording import counted

ASKED = "asked"
"""Name of the metadata with what a run was asked for."""


def faults_of_linkers(lake: Lake, linkers: Collection[str] | None = None) -> Iterator[tuple[str, str, list[Path]]]:
    """Read the files of linkers, and compare them with those that were trained or added.

    Args:
        linkers: names of those that are read; None for all.

    Yields:
        name, what was found and what to type, if they differ, and the files that were read.
    """
    from tempkb.linking.checkpoints import layout_of

    for row in known_linkers(lake):
        if row["linker"] not in BASELINES and (linkers is None or row["linker"] in linkers):
            try:
                yield row["linker"], "", [file for group in layout_of(row).files() for file in group]
            except ModelError as error:
                yield row["linker"], str(error), []


def _changed(store: Store, subject: Subject) -> list[tuple[str, str]] | None:
    """Linkers whose files are not those that were trained or added, with what was found; None if there is none."""
    found = list(faults_of_linkers(store.lake, subject.partitions))
    return [(name, fault) for name, fault, _ in found if fault] if found else None


def _of_other_length(store: Store, subject: Subject) -> list[tuple[str, str, int, int]] | None:
    """Vectors that have not as many bytes as their linker gives; None if there is none to compare."""
    lengths = {row["linker"]: 2 * row["dim"] for row in known_linkers(store.lake) if row["dim"] is not None}
    versions = [one for one in _versions(store, ENTITY_VECTORS, subject) if linker_of(one.partition) in lengths]
    broken = []
    for version in versions:
        length = lengths[linker_of(version.partition)]
        with asking() as memory:
            found = memory.execute(
                f"SELECT text_sha256, octet_length(vector) FROM {parquet(version.paths())} "
                f"WHERE octet_length(vector) IS DISTINCT FROM {length} ORDER BY text_sha256"
            ).fetchall()
        broken += [(version.partition, text, n, length) for text, n in found]
    return broken if versions else None


def _unlinked(store: Store, subject: Subject) -> list[tuple[str, int]] | None:
    """Partitions that lack mentions of their snapshot and subset, and how many; None if there is none to compare."""
    broken, compared = [], 0
    for version, mentions, _ in _with_release(store, subject):
        subsets: dict[str, int | None] = version.settings["subsets"]
        compared += 1
        with asking() as memory:
            ((n,),) = memory.execute(
                f"SELECT count(*) FROM {parquet(mentions.paths())} AS asked ANTI JOIN {parquet(version.paths())} "
                "USING (target_page_id, anchor_page_id, start_char) WHERE list_contains($subsets, asked.subset)",
                {"subsets": [name for name, limit in subsets.items() if limit is None]},
            ).fetchall()
        if n:
            broken.append((version.partition, n))
    return broken if compared else None


def _strangers(store: Store, subject: Subject) -> list[tuple[str, int, int]] | None:
    """Pages in lists of the best that are no candidates of the snapshot; None if there is nothing to compare."""
    broken, compared = [], 0
    for version, _, entities in _with_release(store, subject):
        compared += 1
        with asking() as memory:
            found = memory.execute(
                f"SELECT DISTINCT page_id FROM (SELECT unnest(top_page_ids) AS page_id FROM "
                f"{parquet(version.paths())}) ANTI JOIN {parquet(entities.paths())} USING (page_id) ORDER BY page_id"
            ).fetchall()
        broken += [(version.partition, page, len(found)) for (page,) in found[:1]]
    return broken if compared else None


def _with_release(store: Store, subject: Subject) -> Iterator[tuple[Version, Version, Version]]:
    """Scores that are current, with the mentions of their release and the candidates of the snapshot of their pool."""
    look = Look(store, STEPS)
    for version in _versions(store, LINKING_SCORES, subject):
        if look.is_current(version.table, version.partition):
            _, release, cut, _ = parts_of(version.partition)
            tables = linkable_of(store.home, release)
            mentions = release_version(store, tables.mentions, release, f"{release}.{cut}")
            entities = release_version(store, tables.entities, release, candidates_of(version.partition))
            if mentions is not None and entities is not None:
                yield version, mentions, entities


def _versions(store: Store, table: Table, subject: Subject) -> list[Version]:
    """What the linkers of a subject have made; partitions of other tables than `linkers` begin with their names."""
    keys = [key for key in store.lake.partitions(table.name) if subject.has(linker_of(key))]
    return store.lake.versions(table.name, keys)


PROMISES = (
    Promise(
        "files_are_those_of_the_linker",
        "The files of a linker have the digests to which its name is bound.",
        LINKERS,
        tables={"linkers": LINKERS},
        finds=_changed,
        shown=lambda row: str(row[1]),
    ),
    Promise(
        "vectors_have_the_length_of_the_linkers",
        "A vector has as many numbers as its linker gives.",
        ENTITY_VECTORS,
        tables={"entity_vectors": ENTITY_VECTORS, "linkers": LINKERS},
        finds=_of_other_length,
        shown=lambda row: f"{row[0]}: the vector of text {row[1]} has {row[2]} bytes, expected {row[3]}",
    ),
    Promise(
        "every_mention_is_linked",
        "Every mention that a run was asked to link has a row, whether or not its entity is a candidate.",
        LINKING_SCORES,
        tables={"linking_scores": LINKING_SCORES},
        finds=_unlinked,
        shown=lambda row: f"{row[0]}: no row for {counted(row[1], 'mention')} of its snapshot",
    ),
    Promise(
        "best_candidates_are_candidates",
        "The candidates that a linker ranks are candidates of the snapshot to which their pool belongs.",
        LINKING_SCORES,
        tables={"linking_scores": LINKING_SCORES},
        finds=_strangers,
        shown=lambda row: f"{row[0]}: {counted(row[2], 'page')}, such as {row[1]}, not among the candidates",
    ),
)
