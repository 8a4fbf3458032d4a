"""Tables of the benchmark: releases, entities by date of origin, sentences about them, cloze items."""

import pyarrow as pa

from tempkb.dumps.tables import DUMP_ID, WIKI
from tempkb.store.tables import Column, Family, Rule, Table

RELEASE = Column("release", pa.string(), "name of the release")
_CUT = Column("cut", pa.date32(), "midnight UTC of this day: the first instant that no text of the release knows of")
_PAGE = Column("page_id", pa.int64(), "article about the entity")
_REVISION = Column("revision_id", pa.int64(), "its winning revision at the cut")
_ENTITY = Column("entity_id", pa.string(), "Wikidata item (QID); null for a popular page without one")
_TITLE = Column("title", pa.string(), "the article's title at the cut")
_SUBSET = Column("subset", pa.string(), "odie (indexed by its origin's date) or popular")
_ORIGIN = (
    Column(
        "origin_window",
        pa.string(),
        "finest window that contains the origin: 2021, 2021-Q2, 2021-05 or 2021-W17; null for popular entities",
    ),
    Column("origin_granularity", pa.string(), "how long that window is: week, month, quarter or year"),
    Column("origin_from", pa.date32(), "first day on which it may have begun; null: not known"),
    Column("origin_to", pa.date32(), "the day after the last such day"),
    Column("origin_precision", pa.string(), "how exactly that is known: day, month or year"),
    Column("origin_property", pa.string(), "property that tells, such as P571 (inception)"),
)
_CATEGORY = Column("category", pa.string(), "category of the paper's Table 1; Misc. where no class is known")
_SPLIT = Column("split", pa.string(), "dev or test: by the entity, so that none is in both; null without any span")
_SUSPECT = Column(
    "suspect_old_entity", pa.bool_(), "is the page so much older than its origin that the date is doubtful?"
)
_CHUNKER = Column(
    "chunker", pa.string(), "what found the noun phrases: program, model, version; one in all of a release"
)
_SENTENCE = Column("sentence", pa.string(), "the sentence as readers see it")
_SINCE = Column("sentence_since", pa.date32(), "first day of the first window whose snapshot held the sentence")
_SINCE_FIRST = Column("is_since_first_window", pa.bool_(), "is that the first window of all, so that it may be older?")
_MENTION = (
    Column("mention", pa.string(), "how the entity is mentioned"),
    Column("mention_start_char", pa.int32(), "where the mention begins in the sentence"),
    Column("mention_end_char", pa.int32(), "first code point behind it"),
)

_MENTION_CHUNK = (
    Column(
        "mention_chunk_start_char", pa.int32(), "the same of the noun phrase around the mention; null: none was found"
    ),
    Column("mention_chunk_end_char", pa.int32(), "first code point behind that"),
)

NAME = pa.struct(
    [("name", pa.string()), ("kind", pa.string()), ("n_articles_elsewhere", pa.int32()), ("is_risky", pa.bool_())]
)
CLASS = pa.struct([("class_id", pa.string()), ("label", pa.string())])
CHUNK = pa.struct(
    [("start_char", pa.int32()), ("end_char", pa.int32()), ("is_proper", pa.bool_()), ("is_cut", pa.bool_())]
)

ECBD_RELEASES = Table(
    name="ecbd_releases",
    meaning="Releases of ECBD with their designs; a release stands once its row does.",
    columns=(
        WIKI,
        RELEASE,
        Column("preset", pa.string(), "preset the design began with"),
        _CUT,
        Column("study_from", pa.date32(), "entities begin on or after this day"),
        Column("study_to", pa.date32(), "and before this one"),
        Column("wikidata_dump_id", pa.string(), "dump that tells origins, classes and aliases; null: none was asked"),
        Column("dump_ids", pa.list_(pa.string()), "dumps that the texts are from"),
        _CHUNKER,
        Column("n_parsed", pa.int64(), "sentences that were parsed for noun phrases: each distinct one once"),
        Column("design", pa.string(), "the whole design, as JSON"),
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
        Column("page_created_at", pa.timestamp("us", tz="UTC"), "when the page was first saved"),
        _SUSPECT,
        _CATEGORY,
        Column("category_class", pa.string(), "class that the category follows from; null: none is known"),
        Column("classes", pa.list_(CLASS), "classes that it is an instance of, with their names where these are known"),
        Column("n_words", pa.int32(), "words of the article"),
        Column("n_inlinks", pa.int64(), "mentions of it in other articles"),
        Column("n_contributors", pa.int64(), "distinct known contributors before the cut"),
        Column("names", pa.list_(NAME), "what it may be called; risky ones, if left out, are not looked for"),
        Column("definition", pa.string(), "first sentence of the article"),
        Column("definition_sentences", pa.list_(pa.string()), "all sentences of its first paragraph"),
        _SPLIT,
        Column("n_sentences", pa.int32(), "sentences about it that are asked about"),
        Column("n_np_spans", pa.int32(), "items with a noun phrase"),
        Column("n_random_spans", pa.int32(), "items with a random span"),
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
        Column("sentence_start_char", pa.int32(), "where the sentence begins in the revision's clean text"),
        Column("sentence_end_char", pa.int32(), "first code point behind it"),
        _SENTENCE,
        _SINCE,
        _SINCE_FIRST,
        *_MENTION,
        Column("mention_kind", pa.string(), "kind of the name: title, lower, base, label, alias or redirect"),
        _CHUNKER,
        Column(
            "chunks",
            pa.list_(CHUNK),
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
        Column("cloze_id", pa.string(), "page, kind of span, hash of sentence and span: the same in every release"),
        _ENTITY,
        _PAGE,
        _REVISION,
        _TITLE,
        _SUBSET,
        *_ORIGIN,
        _CATEGORY,
        _SUSPECT,
        _SENTENCE,
        Column("sentence_start_char", pa.int32(), "where the sentence begins in the revision's clean text"),
        Column("sentence_end_char", pa.int32(), "first code point behind it"),
        _SINCE,
        _SINCE_FIRST,
        Column("masked_sentence", pa.string(), "the sentence with <extra_id_0> for the span"),
        Column("answer", pa.string(), "the span's text"),
        Column("span_kind", pa.string(), "np (a noun phrase) or random"),
        Column("np_type", pa.string(), "PROPER (a name) or COMMON; null for random spans"),
        Column("n_span_words", pa.int32(), "words of the span"),
        *_MENTION,
        *_MENTION_CHUNK,
        Column("span_start_char", pa.int32(), "where the span begins in the sentence"),
        Column("span_end_char", pa.int32(), "first code point behind it"),
        Column(
            "n_words_after_mention",
            pa.int32(),
            "words from the mention to the span's first, 1 for the next; below "
            "zero before it. In compatible releases the released code's distance",
        ),
        Column("answer_in_definition", pa.bool_(), "does the definition hold the answer (ECBD-EASY)?"),
        Column("definition", pa.string(), "first sentence of the entity's article"),
        Column("random_definition", pa.string(), "that of another entity of the window and split; null: there is none"),
        Column("random_definition_page_id", pa.int64(), "article of that entity"),
        Column("random_definition_category", pa.string(), "its category, as a control of how near it is"),
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
