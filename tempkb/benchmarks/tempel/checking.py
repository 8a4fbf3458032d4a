"""The promises of TempEL's tables, as queries that return what breaks them. Does not use Dagster."""

from typing import Any

from tempkb.benchmarks.tempel.tables import (
    ENTITY_TEXTS,
    TEMPEL_ENTITIES,
    TEMPEL_MENTIONS,
    TEMPEL_NEW_ENTITIES,
    TEMPEL_PLANS,
    TEMPEL_RELEASES,
)
from tempkb.store.promises import Promise

PROMISES = (
    Promise(
        "snapshots_are_equal",
        "If a release is equal, all cuts have the same numbers of entities and mentions in each category and subset.",
        TEMPEL_MENTIONS,
        """
        WITH counted AS (
            SELECT m.release, len(r.cuts) AS n_cuts, m.category, m.subset, m.cut, count(*) AS n,
                   count(DISTINCT target_page_id) AS entities
            FROM tempel_mentions AS m JOIN tempel_releases AS r USING (release) WHERE r.is_equal GROUP BY ALL
        )
        SELECT release, category, subset FROM counted GROUP BY release, n_cuts, category, subset
        HAVING min(n) <> max(n) OR min(entities) <> max(entities) OR count(*) <> n_cuts
        """,
        (TEMPEL_RELEASES,),
    ),
    Promise(
        "mentions_are_as_planned",
        "Every entity has, at each cut and in each subset, exactly the planned number of mentions.",
        TEMPEL_MENTIONS,
        """
        SELECT * FROM (
            SELECT release, cut, page_id, subset, n_planned FROM tempel_plans WHERE n_planned > 0
        ) FULL JOIN (
            SELECT release, cut, target_page_id AS page_id, subset, count(*) AS n FROM tempel_mentions GROUP BY ALL
        ) USING (release, cut, page_id, subset) WHERE n_planned IS DISTINCT FROM n
        """,
        (TEMPEL_PLANS,),
    ),
    Promise(
        "categories_are_as_defined",
        "Continual entities have mentions at every cut; new ones at one cut, and they were not articles before it.",
        TEMPEL_MENTIONS,
        """
        WITH entities AS (
            SELECT release, category, target_page_id, count(DISTINCT cut) AS n_cuts, max(cut) AS cut,
                   min(target_article_since) AS since
            FROM tempel_mentions GROUP BY release, category, target_page_id
        )
        SELECT release, category, target_page_id FROM entities JOIN tempel_releases AS r USING (release)
        WHERE CASE category WHEN 'continual' THEN r.is_equal AND n_cuts <> len(r.cuts)
              ELSE n_cuts > 1 OR (r.design->>'rules' = 'tempkb' AND since
                   < list_max(list_filter(r.cuts, lambda one: one < cut))::TIMESTAMPTZ) END
        """,
        (TEMPEL_RELEASES,),
    ),
    Promise(
        "targets_are_candidates",
        "Every target is among the candidates of its cut.",
        TEMPEL_MENTIONS,
        """
        SELECT m.release, m.cut, m.target_page_id FROM tempel_mentions AS m
        ANTI JOIN tempel_entities AS e ON e.release = m.release AND e.cut = m.cut AND e.page_id = m.target_page_id
        """,
        (TEMPEL_ENTITIES,),
    ),
)


def _shown(row: tuple[Any, ...]) -> str:
    """A page of a release's snapshot in words."""
    release, cut, page, *_ = row
    return f"{release} at {cut}: page {page}"


OF_TEXTS = (
    Promise(
        "every_candidate_has_a_digest",
        "Every candidate, and nothing else, has the digest of its text at the cut.",
        ENTITY_TEXTS,
        """
        SELECT release, cut, page_id FROM tempel_entities AS e FULL JOIN entity_texts AS d USING (release, cut, page_id)
        WHERE d.revision_id IS DISTINCT FROM e.revision_id
        """,
        (TEMPEL_ENTITIES,),
        shown=_shown,
    ),
)
OF_NEW = (
    Promise(
        "every_new_entity_has_a_type",
        "Every candidate that is new at its snapshot, and no other, has a row with its type.",
        TEMPEL_NEW_ENTITIES,
        """
        SELECT release, cut, page_id FROM (FROM tempel_entities WHERE category = 'new') AS e
        FULL JOIN tempel_new_entities AS n USING (release, cut, page_id) WHERE e.title IS DISTINCT FROM n.title
        """,
        (TEMPEL_ENTITIES,),
        shown=_shown,
    ),
)
