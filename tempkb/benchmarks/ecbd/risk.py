"""Which names of entities are risky: those that stand in many articles which do not link to the entity.

"Nana" is a hurricane's alias and everybody's grandmother. Titles are never risky.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import duckdb

from tempkb.benchmarks.chance import draw
from tempkb.benchmarks.ecbd.matching import NameFinder
from tempkb.benchmarks.ecbd.names import Name

# In fewer articles than this a name is never risky, however small the sample.
_LEAST_ARTICLES = 3
_NEVER = frozenset(("title", "lower"))


def count_elsewhere(
    connection: duckdb.DuckDBPyConnection, finder: NameFinder, names: Mapping[int, Iterable[str]], n: int, seed: int
) -> tuple[dict[tuple[int, str], int], int]:
    """Count, for each entity and name, the articles that hold the name and do not link to the entity.

    Needs the views and tables of `choose_entities` and `mentions` of the cut.

    Args:
        connection: where they are.
        finder: of all names.
        names: by article of the entity.
        n: how many articles are looked at, chosen by hash.
        seed: of the release.

    Returns:
        the counts (those above zero), and how many articles were looked at.
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


def is_risky(name: Name, n_elsewhere: int, n_looked_at: int, share: float) -> bool:
    """Is a name so common elsewhere that it may mean something else?

    Args:
        name: of an entity.
        n_elsewhere: articles that hold it and do not link to the entity.
        n_looked_at: articles looked at.
        share: more than this share of them is risky.
    """
    return name.kind not in _NEVER and n_elsewhere >= max(_LEAST_ARTICLES, share * n_looked_at)
