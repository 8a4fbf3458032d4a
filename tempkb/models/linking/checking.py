"""What the tables of linking promise. Does not use Dagster."""

from collections.abc import Collection, Iterator
from pathlib import Path

from tempkb.benchmarks.register import release_version
from tempkb.core.errors import ModelError
from tempkb.core.wording import counted
from tempkb.engine.steps import Look
from tempkb.models.linking.known import known_linkers, linkable_of
from tempkb.models.linking.steps import STEPS, candidates_of
from tempkb.models.linking.tables import (
    BASELINES,
    ENTITY_VECTORS,
    LINKERS,
    LINKING_SCORES,
    parts_of,
)
from tempkb.store.lake import Lake
from tempkb.store.memory import asking
from tempkb.store.promises import Finder, Promise, Subject, versions_of
from tempkb.store.quoting import literal, parquet
from tempkb.store.store import Store

ASKED = "asked"
"""Name of the metadata with what a run was asked for."""


def faults_of_linkers(lake: Lake, linkers: Collection[str] | None = None) -> Iterator[tuple[str, str, list[Path]]]:
    """Read the files of linkers, and compare them with those that were trained or added.

    Args:
        linkers: names of those that are read; None for all.

    Yields:
        name, what was found and what to type, if they differ, and the files that were read.
    """
    from tempkb.models.linking.checkpoints import layout_of

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


_UNLINKED = """
    SELECT min(target_page_id), count(*) FROM {mentions} AS asked
    ANTI JOIN {scores} USING (target_page_id, anchor_page_id, start_char) WHERE list_contains([{subsets}], asked.subset)
"""
_STRANGERS = """
    SELECT min(page_id), count(DISTINCT page_id) FROM (SELECT unnest(top_page_ids) AS page_id FROM {scores})
    ANTI JOIN {entities} USING (page_id)
"""


def _against_the_release(query: str) -> Finder:
    """Return what finds scores that differ from the mentions of their release and the candidates of their pool.

    Args:
        query: SQL that returns a page and the number of differences. `subsets` are those that were asked for whole.
    """

    def differing(store: Store, subject: Subject) -> list[tuple[str, int, int]] | None:
        """Partitions with a page and the number of differences; None if no scores are current."""
        look, broken, compared = Look(store, STEPS), [], 0
        for version in versions_of(store, LINKING_SCORES, subject):
            _, release, cut, _ = parts_of(version.partition)
            if not look.is_current(version.table, version.partition):
                continue
            tables, limits = linkable_of(store.home, release), version.settings["subsets"]
            mentions = release_version(store, tables.mentions, release, f"{release}.{cut}")
            entities = release_version(store, tables.entities, release, candidates_of(version.partition))
            if mentions is not None and entities is not None:
                compared += 1
                whole = ", ".join(literal(name) for name, limit in limits.items() if limit is None)
                read = {"scores": version, "mentions": mentions, "entities": entities}
                files = {name: parquet(one.paths()) for name, one in read.items()}
                with asking() as memory:
                    ((page, n),) = memory.execute(query.format(**files, subsets=whole)).fetchall()
                broken += [(version.partition, page, n)] if n else []
        return broken if compared else None

    return differing


PROMISES = (
    Promise(
        "files_are_those_of_the_linker",
        "The files of a linker have the digests to which its name is bound.",
        LINKERS,
        finds=_changed,
        shown=lambda row: str(row[1]),
    ),
    Promise(
        "vectors_have_the_length_of_the_linkers",
        "A vector has as many numbers as its linker gives.",
        ENTITY_VECTORS,
        """
        SELECT linker, text_sha256, octet_length(vector), 2 * dim FROM entity_vectors JOIN linkers AS l USING (linker)
        WHERE octet_length(vector) <> 2 * l.dim ORDER BY text_sha256
        """,
        (LINKERS,),
        shown=lambda row: f"{row[0]}: the vector of text {row[1]} has {row[2]} bytes, expected {row[3]}",
    ),
    Promise(
        "every_mention_is_linked",
        "Every mention that a run was asked to link has a row, whether or not its entity is a candidate.",
        LINKING_SCORES,
        finds=_against_the_release(_UNLINKED),
        shown=lambda row: f"{row[0]}: no row for {counted(row[2], 'mention')} of its snapshot",
    ),
    Promise(
        "best_candidates_are_candidates",
        "The candidates that a linker ranks are candidates of the snapshot to which their pool belongs.",
        LINKING_SCORES,
        finds=_against_the_release(_STRANGERS),
        shown=lambda row: f"{row[0]}: {counted(row[2], 'page')}, such as {row[1]}, not among the candidates",
    ),
)
