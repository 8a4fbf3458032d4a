"""Declares the tables of TempEL: releases, plans, counts of filters, mentions, candidates and statistics."""

from functools import partial

from tempkb.benchmarks.linkable.declaration import Linkable
from tempkb.store.columns import columns, rules
from tempkb.store.tables import Family, Table, table_of_releases

_table_of_cuts = partial(
    Table, family=Family.RELEASE, partitioned_by="release and cut", partition_columns=("release", "cut")
)

_columns = columns.extended("""
    category VARCHAR: continual (an article at all snapshots) or new (since the snapshot before)
    subset VARCHAR: train, validation or test
    page_id BIGINT: number of the entity's page
""")

TEMPEL_RELEASES = table_of_releases(
    name="tempel_releases",
    meaning="Releases of TempEL with their designs, and whether their snapshots are equal.",
    columns=_columns("""
        wiki, release
        made_from VARCHAR: release from which this one was balanced; null if it was planned by itself
        preset
        granularity VARCHAR: granularity of the home
        cuts DATE[]: snapshots of the base, then those added by extensions
        n_base_cuts INTEGER: number of snapshots of the base, for which the plan was made
        dump_ids VARCHAR[]: dumps from which the snapshots were built
        design
        is_equal BOOLEAN: true if all snapshots have the same numbers of entities and mentions
        shortfall DOUBLE: largest share by which a snapshot falls short of the plan; 0 if all are equal
    """),
    key=("release",),
)

TEMPEL_PLANS = _table_of_cuts(
    name="tempel_plans",
    meaning="For each entity of a release, snapshot and subset: its surfaces, and its planned number of mentions.",
    columns=_columns("""
        wiki, release, cut, page_id, subset, category
        surfaces VARCHAR[]: its surfaces in this subset, in lower case; they are frozen with the release
        n_available BIGINT: number of mentions with these surfaces that pass the filters, up to the cap
        n_planned BIGINT: planned number of mentions; 0 if the entity is left out
        left_out_because VARCHAR: why an entity of the frozen plan has no mention at an added cut; or null
    """),
    key=("page_id", "subset"),
    rules=rules("""
        plans_what_is_there: no more is planned than is available
            n_planned > n_available
    """),
)

TEMPEL_FILTERS = _table_of_cuts(
    name="tempel_filters",
    meaning="How many surfaces of entities, and mentions with them, each filter of a release drops at a snapshot.",
    columns=_columns("""
        wiki, release, cut
        filter VARCHAR: name of the filter; all for what is offered and for what all filters keep
        applied VARCHAR: in_order (after the filters before it), alone (without the others), only (dropped by no other);
            for the filter all: offered or kept
        n_surfaces BIGINT: number of pairs of entity and surface that are dropped, offered or kept
        n_mentions BIGINT: number of mentions with these pairs
    """),
    key=("filter", "applied"),
    rules=rules("""
        known_ways: the way in which a filter is applied is known
            applied NOT IN ('in_order', 'alone', 'only', 'offered', 'kept')
    """),
)

TEMPEL_MENTIONS = _table_of_cuts(
    name="tempel_mentions",
    meaning="The mentions of a release, with their places in the texts and the attributes of the paper's table 4.",
    columns=_columns("""
        wiki, dump_id, release, cut
        snapshot TIMESTAMPTZ: the cut as an instant, as in table 4
        subset, category
        mention VARCHAR: the surface as readers see it
        context_left VARCHAR: words before the mention, at most as many as the design says
        context_right VARCHAR: words after the mention, at most as many as the design says
        n_holes INTEGER: places in mention and contexts where a template, formula or file was left out
        target_page_id BIGINT: number of the entity's page
        target_qid VARCHAR: Wikidata item of the entity, as linked on the dump's day; null if not known
        target_title VARCHAR: title of the entity's page at the cut, with spaces
        target VARCHAR: first words of the entity's page; page_texts has the whole text
        target_len BIGINT: length of the entity's page in words
        target_len_chars BIGINT: length of the entity's page in code points, as in the released files
        target_revision_id BIGINT: revision of the entity's page at the cut
        target_creation_date TIMESTAMPTZ: time of the first revision of the entity's page
        target_revision_date TIMESTAMPTZ: time at which the revision was saved
        target_article_since TIMESTAMPTZ: time of its first text as an article: no redirect, not blank
        age_at_cut_days BIGINT: whole days from target_article_since to the cut
        anchor_page_id
        anchor_revision_id BIGINT: its revision at the cut
        anchor_title VARCHAR: its title at the cut
        anchor_qid VARCHAR: its Wikidata item
        start_char INTEGER: offset of the mention in that revision's readable text, in code points
        end_char INTEGER: offset of the first code point after the mention
        anchor_len BIGINT: length of that article in words
        anchor_len_chars BIGINT: length of that article in code points
        anchor_creation_date TIMESTAMPTZ: time of the first revision of that article
        anchor_revision_date TIMESTAMPTZ: time at which the revision was saved
        via_redirect VARCHAR: no, or page if the link leads to the entity's page through redirects
        ed_men_title DOUBLE: edit distance of mention and title, divided by the longer length
        ed_men_bare_title DOUBLE: the same without the title's parenthesis, as used by the filter
        overlap_type VARCHAR: HIGH_OVERLAP, MULTIPLE_CATEGORIES, AMBIGUOUS_SUBSTRING or LOW_OVERLAP
        men_prior DOUBLE: P(entity | surface) at the cut
        men_prior_rank INTEGER: dense rank of men_prior among the entity's surfaces
        rank_in_surface INTEGER: dense rank of men_prior among the surface's entities, as used by the filter
        avg_men_prior DOUBLE: unweighted mean of men_prior over the entity's distinct surfaces
        ent_prior DOUBLE: links to the entity as a share of all links
        nr_inlinks BIGINT: number of links to the entity
        nr_dist_mens BIGINT: number of distinct surfaces of the entity that pass the filters
        nr_mens_per_ent BIGINT: number of links to the entity with this surface
        nr_mens_extracted BIGINT: number of mentions of the entity in this subset
    """),
    key=("target_page_id", "anchor_page_id", "start_char"),
    rules=rules("""
        surface_fills_its_span: a span is as long as its mention
            end_char - start_char <> length(mention)
        known_values: subset and category have known values
            subset NOT IN ('train', 'validation', 'test') OR category NOT IN ('continual', 'new')
        new_is_young: an entity is an article at the cut, so its age is not negative
            age_at_cut_days < 0
    """),
    code_version="2",
)

TEMPEL_ENTITIES = _table_of_cuts(
    name="tempel_entities",
    meaning="The candidates of a snapshot: every article to which a mention could be linked.",
    columns=_columns("""
        wiki, dump_id, release, cut, page_id, entity_id, title
        revision_id BIGINT: its revision at the cut
        revision_timestamp, page_created_at, article_since
        n_words INTEGER: number of words of the text
        n_chars
        category VARCHAR: continual or new if the release has mentions of it; otherwise null
        is_list BOOLEAN: true if it is a list page, by its title or by Wikidata
        is_disambiguation BOOLEAN: true if it is a disambiguation page
    """),
    key=("page_id",),
)

TEMPEL_STATISTICS = table_of_releases(
    name="tempel_statistics",
    meaning="The numbers of the paper's table 1 and figures 3a-c, 4c, 6 and 7 for a release.",
    columns=_columns("""
        wiki, release
        figure VARCHAR: table_1, figure_3a, figure_3b, figure_3c, figure_4c, figure_6, figure_7, drift
        cut
        series VARCHAR: what is counted: category and subset, or a filter and how it was applied
        label VARCHAR: unit of the value, or the entity that it is about
        value DOUBLE: the value
    """),
    key=("figure", "cut", "series", "label"),
)

ENTITY_TEXTS = _table_of_cuts(
    name="entity_texts",
    meaning="The digest of what linkers read of each candidate: its title, and the description that its text begins "
    "with. Equal digests are encoded once.",
    columns=_columns("""
        wiki, dump_id, release, cut, page_id
        revision_id BIGINT: its revision at the cut, which has the text
        text_sha256 VARCHAR: SHA-256 of the title and of the description, which is the first 128 words of the text, or
            fewer: at most 2,000 characters, with single blanks; an article without a text has an empty one
    """),
    key=("page_id",),
    persist="view",
    rules=rules("""
        is_a_digest: a digest has 64 hex digits
            NOT regexp_full_match(text_sha256, '[0-9a-f]{64}')
    """),
)

TEMPEL_NEW_ENTITIES = _table_of_cuts(
    name="tempel_new_entities",
    meaning="The new entities of a release by what they are: type by the paper's keywords, Wikidata class, and whether "
    "their text or their title continues a page of the snapshot before.",
    columns=_columns("""
        wiki, release, cut, page_id, title, article_since
        paper_type VARCHAR: covid, recurrent or other, by the paper's keywords in the title; null in other languages
            than English
        entity_class VARCHAR: Wikidata class of which it is an instance, the lowest number; null if unknown
        n_runs INTEGER: number of distinct runs of eight words in its text that at most three pages of the snapshot
            before have; null if that snapshot is not built
        extract_of_page_id BIGINT: page of the snapshot before that has most of these runs; or null
        shingle_share DOUBLE: share of the runs that this page has; null without a run
        is_extract BOOLEAN: true if the share is at least 0.25; null without a share
        series_page_id BIGINT: article of the snapshot before whose title differs in numbers alone, the last created; or
            null
    """),
    key=("page_id",),
    rules=rules("""
        known_type: the type by keywords has a known value
            paper_type NOT IN ('covid', 'recurrent', 'other')
        share_is_a_share: a share is between 0 and 1
            shingle_share NOT BETWEEN 0 AND 1
    """),
)

TABLES = (
    TEMPEL_RELEASES,
    TEMPEL_PLANS,
    TEMPEL_FILTERS,
    TEMPEL_MENTIONS,
    TEMPEL_ENTITIES,
    TEMPEL_STATISTICS,
    ENTITY_TEXTS,
    TEMPEL_NEW_ENTITIES,
)

LINKABLE = Linkable(
    releases=TEMPEL_RELEASES,
    mentions=TEMPEL_MENTIONS,
    entities=TEMPEL_ENTITIES,
    texts=ENTITY_TEXTS,
    types=TEMPEL_NEW_ENTITIES,
    methods="tempkb.benchmarks.tempel.entity_texts",
)
"""What TempEL brings to linkers."""
