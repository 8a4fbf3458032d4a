"""Writes what linkers read of each candidate of a cut, with or without a release: its title and its description.

Texts are read once, in the order of the lake's files, and never sorted; only digests or descriptions are.
"""

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tempkb.benchmarks.linkable.pools import LinkableMethods, Snapshots
from tempkb.benchmarks.linkable.texts import DESCRIBED, described, text_sha256
from tempkb.benchmarks.register import need_version, partition_of
from tempkb.benchmarks.tempel.candidates import mark_lists, pool_sql
from tempkb.benchmarks.tempel.design import Design, Release, read_entry
from tempkb.benchmarks.tempel.tables import ENTITY_TEXTS, LINKABLE, TEMPEL_ENTITIES
from tempkb.benchmarks.work import ReleaseWork
from tempkb.core.errors import ContractError
from tempkb.core.files import parquet_writer
from tempkb.core.windows import window_ending
from tempkb.store.memory import spilling_to, view_files
from tempkb.store.quoting import parquet
from tempkb.store.store import Store
from tempkb.wiki.mentions.steps import cleaner_settings, quarters_of, require_all_texts
from tempkb.wiki.mentions.tables import PAGE_TEXTS
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS
from tempkb.wiki.revisions.windows import not_built
from tempkb.wiki.wikidata.classes import fill_list_items
from tempkb.wiki.wikidata.scope import language_of_wiki

_BATCH_ROWS = 1 << 12
_TEXT_COLUMNS = "candidates.page_id, candidates.entity_id, candidates.title, candidates.revision_id"


def write_entity_texts(work: ReleaseWork, cut: date) -> None:
    """Write the digests of the candidates of a release's cut.

    Raises:
        ContractError: the candidates are not built, or texts of them are no longer in the home.
    """
    partition, digests = partition_of(work.release.name, cut), work.folder / f"digests-{cut}.parquet"
    work.settings.update(cleaner_settings(work.store))
    work.read(TEMPEL_ENTITIES, partition, "candidates")
    require_all_texts(work.store, [cut])
    work.read(PAGE_TEXTS, quarters_of(work.store, cut), "texts")
    _refuse_absent(work.store, work.connection, f"{ENTITY_TEXTS.name} {partition}", cut)
    _write_described(work.connection, digests, ("page_id", "text_sha256"))
    rows = work.rows(
        f"""
        SELECT wiki, dump_id, release, cut, page_id, revision_id, text_sha256
        FROM candidates JOIN {parquet([digests])} USING (page_id) ORDER BY page_id
        """
    )
    work.write(ENTITY_TEXTS, partition, rows)


def write_described(
    store: Store, cut: date, path: Path, release: str = "", among: npt.NDArray[np.int64] | None = None
) -> None:
    """Write the candidates of a cut with their descriptions and digests to a Parquet file, in the order of `page_id`.

    Args:
        path: of the file, which has the columns of `DESCRIBED`; drafts are written beside it.
        release: whose candidates they are; without one, those that TempEL's default design has at the cut.
        among: page_ids of those that are wanted; None for all.

    Raises:
        ContractError: the cut or the release is not built, or texts of it are no longer in the home.
    """
    with spilling_to(path.parent) as connection:
        require_all_texts(store, [cut])
        view_files(connection, "texts", store.lake.files(PAGE_TEXTS.name, quarters_of(store, cut)), PAGE_TEXTS.schema)
        if release:
            view_files(connection, "candidates", need_version(store, TEMPEL_ENTITIES, release, cut).paths())
        else:
            _view_default(store, connection, cut)
        if among is not None:
            connection.register("wanted", pa.table({"page_id": among}))
            connection.execute(
                """
                CREATE TEMP TABLE chosen AS FROM candidates SEMI JOIN wanted USING (page_id);
                CREATE OR REPLACE TEMP VIEW candidates AS FROM chosen
                """
            )
        _refuse_absent(store, connection, f"candidates at {cut}", cut)
        draft = path.with_name(f"{path.name}.unordered")
        _write_described(connection, draft, tuple(DESCRIBED.names))
        ordered = connection.sql(f"FROM {parquet([draft])} ORDER BY page_id").to_arrow_reader(_BATCH_ROWS)
        with parquet_writer(path, DESCRIBED) as writer:
            for batch in ordered:
                writer.write_batch(batch)
        draft.unlink()


def _view_default(store: Store, connection: duckdb.DuckDBPyConnection, cut: date) -> None:
    """Make the view `candidates`: what the default design takes at a cut of the home. Needs `texts`."""
    window = window_ending(cut, store.home.settings.granularity)
    snapshot = store.lake.current(STABLE_SNAPSHOTS.name, window.key)
    if snapshot is None:
        raise not_built(store, STABLE_SNAPSHOTS.name, cut)
    view_files(connection, "snapshot", snapshot.paths())
    design = Design((cut,))
    fill_list_items(store, connection, cut)
    mark_lists(connection, design, language_of_wiki(store.home.settings))
    # No release has planned mentions of them, so they have no category.
    connection.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE of_plan (page_id BIGINT, category VARCHAR);
        CREATE TEMP TABLE pool AS
        SELECT page_id, entity_id, title, revision_id, revision_timestamp, n_words FROM ({pool_sql(design, "")});
        CREATE TEMP VIEW candidates AS FROM pool
        """
    )


def _refuse_absent(store: Store, connection: duckdb.DuckDBPyConnection, what: str, cut: date) -> None:
    """Refuse candidates whose texts left the home, which would be taken for articles without a text.

    A single text that is missing was taken out of the dumps since, and its entity is known by its title alone.
    """
    absent = connection.execute(
        """
        SELECT strftime(date_trunc('quarter', revision_timestamp), '%Y-%m-%d') AS quarter, count(*)
        FROM candidates ANTI JOIN texts USING (page_id, revision_id)
        WHERE n_words IS NOT NULL AND quarter NOT IN (SELECT unnest($held::VARCHAR[]))
        GROUP BY quarter ORDER BY quarter LIMIT 1
        """,
        {"held": quarters_of(store, cut)},
    ).fetchone()
    if absent is not None:
        quarter, n = absent
        raise ContractError(
            f"{what}: found no {PAGE_TEXTS.name} of the quarter {quarter}, which has the texts of {n:,} candidates; "
            f"expected it in the home; build the windows up to {cut} again: tempkb build"
        )


def _write_described(connection: duckdb.DuckDBPyConnection, path: Path, columns: tuple[str, ...]) -> None:
    """Write columns of `DESCRIBED` of the view `candidates` to a file, in no order."""
    schema = pa.schema([DESCRIBED.field(name) for name in columns])
    with parquet_writer(path, schema) as writer:
        for query in (
            f"SELECT {_TEXT_COLUMNS}, texts.text FROM texts JOIN candidates USING (page_id, revision_id)",
            f"SELECT {_TEXT_COLUMNS}, '' AS text FROM candidates ANTI JOIN texts USING (page_id, revision_id)",
        ):
            for batch in connection.sql(query).to_arrow_reader(_BATCH_ROWS):
                writer.write_table(_with_description(batch).select(columns))


def _with_description(rows: pa.RecordBatch) -> pa.Table:
    descriptions = [described(text) for text in rows.column("text").to_pylist()]
    titles = rows.column("title").to_pylist()
    digests = [text_sha256(*one) for one in zip(titles, descriptions, strict=True)]
    known: Iterator[pa.Array] = (rows.column(name) for name in DESCRIBED.names[:4])
    return pa.Table.from_arrays([*known, pa.array(descriptions), pa.array(digests)], schema=DESCRIBED)


def snapshots_of(release: Release) -> Snapshots:
    """Return the snapshots of a release."""
    return Snapshots(release.name, release.cuts, release.design.seed, LINKABLE)


LINKABLE_METHODS = LinkableMethods(lambda entry: snapshots_of(read_entry(entry)), write_described)
