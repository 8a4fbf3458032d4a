"""Computes the paper's table 1 and figures 3a-c, 4c, 6 and 7 as rows. SQL counts rows, Python counts words."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from statistics import fmean
from typing import Any

import duckdb

from tempkb.benchmarks.tempel.similarity import normalised_distance
from tempkb.wiki.wikitext.counting import split_words

# The time of an edit distance grows with the square of the text, so only this many words are compared (figure 3b).
WORDS_COMPARED = 200
PAIRS_TO_READ = 100
_BATCH_ROWS = 1 << 11
Row = dict[str, Any]


def figures_of(
    connection: duckdb.DuckDBPyConnection,
    wiki: str,
    release: str,
    cuts: Sequence[date],
    filters: Mapping[date, Sequence[tuple[str, str, int, int]]],
) -> Iterator[Row]:
    """Yield the rows of `tempel_statistics`.

    Args:
        connection: a connection with the views `release_mentions`, `release_entities` and `texts`.
        cuts: the snapshots, oldest first.
        filters: the result of `filter_counts` for each cut.
    """

    def row(figure: str, cut: date, series: str, label: str, value: float) -> Row:
        return {
            "wiki": wiki,
            "release": release,
            "figure": figure,
            "cut": cut,
            "series": series,
            "label": label,
            "value": float(value),
        }

    for cut, category, subset, mentions, entities in connection.execute(
        """
        SELECT cut, category, subset, count(*), count(DISTINCT target_page_id) FROM release_mentions
        GROUP BY ALL ORDER BY ALL
        """
    ).fetchall():
        yield row("table_1", cut, f"{category} {subset}", "mentions", mentions)
        yield row("table_1", cut, f"{category} {subset}", "entities", entities)
    for cut, n in connection.execute("SELECT cut, count(*) FROM release_entities GROUP BY cut ORDER BY cut").fetchall():
        yield row("figure_4c", cut, "candidates", "entities", n)
    for cut, category, subset, most, entities in connection.execute(
        """
        WITH entity AS (SELECT cut, category, subset, target_page_id, count(*) AS n FROM release_mentions GROUP BY ALL),
             counted AS (SELECT cut, category, subset, n, count(*) AS entities FROM entity GROUP BY ALL)
        SELECT cut, category, subset, n, sum(entities) OVER (PARTITION BY cut, category, subset ORDER BY n)
        FROM counted ORDER BY ALL
        """
    ).fetchall():
        yield row("figure_7", cut, f"{category} {subset}", f"at most {most:04} mentions", entities)
    for cut, counts in filters.items():
        for name, how, n, mentions in counts:
            yield row("figure_6", cut, f"{name}, {how}", "surfaces of entities", n)
            yield row("figure_6", cut, f"{name}, {how}", "mentions", mentions)
    if len(cuts) > 1:
        for figure, cut, series, label, value in (
            *_drift_of_texts(connection, cuts),
            *_drift_of_contexts(connection, cuts),
        ):
            yield row(figure, cut, series, label, value)


_Value = tuple[str, date, str, str, float]


def _drift_of_texts(connection: duckdb.DuckDBPyConnection, cuts: Sequence[date]) -> Iterator[_Value]:
    """Figures 3a and 3b: how the pages of continual entities drift from their first snapshot."""
    query = """
        SELECT entity.page_id, entity.cut, entity.title, texts.text
        FROM release_entities AS entity JOIN texts USING (page_id, revision_id)
        WHERE entity.category = 'continual' ORDER BY entity.page_id, entity.cut
    """
    overlaps: defaultdict[date, list[float]] = defaultdict(list)
    distances: defaultdict[date, list[float]] = defaultdict(list)
    pairs: list[tuple[float, str]] = []
    for page, rows in _by_first(connection, query):
        texts = {cut: split_words(text) for cut, _, text in rows}
        if len(texts) < len(cuts):
            continue
        shortest = min(len(words) for words in texts.values())
        first = texts[cuts[0]][:shortest]
        for cut in cuts:
            words = texts[cut][:shortest]
            overlaps[cut].append(jaccard(first, words))
            distances[cut].append(
                normalised_distance(" ".join(first[:WORDS_COMPARED]), " ".join(words[:WORDS_COMPARED]))
            )
        pairs.append((overlaps[cuts[-1]][-1], f"{rows[-1][1]} (page {page})"))
    for cut in cuts:
        if overlaps[cut]:
            yield "figure_3a", cut, "continual", "mean Jaccard overlap with the first snapshot", fmean(overlaps[cut])
            yield "figure_3b", cut, "continual", "mean edit distance from the first snapshot", fmean(distances[cut])
    for overlap, name in sorted(pairs)[:PAIRS_TO_READ]:
        yield "drift", cuts[-1], "lowest overlap of first and last snapshot", name, overlap


def _drift_of_contexts(connection: duckdb.DuckDBPyConnection, cuts: Sequence[date]) -> Iterator[_Value]:
    """Figure 3c: how the words around the mentions of continual entities drift from the first snapshot."""
    query = """
        SELECT target_page_id, cut, context_left, context_right FROM release_mentions
        WHERE category = 'continual' ORDER BY target_page_id, cut, md5(concat_ws('|', anchor_page_id, start_char))
    """
    overlaps: defaultdict[date, list[float]] = defaultdict(list)
    for _, rows in _by_first(connection, query):
        contexts: defaultdict[date, list[tuple[list[str], list[str]]]] = defaultdict(list)
        for cut, left, right in rows:
            contexts[cut].append((split_words(left), split_words(right)))
        if len(contexts) < len(cuts):
            continue
        n = min(len(own) for own in contexts.values())
        chosen = {cut: own[:n] for cut, own in contexts.items()}
        half = min(min(len(left), len(right)) for own in chosen.values() for left, right in own)
        vocabularies = {cut: _vocabulary(own, half) for cut, own in chosen.items()}
        for cut in cuts:
            overlaps[cut].append(jaccard(vocabularies[cuts[0]], vocabularies[cut]))
    for cut in cuts:
        if overlaps[cut]:
            yield (
                "figure_3c",
                cut,
                "continual",
                "mean Jaccard overlap of contexts with the first snapshot",
                fmean(overlaps[cut]),
            )


def _vocabulary(contexts: Sequence[tuple[list[str], list[str]]], half: int) -> list[str]:
    return [word for left, right in contexts for word in (*left[len(left) - half :], *right[:half])]


def jaccard(left: Sequence[str], right: Sequence[str]) -> float:
    """Return the Jaccard overlap of two vocabularies; 1 for two empty ones.

    >>> jaccard(["a", "b"], ["b", "c"])
    0.3333333333333333
    """
    one, other = set(left), set(right)
    return len(one & other) / len(one | other) if one or other else 1.0


def _by_first(connection: duckdb.DuckDBPyConnection, query: str) -> Iterator[tuple[int, list[tuple[Any, ...]]]]:
    """Yield the rows of a query in groups with an equal first column; one group is in memory at a time."""
    held: list[tuple[Any, ...]] = []
    current: int | None = None
    for batch in connection.sql(query).to_arrow_reader(_BATCH_ROWS):
        for first, *rest in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if first != current and current is not None:
                yield current, held
                held = []
            current = first
            held.append(tuple(rest))
    if current is not None:
        yield current, held
