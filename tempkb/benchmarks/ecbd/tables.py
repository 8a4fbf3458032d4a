"""Tables of the benchmark: releases, entities by date of origin, sentences about them, cloze items."""

from tempkb.dumps.tables import DUMP_ID, WIKI
from tempkb.store.tables import Column, Family, Rule, Table
from tempkb.store.types import BOOL, DATE, INSTANT, INT32, INT64, STRING, list_of, struct_of

RELEASE = Column("release", STRING, "name of the release")
_CUT = Column("cut", DATE, "midnight UTC of this day: the first instant that no text of the release knows of")
_PAGE = Column("page_id", INT64, "article about the entity")
_REVISION = Column("revision_id", INT64, "its winning revision at the cut")
_ENTITY = Column("entity_id", STRING, "Wikidata item (QID); null for a popular page without one")
_TITLE = Column("title", STRING, "the article's title at the cut")
_SUBSET = Column("subset", STRING, "odie (indexed by its origin's date) or popular")
_ORIGIN = (
    Column(
        "origin_window",
        STRING,
        "finest window that contains the origin: 2021, 2021-Q2, 2021-05 or 2021-W17; null for popular entities",
    ),
    Column("origin_granularity", STRING, "how long that window is: week, month, quarter or year"),
    Column("origin_from", DATE, "first day on which it may have begun; null: not known"),
    Column("origin_to", DATE, "the day after the last such day"),
    Column("origin_precision", STRING, "how exactly that is known: day, month or year"),
    Column("origin_property", STRING, "property that tells, such as P571 (inception)"),
)
_CATEGORY = Column("category", STRING, "category of the paper's Table 1; Misc. where no class is known")
_SPLIT = Column("split", STRING, "dev or test: by the entity, so that none is in both; null without any span")
_SUSPECT = Column("suspect_old_entity", BOOL, "is the page so much older than its origin that the date is doubtful?")
_CHUNKER = Column("chunker", STRING, "what found the noun phrases: program, model, version; one in all of a release")
_SENTENCE = Column("sentence", STRING, "the sentence as readers see it")
_SINCE = Column("sentence_since", DATE, "first day of the first window whose snapshot held the sentence")
_SINCE_FIRST = Column("is_since_first_window", BOOL, "is that the first window of all, so that it may be older?")
_MENTION = (
    Column("mention", STRING, "how the entity is mentioned"),
    Column("mention_start_char", INT32, "where the mention begins in the sentence"),
    Column("mention_end_char", INT32, "first code point behind it"),
)

_MENTION_CHUNK = (
    Column("mention_chunk_start_char", INT32, "the same of the noun phrase around the mention; null: none was found"),
    Column("mention_chunk_end_char", INT32, "first code point behind that"),
)

NAME = struct_of(("name", STRING), ("kind", STRING), ("n_articles_elsewhere", INT32), ("is_risky", BOOL))
CLASS = struct_of(("class_id", STRING), ("label", STRING))
CHUNK = struct_of(("start_char", INT32), ("end_char", INT32), ("is_proper", BOOL), ("is_cut", BOOL))

ECBD_RELEASES = Table(
    name="ecbd_releases",
    meaning="Releases of ECBD with their designs; a release stands once its row does.",
    columns=(
        WIKI,
        RELEASE,
        Column("preset", STRING, "preset the design began with"),
        _CUT,
        Column("study_from", DATE, "entities begin on or after this day"),
        Column("study_to", DATE, "and before this one"),
        Column("wikidata_dump_id", STRING, "dump that tells origins, classes and aliases; null: none was asked"),
        Column("dump_ids", list_of(STRING), "dumps that the texts are from"),
        _CHUNKER,
        Column("n_parsed", INT64, "sentences that were parsed for noun phrases: each distinct one once"),
        Column("design", STRING, "the whole design, as JSON"),
    ),
    key=("release",),
    family=Family.RELEASE,
    partitioned_by="release",
    partition_columns=("release",),
)

ECBD_ENTITIES = Table(
    name="ecbd_entities",
    meaning="Entities that a release asks about, with when they came into the world and what they are called.",
    columns=(
        WIKI,
        DUMP_ID,
        RELEASE,
        _CUT,
        _PAGE,
        _REVISION,
        _ENTITY,
        _TITLE,
        _SUBSET,
        *_ORIGIN,
        Column("page_created_at", INSTANT, "when the page was first saved"),
        _SUSPECT,
        _CATEGORY,
        Column("category_class", STRING, "class that the category follows from; null: none is known"),
        Column("classes", list_of(CLASS), "classes that it is an instance of, with their names where these are known"),
        Column("n_words", INT32, "words of the article"),
        Column("n_inlinks", INT64, "mentions of it in other articles"),
        Column("n_contributors", INT64, "distinct known contributors before the cut"),
        Column("names", list_of(NAME), "what it may be called; risky ones, if left out, are not looked for"),
        Column("definition", STRING, "first sentence of the article"),
        Column("definition_sentences", list_of(STRING), "all sentences of its first paragraph"),
        _SPLIT,
        Column("n_sentences", INT32, "sentences about it that are asked about"),
        Column("n_np_spans", INT32, "items with a noun phrase"),
        Column("n_random_spans", INT32, "items with a random span"),
    ),
    key=("page_id",),
    family=Family.RELEASE,
    partitioned_by="release",
    partition_columns=("release",),
    rules=(
        Rule("known_subset", "the subset is odie or popular", "subset NOT IN ('odie', 'popular')"),
        Rule(
            "indexed_by_origin",
            "an entity of odie has an origin in its window",
            "subset = 'odie' AND (origin_window IS NULL OR origin_from >= origin_to)",
        ),
        Rule(
            "split_goes_with_items",
            "there is a split where there are items",
            "(split IS NULL AND n_np_spans + n_random_spans > 0) OR split NOT IN ('dev', 'test')",
        ),
    ),
)

ECBD_SENTENCES = Table(
    name="ecbd_sentences",
    meaning="Sentences that mention an entity once and are asked about, with their noun phrases.",
    columns=(
        WIKI,
        DUMP_ID,
        RELEASE,
        _CUT,
        _PAGE,
        _REVISION,
        _ENTITY,
        Column("sentence_start_char", INT32, "where the sentence begins in the revision's clean text"),
        Column("sentence_end_char", INT32, "first code point behind it"),
        _SENTENCE,
        _SINCE,
        _SINCE_FIRST,
        *_MENTION,
        Column("mention_kind", STRING, "kind of the name: title, lower, base, label, alias or redirect"),
        _CHUNKER,
        Column(
            "chunks",
            list_of(CHUNK),
            "its noun phrases, of whatever length and place; is_cut: looks like a "
            "part of a larger phrase, or like none",
        ),
    ),
    key=("page_id", "sentence_start_char"),
    family=Family.RELEASE,
    partitioned_by="release",
    partition_columns=("release",),
    rules=(
        Rule(
            "mention_is_there",
            "the mention stands where it is said to",
            "substring(sentence, mention_start_char + 1, mention_end_char - mention_start_char) <> mention",
        ),
        Rule(
            "as_long_as_its_span",
            "a sentence is as long as its span",
            "length(sentence) <> sentence_end_char - sentence_start_char",
        ),
    ),
)

ECBD_CLOZE = Table(
    name="ecbd_cloze",
    meaning="Cloze items: a sentence about an entity with one span masked, by the date the entity came into the world.",
    columns=(
        WIKI,
        DUMP_ID,
        RELEASE,
        _CUT,
        Column("cloze_id", STRING, "page, kind of span, hash of sentence and span: the same in every release"),
        _ENTITY,
        _PAGE,
        _REVISION,
        _TITLE,
        _SUBSET,
        *_ORIGIN,
        _CATEGORY,
        _SUSPECT,
        _SENTENCE,
        Column("sentence_start_char", INT32, "where the sentence begins in the revision's clean text"),
        Column("sentence_end_char", INT32, "first code point behind it"),
        _SINCE,
        _SINCE_FIRST,
        Column("masked_sentence", STRING, "the sentence with <extra_id_0> for the span"),
        Column("answer", STRING, "the span's text"),
        Column("span_kind", STRING, "np (a noun phrase) or random"),
        Column("np_type", STRING, "PROPER (a name) or COMMON; null for random spans"),
        Column("n_span_words", INT32, "words of the span"),
        *_MENTION,
        *_MENTION_CHUNK,
        Column("span_start_char", INT32, "where the span begins in the sentence"),
        Column("span_end_char", INT32, "first code point behind it"),
        Column(
            "n_words_after_mention",
            INT32,
            "words from the mention to the span's first, 1 for the next; below "
            "zero before it. In compatible releases the released code's distance",
        ),
        Column("answer_in_definition", BOOL, "does the definition hold the answer (ECBD-EASY)?"),
        Column("definition", STRING, "first sentence of the entity's article"),
        Column("random_definition", STRING, "that of another entity of the window and split; null: there is none"),
        Column("random_definition_page_id", INT64, "article of that entity"),
        Column("random_definition_category", STRING, "its category, as a control of how near it is"),
        _CHUNKER,
        _SPLIT,
    ),
    key=("cloze_id",),
    family=Family.RELEASE,
    partitioned_by="release",
    partition_columns=("release", "cut"),
    rules=(
        Rule(
            "known_kind",
            "kinds and splits are known ones",
            "span_kind NOT IN ('np', 'random') OR split NOT IN ('dev', 'test')",
        ),
        Rule(
            "answer_is_there",
            "the answer stands where it is said to",
            "substring(sentence, span_start_char + 1, span_end_char - span_start_char) <> answer",
        ),
        Rule(
            "apart",
            "span and mention do not overlap",
            "span_start_char < mention_end_char AND mention_start_char < span_end_char",
        ),
        Rule("other_definition", "a random definition is another entity's", "random_definition_page_id = page_id"),
    ),
)

TABLES = (ECBD_ENTITIES, ECBD_SENTENCES, ECBD_CLOZE, ECBD_RELEASES)
