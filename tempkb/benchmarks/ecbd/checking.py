"""The promises of ECBD's tables, as queries that return what breaks them. Does not use Dagster."""

from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE, ECBD_ENTITIES, ECBD_PROMPTS, ECBD_RELEASES, ECBD_SENTENCES
from tempkb.store.promises import Promise

PROMISES = (
    Promise(
        "no_entity_is_in_both_splits",
        "No entity has items in both dev and test: every item is in the split of its entity.",
        ECBD_CLOZE,
        """
        SELECT i.release, i.cloze_id FROM ecbd_cloze AS i LEFT JOIN ecbd_entities AS e USING (release, page_id)
        WHERE e.split IS DISTINCT FROM i.split
        """,
        (ECBD_ENTITIES,),
    ),
    Promise(
        "origins_are_in_the_study",
        "The origins of the items of the subset odie are in the study.",
        ECBD_CLOZE,
        """
        SELECT release, cloze_id FROM ecbd_cloze JOIN ecbd_releases AS r USING (release)
        WHERE subset = 'odie' AND (origin_from < r.study_from OR origin_to > r.study_to)
        """,
        (ECBD_RELEASES,),
    ),
    Promise(
        "one_chunker_per_release",
        "All noun phrases of a release were found by the same program.",
        ECBD_CLOZE,
        """
        SELECT release, o.chunker FROM (
            SELECT release, chunker FROM ecbd_cloze UNION SELECT release, chunker FROM ecbd_sentences
        ) AS o JOIN ecbd_releases AS r USING (release) WHERE o.chunker <> r.chunker
        """,
        (ECBD_SENTENCES, ECBD_RELEASES),
    ),
    Promise(
        "chunker_is_spacy",
        "Warning: the bundled chunker, which is cruder than a spaCy model, found the noun phrases of these releases.",
        ECBD_RELEASES,
        "SELECT release, chunker FROM ecbd_releases WHERE contains(chunker, '(fallback)')",
        is_warning=True,
    ),
)
OF_PROMPTS = (
    Promise(
        "every_item_is_asked",
        "Every item, and nothing else, has a prompt of the variant original.",
        ECBD_PROMPTS,
        """
        SELECT coalesce(i.release, p.release), coalesce(i.cloze_id, p.item_id)
        FROM ecbd_cloze AS i FULL JOIN (FROM ecbd_prompts WHERE variant = 'original') AS p
        ON p.release = i.release AND p.item_id = i.cloze_id WHERE i.cloze_id IS NULL OR p.item_id IS NULL
        """,
        (ECBD_CLOZE,),
    ),
)
