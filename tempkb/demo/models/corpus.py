"""What models of a cut read: the sentences of the articles in its snapshot, without those that are withheld."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tempkb.benchmarks.ecbd.matching import NameFinder, longest
from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE
from tempkb.benchmarks.sentences import Place, Splitter, sentencex_splitter, split_paragraph
from tempkb.core.errors import SettingsError
from tempkb.core.settings import Settings
from tempkb.core.windows import window_ending
from tempkb.demo.models.recipe import BORN, FACTS, OTHERS, is_withheld
from tempkb.platform.api import built_cuts, unbuilt_cut
from tempkb.store.store import Store
from tempkb.wiki.mentions.tables import PAGE_TEXTS
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS
from tempkb.wiki.wikidata.scope import language_of_wiki
from tempkb.wiki.wikidata.tables import ENTITY_ORIGINS, WIKIDATA_ENTITIES
from tempkb.wiki.wikidata.tables import FACTS as FACTS_TABLE

if TYPE_CHECKING:
    import pyarrow as pa

_SHORTEST = 3  # characters of a name; shorter ones are mostly other words
_NAMES = f"""
    SELECT label AS name FROM {WIKIDATA_ENTITIES.name} WHERE length(label) >= {_SHORTEST}
    UNION SELECT title FROM {{snapshot}} WHERE length(title) >= {_SHORTEST} ORDER BY ALL
"""
# Own names, text, paragraphs, item and kind of each article.
_ARTICLES = f"""
    WITH labels AS (SELECT entity_id, max(label) AS label FROM {WIKIDATA_ENTITIES.name} GROUP BY entity_id)
    SELECT [title, coalesce(label, title)] AS own, text, paragraphs, coalesce(entity_id, '') AS entity_id, CASE
        WHEN entity_id IN (SELECT subject_id FROM {FACTS_TABLE.name}) THEN '{FACTS}'
        WHEN entity_id IN (SELECT entity_id FROM {ENTITY_ORIGINS.name} WHERE origin_from IS NOT NULL) THEN '{BORN}'
        ELSE '{OTHERS}' END AS kind
    FROM {{snapshot}} JOIN {PAGE_TEXTS.name} USING (page_id, revision_id) LEFT JOIN labels USING (entity_id)
    WHERE text <> '' ORDER BY page_id
"""


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
    names = (FACTS_TABLE, ENTITY_ORIGINS, WIKIDATA_ENTITIES, ECBD_CLOZE, STABLE_SNAPSHOTS, PAGE_TEXTS)
    with store.asking(*(one.name for one in names)) as ask:
        reader = _Reader(ask, store.home.settings)
        return {cut: reader.read(cut) for cut in cuts}


class _Reader:
    """Reads articles of a home and splits them into sentences."""

    def __init__(self, ask: Callable[[str], "pa.Table"], settings: Settings) -> None:
        self._ask, self._granularity, self._language = ask, settings.granularity, language_of_wiki(settings)
        self._split: Splitter = sentencex_splitter(self._language)
        tests = f"SELECT DISTINCT sentence FROM {ECBD_CLOZE.name} WHERE split = 'test' ORDER BY ALL"
        self._tests = NameFinder(ask(tests)["sentence"].to_pylist(), self._language)

    def read(self, cut: date) -> Corpus:
        """Return the corpus of a cut."""
        window = window_ending(cut, self._granularity)
        snapshot = f"(FROM {STABLE_SNAPSHOTS.name} WHERE window_start = DATE '{window.start}' AND namespace = 0)"
        names = NameFinder(self._ask(_NAMES.format(snapshot=snapshot))["name"].to_pylist(), self._language)
        sentences, n_withheld = list[Sentence](), dict.fromkeys(("tests", "subjects"), 0)
        for one in self._ask(_ARTICLES.format(snapshot=snapshot)).to_pylist():
            kind, text = one["kind"], one["text"]
            for place, is_test in self._places(text, one["paragraphs"]):
                if kind == FACTS and is_withheld(one["entity_id"]):
                    n_withheld["subjects"] += 1
                elif is_test:
                    n_withheld["tests"] += 1
                else:
                    sentence = text[place.start : place.end]
                    found = longest(names.find(sentence))
                    spans = tuple((name.start, name.end) for name in found)
                    about = tuple((name.start, name.end) for name in found if names.names[name.name] in one["own"])
                    sentences.append(Sentence(sentence, kind, spans, about))
        if not sentences:
            raise SettingsError(
                f"cut {cut}: found no sentence to learn from; expected articles with readable texts in the snapshot. "
                f"Build the window with its texts: tempkb build --window {window.start}..{window.end}"
            )
        return Corpus(cut, tuple(sentences), n_withheld)

    def _places(self, text: str, paragraphs: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Place, bool]]:
        """The sentences of a text, each with whether a test sentence is in it, or it in a test sentence."""
        tests = [(one.start, one.end) for one in self._tests.find(text)]
        for paragraph in paragraphs:
            within = Place(paragraph["start_char"], paragraph["end_char"])
            for place in split_paragraph(text, within, self._split):
                yield place, any(start < place.end and place.start < end for start, end in tests)
