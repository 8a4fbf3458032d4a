"""BM25 as a linker: the words of a mention and of its sentence are looked for in titles and descriptions.

Scores are those of `bm25s` in Lucene's variant, with its defaults, computed in float64. What has no word in common with
a query is no candidate, nor is the page with the mention, whose words a query has.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, repeat
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tempkb.benchmarks.linkable.sentences import entity_sentence
from tempkb.linking.candidates import Candidates, described, page_ids_among
from tempkb.linking.extra import require_extra
from tempkb.linking.searching import DECIMALS
from tempkb.linking.words import words_of
from tempkb.store.store import Store

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
