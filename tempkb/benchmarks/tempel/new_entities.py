"""Says what kind of news the new entities of a release are: by the paper's keywords, by Wikidata, by texts and titles.

A text that was split off from a page, and a title that continues a series, are little news to a linker.
"""

from collections.abc import Iterator
from datetime import date
from typing import Any

import duckdb
import pyarrow as pa

from tempkb.benchmarks.register import partition_of
from tempkb.benchmarks.tempel.releases import Release
from tempkb.benchmarks.tempel.shingles import Origin, origins
from tempkb.benchmarks.tempel.tables import TEMPEL_ENTITIES, TEMPEL_NEW_ENTITIES
from tempkb.errors import ContractError
from tempkb.mentions.tables import PAGE_TEXTS
from tempkb.mentions.texts import holds_winners
from tempkb.revisions.tables import STABLE_SNAPSHOTS
from tempkb.store.drafts import Provenance
from tempkb.store.memory import spilling_to, view_files
from tempkb.store.store import Store
from tempkb.store.versions import Version
from tempkb.wikidata.list_items import dump_for
from tempkb.wikidata.scope import language_of_wiki
from tempkb.wikidata.tables import ENTITY_CLASSES
from tempkb.windows import window_of_key

EXTRACT_SHARE = 0.25
"""From this share of its runs of words on, a text is called an extract of another page.

Of real English articles two different ones share at most 0.02; one that is edited for 18 months keeps 0.83 (median),
so that a page of which a third was copied is still found.
"""

_COVID = ("covid", "covid-19", "coronavirus")
_RECURRENT = (
    *("league", "liga", "cup", "election", "tournament", "liiga", "tour", "open", "championship", "prix", "copa"),
    *("season", "olympics", "team", "football", "_games", "uefa", "euro_", "qualifying", "campeonato", "finals"),
    *("_nba_", "basketball", "_final", "_olympic", "segunda_di"),
)
# Numbers, ordinals and Roman numerals; what differs in them alone is of one series.
_NUMBERS = r"[0-9]+(st|nd|rd|th)?|\b[IVXLC]{2,}\b"
_BATCH_ROWS = 1 << 10


def paper_type(title: str, year: int) -> str:
    """Return the type of a new entity by its title, as the paper's code finds it: covid, recurrent or other.

    Keywords are looked for within words, as in the code, so that "tour" finds tourism.

    Args:
        title: of its page, with spaces or underscores.
        year: of the snapshot at which it is new.
    """
    name = title.lower().replace(" ", "_")
    if any(word in name for word in _COVID):
        return "covid"
    is_dated = name.startswith("20") or any(str(year + step) in name for step in (-1, 0, 1))
    season = f"{(year - 1) % 100:02}–{year % 100:02}"  # noqa: RUF001 - titles have the en dash
    return "recurrent" if is_dated and any(word in name for word in (*_RECURRENT, season)) else "other"


def write_new_entities(store: Store, release: Release, cut: date) -> Version:
    """Write what the new entities of a release's cut are, unless it is written from the same tables, and return it.

    Raises:
        ContractError: the candidates of the cut are not built.
    """
    partition = partition_of(release.name, cut)
    entities = store.lake.current(TEMPEL_ENTITIES.name, partition)
    if entities is None:
        raise ContractError(
            f"{TEMPEL_ENTITIES.name} of {release.name} at {cut} is not built; build it: tempkb release finish "
            f"{release.name}"
        )
    built = store.lake.current(TEMPEL_NEW_ENTITIES.name, partition)
    with store.lake.staging() as folder, spilling_to(folder) as connection:
        before, classes = _snapshot_before(store, release, cut), _classes_at(store, connection, cut)
        inputs = {f"{one.table} {one.partition}": one.version for one in (entities, before, classes) if one is not None}
        if built is not None and built.inputs == inputs:
            return built
        view_files(connection, "entities", entities.paths(), TEMPEL_ENTITIES.schema)
        view_files(connection, "before", before.paths() if before else [], STABLE_SNAPSHOTS.schema)
        view_files(connection, "classes", classes.paths() if classes else [], ENTITY_CLASSES.schema)
        _view_texts(store, connection, cut)
        is_english = language_of_wiki(store.home.settings) == "en"
        found = origins(dict(_texts_of_new(connection)), _texts_before(connection)) if before else {}
        rows = [_row(row, cut, found.get(row["page_id"]), is_english=is_english) for row in _known(connection)]
        table = pa.Table.from_pylist(rows, TEMPEL_NEW_ENTITIES.schema)
        return store.write(TEMPEL_NEW_ENTITIES, partition, [table], Provenance(inputs), staging=folder)


def _snapshot_before(store: Store, release: Release, cut: date) -> Version | None:
    """The snapshot since which entities of a cut are new; None if it is not built."""
    before = release.design.new_since(cut) if cut in release.design.snapshots else release.before(cut)
    for window in store.lake.partitions(STABLE_SNAPSHOTS.name):
        if window_of_key(window, store.home.settings.granularity).end == before:
            return store.lake.current(STABLE_SNAPSHOTS.name, window)
    return None


def _classes_at(store: Store, connection: duckdb.DuckDBPyConnection, cut: date) -> Version | None:
    dump_id = dump_for(store, connection, cut)
    return store.lake.current(ENTITY_CLASSES.name, dump_id) if dump_id else None


def _view_texts(store: Store, connection: duckdb.DuckDBPyConnection, cut: date) -> None:
    quarters = [key for key in store.lake.partitions(PAGE_TEXTS.name) if holds_winners(store, key, cut)]
    view_files(connection, "texts", store.lake.files(PAGE_TEXTS.name, quarters), PAGE_TEXTS.schema)


def _texts_of_new(connection: duckdb.DuckDBPyConnection) -> Iterator[tuple[int, str]]:
    return _pairs(
        connection,
        """
        SELECT page_id, text FROM (FROM entities WHERE category = 'new') JOIN texts USING (page_id, revision_id)
        """,
    )


def _texts_before(connection: duckdb.DuckDBPyConnection) -> Iterator[tuple[int, str]]:
    """The texts of the snapshot before, in the order of the files."""
    return _pairs(
        connection,
        """
        SELECT page_id, text FROM texts
        SEMI JOIN (FROM before WHERE namespace = 0 AND redirect_title IS NULL) USING (page_id, revision_id)
        """,
    )


def _pairs(connection: duckdb.DuckDBPyConnection, query: str) -> Iterator[tuple[int, str]]:
    for batch in connection.sql(query).to_arrow_reader(_BATCH_ROWS):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _known(connection: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """What tables say of each new entity, in the order of `page_id`."""
    rows: list[dict[str, Any]] = (
        connection.sql(
            """
            WITH new AS (
                SELECT *, regexp_replace(title, $numbers, '#', 'g') AS series FROM entities WHERE category = 'new'
            ), continued AS (
                SELECT new.page_id, arg_max(old.page_id, (old.page_created_at, old.page_id)) AS series_page_id
                FROM new JOIN before AS old ON regexp_replace(old.title, $numbers, '#', 'g') = new.series
                WHERE contains(new.series, '#') AND new.series <> new.title AND old.title <> new.title
                  AND old.namespace = 0 AND old.redirect_title IS NULL AND old.page_id <> new.page_id
                GROUP BY new.page_id
            ), of_class AS (
                SELECT entity_id, arg_min(class_id, TRY_CAST(substr(class_id, 2) AS BIGINT)) AS entity_class
                FROM classes WHERE depth = 0 GROUP BY entity_id
            )
            SELECT wiki, release, cut, page_id, title, article_since, entity_class, series_page_id
            FROM new LEFT JOIN continued USING (page_id) LEFT JOIN of_class USING (entity_id) ORDER BY page_id
            """,
            params={"numbers": _NUMBERS},
        )
        .to_arrow_table()
        .to_pylist()
    )
    return rows


def _row(known: dict[str, Any], cut: date, origin: Origin | None, *, is_english: bool) -> dict[str, Any]:
    share = origin.share if origin else None
    return {
        **known,
        "paper_type": paper_type(known["title"], cut.year) if is_english else None,
        "n_runs": origin.n_runs if origin else None,
        "extract_of_page_id": origin.page_id if origin else None,
        "shingle_share": share,
        "is_extract": None if share is None else share >= EXTRACT_SHARE,
    }
