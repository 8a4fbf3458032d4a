"""Popular entities: articles with the most contributors and mentions, or pages of a file; and their risky names.

A risky name occurs in many articles which do not link to the entity: "Nana" is an alias of a hurricane, and also means
grandmother. Titles are never risky.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from tempkb.benchmarks.chance import draw
from tempkb.benchmarks.ecbd.matching import Name, NameFinder
from tempkb.core.errors import DesignError

# Fields of a JSON record that may have its page number; the first is that of CREAK.
_FIELDS = ("en_wiki_pageid", "page_id", "pageid")

RANKED = """
    SELECT page_id, n_inlinks, n_contributors,
           rank() OVER (ORDER BY n_contributors DESC) + rank() OVER (ORDER BY n_inlinks DESC) AS both
    FROM popularity
"""
"""SQL: articles with the sum of their ranks by contributors and by mentions; a smaller sum is more popular."""


def read_page_ids(path: Path) -> tuple[int, ...]:
    """Return the page numbers in a file, each once, ascending.

    Args:
        path: a file with one number per line, or JSON lines with `en_wiki_pageid` (as in CREAK), `page_id` or `pageid`;
            records with `n/a` are skipped.

    Raises:
        DesignError: the file cannot be read, or a line has no page number.
    """
    try:
        # Not `splitlines`: JSON allows characters in a string that are ends of lines to Unicode, such as U+2028.
        lines = path.read_text("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DesignError(
            f"popular: {path} cannot be read ({error}); expected a number, or a file of page numbers"
        ) from None
    found = set()
    for number, line in enumerate(lines, 1):
        if line.strip():
            page = _page_of(line)
            if page is None:
                raise DesignError(
                    f"popular: {path}, line {number}: found {line[:60]!r}; expected a page number, or a JSON object "
                    f"with one of {', '.join(_FIELDS)}"
                )
            found |= {page} - {0}
    if not found:
        raise DesignError(f"popular: {path} lists no page")
    return tuple(sorted(found))


def _page_of(line: str) -> int | None:
    """The page number of a line; 0 for `n/a`, None if there is none."""
    if _is_number(line.strip()):
        return int(line)
    try:
        record: Any = json.loads(line)
    except ValueError:
        return None
    if not isinstance(record, dict):
        return None
    for name in _FIELDS:
        value = str(record.get(name, ""))
        if _is_number(value):
            return int(value)
        if value == "n/a":
            return 0
    return None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


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
