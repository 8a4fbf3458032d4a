"""Declares the tables of ECBD, and views: the paper's Tables 1 and 2, the balance of items, and scores."""

from tempkb.benchmarks.ecbd.categories import category_names
from tempkb.benchmarks.ecbd.variants import VARIANTS
from tempkb.benchmarks.prompting import prompts_table, scores_view
from tempkb.store.columns import columns, rules
from tempkb.store.quoting import literals
from tempkb.store.tables import View, table_of_releases
from tempkb.store.types import BOOL, INT32, STRING, struct_of

NAME = struct_of(("name", STRING), ("kind", STRING), ("n_articles_elsewhere", INT32), ("is_risky", BOOL))
CLASS = struct_of(("class_id", STRING), ("label", STRING))
CHUNK = struct_of(("start_char", INT32), ("end_char", INT32), ("is_proper", BOOL), ("is_cut", BOOL))

_columns = columns.with_types(CHUNK=CHUNK, CLASS=CLASS, NAME=NAME).extended("""
    cut DATE: midnight UTC of this day; all texts of the release were saved before it
    page_id BIGINT: article about the entity
    revision_id BIGINT: its winning revision at the cut
    entity_id VARCHAR: Wikidata item (QID); null for a popular page without one
    subset VARCHAR: odie (chosen by its date of origin) or popular
    origin_window VARCHAR: finest window that contains the origin: 2021, 2021-Q2, 2021-05 or 2021-W17; null for popular
        entities
    origin_granularity VARCHAR: length of that window: week, month, quarter or year
    origin_from DATE: first day on which the entity may have begun; null if not known
    origin_property VARCHAR: property of that date, such as P571 (inception)
    category VARCHAR: category of the paper's Table 1; Misc. if no class is known
    split VARCHAR: dev or test, the same for all items of an entity; null if it has no item
    suspect_old_entity BOOLEAN: true if the page is so much older than the origin that it is doubtful
    chunker VARCHAR: program, model and version that found the noun phrases; the same in a release
    sentence VARCHAR: the sentence as readers see it
    sentence_since DATE: first day of the first window whose snapshot contains the sentence
    is_since_first_window BOOLEAN: true if that is the home's first window; it may then be older
    mention VARCHAR: the text that mentions the entity
    mention_start_char INTEGER: offset of the mention in the sentence, in code points
    mention_end_char INTEGER: offset of the first code point after the mention
    sentence_start_char INTEGER: offset of the sentence in the revision's readable text, in code points
    sentence_end_char INTEGER: offset of the first code point after the sentence
""")

ECBD_RELEASES = table_of_releases(
    name="ecbd_releases",
    meaning="Releases of ECBD with their designs. The row is written last, when the release is built.",
    columns=_columns("""
        wiki, release, preset, cut
        study_from DATE: first day of the study: entities originate on or after it
        study_to DATE: first day after the study: entities originate before it
        wikidata_dump_id VARCHAR: Wikidata dump with origins, classes and aliases; null if none was used
        dump_ids VARCHAR[]: dumps with the texts
        chunker
        n_parsed BIGINT: number of sentences that were parsed for noun phrases; each distinct one once
        design
    """),
    key=("release",),
)

ECBD_ENTITIES = table_of_releases(
    name="ecbd_entities",
    meaning="The entities of a release, with their dates of origin and their names.",
    columns=_columns("""
        wiki, dump_id, release, cut, page_id, revision_id, entity_id, title, subset, origin_window, origin_granularity
        origin_from, origin_to, origin_precision, origin_property, page_created_at, suspect_old_entity, category
        category_class VARCHAR: class that decided the category; null if none is known
        classes CLASS[]: classes of which it is an instance, with their names if known
        n_words INTEGER: number of words of the article
        n_inlinks, n_contributors
        names NAME[]: its names; by the design, risky ones are not searched for
        definition VARCHAR: first sentence of the article
        definition_sentences VARCHAR[]: all sentences of its first paragraph
        split
        n_sentences INTEGER: number of sentences with items
        n_np_spans INTEGER: number of items with a noun phrase
        n_random_spans INTEGER: number of items with a random span
    """),
    key=("page_id",),
    rules=rules("""
        known_subset: the subset is odie or popular
            subset NOT IN ('odie', 'popular')
        indexed_by_origin: an entity of the subset odie has a window that contains its origin
            subset = 'odie' AND (origin_window IS NULL OR origin_from >= origin_to)
        split_goes_with_items: an entity with items has a split
            (split IS NULL AND n_np_spans + n_random_spans > 0) OR split NOT IN ('dev', 'test')
    """),
)

ECBD_SENTENCES = table_of_releases(
    name="ecbd_sentences",
    meaning="The sentences of a release, each of which mentions its entity once, with their noun phrases.",
    columns=_columns("""
        wiki, dump_id, release, cut, page_id, revision_id, entity_id, sentence_start_char, sentence_end_char, sentence
        sentence_since, is_since_first_window, mention, mention_start_char, mention_end_char
        mention_kind VARCHAR: kind of the name: title, lower, base, label, alias or redirect
        chunker
        chunks CHUNK[]: all noun phrases of the sentence; is_cut: it looks like a part of a larger phrase, or not like a
            noun phrase
    """),
    key=("page_id", "sentence_start_char"),
    rules=rules("""
        mention_is_there: the sentence has the mention at its offsets
            substring(sentence, mention_start_char + 1, mention_end_char - mention_start_char) <> mention
        as_long_as_its_span: the offsets of a sentence fit its length
            length(sentence) <> sentence_end_char - sentence_start_char
    """),
)

ECBD_CLOZE = table_of_releases(
    name="ecbd_cloze",
    meaning="Cloze items: a sentence about an entity with one masked span, and the entity's date of origin.",
    columns=_columns("""
        wiki, dump_id, release, cut
        cloze_id VARCHAR: page, kind of span, and hash of sentence and span; the same in every release
        entity_id, page_id, revision_id, title, subset, origin_window, origin_granularity, origin_from, origin_to
        origin_precision, origin_property, category, suspect_old_entity, sentence, sentence_start_char
        sentence_end_char, sentence_since, is_since_first_window
        masked_sentence VARCHAR: the sentence with <extra_id_0> in place of the span
        answer VARCHAR: the text of the span
        span_kind VARCHAR: np (a noun phrase) or random
        np_type VARCHAR: PROPER (a name) or COMMON; null for random spans
        n_span_words INTEGER: number of words of the span
        mention, mention_start_char, mention_end_char
        mention_chunk_start_char INTEGER: offset of the noun phrase around the mention; null if none was found
        mention_chunk_end_char INTEGER: offset of the first code point after that noun phrase
        span_start_char INTEGER: offset of the span in the sentence, in code points
        span_end_char INTEGER: offset of the first code point after the span
        n_words_after_mention INTEGER: words from the mention to the first word of the span, 1 for the next word;
            negative before the mention. With rules = released, the distance of the released code
        answer_in_definition BOOLEAN: true if the definition contains the answer (ECBD-EASY)
        definition VARCHAR: first sentence of the entity's article
        random_definition VARCHAR: definition of another entity of the window and split; null if none fits
        random_definition_page_id BIGINT: page of that entity
        random_definition_category VARCHAR: category of that entity, to control how similar it is
        chunker, split
    """),
    key=("cloze_id",),
    partition_columns=("release", "cut"),
    rules=rules("""
        known_kind: kinds and splits have known values
            span_kind NOT IN ('np', 'random') OR split NOT IN ('dev', 'test')
        answer_is_there: the sentence has the answer at its offsets
            substring(sentence, span_start_char + 1, span_end_char - span_start_char) <> answer
        mask_is_in_place: the masked sentence with the answer in place of the mask is the sentence
            replace(masked_sentence, '<extra_id_0>', answer) <> sentence OR
            substring(sentence, 1, span_start_char) <> split_part(masked_sentence, '<extra_id_0>', 1)
        mention_is_there: the sentence has the mention at its offsets
            substring(sentence, mention_start_char + 1, mention_end_char - mention_start_char) <> mention
        apart: span and mention do not overlap
            span_start_char < mention_end_char AND mention_start_char < span_end_char
        other_definition: a random definition is another entity's
            random_definition_page_id = page_id
    """),
)

TARGET_ID = "answer"
"""The `target_id` of every prompt: an item has one answer."""

ECBD_PROMPTS = prompts_table(
    "ecbd",
    "ECBD",
    item="cloze_id of the item",
    target="answer, since an item has one answer",
    variants={str(variant): meaning for variant, meaning in VARIANTS.items()},
    window="first day on which the entity may have begun; null if not known",
    cluster="the item's entity (QID), or the number of its page if it has none",
)

TABLES = (ECBD_ENTITIES, ECBD_SENTENCES, ECBD_CLOZE, ECBD_RELEASES)
"""The tables that are written together; prompts are made from them afterwards."""


# Rows of a run that was killed are left out: their release has no row in `ecbd_releases`.
_FINISHED = f"SEMI JOIN {ECBD_RELEASES.name} USING (release)"
_ORDER = literals(category_names())

ORIGIN_YEARS = View(
    name="ecbd_origin_years",
    meaning="The upper part of the paper's Table 1: entities that have items, by year of origin (0: all years) and "
    "split.",
    query=f"""
    SELECT release, CASE WHEN grouping(year) = 1 THEN 0 ELSE year END AS origin_year,
           count(*) FILTER (WHERE split = 'dev') AS n_dev, count(*) FILTER (WHERE split = 'test') AS n_test,
           count(*) AS n_entities
    FROM (
        SELECT release, year(origin_from)::INTEGER AS year, split FROM {ECBD_ENTITIES.name} {_FINISHED}
        WHERE subset = 'odie' AND n_np_spans + n_random_spans > 0
    )
    GROUP BY GROUPING SETS ((release, year), (release))
    """,
    needs=(ECBD_ENTITIES.name, ECBD_RELEASES.name),
)

CATEGORIES = View(
    name="ecbd_categories",
    meaning="The lower part of the paper's Table 1: the percentage of each category among the entities of a year (0: "
    "all years).",
    query=f"""
    WITH entities AS (
        SELECT release, year(origin_from)::INTEGER AS year, category FROM {ECBD_ENTITIES.name} {_FINISHED}
        WHERE subset = 'odie' AND n_np_spans + n_random_spans > 0
    ), counted AS (
        SELECT release, CASE WHEN grouping(year) = 1 THEN 0 ELSE year END AS origin_year, category, count(*) AS n
        FROM entities GROUP BY GROUPING SETS ((release, year, category), (release, category))
    )
    SELECT release, origin_year, list_position([{_ORDER}], category) AS place, category, n AS n_entities,
           100 * n / sum(n) OVER (PARTITION BY release, origin_year) AS per_cent
    FROM counted
    """,
    needs=(ECBD_ENTITIES.name, ECBD_RELEASES.name),
)

DATA_STATISTICS = View(
    name="ecbd_data_statistics",
    meaning="The paper's Table 2: items (the paper's # Sent.), entities, mean number of words in a span, and distinct "
    "words in spans.",
    query=f"""
    WITH words AS (
        SELECT release, subset, count(DISTINCT word) AS n FROM (
            SELECT release, subset, unnest(string_split_regex(answer, '\\s+')) AS word
            FROM {ECBD_CLOZE.name} {_FINISHED}
        ) GROUP BY release, subset
    )
    SELECT release, subset, count(*) AS n_items, count(DISTINCT page_id) AS n_entities,
           count(DISTINCT (page_id, sentence_start_char)) AS n_sentences,
           avg(len(string_split_regex(answer, '\\s+'))) AS mean_span_words, any_value(words.n) AS span_vocabulary,
           count(*) FILTER (WHERE np_type = 'PROPER') / count(*) FILTER (WHERE span_kind = 'np') AS proper_share
    FROM {ECBD_CLOZE.name} JOIN words USING (release, subset) GROUP BY release, subset
    """,
    needs=(ECBD_CLOZE.name, ECBD_RELEASES.name),
)

BALANCE = View(
    name="ecbd_balance",
    meaning="Numbers of items and entities by origin window, split and kind of span.",
    query=f"""
    SELECT release, coalesce(origin_window, 'popular') AS origin_window, split, span_kind, count(*) AS n_items,
           count(DISTINCT page_id) AS n_entities
    FROM {ECBD_CLOZE.name} {_FINISHED} GROUP BY ALL
    """,
    needs=(ECBD_CLOZE.name, ECBD_RELEASES.name),
)

SCORES = scores_view("ecbd_scores", "ECBD", ECBD_PROMPTS.name)

VIEWS = (ORIGIN_YEARS, CATEGORIES, DATA_STATISTICS, BALANCE, SCORES)
