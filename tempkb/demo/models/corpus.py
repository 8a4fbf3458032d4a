"""What models of a cut read: the sentences of the articles in its snapshot, without those that are withheld."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any

import duckdb

from tempkb.benchmarks.ecbd.matching import NameFinder, longest
from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE
from tempkb.benchmarks.sentences import Place, Splitter, sentencex_splitter, split_paragraph
from tempkb.core.errors import SettingsError
from tempkb.core.windows import window_ending
from tempkb.demo.models.recipe import FACTS, KINDS, is_withheld
from tempkb.platform.api import built_cuts, unbuilt_cut
from tempkb.store.memory import asking, view_files
from tempkb.store.store import Store
from tempkb.store.tables import Table
from tempkb.wiki.mentions.steps import quarters_of
from tempkb.wiki.mentions.tables import PAGE_TEXTS
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS
from tempkb.wiki.wikidata.scope import language_of_wiki
from tempkb.wiki.wikidata.tables import ENTITY_ORIGINS, WIKIDATA_ENTITIES
from tempkb.wiki.wikidata.tables import FACTS as FACTS_TABLE

_SHORTEST = 3  # characters of a name; shorter ones are mostly other words


@dataclass(frozen=True)
class Sentence:
    """A sentence of an article.

    Attributes:
        kind: of its article, one of `KINDS`.
        names: half-open ranges of characters, each a name of something in the home.
        own: those of them that name what the article is about.
    """

    text: str
    kind: str
    names: tuple[tuple[int, int], ...]
    own: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Corpus:
    """What a model may read.

    Attributes:
        sentences: in the order of pages and texts.
        n_withheld: sentences that were left out by the reason: tests (of ECBD) or subjects (a share of the facts').
    """

    cut: date
    sentences: tuple[Sentence, ...]
    n_withheld: Mapping[str, int]

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all that is read of it."""
        read = [[one.text, one.kind, one.names, one.own] for one in self.sentences]
        return hashlib.sha256(json.dumps(read).encode()).hexdigest()


def read_corpora(store: Store, cuts: Sequence[date]) -> dict[date, Corpus]:
    """Read what models of each cut may read.

    Articles are those of the main namespace. Left out are the test sentences of all releases of ECBD, wherever they
    occur, and the whole articles about a fifth of the subjects of facts.

    Raises:
        SettingsError: a cut is not built, or there is nothing to read at it.
    """
    built = built_cuts(store, STABLE_SNAPSHOTS.name)
    for cut in cuts:
        if cut not in built:
            raise unbuilt_cut(STABLE_SNAPSHOTS.name, cut, built)
    with asking() as connection:
        return {cut: _Reader(store, connection).read(cut) for cut in cuts}


class _Reader:
    """Reads articles of a home and splits them into sentences."""

    def __init__(self, store: Store, connection: duckdb.DuckDBPyConnection) -> None:
        self._store, self._connection = store, connection
        self._language = language_of_wiki(store.home.settings)
        self._split: Splitter = sentencex_splitter(self._language)
        for name, table in {"facts": FACTS_TABLE, "origins": ENTITY_ORIGINS, "entities": WIKIDATA_ENTITIES}.items():
            self._view(name, table, store.lake.partitions(table.name))
        self._view("cloze", ECBD_CLOZE, store.lake.partitions(ECBD_CLOZE.name))
        tests = connection.execute("SELECT DISTINCT sentence FROM cloze WHERE split = 'test' ORDER BY ALL").fetchall()
        self._tests = NameFinder([sentence for (sentence,) in tests], self._language)

    def read(self, cut: date) -> Corpus:
        """Return the corpus of a cut."""
        window = window_ending(cut, self._store.home.settings.granularity)
        self._view("snapshot", STABLE_SNAPSHOTS, [window.key])
        self._view("texts", PAGE_TEXTS, quarters_of(self._store, cut))
        names, n_withheld = self._names(), dict.fromkeys(("tests", "subjects"), 0)
        sentences = []
        for own, text, paragraphs, entity_id, kind in self._articles():
            for place, is_test in self._places(text, paragraphs):
                if kind == FACTS and is_withheld(entity_id):
                    n_withheld["subjects"] += 1
                elif is_test:
                    n_withheld["tests"] += 1
                else:
                    sentence = text[place.start : place.end]
                    found = longest(names.find(sentence))
                    spans = tuple((one.start, one.end) for one in found)
                    about = tuple((one.start, one.end) for one in found if names.names[one.name] in own)
                    sentences.append(Sentence(sentence, kind, spans, about))
        if not sentences:
            raise SettingsError(
                f"cut {cut}: found no sentence to learn from; expected articles with readable texts in the snapshot. "
                f"Build the window with its texts: tempkb build --window {window.start}..{window.end}"
            )
        return Corpus(cut, tuple(sentences), n_withheld)

    def _view(self, name: str, table: Table, partitions: Sequence[str]) -> None:
        versions = [self._store.lake.current(table.name, key) for key in partitions]
        paths = [path for one in versions if one is not None for path in one.paths()]
        view_files(self._connection, name, paths, table.schema)

    def _articles(self) -> Iterator[tuple[list[str], str, list[dict[str, Any]], str, str]]:
        """Own names, text, paragraphs, item and kind of each article, by page."""
        rows = self._connection.execute(
            """
            WITH labels AS (SELECT entity_id, max(label) AS label FROM entities GROUP BY entity_id)
            SELECT [title, coalesce(label, title)], text, paragraphs, coalesce(entity_id, ''), CASE
                WHEN entity_id IN (SELECT subject_id FROM facts) THEN ?
                WHEN entity_id IN (SELECT entity_id FROM origins WHERE origin_from IS NOT NULL) THEN ?
                ELSE ? END AS kind
            FROM snapshot JOIN texts USING (page_id, revision_id) LEFT JOIN labels USING (entity_id)
            WHERE namespace = 0 AND text <> ''
            ORDER BY page_id
            """,
            KINDS,
        )
        while found := rows.fetchmany(1000):
            yield from found

    def _places(self, text: str, paragraphs: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Place, bool]]:
        """The sentences of a text, each with whether a test sentence is in it, or it in a test sentence."""
        tests = [(one.start, one.end) for one in self._tests.find(text)]
        for paragraph in paragraphs:
            within = Place(paragraph["start_char"], paragraph["end_char"])
            for place in split_paragraph(text, within, self._split):
                yield place, any(start < place.end and place.start < end for start, end in tests)

    def _names(self) -> NameFinder:
        rows = self._connection.execute(
            """
            SELECT label FROM entities WHERE length(label) >= ?
            UNION SELECT title FROM snapshot WHERE namespace = 0 AND length(title) >= ? ORDER BY ALL
            """,
            (_SHORTEST, _SHORTEST),
        ).fetchall()
        return NameFinder([name for (name,) in rows], self._language)
