"""What the tables of linking promise. Does not use Dagster."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tempkb.engine.steps import Look
from tempkb.errors import ModelError
from tempkb.linking.asked import linkable_of
from tempkb.linking.known import gone_in_words, is_gone, known_linkers
from tempkb.linking.steps import STEPS
from tempkb.linking.tables import (
    BASELINES,
    DIGESTS,
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

_SHOWN = 16  # digits of a digest


@dataclass
class VerifiedLinkers:
    """Result of a comparison of checkpoints with the digests in `linkers`.

    Attributes:
        faults: rows of linkers whose files differ, with what was found.
    """

    faults: list[tuple[dict[str, Any], str]] = field(default_factory=list)
    files: int = 0
    bytes: int = 0


def verify_linkers(
    lake: Lake, linkers: Collection[str] | None = None, at: Callable[[int], None] = lambda _done: None
) -> VerifiedLinkers | None:
    """Read the files of linkers, and compare them with those that were trained or added.

    Args:
        linkers: names of those that are read; None for all.
        at: called with the number of linkers that are done.

    Returns:
        what was found; None if there is no such linker.
    """
    rows = [
        row
        for row in known_linkers(lake)
        if row["linker"] not in BASELINES and (linkers is None or row["linker"] in linkers)
    ]
    verified = VerifiedLinkers()
    for done, row in enumerate(rows, 1):
        verified.faults += [(row, found) for found in _differences(row, verified)]
        at(done)
    return verified if rows else None


def _changed(store: Store, subject: Subject) -> list[tuple[str, str]] | None:
    """Linkers whose files are not those that were trained or added, with what was found; None if there is none."""
    verified = verify_linkers(store.lake, subject.partitions)
    return None if verified is None else [(row["linker"], found) for row, found in verified.faults]


def _differences(row: dict[str, Any], verified: VerifiedLinkers) -> Iterator[str]:
    from tempkb.linking.checkpoints import LAYOUT, read_layout

    layout_file = Path(row["checkpoint"]) / LAYOUT
    if is_gone(row) or (row["hub_revision"] is None and not layout_file.is_file()):
        yield gone_in_words(row["checkpoint"] if is_gone(row) else layout_file)
        return
    try:
        layout = read_layout(row["checkpoint"], row["hub_revision"])
        found, files = layout.digests(), dict(zip(DIGESTS, layout.files(), strict=True))
    except ModelError as error:
        yield str(error).rstrip(".")
        return
    verified.files += sum(map(len, files.values()))
    verified.bytes += sum(file.stat().st_size for group in files.values() for file in group)
    for name, group in files.items():
        if row[name] != found[name]:
            names = ", ".join(file.relative_to(layout.folder).as_posix() for file in group) or "no file"
            yield (f"found {name} {found[name][:_SHOWN]}… in {layout.folder} ({names}); expected {row[name][:_SHOWN]}…")


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
        if entities is None:
            continue
        compared += 1
        with asking() as memory:
            found = memory.execute(
                f"SELECT DISTINCT page_id FROM (SELECT unnest(top_page_ids) AS page_id FROM "
                f"{parquet(version.paths())}) ANTI JOIN {parquet(entities.paths())} USING (page_id) ORDER BY page_id"
            ).fetchall()
        broken += [(version.partition, page, len(found)) for (page,) in found[:1]]
    return broken if compared else None


def _with_release(store: Store, subject: Subject) -> Iterator[tuple[Version, Version, Version | None]]:
    """Scores that are current, with the mentions and the candidates from which they were made."""
    look = Look(store, STEPS)
    for version in _versions(store, LINKING_SCORES, subject):
        _, release, cut, pool = parts_of(version.partition)
        tables = linkable_of(store.home, release)
        mentions = store.lake.current(tables.mentions.name, f"{release}.{cut}")
        # Pools are chosen from the candidates of the mentions' own snapshot, but for those that a day names.
        entities = [store.lake.current(tables.entities.name, f"{release}.{day}") for day in (pool, cut)]
        if mentions is not None and look.is_current(LINKING_SCORES.name, version.partition):
            yield version, mentions, next((one for one in entities if one is not None), None)


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
        shown=lambda row: f"{row[0]}: {row[1]}",
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
