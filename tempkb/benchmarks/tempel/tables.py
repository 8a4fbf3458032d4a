"""Declares the tables of TempEL: releases, plans, counts of filters, mentions, candidates and statistics."""

from functools import partial

from tempkb.benchmarks.linkable.declaration import Linkable
from tempkb.dumps.tables import DUMP_ID, WIKI
from tempkb.store.tables import Column, Family, Rule, Table, table_of_releases
from tempkb.store.types import BOOL, DATE, FLOAT64, INSTANT, INT32, INT64, STRING, list_of

_RELEASE = Column("release", STRING, "name of the release")
_CUT = Column("cut", DATE, "midnight UTC of this day: the first instant not in the snapshot")
_CATEGORY = Column("category", STRING, "continual (an article at all snapshots) or new (since the snapshot before)")
_SUBSET = Column("subset", STRING, "train, validation or test")
_table_of_cuts = partial(
    Table, family=Family.RELEASE, partitioned_by="release and cut", partition_columns=("release", "cut")
)

TEMPEL_RELEASES = table_of_releases(
    name="tempel_releases",
    meaning="Releases of TempEL with their designs, and whether their snapshots are equal.",
    columns=(
        WIKI,
        _RELEASE,
        Column("made_from", STRING, "release from which this one was balanced; null if it was planned by itself"),
        Column("preset", STRING, "preset from which the design was made"),
        Column("granularity", STRING, "granularity of the home"),
        Column("cuts", list_of(DATE), "snapshots of the base, then those added by extensions"),
        Column("n_base_cuts", INT32, "number of snapshots of the base, for which the plan was made"),
        Column("dump_ids", list_of(STRING), "dumps from which the snapshots were built"),
        Column("design", STRING, "the design as JSON"),
        Column("is_equal", BOOL, "true if all snapshots have the same numbers of entities and mentions"),
        Column("shortfall", FLOAT64, "largest share by which a snapshot falls short of the plan; 0 if all are equal"),
    ),
    key=("release",),
)

TEMPEL_PLANS = _table_of_cuts(
    name="tempel_plans",
    meaning="For each entity of a release, snapshot and subset: its surfaces, and its planned number of mentions.",
    columns=(
        WIKI,
        _RELEASE,
        _CUT,
        Column("page_id", INT64, "number of the entity's page"),
        _SUBSET,
        _CATEGORY,
        Column(
            "surfaces", list_of(STRING), "its surfaces in this subset, in lower case; they are frozen with the release"
        ),
        Column("n_available", INT64, "number of mentions with these surfaces that pass the filters, up to the cap"),
        Column("n_planned", INT64, "planned number of mentions; 0 if the entity is left out"),
        Column("left_out_because", STRING, "why an entity of the frozen plan has no mention at an added cut; or null"),
    ),
    key=("page_id", "subset"),
    rules=(Rule("plans_what_is_there", "no more is planned than is available", "n_planned > n_available"),),
)

TEMPEL_FILTERS = _table_of_cuts(
    name="tempel_filters",
    meaning="How many surfaces of entities, and mentions with them, each filter of a release drops at a snapshot.",
    columns=(
        WIKI,
        _RELEASE,
        _CUT,
        Column("filter", STRING, "name of the filter; all for what is offered and for what all filters keep"),
        Column(
            "applied",
            STRING,
            "in_order (after the filters before it), alone (without the others), only (dropped by no other); for the "
            "filter all: offered or kept",
        ),
        Column("n_surfaces", INT64, "number of pairs of entity and surface that are dropped, offered or kept"),
        Column("n_mentions", INT64, "number of mentions with these pairs"),
    ),
    key=("filter", "applied"),
    rules=(
        Rule(
            "known_ways",
            "the way in which a filter is applied is known",
            "applied NOT IN ('in_order', 'alone', 'only', 'offered', 'kept')",
        ),
    ),
)

TEMPEL_MENTIONS = _table_of_cuts(
    name="tempel_mentions",
    meaning="The mentions of a release, with their places in the texts and the attributes of the paper's table 4.",
    columns=(
        WIKI,
        DUMP_ID,
        _RELEASE,
        _CUT,
        Column("snapshot", INSTANT, "the cut as an instant, as in table 4"),
        _SUBSET,
        _CATEGORY,
        Column("mention", STRING, "the surface as readers see it"),
        Column("context_left", STRING, "words before the mention, at most as many as the design says"),
        Column("context_right", STRING, "words after the mention, at most as many as the design says"),
        Column("n_holes", INT32, "places in mention and contexts where a template, formula or file was left out"),
        Column("target_page_id", INT64, "number of the entity's page"),
        Column("target_qid", STRING, "Wikidata item of the entity, as linked on the dump's day; null if not known"),
        Column("target_title", STRING, "title of the entity's page at the cut, with spaces"),
        Column("target", STRING, "first words of the entity's page; page_texts has the whole text"),
        Column("target_len", INT64, "length of the entity's page in words"),
        Column("target_len_chars", INT64, "length of the entity's page in code points, as in the released files"),
        Column("target_revision_id", INT64, "revision of the entity's page at the cut"),
        Column("target_creation_date", INSTANT, "time of the first revision of the entity's page"),
        Column("target_revision_date", INSTANT, "time at which the revision was saved"),
        Column("target_article_since", INSTANT, "time of its first text as an article: no redirect, not blank"),
        Column("age_at_cut_days", INT64, "whole days from target_article_since to the cut"),
        Column("anchor_page_id", INT64, "article with the mention"),
        Column("anchor_revision_id", INT64, "its revision at the cut"),
        Column("anchor_title", STRING, "its title at the cut"),
        Column("anchor_qid", STRING, "its Wikidata item"),
        Column("start_char", INT32, "offset of the mention in that revision's readable text, in code points"),
        Column("end_char", INT32, "offset of the first code point after the mention"),
        Column("anchor_len", INT64, "length of that article in words"),
        Column("anchor_len_chars", INT64, "length of that article in code points"),
        Column("anchor_creation_date", INSTANT, "time of the first revision of that article"),
        Column("anchor_revision_date", INSTANT, "time at which the revision was saved"),
        Column("via_redirect", STRING, "no, or page if the link leads to the entity's page through redirects"),
        Column("ed_men_title", FLOAT64, "edit distance of mention and title, divided by the longer length"),
        Column("ed_men_bare_title", FLOAT64, "the same without the title's parenthesis, as used by the filter"),
        Column("overlap_type", STRING, "HIGH_OVERLAP, MULTIPLE_CATEGORIES, AMBIGUOUS_SUBSTRING or LOW_OVERLAP"),
        Column("men_prior", FLOAT64, "P(entity | surface) at the cut"),
        Column("men_prior_rank", INT32, "dense rank of men_prior among the entity's surfaces"),
        Column("rank_in_surface", INT32, "dense rank of men_prior among the surface's entities, as used by the filter"),
        Column("avg_men_prior", FLOAT64, "unweighted mean of men_prior over the entity's distinct surfaces"),
        Column("ent_prior", FLOAT64, "links to the entity as a share of all links"),
        Column("nr_inlinks", INT64, "number of links to the entity"),
        Column("nr_dist_mens", INT64, "number of distinct surfaces of the entity that pass the filters"),
        Column("nr_mens_per_ent", INT64, "number of links to the entity with this surface"),
        Column("nr_mens_extracted", INT64, "number of mentions of the entity in this subset"),
    ),
    key=("target_page_id", "anchor_page_id", "start_char"),
    rules=(
        Rule("surface_fills_its_span", "a span is as long as its mention", "end_char - start_char <> length(mention)"),
        Rule(
            "known_values",
            "subset and category have known values",
            "subset NOT IN ('train', 'validation', 'test') OR category NOT IN ('continual', 'new')",
        ),
        Rule("new_is_young", "an entity is an article at the cut, so its age is not negative", "age_at_cut_days < 0"),
    ),
    code_version="2",
)

TEMPEL_ENTITIES = _table_of_cuts(
    name="tempel_entities",
    meaning="The candidates of a snapshot: every article to which a mention could be linked.",
    columns=(
        WIKI,
        DUMP_ID,
        _RELEASE,
        _CUT,
        Column("page_id", INT64, "article"),
        Column("entity_id", STRING, "its Wikidata item, as linked on the dump's day; null if not known"),
        Column("title", STRING, "its title at the cut"),
        Column("revision_id", INT64, "its revision at the cut"),
        Column("revision_timestamp", INSTANT, "time at which the revision was saved"),
        Column("page_created_at", INSTANT, "time of the page's first revision"),
        Column(
            "article_since",
            INSTANT,
            "time of its first text as an article: in the main namespace, no redirect, not blank",
        ),
        Column("n_words", INT32, "number of words of the text"),
        Column("n_chars", INT32, "number of code points of the text"),
        Column("category", STRING, "continual or new if the release has mentions of it; otherwise null"),
        Column("is_list", BOOL, "true if it is a list page, by its title or by Wikidata"),
        Column("is_disambiguation", BOOL, "true if it is a disambiguation page"),
    ),
    key=("page_id",),
)

TEMPEL_STATISTICS = table_of_releases(
    name="tempel_statistics",
    meaning="The numbers of the paper's table 1 and figures 3a-c, 4c, 6 and 7 for a release.",
    columns=(
        WIKI,
        _RELEASE,
        Column("figure", STRING, "table_1, figure_3a, figure_3b, figure_3c, figure_4c, figure_6, figure_7, drift"),
        _CUT,
        Column("series", STRING, "what is counted: category and subset, or a filter and how it was applied"),
        Column("label", STRING, "unit of the value, or the entity that it is about"),
        Column("value", FLOAT64, "the value"),
    ),
    key=("figure", "cut", "series", "label"),
)

ENTITY_TEXTS = _table_of_cuts(
    name="entity_texts",
    meaning="The digest of what linkers read of each candidate: its title, and the description that its text begins "
    "with. Equal digests are encoded once.",
    columns=(
        WIKI,
        DUMP_ID,
        _RELEASE,
        _CUT,
        Column("page_id", INT64, "article"),
        Column("revision_id", INT64, "its revision at the cut, which has the text"),
        Column(
            "text_sha256",
            STRING,
            "SHA-256 of the title and of the description, which is the first 128 words of the text, or fewer: at most "
            "2,000 characters, with single blanks; an article without a text has an empty one",
        ),
    ),
    key=("page_id",),
    persist="view",
    rules=(Rule("is_a_digest", "a digest has 64 hex digits", "NOT regexp_full_match(text_sha256, '[0-9a-f]{64}')"),),
)

TEMPEL_NEW_ENTITIES = _table_of_cuts(
    name="tempel_new_entities",
    meaning="The new entities of a release by what they are: type by the paper's keywords, Wikidata class, and whether "
    "their text or their title continues a page of the snapshot before.",
    columns=(
        WIKI,
        _RELEASE,
        _CUT,
        Column("page_id", INT64, "number of the entity's page"),
        Column("title", STRING, "its title at the cut"),
        Column("article_since", INSTANT, "time of its first text as an article"),
        Column(
            "paper_type",
            STRING,
            "covid, recurrent or other, by the paper's keywords in the title; null in other languages than English",
        ),
        Column("entity_class", STRING, "Wikidata class of which it is an instance, the lowest number; null if unknown"),
        Column(
            "n_runs",
            INT32,
            "number of distinct runs of eight words in its text that at most three pages of the snapshot before have; "
            "null if that snapshot is not built",
        ),
        Column("extract_of_page_id", INT64, "page of the snapshot before that has most of these runs; or null"),
        Column("shingle_share", FLOAT64, "share of the runs that this page has; null without a run"),
        Column("is_extract", BOOL, "true if the share is at least 0.25; null without a share"),
        Column(
            "series_page_id",
            INT64,
            "article of the snapshot before whose title differs in numbers alone, the last created; or null",
        ),
    ),
    key=("page_id",),
    rules=(
        Rule(
            "known_type",
            "the type by keywords has a known value",
            "paper_type NOT IN ('covid', 'recurrent', 'other')",
        ),
        Rule("share_is_a_share", "a share is between 0 and 1", "shingle_share NOT BETWEEN 0 AND 1"),
    ),
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
    methods="tempkb.benchmarks.tempel.linkable",
)
"""What TempEL brings to linkers."""
