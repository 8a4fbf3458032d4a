"""Queries over the lake that return what breaks a promise of TempEL. Does not use Dagster."""

from collections.abc import Callable
from typing import Any

import duckdb

from tempkb.benchmarks.linkable.texts import described, text_sha256
from tempkb.benchmarks.promises import Promise
from tempkb.benchmarks.samples import chosen_by
from tempkb.benchmarks.tempel.candidates import define_distance
from tempkb.benchmarks.tempel.tables import (
    ENTITY_TEXTS,
    TEMPEL_ENTITIES,
    TEMPEL_MENTIONS,
    TEMPEL_NEW_ENTITIES,
    TEMPEL_PLANS,
    TEMPEL_RELEASES,
)
from tempkb.mentions.tables import PAGE_TEXTS

UNEQUAL = """
    WITH counted AS (
        SELECT m.release, len(r.cuts) AS n_cuts, m.category, m.subset, m.cut, count(*) AS n,
               count(DISTINCT target_page_id) AS entities
        FROM mentions AS m JOIN releases AS r USING (release) WHERE r.is_equal GROUP BY ALL
    )
    SELECT release, category, subset FROM counted GROUP BY release, n_cuts, category, subset
    HAVING min(n) <> max(n) OR min(entities) <> max(entities) OR count(*) <> n_cuts
"""
UNPLANNED = """
    WITH planned AS (
        SELECT release, cut, page_id, subset, n_planned FROM plans WHERE n_planned > 0
    ), found AS (
        SELECT release, cut, target_page_id AS page_id, subset, count(*) AS n FROM mentions GROUP BY ALL
    )
    SELECT * FROM planned FULL JOIN found USING (release, cut, page_id, subset) WHERE n_planned IS DISTINCT FROM n
"""
LEAKS = """
    WITH surface AS (
        SELECT DISTINCT m.release, target_page_id, subset, lower(mention) AS surface,
               (r.design->>'ed_men_subsets')::DOUBLE AS threshold
        FROM mentions AS m JOIN releases AS r USING (release)
    )
    SELECT one.release, one.target_page_id, one.surface, other.surface
    FROM surface AS one JOIN surface AS other USING (release, target_page_id)
    WHERE one.subset < other.subset AND distance(one.surface, other.surface) < greatest(one.threshold, 1e-9)
"""
NOT_AS_DEFINED = """
    WITH entity AS (SELECT DISTINCT release, cut, category, target_page_id FROM mentions)
    SELECT release, 'continual', target_page_id FROM entity JOIN releases AS r USING (release)
    WHERE category = 'continual' AND r.is_equal
    GROUP BY release, target_page_id, len(r.cuts) HAVING count(DISTINCT cut) <> len(r.cuts)
    UNION ALL
    SELECT release, 'new at two cuts', target_page_id FROM entity WHERE category = 'new'
    GROUP BY ALL HAVING count(DISTINCT cut) > 1
    UNION ALL
    SELECT m.release, 'an article before', m.target_page_id
    FROM (SELECT DISTINCT release, cut, target_page_id, target_article_since FROM mentions WHERE category = 'new') AS m
    JOIN releases AS r USING (release)
    WHERE r.design->>'rules' = 'tempkb' AND (m.target_article_since >= m.cut::TIMESTAMPTZ OR EXISTS (
        SELECT 1 FROM unnest(r.cuts) AS earlier(cut)
        WHERE earlier.cut < m.cut AND m.target_article_since < earlier.cut::TIMESTAMPTZ
    ))
"""
MISPLACED = """
    SELECT m.release, m.cut, m.mention FROM mentions AS m
    LEFT JOIN texts AS t ON t.page_id = m.anchor_page_id AND t.revision_id = m.anchor_revision_id
    WHERE t.text IS NULL OR substring(t.text, m.start_char + 1, m.end_char - m.start_char) <> m.mention
       OR NOT ends_with(substring(t.text, 1, m.start_char), m.context_left)
"""
WITHOUT_CANDIDATE = """
    SELECT m.release, m.cut, m.target_page_id FROM mentions AS m
    ANTI JOIN entities AS e ON e.release = m.release AND e.cut = m.cut AND e.page_id = m.target_page_id
"""
WITHOUT_DIGEST = """
    SELECT release, cut, page_id FROM entities AS e FULL JOIN digests AS d USING (release, cut, page_id)
    WHERE d.revision_id IS DISTINCT FROM e.revision_id
"""
NOT_THE_NEW = """
    SELECT release, cut, page_id FROM (FROM entities WHERE category = 'new') AS e
    FULL JOIN news AS n USING (release, cut, page_id) WHERE e.title IS DISTINCT FROM n.title
"""
OTHER_DIGESTS = """
    SELECT d.release, d.cut, d.page_id FROM digests AS d
    JOIN entities AS e USING (release, cut, page_id)
    JOIN texts AS t ON t.page_id = d.page_id AND t.revision_id = d.revision_id
    WHERE d.text_sha256 <> digest_of(e.title, t.text)
"""

Prepare = Callable[[duckdb.DuckDBPyConnection], None]
_SOURCES = {
    "mentions": TEMPEL_MENTIONS,
    "plans": TEMPEL_PLANS,
    "entities": TEMPEL_ENTITIES,
    "releases": TEMPEL_RELEASES,
    "texts": PAGE_TEXTS,
    "digests": ENTITY_TEXTS,
}


def _promise(name: str, meaning: str, query: str, *sources: str, prepare: Prepare | None = None) -> Promise:
    tables = {source: _SOURCES[source] for source in sources}
    may_fade = "texts" in tables
    return Promise(name, meaning, TEMPEL_MENTIONS, query, tables, may_fade=may_fade, prepare=prepare)


PROMISES = (
    _promise(
        "snapshots_are_equal",
        "If a release is equal, all cuts have the same numbers of entities and mentions in each category and subset.",
        UNEQUAL,
        "mentions",
        "releases",
    ),
    _promise(
        "mentions_are_as_planned",
        "Every entity has, at each cut and in each subset, exactly the planned number of mentions.",
        UNPLANNED,
        "mentions",
        "plans",
    ),
    _promise(
        "no_surface_leaks_between_subsets",
        "No surface of an entity is near one of its surfaces in another subset, at any cut.",
        LEAKS,
        "mentions",
        "releases",
        prepare=define_distance,
    ),
    _promise(
        "categories_are_as_defined",
        "Continual entities have mentions at every cut; new ones at one cut, and they were not articles before it.",
        NOT_AS_DEFINED,
        "mentions",
        "releases",
    ),
    _promise(
        "mentions_stand_in_their_texts",
        "The text has every mention at its offsets, with the left context before it.",
        MISPLACED,
        "mentions",
        "texts",
    ),
    _promise(
        "targets_are_candidates",
        "Every target is among the candidates of its cut.",
        WITHOUT_CANDIDATE,
        "mentions",
        "entities",
    ),
)


def _shown(row: tuple[Any, ...]) -> str:
    """A page of a release's snapshot in words."""
    release, cut, page, *_ = row
    return f"{release} at {cut}: page {page}"


def _prepare_digests(connection: duckdb.DuckDBPyConnection) -> None:
    connection.create_function("digest_of", _digest_of, ["VARCHAR", "VARCHAR"], "VARCHAR")


def _digest_of(title: str, text: str) -> str:
    return text_sha256(title, described(text))


OF_TEXTS = (
    Promise(
        "every_candidate_has_a_digest",
        "Every candidate, and nothing else, has the digest of its text at the cut.",
        ENTITY_TEXTS,
        WITHOUT_DIGEST,
        {"entities": TEMPEL_ENTITIES, "digests": ENTITY_TEXTS},
        shown=_shown,
    ),
    Promise(
        "digests_are_those_of_the_texts",
        "The digest of a candidate follows from its title and its text.",
        ENTITY_TEXTS,
        OTHER_DIGESTS,
        {"entities": TEMPEL_ENTITIES, "digests": ENTITY_TEXTS, "texts": PAGE_TEXTS},
        shown=_shown,
        may_fade=True,
        prepare=_prepare_digests,
        sample=chosen_by("page_id", "candidate", "digests"),
    ),
)
OF_NEW = (
    Promise(
        "every_new_entity_has_a_type",
        "Every candidate that is new at its snapshot, and no other, has a row with its type.",
        TEMPEL_NEW_ENTITIES,
        NOT_THE_NEW,
        {"entities": TEMPEL_ENTITIES, "news": TEMPEL_NEW_ENTITIES},
        shown=_shown,
    ),
)
