"""The declaration of what a benchmark brings to linkers. Plain data; methods are imported when needed."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from tempkb.store.tables import Table

if TYPE_CHECKING:
    from tempkb.benchmarks.linkable.methods import LinkableMethods


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
