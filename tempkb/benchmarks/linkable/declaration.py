"""What a benchmark declares for linkers: where its mentions and entities are, and in which pools they are looked for.

Plain data; methods are imported when needed.
"""

import re
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from tempkb.store.tables import Table
from tempkb.wiki.wikitext.counting import words_before, words_behind

if TYPE_CHECKING:
    from tempkb.benchmarks.linkable.pools import LinkableMethods


@dataclass(frozen=True)
class Linkable:
    """What a benchmark brings to linkers. A partition is a release at a cut, or of `releases` a release.

    Attributes:
        releases: with release and granularity.
        mentions: with subset, target_page_id, anchor_page_id, start_char, category, mention, context_left,
            context_right, target_title, target_qid and men_prior.
        entities: the candidates, with page_id and title.
        texts: digests of what linkers read of the candidates, with page_id and text_sha256.
        types: types of the entities that are new at a cut, by page_id.
        methods: dotted name of the module with its `LINKABLE_METHODS`.
    """

    releases: Table
    mentions: Table
    entities: Table
    texts: Table
    types: Table
    methods: str

    def loaded(self) -> "LinkableMethods":
        """Import and return its methods."""
        methods: LinkableMethods = import_module(self.methods).LINKABLE_METHODS
        return methods


OWN_POOL = "own"
"""The pool of candidates that a release has at the mentions' own cut."""
FIXED_POOL = 50_000
"""Candidates of the pool `fixed`."""

_FIXED = "fixed"


def pool_name(text: str) -> str:
    """Return the name of a pool as tables have it.

    Raises:
        ValueError: it is neither `own`, `fixed` nor `fixed-N`.

    >>> pool_name("own"), pool_name("fixed"), pool_name("fixed-1000")
    ('own', 'fixed-50000', 'fixed-1000')
    """
    if text == _FIXED:
        return f"{_FIXED}-{FIXED_POOL}"
    if text == OWN_POOL or re.fullmatch(rf"{_FIXED}-[1-9]\d*", text):
        return text
    raise ValueError(text)


def fixed_size(pool: str) -> int | None:
    """Return the number of entities of a pool of fixed size, by its name in tables; None for another pool.

    >>> fixed_size("fixed-1000"), fixed_size("own")
    (1000, None)
    """
    return int(pool.removeprefix(f"{_FIXED}-")) if pool.startswith(f"{_FIXED}-") else None


N_WORDS = 20
"""Words on either side of a mention: its sentence. What was not trained to link finds the subject of a longer text: the
article that has the mention, and not what the mention means."""


def sentence_around(left: str, right: str) -> tuple[str, str]:
    """Return the words before and after a mention that are nearest to it, as many as `N_WORDS` on either side."""
    return words_before(left, len(left), N_WORDS), words_behind(right, 0, N_WORDS)


def mention_sentence(left: str, mention: str, right: str) -> str:
    """Return a mention with the words around it, and first the mention alone, which is not marked among the words.

    >>> mention_sentence("At dawn ", "the port", ", still dark,  wakes.")
    'the port: At dawn the port, still dark, wakes.'
    """
    before, after = sentence_around(left, right)
    return " ".join(f"{mention}: {before}{mention}{after}".split())


def entity_sentence(title: str, description: str) -> str:
    """Return an entity's title and its description, joined as tools for retrieval join them.

    >>> entity_sentence("Aurora", "Aurora is a port.")
    'Aurora Aurora is a port.'
    """
    return f"{title} {description}".strip()
