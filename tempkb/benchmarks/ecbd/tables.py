"""Declares the tables of ECBD: releases, entities by date of origin, sentences about them, and cloze items."""

from tempkb.benchmarks.ecbd.variants import VARIANTS
from tempkb.benchmarks.prompting import prompts_table
from tempkb.dumps.tables import DUMP_ID, WIKI
from tempkb.store.tables import Column, Family, Rule, Table, table_of_releases
from tempkb.store.types import BOOL, DATE, INSTANT, INT32, INT64, STRING, list_of, struct_of

RELEASE = Column("release", STRING, "name of the release")
_CUT = Column("cut", DATE, "midnight UTC of this day; all texts of the release were saved before it")
_PAGE = Column("page_id", INT64, "article about the entity")
_REVISION = Column("revision_id", INT64, "its winning revision at the cut")
_ENTITY = Column("entity_id", STRING, "Wikidata item (QID); null for a popular page without one")
_TITLE = Column("title", STRING, "the article's title at the cut")
_SUBSET = Column("subset", STRING, "odie (chosen by its date of origin) or popular")
_ORIGIN = (
    Column(
        "origin_window",
        STRING,
        "finest window that contains the origin: 2021, 2021-Q2, 2021-05 or 2021-W17; null for popular entities",
    ),
    Column("origin_granularity", STRING, "length of that window: week, month, quarter or year"),
    Column("origin_from", DATE, "first day on which the entity may have begun; null if not known"),
    Column("origin_to", DATE, "the day after the last such day"),
    Column("origin_precision", STRING, "precision of that date: day, month or year"),
    Column("origin_property", STRING, "property of that date, such as P571 (inception)"),
)
_CATEGORY = Column("category", STRING, "category of the paper's Table 1; Misc. if no class is known")
_SPLIT = Column("split", STRING, "dev or test, the same for all items of an entity; null if it has no item")
_SUSPECT = Column("suspect_old_entity", BOOL, "true if the page is so much older than the origin that it is doubtful")
_CHUNKER = Column("chunker", STRING, "program, model and version that found the noun phrases; the same in a release")
_SENTENCE = Column("sentence", STRING, "the sentence as readers see it")
_SINCE = Column("sentence_since", DATE, "first day of the first window whose snapshot contains the sentence")
_SINCE_FIRST = Column("is_since_first_window", BOOL, "true if that is the home's first window; it may then be older")
_MENTION = (
    Column("mention", STRING, "the text that mentions the entity"),
    Column("mention_start_char", INT32, "offset of the mention in the sentence, in code points"),
    Column("mention_end_char", INT32, "offset of the first code point after the mention"),
)

_MENTION_CHUNK = (
    Column("mention_chunk_start_char", INT32, "offset of the noun phrase around the mention; null if none was found"),
    Column("mention_chunk_end_char", INT32, "offset of the first code point after that noun phrase"),
)

NAME = struct_of(("name", STRING), ("kind", STRING), ("n_articles_elsewhere", INT32), ("is_risky", BOOL))
CLASS = struct_of(("class_id", STRING), ("label", STRING))
CHUNK = struct_of(("start_char", INT32), ("end_char", INT32), ("is_proper", BOOL), ("is_cut", BOOL))

ECBD_RELEASES = table_of_releases(
    name="ecbd_releases",
    meaning="Releases of ECBD with their designs. The row is written last, when the release is built.",
    columns=(
        WIKI,
        RELEASE,
        Column("preset", STRING, "preset from which the design was made"),
        _CUT,
        Column("study_from", DATE, "first day of the study: entities originate on or after it"),
        Column("study_to", DATE, "first day after the study: entities originate before it"),
        Column("wikidata_dump_id", STRING, "Wikidata dump with origins, classes and aliases; null if none was used"),
        Column("dump_ids", list_of(STRING), "dumps with the texts"),
        _CHUNKER,
        Column("n_parsed", INT64, "number of sentences that were parsed for noun phrases; each distinct one once"),
        Column("design", STRING, "the design as JSON"),
    ),
    key=("release",),
)

ECBD_ENTITIES = table_of_releases(
    name="ecbd_entities",
    meaning="The entities of a release, with their dates of origin and their names.",
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
        Column("page_created_at", INSTANT, "time of the page's first revision"),
        _SUSPECT,
        _CATEGORY,
        Column("category_class", STRING, "class that decided the category; null if none is known"),
        Column("classes", list_of(CLASS), "classes of which it is an instance, with their names if known"),
        Column("n_words", INT32, "number of words of the article"),
        Column("n_inlinks", INT64, "number of mentions of it in other articles"),
        Column("n_contributors", INT64, "number of distinct known contributors before the cut"),
        Column("names", list_of(NAME), "its names; by the design, risky ones are not searched for"),
        Column("definition", STRING, "first sentence of the article"),
        Column("definition_sentences", list_of(STRING), "all sentences of its first paragraph"),
        _SPLIT,
        Column("n_sentences", INT32, "number of sentences with items"),
        Column("n_np_spans", INT32, "number of items with a noun phrase"),
        Column("n_random_spans", INT32, "number of items with a random span"),
    ),
    key=("page_id",),
    rules=(
        Rule("known_subset", "the subset is odie or popular", "subset NOT IN ('odie', 'popular')"),
        Rule(
            "indexed_by_origin",
            "an entity of the subset odie has a window that contains its origin",
            "subset = 'odie' AND (origin_window IS NULL OR origin_from >= origin_to)",
        ),
        Rule(
            "split_goes_with_items",
            "an entity with items has a split",
            "(split IS NULL AND n_np_spans + n_random_spans > 0) OR split NOT IN ('dev', 'test')",
        ),
    ),
)

_MENTION_IS_THERE = Rule(
    "mention_is_there",
    "the sentence has the mention at its offsets",
    "substring(sentence, mention_start_char + 1, mention_end_char - mention_start_char) <> mention",
)
ECBD_SENTENCES = table_of_releases(
    name="ecbd_sentences",
    meaning="The sentences of a release, each of which mentions its entity once, with their noun phrases.",
    columns=(
        WIKI,
        DUMP_ID,
        RELEASE,
        _CUT,
        _PAGE,
        _REVISION,
        _ENTITY,
        Column("sentence_start_char", INT32, "offset of the sentence in the revision's readable text, in code points"),
        Column("sentence_end_char", INT32, "offset of the first code point after the sentence"),
        _SENTENCE,
        _SINCE,
        _SINCE_FIRST,
        *_MENTION,
        Column("mention_kind", STRING, "kind of the name: title, lower, base, label, alias or redirect"),
        _CHUNKER,
        Column(
            "chunks",
            list_of(CHUNK),
            "all noun phrases of the sentence; is_cut: it looks like a part of a larger phrase, or not like a noun "
            "phrase",
        ),
    ),
    key=("page_id", "sentence_start_char"),
    rules=(
        _MENTION_IS_THERE,
        Rule(
            "as_long_as_its_span",
            "the offsets of a sentence fit its length",
            "length(sentence) <> sentence_end_char - sentence_start_char",
        ),
    ),
)

ECBD_CLOZE = Table(
    name="ecbd_cloze",
    meaning="Cloze items: a sentence about an entity with one masked span, and the entity's date of origin.",
    columns=(
        WIKI,
        DUMP_ID,
        RELEASE,
        _CUT,
        Column("cloze_id", STRING, "page, kind of span, and hash of sentence and span; the same in every release"),
        _ENTITY,
        _PAGE,
        _REVISION,
        _TITLE,
        _SUBSET,
        *_ORIGIN,
        _CATEGORY,
        _SUSPECT,
        _SENTENCE,
        Column("sentence_start_char", INT32, "offset of the sentence in the revision's readable text, in code points"),
        Column("sentence_end_char", INT32, "offset of the first code point after the sentence"),
        _SINCE,
        _SINCE_FIRST,
        Column("masked_sentence", STRING, "the sentence with <extra_id_0> in place of the span"),
        Column("answer", STRING, "the text of the span"),
        Column("span_kind", STRING, "np (a noun phrase) or random"),
        Column("np_type", STRING, "PROPER (a name) or COMMON; null for random spans"),
        Column("n_span_words", INT32, "number of words of the span"),
        *_MENTION,
        *_MENTION_CHUNK,
        Column("span_start_char", INT32, "offset of the span in the sentence, in code points"),
        Column("span_end_char", INT32, "offset of the first code point after the span"),
        Column(
            "n_words_after_mention",
            INT32,
            "words from the mention to the first word of the span, 1 for the next word; negative before the mention. "
            "With rules = released, the distance of the released code",
        ),
        Column("answer_in_definition", BOOL, "true if the definition contains the answer (ECBD-EASY)"),
        Column("definition", STRING, "first sentence of the entity's article"),
        Column("random_definition", STRING, "definition of another entity of the window and split; null if none fits"),
        Column("random_definition_page_id", INT64, "page of that entity"),
        Column("random_definition_category", STRING, "category of that entity, to control how similar it is"),
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
            "kinds and splits have known values",
            "span_kind NOT IN ('np', 'random') OR split NOT IN ('dev', 'test')",
        ),
        Rule(
            "answer_is_there",
            "the sentence has the answer at its offsets",
            "substring(sentence, span_start_char + 1, span_end_char - span_start_char) <> answer",
        ),
        Rule(
            "mask_is_in_place",
            "the masked sentence with the answer in place of the mask is the sentence",
            "replace(masked_sentence, '<extra_id_0>', answer) <> sentence OR "
            "substring(sentence, 1, span_start_char) <> split_part(masked_sentence, '<extra_id_0>', 1)",
        ),
        _MENTION_IS_THERE,
        Rule(
            "apart",
            "span and mention do not overlap",
            "span_start_char < mention_end_char AND mention_start_char < span_end_char",
        ),
        Rule("other_definition", "a random definition is another entity's", "random_definition_page_id = page_id"),
    ),
)

TARGET_ID = "answer"
"""The `target_id` of every prompt: an item has one answer."""

ECBD_PROMPTS = prompts_table(
    "ecbd",
    "ECBD",
    RELEASE,
    item="cloze_id of the item",
    target="answer, since an item has one answer",
    variants={str(variant): meaning for variant, meaning in VARIANTS.items()},
    window="first day on which the entity may have begun; null if not known",
    cluster="the item's entity (QID), or the number of its page if it has none",
)

TABLES = (ECBD_ENTITIES, ECBD_SENTENCES, ECBD_CLOZE, ECBD_RELEASES)
"""The tables that are written together; prompts are made from them afterwards."""
