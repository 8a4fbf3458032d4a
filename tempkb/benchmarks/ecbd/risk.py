"""Finds risky names: those that occur in many articles which do not link to the entity.

"Nana" is an alias of a hurricane, and also means grandmother. Titles are never risky.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import duckdb

from tempkb.benchmarks.chance import draw
from tempkb.benchmarks.ecbd.matching import NameFinder
from tempkb.benchmarks.ecbd.names import Name

# A name that occurs in fewer articles than this is never risky, however small the sample is.
_LEAST_ARTICLES = 3
_NEVER = frozenset(("title", "lower"))


def count_elsewhere(
    connection: duckdb.DuckDBPyConnection, finder: NameFinder, names: Mapping[int, Iterable[str]], n: int, seed: int
) -> tuple[dict[tuple[int, str], int], int]:
    """Count, for each entity and name, the articles that contain the name and do not link to the entity.

    Needs the views and tables of `choose_entities` and `mentions` of the cut.

    Args:
        names: names by the page number of the entity's article.
        n: number of articles to read, chosen by hash.

    Returns:
        The counts above zero, and the number of articles that were read.
    """
    pages = [page for (page,) in connection.execute("SELECT page_id FROM articles").fetchall()]
    sample = sorted(pages, key=lambda page: (draw(seed, "sample", page), page))[:n]
    meant: dict[str, list[int]] = {}
    for page, own in names.items():
        for name in own:
            meant.setdefault(name, []).append(page)
    linked = _links_of(connection, sample)
    counts: Counter[tuple[int, str]] = Counter()
    rows = connection.sql(
        """
        SELECT page_id, text FROM articles JOIN texts USING (page_id, revision_id)
        WHERE page_id IN (SELECT unnest($sample))
        """,
        params={"sample": sample},
    ).to_arrow_reader(256)
    for batch in rows:
        for page, text in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            for name in {finder.names[match.name] for match in finder.find(text)}:
                counts.update(
                    (entity, name) for entity in meant[name] if entity != page and entity not in linked.get(page, ())
                )
    return dict(counts), len(sample)


def _links_of(connection: duckdb.DuckDBPyConnection, sample: Sequence[int]) -> dict[int, set[int]]:
    rows = connection.execute(
        """
        SELECT source_page_id, list(DISTINCT target_page_id) FROM mentions
        SEMI JOIN chosen ON chosen.page_id = target_page_id
        WHERE source_page_id IN (SELECT unnest($sample)) GROUP BY source_page_id
        """,
        {"sample": sample},
    ).fetchall()
    return {page: set(targets) for page, targets in rows}


def is_risky(name: Name, n_elsewhere: int, n_read: int, share: float) -> bool:
    """Return whether a name is so common elsewhere that it may mean something else.

    Args:
        n_elsewhere: number of articles that contain it and do not link to the entity.
        n_read: number of articles that were read.
        share: the share of the articles from which on a name is risky.
    """
    return name.kind not in _NEVER and n_elsewhere >= max(_LEAST_ARTICLES, share * n_read)
