"""Is it so? Checks of releases, over the lake."""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from tempkb.benchmarks.ecbd.checking import (
    BEYOND_CAPS,
    BEYOND_LIMITS,
    BY_CHUNKER,
    BY_FALLBACK,
    GIVEN_AWAY,
    IN_BOTH_SPLITS,
    MENTIONED_OFTEN,
    NOT_IN_PLACE,
    NOT_IN_TEXT,
    OUT_OF_WINDOW,
    SEVERAL_CHUNKERS,
    UNBALANCED,
)
from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE, ECBD_ENTITIES, ECBD_RELEASES, ECBD_SENTENCES
from tempkb.mentions.tables import PAGE_TEXTS
from tempkb.store.promises import broken
from tempkb.store.store import Store
from tempkb.wikidata.checks import result_of

_TABLES = {"cloze": ECBD_CLOZE, "entities": ECBD_ENTITIES, "sentences": ECBD_SENTENCES, "releases": ECBD_RELEASES}


@dg.asset_check(asset=ECBD_SENTENCES.name)
def entity_is_mentioned_once(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """The mention stands in its sentence once, between the edges of words."""
    return result_of(store, MENTIONED_OFTEN, {"sentences": ECBD_SENTENCES})


@dg.asset_check(asset=ECBD_SENTENCES.name)
def sentences_are_in_their_texts(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """Every sentence stands in the clean text of its revision, where it is said to.

    A warning: texts that were cleaned anew, by a later cleaner, are others than those a frozen release was made from.
    """
    return _as_warning(result_of(store, NOT_IN_TEXT, {"sentences": ECBD_SENTENCES, "texts": PAGE_TEXTS}))


@dg.asset_check(asset=ECBD_CLOZE.name)
def spans_are_in_place(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """Put in for the mask, the answer gives the sentence back."""
    return result_of(store, NOT_IN_PLACE, _TABLES)


@dg.asset_check(asset=ECBD_CLOZE.name)
def spans_keep_to_the_limits(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """Spans have as many words, and lie as near and as far behind the mention, as the design says."""
    return result_of(store, BEYOND_LIMITS, _TABLES)


@dg.asset_check(asset=ECBD_CLOZE.name)
def no_entity_is_in_both_splits(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """Every entity is for development or for testing."""
    return result_of(store, IN_BOTH_SPLITS, _TABLES)


@dg.asset_check(asset=ECBD_CLOZE.name)
def caps_are_kept(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """No entity and no window has more items than the design says."""
    return result_of(store, BEYOND_CAPS, _TABLES)


@dg.asset_check(asset=ECBD_CLOZE.name)
def kinds_are_balanced(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """Each window and split has as many noun phrases as random spans, where the design says so."""
    return result_of(store, UNBALANCED, _TABLES)


@dg.asset_check(asset=ECBD_CLOZE.name)
def answers_are_whole(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """No answer holds the mention or half a pair of quotation marks, where the design is strict."""
    return result_of(store, GIVEN_AWAY, _TABLES)


@dg.asset_check(asset=ECBD_CLOZE.name)
def origins_are_in_the_study(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """Origins lie in the study, and random definitions are of the same window and split and give nothing away."""
    return result_of(store, OUT_OF_WINDOW, _TABLES)


@dg.asset_check(asset=ECBD_CLOZE.name)
def one_chunker_per_release(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """One program found all noun phrases of a release."""
    return result_of(store, SEVERAL_CHUNKERS, _TABLES)


@dg.asset_check(asset=ECBD_RELEASES.name)
def chunker_is_spacy(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """A warning: noun phrases of these releases are by the bundled chunker, which is cruder than a spaCy model."""
    found = result_of(store, BY_FALLBACK, {"releases": ECBD_RELEASES})
    shares = {chunker: share for chunker, _, share in broken(store, BY_CHUNKER, {"cloze": ECBD_CLOZE})}
    return _as_warning(found, {"share of all items by chunker": dg.MetadataValue.json(shares)})


def _as_warning(found: dg.AssetCheckResult, more: Mapping[str, Any] | None = None) -> dg.AssetCheckResult:
    """The same result, for people to know, which fails no run."""
    return dg.AssetCheckResult(
        passed=found.passed, severity=dg.AssetCheckSeverity.WARN, metadata={**found.metadata, **(more or {})}
    )
