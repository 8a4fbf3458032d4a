"""Candidates: entities of a cut, of a release or without one, with the digests of what linkers read of them."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tempkb.benchmarks.linkable.texts import DESCRIBED
from tempkb.benchmarks.register import need_version, partition_of
from tempkb.core.errors import ContractError
from tempkb.core.files import open_parquet, parquet_writer
from tempkb.models.linking.known import DEFAULT, linkable_of
from tempkb.store.memory import asking, view_files
from tempkb.store.quoting import parquet
from tempkb.store.store import Store
from tempkb.store.tables import Table

Integers = npt.NDArray[np.int64]
Digests = npt.NDArray[np.bytes_]

_BATCH_ROWS = 1 << 12


@dataclass(frozen=True)
class Candidates:
    """Entities of a cut whose vectors are wanted.

    Attributes:
        digests: Parquet files with `page_id` and `text_sha256` of candidates.
        release: whose candidates they are; empty if the files have titles and descriptions as well.
        page_ids: those that are wanted; None for all.
        inputs: versions of the tables from which they come.
    """

    cut: date
    digests: tuple[Path, ...]
    release: str = ""
    page_ids: Integers | None = None
    inputs: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What stands for those that are wanted, also in the list of what has filled vectors."""
        snapshot = partition_of(self.release, self.cut) if self.release else f"{self.cut}"
        chosen = "" if self.page_ids is None else f" {hashlib.sha256(self.page_ids.tobytes()).hexdigest()[:16]}"
        return snapshot + chosen


def of_release(store: Store, release: str, cut: date, page_ids: Integers | None = None) -> Candidates:
    """Return the candidates of a release at a cut, or some of them.

    Raises:
        ContractError: the release has no digests of its entities' texts.
    """
    version = need_version(store, linkable_of(store.home, release).texts, release, cut)
    inputs = {f"{version.table} {version.partition}": version.version}
    return Candidates(cut, tuple(version.paths()), release, page_ids, inputs)


def of_cut(store: Store, cut: date, path: Path) -> Candidates:
    """Return the candidates that the default design has at any cut of the home, which no release needs to have.

    Args:
        path: of the file to which they are written, with their titles and descriptions (`DESCRIBED`).

    Raises:
        ContractError: the cut is not built.
    """
    DEFAULT.loaded().write_described(store, cut, path, "", None)
    return Candidates(cut, (path,))


def n_of(wanted: Candidates) -> int:
    """Return the number of candidates."""
    if wanted.page_ids is not None:
        return len(wanted.page_ids)
    with asking() as memory:
        return int(memory.execute(f"SELECT count(*) FROM {parquet(wanted.digests)}").fetchall()[0][0])


def page_ids_among(wanted: Candidates) -> Integers:
    """Return the page_ids of candidates, ascending."""
    with asking() as memory:
        view_digests(memory, wanted)
        found = memory.execute("SELECT page_id FROM digests ORDER BY page_id").fetchnumpy()
    return np.asarray(found["page_id"], np.int64)


def view_digests(memory: duckdb.DuckDBPyConnection, wanted: Candidates) -> None:
    """Make the view `digests` over page_id and text_sha256 of candidates."""
    view_files(memory, "of_all", wanted.digests)
    chosen = "FROM of_all"
    if wanted.page_ids is not None:
        memory.register("chosen_pages", pa.table({"page_id": wanted.page_ids}))
        chosen += " SEMI JOIN chosen_pages USING (page_id)"
    memory.execute(f"CREATE OR REPLACE TEMP VIEW digests AS SELECT page_id, text_sha256 {chosen}")


def digests_of(wanted: Candidates) -> tuple[Integers, Digests]:
    """Page_ids of candidates, ascending, and the digests of their texts."""
    with asking() as memory:
        view_digests(memory, wanted)
        found = memory.sql("FROM digests ORDER BY page_id").to_arrow_table()
    digests = np.array(found["text_sha256"].to_pylist(), "S64")
    return found["page_id"].to_numpy().astype(np.int64), digests


def n_distinct(wanted: Sequence[Candidates]) -> int:
    """How many distinct texts candidates have."""
    with asking() as memory:
        parts = []
        for place, one in enumerate(wanted):
            name = f"chosen_{place}"
            chosen = ""
            if one.page_ids is not None:
                memory.register(name, pa.table({"page_id": one.page_ids}))
                chosen = f" SEMI JOIN {name} USING (page_id)"
            parts.append(f"SELECT text_sha256 FROM {parquet(one.digests)}{chosen}")
        query = " UNION ALL ".join(parts) or "SELECT NULL AS text_sha256 LIMIT 0"
        return int(memory.execute(f"SELECT count(DISTINCT text_sha256) FROM ({query})").fetchall()[0][0])


def described(store: Store, wanted: Candidates, page_ids: Integers, path: Path) -> Iterator[dict[str, Any]]:
    """Yield some candidates as `describe` writes them to a file."""
    describe(store, wanted, page_ids, path)
    with open_parquet(path) as file:
        for batch in file.iter_batches(_BATCH_ROWS):
            yield from batch.to_pylist()


def describe(store: Store, wanted: Candidates, page_ids: Integers, path: Path) -> None:
    """Write some candidates with their titles and descriptions (`DESCRIBED`) to a file, in the order of `page_id`.

    Raises:
        ContractError: a text is not the one of which the release has the digest, or is no longer in the home.
    """
    if wanted.release:
        linkable = linkable_of(store.home, wanted.release)
        linkable.loaded().write_described(store, wanted.cut, path, wanted.release, page_ids)
        _refuse_others(linkable.texts, wanted, page_ids, path)
        return
    with asking() as memory:
        memory.register("asked", pa.table({"page_id": page_ids}))
        rows = memory.sql(f"FROM {parquet(wanted.digests)} SEMI JOIN asked USING (page_id) ORDER BY page_id")
        with parquet_writer(path, DESCRIBED) as writer:
            for batch in rows.to_arrow_reader(_BATCH_ROWS):
                writer.write_batch(batch)


def _refuse_others(table: Table, wanted: Candidates, page_ids: Integers, path: Path) -> None:
    """Refuse texts that are not those of which a release has the digests."""
    with asking() as memory:
        view_digests(memory, wanted)
        memory.register("asked", pa.table({"page_id": page_ids}))
        query = f"""
            SELECT page_id FROM digests SEMI JOIN asked USING (page_id)
            ANTI JOIN {parquet([path])} AS own USING (page_id, text_sha256) ORDER BY page_id
        """
        rows = memory.execute(query).fetchall()
    if rows:
        raise ContractError(
            f"{table.name} of {wanted.release} at {wanted.cut}: found other texts than it has digests of, for "
            f"page {rows[0][0]} and {len(rows) - 1:,} others, since they were cleaned again or taken out of the dumps; "
            f"write the digests again: tempkb release finish {wanted.release}"
        )
