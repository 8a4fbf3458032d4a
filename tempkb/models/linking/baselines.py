"""Linkers that learn nothing, BM25 and the mention prior, and words of a text in any language.

BM25 looks for the words of a mention and of its sentence in titles and descriptions. Scores are those of `bm25s` in
Lucene's variant, with its defaults, computed in float64. What has no word in common with a query is no candidate, nor
is the page with the mention, whose words a query has. The mention prior is the entity to which most links with a
surface lead at the candidates' cut.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from itertools import pairwise, repeat
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tempkb.benchmarks.linkable.declaration import entity_sentence
from tempkb.core.windows import window_ending
from tempkb.models.linking.candidates import Candidates, described, page_ids_among
from tempkb.models.linking.searching import DECIMALS
from tempkb.models.training.requests import require_extra
from tempkb.store.memory import asking
from tempkb.store.quoting import parquet
from tempkb.store.store import Store
from tempkb.store.versions import Version
from tempkb.wiki.mentions.tables import MENTION_PRIORS
from tempkb.wiki.revisions.windows import not_built
from tempkb.wiki.wikitext.counting import split_words


class _Signs(dict[int, int]):
    """For `str.translate`: letters, marks and digits as they are, and a blank for everything else."""

    def __missing__(self, code: int) -> int:
        kept = code if unicodedata.category(chr(code))[0] in "LMN" else ord(" ")
        self[code] = kept
        return kept


_SIGNS = _Signs()


def words_of(text: str) -> list[str]:
    """Return the words of a text: letters, marks and digits between other signs, in lower case, as often as they occur.

    There are no stems and no stop words, which would be those of one language. In scripts without blanks each letter is
    a word.

    >>> words_of("The 2021–22 rowing cup (Varland's)")
    ['the', '2021', '22', 'rowing', 'cup', 'varland', 's']
    """
    return split_words(text.lower().translate(_SIGNS))


def mean_similarity(texts: Sequence[Sequence[int]]) -> float | None:
    """Return how similar consecutive texts of a list are: the mean Jaccard similarity of their words.

    All are cut to the number of words of the shortest, since a longer text has more words of its own. Texts without a
    word are left out.

    Args:
        texts: numbers of the words of each text.

    Returns:
        A number from 0 to 1; None if fewer than two texts have words.

    >>> mean_similarity([(1, 2, 3), (2, 1), (), (3, 1, 9)])
    0.6666666666666666
    """
    texts = [text for text in texts if len(text)]
    if len(texts) < 2:
        return None
    shortest = min(map(len, texts))
    cut = [frozenset(text[:shortest]) for text in texts]
    pairs = [len(one & other) / len(one | other) for one, other in zip(cut, cut[1:], strict=False)]
    return sum(pairs) / len(pairs)


Integers = npt.NDArray[np.int64]
Best = tuple[Integers, npt.NDArray[np.float64], Integers]
"""The best candidates of a query: page_ids, rounded scores, and numbers of other candidates with the same score."""
_NO_PAGE = -1


def index_of(store: Store, wanted: Candidates, path: Path) -> tuple[Integers, "Bm25"]:
    """Return the page_ids of candidates, and an index of their texts, which are written to a file."""
    page_ids = page_ids_among(wanted)
    rows = described(store, wanted, page_ids, path)
    return page_ids, Bm25(page_ids, (entity_sentence(row["title"], row["description"]) for row in rows))


class _Documents(Sequence[npt.NDArray[np.int32]]):
    """Numbers of the words of documents, in one array: lists of numbers would take ten times the memory."""

    def __init__(self, words: npt.NDArray[np.int32], ends: Integers) -> None:
        self._words, self._ends = words, ends

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, at: Any) -> Any:
        return self._words[self._ends[at] : self._ends[at + 1]]

    def __iter__(self) -> Iterator[npt.NDArray[np.int32]]:
        for start, end in pairwise(self._ends):
            yield self._words[start:end]


class Bm25:
    """An index of documents.

    It takes about 12 bytes for each document and distinct word of it, and while it is made about 40: for 6 million
    articles of 100 distinct words some 7 GB, and 25 GB while it is made.
    """

    def __init__(self, page_ids: Integers, texts: Iterable[str]) -> None:
        """Index the texts of pages.

        Raises:
            SettingsError: the package bm25s is not installed.
        """
        require_extra("linker bm25", ("bm25s",))
        import bm25s

        self.version = str(bm25s.__version__)
        self._page_ids = page_ids
        numbers: dict[str, int] = {}
        parts, ends = [np.empty(0, np.int32)], [0]
        for text in texts:
            words = np.array([numbers.setdefault(word, len(numbers)) for word in words_of(text)], np.int32)
            parts.append(words)
            ends.append(ends[-1] + len(words))
        self._numbers = numbers
        documents = _Documents(np.concatenate(parts), np.array(ends))
        del parts
        self._index = bm25s.BM25(method="lucene", dtype="float64")
        if numbers:
            self._index.scores = self._index.build_index_from_ids(range(len(numbers)), documents, show_progress=False)

    def rank(self, queries: Iterable[str], k: int, own: Iterable[int] = repeat(_NO_PAGE)) -> Iterator[Best]:
        """Yield up to k of the candidates with a word of each query, best first, without the page that is its `own`."""
        for query, page in zip(queries, own, strict=False):
            yield self._best(query, k, page)

    def _best(self, query: str, k: int, own_page: int) -> Best:
        known = [number for word in words_of(query) if (number := self._numbers.get(word)) is not None]
        if not known:
            return np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64)
        found = self._index.get_scores_from_ids(known)
        # Each idf of Lucene's variant is positive, so exactly the documents with a common word have a score above 0.
        places = np.flatnonzero((found > 0) & (self._page_ids != own_page))
        scores = np.round(found[places], DECIMALS)
        if len(places) > k:
            # All candidates that tie with the last one that is wanted are kept, so that they are ranked and counted.
            places = places[scores >= np.partition(scores, -k)[-k]]
            scores = np.round(found[places], DECIMALS)
        best = np.lexsort((self._page_ids[places], -scores))[:k]
        rising = np.sort(scores)
        own = scores[best]
        ties = np.searchsorted(rising, own, "right") - np.searchsorted(rising, own, "left") - 1
        return self._page_ids[places[best]], own, ties


def priors_at(store: Store, cut: date) -> Version:
    """Return the priors of a cut.

    Raises:
        ContractError: they are not built.
    """
    window = window_ending(cut, store.home.settings.granularity)
    version = store.lake.current(MENTION_PRIORS.name, window.key)
    if version is None:
        raise not_built(store, MENTION_PRIORS.name, cut)
    return version


def rank_by_links(priors: Version, mentions: Sequence[str], page_ids: Integers, k: int) -> list[Best]:
    """Return the candidates of each mention that have links with its surface, by their number and then by page_id.

    Surfaces are compared as TempEL's filters compare them, in lower case.
    """
    nothing = np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64)
    found: list[Best] = [nothing] * len(mentions)
    with asking() as memory:
        memory.register("asked", pa.table({"place": np.arange(len(mentions)), "mention": pa.array(mentions, "string")}))
        memory.register("pool", pa.table({"page_id": page_ids}))
        for place, pages, links, ties in _ranked(memory, priors, k):
            found[place] = np.array(pages, np.int64), np.array(links, np.float64), np.array(ties, np.int64)
    return found


def _ranked(
    memory: duckdb.DuckDBPyConnection, priors: Version, k: int
) -> list[tuple[int, list[int], list[int], list[int]]]:
    return memory.execute(
        f"""
        WITH offered AS (
            SELECT surface, target_page_id AS page_id, n_links,
                   count(*) OVER (PARTITION BY surface, n_links) - 1 AS n_tied,
                   row_number() OVER (PARTITION BY surface ORDER BY n_links DESC, target_page_id) AS place_of
            FROM {parquet(priors.paths())}
            SEMI JOIN pool ON pool.page_id = target_page_id
            SEMI JOIN (SELECT DISTINCT lower(mention) AS surface FROM asked) AS wanted USING (surface)
        ), best AS (
            SELECT surface, list(page_id ORDER BY place_of) AS pages, list(n_links ORDER BY place_of) AS links,
                   list(n_tied ORDER BY place_of) AS ties
            FROM offered WHERE place_of <= {k} GROUP BY surface
        )
        SELECT place, pages, links, ties FROM asked JOIN best ON best.surface = lower(mention)
        """
    ).fetchall()
