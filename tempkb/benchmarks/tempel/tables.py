"""Tables of the room: releases, their plans, counts of the filters, mentions, candidate pools and statistics."""

from tempkb.dumps.tables import DUMP_ID, WIKI
from tempkb.store.tables import Column, Family, Rule, Table
from tempkb.store.types import BOOL, DATE, FLOAT64, INSTANT, INT32, INT64, STRING, list_of

_RELEASE = Column("release", STRING, "name of the release")
_CUT = Column("cut", DATE, "midnight UTC of this day: the first instant not in the snapshot")
_CATEGORY = Column("category", STRING, "continual (an article at all snapshots) or new (since the one before)")
_SUBSET = Column("subset", STRING, "train, validation or test")
_OF_CUT = "release and cut"

TEMPEL_RELEASES = Table(
    name="tempel_releases",
    meaning="Releases of TempEL: their designs, and whether their snapshots are equal.",
    columns=(
        WIKI,
        _RELEASE,
        Column("made_from", STRING, "release that this one is a balanced view of; null for a release of its own"),
        Column("preset", STRING, "preset the design began with"),
        Column("granularity", STRING, "granularity of the home"),
        Column("cuts", list_of(DATE), "snapshots of the base, then those it was extended by"),
        Column("n_base_cuts", INT32, "how many of them the frozen plan was made for"),
        Column("dump_ids", list_of(STRING), "dumps the snapshots were built from"),
        Column("design", STRING, "the design as JSON"),
        Column("is_equal", BOOL, "are entities and mentions as many in all snapshots?"),
        Column("shortfall", FLOAT64, "largest share by which a snapshot falls short of the plan; 0 when equal"),
    ),
    key=("release",),
    family=Family.RELEASE,
    partitioned_by="release",
    partition_columns=("release",),
)

TEMPEL_PLANS = Table(
    name="tempel_plans",
    meaning="For each entity of a release, snapshot and subset: its surfaces, and how many mentions it is to have.",
    columns=(
        WIKI,
        _RELEASE,
        _CUT,
        Column("page_id", INT64, "entity"),
        _SUBSET,
        _CATEGORY,
        Column("surfaces", list_of(STRING), "its surfaces of this subset, in lower case; frozen with the release"),
        Column("n_available", INT64, "mentions with these surfaces that pass the filters, at most the cap"),
        Column("n_planned", INT64, "mentions it is to have; 0 when it is left out"),
        Column("left_out_because", STRING, "why an entity of the frozen plan has none at an added cut; else null"),
    ),
    key=("page_id", "subset"),
    family=Family.RELEASE,
    partitioned_by=_OF_CUT,
    partition_columns=("release", "cut"),
    rules=(Rule("plans_what_is_there", "no more is planned than is available", "n_planned > n_available"),),
)

TEMPEL_FILTERS = Table(
    name="tempel_filters",
    meaning="What each filter of a release drops at a snapshot: surfaces of entities, and their mentions.",
    columns=(
        WIKI,
        _RELEASE,
        _CUT,
        Column("filter", STRING, "a filter of the design; all for what is offered and what all of them keep"),
        Column(
            "applied",
            STRING,
            "in_order (to what those before it left), alone, only (kept by all others); for all: offered or kept",
        ),
        Column("n_surfaces", INT64, "pairs of an entity and a surface that it drops, is offered or keeps"),
        Column("n_mentions", INT64, "mentions of these pairs"),
    ),
    key=("filter", "applied"),
    family=Family.RELEASE,
    partitioned_by=_OF_CUT,
    partition_columns=("release", "cut"),
    rules=(
        Rule(
            "known_ways",
            "a filter is applied in a known way",
            "applied NOT IN ('in_order', 'alone', 'only', 'offered', 'kept')",
        ),
    ),
)

TEMPEL_MENTIONS = Table(
    name="tempel_mentions",
    meaning="The mentions of a release with the attributes of the paper's table 4, and where they stand.",
    columns=(
        WIKI,
        DUMP_ID,
        _RELEASE,
        _CUT,
        Column("snapshot", INSTANT, "the cut as an instant, as table 4 has it"),
        _SUBSET,
        _CATEGORY,
        Column("mention", STRING, "the surface as readers see it"),
        Column("context_left", STRING, "words before it, as many as the design says at most"),
        Column("context_right", STRING, "words behind it"),
        Column("n_holes", INT32, "places in mention and contexts where a template, formula or file was left out"),
        Column("target_page_id", INT64, "entity: number of its page"),
        Column("target_qid", STRING, "entity: Wikidata item linked on the dump's day; null when none or unknown"),
        Column("target_title", STRING, "entity: title at the cut, with spaces"),
        Column("target", STRING, "first words of its page; the whole text is in page_texts"),
        Column("target_len", INT64, "length of its page in tokens, which are words between white space"),
        Column("target_len_chars", INT64, "length of its page in code points (what the released files hold)"),
        Column("target_revision_id", INT64, "revision the text is from"),
        Column("target_creation_date", INSTANT, "first revision of its page"),
        Column("target_revision_date", INSTANT, "when that revision was saved"),
        Column("target_article_since", INSTANT, "first text in the main namespace, neither redirect nor blank"),
        Column("age_at_cut_days", INT64, "whole days from then to the cut"),
        Column("anchor_page_id", INT64, "article that mentions it"),
        Column("anchor_revision_id", INT64, "revision of that article"),
        Column("anchor_title", STRING, "its title at the cut"),
        Column("anchor_qid", STRING, "its Wikidata item"),
        Column("start_char", INT32, "where the mention begins in the clean text of that revision, in code points"),
        Column("end_char", INT32, "first code point behind it"),
        Column("anchor_len", INT64, "length of that article in tokens, which are words between white space"),
        Column("anchor_len_chars", INT64, "length of that article in code points"),
        Column("anchor_creation_date", INSTANT, "first revision of its page"),
        Column("anchor_revision_date", INSTANT, "when that revision was saved"),
        Column("via_redirect", STRING, "no, or page: the link leads to the article through redirects"),
        Column("ed_men_title", FLOAT64, "edit distance of mention and whole title over the longer's length"),
        Column("ed_men_bare_title", FLOAT64, "the same without the title's parenthesis: what the filter uses"),
        Column("overlap_type", STRING, "HIGH_OVERLAP, MULTIPLE_CATEGORIES, AMBIGUOUS_SUBSTRING or LOW_OVERLAP"),
        Column("men_prior", FLOAT64, "P(entity | surface) at the cut"),
        Column("men_prior_rank", INT32, "dense rank of it among the entity's surfaces"),
        Column("rank_in_surface", INT32, "dense rank of it among the surface's entities: what the filter uses"),
        Column("avg_men_prior", FLOAT64, "mean of it over the entity's distinct surfaces, unweighted"),
        Column("ent_prior", FLOAT64, "links to the entity as a share of all"),
        Column("nr_inlinks", INT64, "links to the entity"),
        Column("nr_dist_mens", INT64, "distinct surfaces of the entity that pass the filters"),
        Column("nr_mens_per_ent", INT64, "links with this surface to the entity"),
        Column("nr_mens_extracted", INT64, "mentions of the entity in this subset"),
    ),
    key=("target_page_id", "anchor_page_id", "start_char"),
    family=Family.RELEASE,
    partitioned_by=_OF_CUT,
    partition_columns=("release", "cut"),
    rules=(
        Rule("surface_fills_its_span", "a span is as long as its mention", "end_char - start_char <> length(mention)"),
        Rule(
            "known_values",
            "subset and category are known ones",
            "subset NOT IN ('train', 'validation', 'test') OR category NOT IN ('continual', 'new')",
        ),
        Rule("new_is_young", "an entity is as old as its first text as an article", "age_at_cut_days < 0"),
    ),
    code_version="2",
)

TEMPEL_ENTITIES = Table(
    name="tempel_entities",
    meaning="The candidates of a snapshot: every article a mention could be linked to.",
    columns=(
        WIKI,
        DUMP_ID,
        _RELEASE,
        _CUT,
        Column("page_id", INT64, "article"),
        Column("entity_id", STRING, "Wikidata item linked on the dump's day; null when none or unknown"),
        Column("title", STRING, "title at the cut"),
        Column("revision_id", INT64, "revision whose text describes it"),
        Column("revision_timestamp", INSTANT, "when it was saved"),
        Column("page_created_at", INSTANT, "first revision of its page"),
        Column("article_since", INSTANT, "first text in the main namespace, neither redirect nor blank"),
        Column("n_words", INT32, "words of the text"),
        Column("n_chars", INT32, "code points of the text"),
        Column("category", STRING, "continual or new where the release has mentions of it; else null"),
        Column("is_list", BOOL, "does it list things, by its title or by Wikidata?"),
        Column("is_disambiguation", BOOL, "does it only list what a name may mean?"),
    ),
    key=("page_id",),
    family=Family.RELEASE,
    partitioned_by=_OF_CUT,
    partition_columns=("release", "cut"),
)

TEMPEL_STATISTICS = Table(
    name="tempel_statistics",
    meaning="The paper's table 1 and figures 3a-c, 4c, 6 and 7 for a release, as numbers.",
    columns=(
        WIKI,
        _RELEASE,
        Column("figure", STRING, "table_1, figure_3a, figure_3b, figure_3c, figure_4c, figure_6, figure_7, drift"),
        _CUT,
        Column("series", STRING, "what is counted: subset and category, or a filter and how it was applied"),
        Column("label", STRING, "on which unit or entity"),
        Column("value", FLOAT64, "the number"),
    ),
    key=("figure", "cut", "series", "label"),
    family=Family.RELEASE,
    partitioned_by="release",
    partition_columns=("release",),
)

TABLES = (TEMPEL_RELEASES, TEMPEL_PLANS, TEMPEL_FILTERS, TEMPEL_MENTIONS, TEMPEL_ENTITIES, TEMPEL_STATISTICS)
