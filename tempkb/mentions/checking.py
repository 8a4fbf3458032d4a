"""The promises of the room's tables, as queries that return rows which break them. Does not use Dagster."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from tempkb.engine.tasks import WRITTEN
from tempkb.mentions.tables import ENTITY_POPULARITY, INVERTED_INDEX, MENTION_PRIORS, MENTIONS, PAGE_LINKS, PAGE_TEXTS
from tempkb.store.promises import Promise, Subject, no_empty_window_between
from tempkb.store.store import Store, read_files

_KEY = ["page_id", "revision_id"]

# Fails if the priors of a surface do not sum to one, or if there are not as many links as mentions of whole articles.
PRIORS_THAT_DO_NOT_ADD_UP = """
    SELECT cut, surface, sum(prior) FROM priors GROUP BY cut, surface HAVING abs(sum(prior) - 1) > 1e-9
    UNION ALL
    SELECT cut, 'links', sum(n) FROM (
        SELECT cut, sum(n_links) AS n FROM priors GROUP BY cut
        UNION ALL
        SELECT cut, -count(*) AS n FROM mentions WHERE via_redirect <> 'section' GROUP BY cut
    ) GROUP BY cut HAVING sum(n) <> 0
"""
NOT_COUNTED = """
    SELECT cut, sum(n), '' FROM (
        SELECT cut, sum(n_mentions) AS n FROM index_of_mentions GROUP BY cut
        UNION ALL
        SELECT cut, -count(*) AS n FROM mentions WHERE via_redirect <> 'section' GROUP BY cut
    ) GROUP BY cut HAVING sum(n) <> 0
"""


def misplaced_surfaces(store: Store, quarters: Iterable[str]) -> Iterator[tuple[int, int, str]]:
    """Yield page, revision and surface of each link whose surface differs from the text at its span.

    Texts and links are in the same order, so both are read once, side by side. In SQL each link would count the
    characters of its text from the beginning: for an article with a thousand links a thousand times.
    """
    for quarter in quarters:
        texts, links = (store.lake.files(table.name, [quarter]) for table in (PAGE_TEXTS, PAGE_LINKS))
        found = _rows(read_files(texts, [*_KEY, "text"]))
        page, revision, text = next(found, _END)
        for *key, start, end, surface in _rows(read_files(links, [*_KEY, "start_char", "end_char", "surface"])):
            while [page, revision] < key:
                page, revision, text = next(found, _END)
            if [page, revision] != key or text[start:end] != surface:
                yield (*key, surface)


_END = (float("inf"), 0, "")


def _rows(tables: Iterable[pa.Table]) -> Iterator[tuple[Any, ...]]:
    for table in tables:
        yield from zip(*(column.to_pylist() for column in table.columns), strict=True)


def _misplaced(store: Store, subject: Subject) -> Iterator[tuple[int, int, str]]:
    """Misplaced surfaces of the quarters that a step of the run has written, or of all quarters if none has.

    Texts are partitioned by quarter, so the windows of a run do not say which quarters it has written.
    """
    return misplaced_surfaces(store, subject.facts.get(WRITTEN, store.lake.partitions(PAGE_LINKS.name)))


PROMISES = (
    Promise(
        "surfaces_stand_in_their_texts",
        "The readable text has every surface at its offsets, in the quarters that the run has written.",
        PAGE_LINKS,
        finds=_misplaced,
    ),
    Promise(
        "priors_of_a_surface_add_up",
        "At each cut the priors of a surface sum to one, and there are as many links as mentions of whole articles.",
        MENTION_PRIORS,
        PRIORS_THAT_DO_NOT_ADD_UP,
        {"priors": MENTION_PRIORS, "mentions": MENTIONS},
    ),
    Promise(
        "the_index_counts_every_mention",
        "At each cut the index counts every mention of a whole article.",
        INVERTED_INDEX,
        NOT_COUNTED,
        {"index_of_mentions": INVERTED_INDEX, "mentions": MENTIONS},
    ),
    *map(no_empty_window_between, (MENTIONS, INVERTED_INDEX, MENTION_PRIORS, ENTITY_POPULARITY)),
)
