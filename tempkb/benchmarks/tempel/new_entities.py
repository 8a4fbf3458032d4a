"""Says what kind of news the new entities of a release are: by the paper's keywords, by Wikidata, by texts and titles.

A text that was split off from a page, and a title that continues a series, are little news to a linker.
"""

from collections.abc import Iterator
from datetime import date
from typing import Any

import duckdb

from tempkb.benchmarks.register import partition_of
from tempkb.benchmarks.tempel.design import Release
from tempkb.benchmarks.tempel.similarity import Origin, origins
from tempkb.benchmarks.tempel.tables import TEMPEL_ENTITIES, TEMPEL_NEW_ENTITIES
from tempkb.benchmarks.work import ReleaseWork
from tempkb.core.windows import window_of_key
from tempkb.store.store import Store
from tempkb.wiki.mentions.steps import quarters_of
from tempkb.wiki.mentions.tables import PAGE_TEXTS
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS
from tempkb.wiki.wikidata.classes import dump_for
from tempkb.wiki.wikidata.scope import language_of_wiki
from tempkb.wiki.wikidata.tables import ENTITY_CLASSES

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


def write_new_entities(work: ReleaseWork, cut: date) -> None:
    """Write what the new entities of a release's cut are.

    Raises:
        ContractError: the candidates of the cut are not built.
    """
    store, connection, partition = work.store, work.connection, partition_of(work.release.name, cut)
    dump_id = dump_for(store, connection, cut)
    work.read(TEMPEL_ENTITIES, partition, "entities")
    before = work.read(STABLE_SNAPSHOTS, _window_before(store, work.release, cut), "before")
    work.read(ENTITY_CLASSES, [dump_id] if dump_id else [], "classes")
    work.read(PAGE_TEXTS, quarters_of(store, cut), "texts")
    is_english = language_of_wiki(store.home.settings) == "en"
    found = origins(dict(_texts_of_new(connection)), _texts_before(connection)) if before else {}
    rows = [_row(row, cut, found.get(row["page_id"]), is_english=is_english) for row in _known(connection)]
    work.write(TEMPEL_NEW_ENTITIES, partition, rows)


def _window_before(store: Store, release: Release, cut: date) -> list[str]:
    """The window of the snapshot since which entities of a cut are new; none if it is not built."""
    before = release.design.new_since(cut) if cut in release.design.snapshots else release.before(cut)
    windows, granularity = store.lake.partitions(STABLE_SNAPSHOTS.name), store.home.settings.granularity
    return [key for key in windows if window_of_key(key, granularity).end == before]


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
