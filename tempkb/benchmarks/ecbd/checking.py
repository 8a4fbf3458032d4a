"""Queries over the lake that return what breaks a promise of ECBD. Does not use Dagster.

They measure sentences independently of the code that finds mentions and chooses spans. But they judge texts by that
code's own rules (`define_rules`): a rule that differs a little in SQL would refuse sound releases.
"""

import duckdb

from tempkb.benchmarks.ecbd.forms import count_text, gives_away
from tempkb.benchmarks.ecbd.quotes import holds_half_pair
from tempkb.benchmarks.ecbd.random_definitions import tells
from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE, ECBD_ENTITIES, ECBD_PROMPTS, ECBD_RELEASES, ECBD_SENTENCES
from tempkb.benchmarks.promises import Promise
from tempkb.benchmarks.prompt_steps import ids_of_texts
from tempkb.benchmarks.samples import chosen_by
from tempkb.mentions.tables import PAGE_TEXTS

# The text between mention and span, without what is attached to the mention, such as a possessive.
_BETWEEN = (
    "regexp_replace(substring(sentence, mention_end_char + 1, span_start_char - mention_end_char), "
    "'^[^\\s\\x{2014}]+', '')"
)

# Scripts without spaces between words, where each letter counts as a word.
_UNSPACED = (
    "[\\p{Han}\\p{Hiragana}\\p{Katakana}\\p{Bopomofo}\\p{Thai}\\p{Lao}\\p{Khmer}\\p{Myanmar}\\p{Tibetan}\\x{30fc}]"
)
MENTIONED_OFTEN = """
    SELECT release, page_id, sentence_start_char, mention FROM sentences WHERE count_text(sentence, mention) <> 1
"""
NOT_IN_PLACE = """
    SELECT release, cloze_id FROM cloze
    WHERE replace(masked_sentence, '<extra_id_0>', answer) <> sentence
       OR substring(sentence, 1, span_start_char) <> split_part(masked_sentence, '<extra_id_0>', 1)
       OR substring(sentence, mention_start_char + 1, mention_end_char - mention_start_char) <> mention
"""
NOT_IN_TEXT = """
    SELECT s.release, s.page_id, s.sentence FROM sentences AS s
    LEFT JOIN texts AS t ON t.page_id = s.page_id AND t.revision_id = s.revision_id
    WHERE t.text IS NULL OR substring(t.text, s.sentence_start_char + 1, length(s.sentence)) <> s.sentence
"""


def _words(text: str) -> str:
    """SQL for the number of words of a text."""
    apart = f"regexp_replace({text}, '({_UNSPACED}\\pM*)', ' \\1 ', 'g')"
    parts = f"string_split_regex({apart}, '[\\s\\x{{2014}}]+')"
    return f"len(list_filter({parts}, lambda word: regexp_matches(word, '[\\pL\\pN]')))"


_BEFORE = "substring(sentence, span_start_char + 1, mention_start_char - span_start_char)"
BEYOND_LIMITS = f"""
    WITH measured AS (
        SELECT c.*, r.design, (r.design->>'max_distance')::INTEGER AS farthest,
               {_words(_BETWEEN)} AS n_between, {_words("answer")} AS n_words,
               {_words(_BEFORE)} AS n_to_mention
        FROM cloze AS c JOIN releases AS r USING (release)
    )
    SELECT release, cloze_id, n_between, n_to_mention, n_words FROM measured
    WHERE design->>'rules' = 'tempkb'
      -- Older releases counted a run of Han characters as one word. They are frozen, and not checked by today's rule.
      AND design->>'strict_answers' IS NOT NULL
      AND (n_words NOT BETWEEN 1 AND (design->>'max_span_words')::INTEGER
           OR (span_start_char >= mention_end_char AND n_between >= farthest)
           OR (span_start_char < mention_end_char AND (design->>'after_mention' = 'true' OR n_to_mention > farthest)))
    UNION ALL
    SELECT release, cloze_id, n_between, n_to_mention, n_words FROM measured
    WHERE design->>'rules' = 'released'
      AND (n_words_after_mention NOT BETWEEN 1 AND farthest OR span_start_char < mention_end_char)
"""
IN_BOTH_SPLITS = """
    SELECT release, page_id FROM cloze GROUP BY release, page_id HAVING count(DISTINCT split) > 1
    UNION ALL
    SELECT c.release, c.page_id FROM cloze AS c JOIN entities AS e USING (release, page_id)
    WHERE e.split IS DISTINCT FROM c.split
"""
BEYOND_CAPS = """
    WITH counted AS (
        SELECT release, page_id, count(*) AS n, count(*) FILTER (WHERE span_kind = 'np') AS n_np FROM cloze
        GROUP BY release, page_id
    )
    SELECT release, 'entity', page_id::VARCHAR FROM counted JOIN releases AS r USING (release)
    WHERE CASE WHEN r.design->>'caps' = 'together' THEN n ELSE greatest(n_np, n - n_np) END
          > (r.design->>'max_spans_per_entity')::INTEGER
    UNION ALL
    SELECT c.release, 'window', coalesce(c.origin_window, 'popular') FROM cloze AS c JOIN releases AS r USING (release)
    WHERE (r.design->>'max_spans_per_window')::INTEGER > 0
    GROUP BY c.release, c.origin_window, c.split, c.span_kind, r.design
    HAVING count(*) > (r.design->>'max_spans_per_window')::INTEGER
"""
UNBALANCED = """
    WITH counted AS (
        SELECT release, origin_window, split, count(*) FILTER (WHERE span_kind = 'np') AS n_np, count(*) AS n,
               sum(n_np) OVER (PARTITION BY release) AS n_np_of_release,
               sum(n) OVER (PARTITION BY release) AS n_of_release
        FROM cloze GROUP BY release, origin_window, split
    )
    SELECT release, coalesce(origin_window, 'popular'), split, n_np, n - n_np AS n_random FROM counted
    JOIN releases AS r USING (release)
    WHERE r.design->>'balance_kinds' = 'true' AND n <> 2 * n_np
      -- There is nothing to balance in a release of one kind.
      AND n_np_of_release > 0 AND n_np_of_release < n_of_release
"""
GIVEN_AWAY = """
    WITH strict AS (
        SELECT release, cloze_id, answer, mention FROM cloze JOIN releases AS r USING (release)
        WHERE r.design->>'strict_answers' = 'true' AND r.design->>'rules' = 'tempkb'
    )
    SELECT release, cloze_id, answer FROM strict WHERE holds_half_pair(answer) OR gives_away(answer, mention)
"""
OUT_OF_WINDOW = """
    SELECT c.release, c.cloze_id FROM cloze AS c JOIN releases AS r USING (release)
    WHERE c.subset = 'odie' AND (c.origin_from < r.study_from OR c.origin_to > r.study_to)
    UNION ALL
    SELECT one.release, one.cloze_id FROM cloze AS one JOIN entities AS e
    ON e.release = one.release AND e.page_id = one.random_definition_page_id
    WHERE e.origin_window IS DISTINCT FROM one.origin_window OR e.split IS DISTINCT FROM one.split
       OR tells(one.random_definition, one.answer, one.mention)
"""
SEVERAL_CHUNKERS = """
    SELECT release, count(DISTINCT chunker) FROM (
        SELECT release, chunker FROM cloze UNION ALL SELECT release, chunker FROM sentences
        UNION ALL SELECT release, chunker FROM releases
    ) GROUP BY release HAVING count(DISTINCT chunker) > 1
"""
BY_FALLBACK = "SELECT release, chunker FROM releases WHERE contains(chunker, '(fallback)')"


def define_rules(connection: duckdb.DuckDBPyConnection) -> None:
    """Define the functions of the queries above on a connection, from the code that makes the items."""
    connection.create_function("count_text", count_text, ["VARCHAR", "VARCHAR"], "INTEGER")
    connection.create_function("holds_half_pair", holds_half_pair, ["VARCHAR"], "BOOLEAN")
    connection.create_function("gives_away", gives_away, ["VARCHAR", "VARCHAR"], "BOOLEAN")
    connection.create_function("tells", tells, ["VARCHAR", "VARCHAR", "VARCHAR"], "BOOLEAN")


_TABLES = {"cloze": ECBD_CLOZE, "entities": ECBD_ENTITIES, "sentences": ECBD_SENTENCES, "releases": ECBD_RELEASES}
PROMISES = (
    Promise(
        "entity_is_mentioned_once",
        "The sentence contains its mention exactly once, at word boundaries.",
        ECBD_SENTENCES,
        MENTIONED_OFTEN,
        {"sentences": ECBD_SENTENCES},
        prepare=define_rules,
    ),
    Promise(
        "sentences_are_in_their_texts",
        "The readable text of the revision has every sentence at its offsets.",
        ECBD_SENTENCES,
        NOT_IN_TEXT,
        {"sentences": ECBD_SENTENCES, "texts": PAGE_TEXTS},
        may_fade=True,
    ),
    Promise(
        "spans_are_in_place",
        "The masked sentence with the answer in place of the mask is the sentence.",
        ECBD_CLOZE,
        NOT_IN_PLACE,
        _TABLES,
    ),
    Promise(
        "spans_keep_to_the_limits",
        "Lengths of spans, and their distances from the mention, are within the design's limits.",
        ECBD_CLOZE,
        BEYOND_LIMITS,
        _TABLES,
    ),
    Promise(
        "no_entity_is_in_both_splits",
        "No entity has items in both dev and test.",
        ECBD_CLOZE,
        IN_BOTH_SPLITS,
        _TABLES,
    ),
    Promise(
        "caps_are_kept",
        "No entity and no window has more items than the design allows.",
        ECBD_CLOZE,
        BEYOND_CAPS,
        _TABLES,
    ),
    Promise(
        "kinds_are_balanced",
        "Each window and split of a release with both kinds has as many of each, if the design balances them.",
        ECBD_CLOZE,
        UNBALANCED,
        _TABLES,
    ),
    Promise(
        "answers_are_whole",
        "No answer contains the mention or half a pair of quotation marks, if the design is strict.",
        ECBD_CLOZE,
        GIVEN_AWAY,
        _TABLES,
        prepare=define_rules,
    ),
    Promise(
        "origins_are_in_the_study",
        "Origins are in the study, and random definitions are from the same window and split and without the answer.",
        ECBD_CLOZE,
        OUT_OF_WINDOW,
        _TABLES,
        prepare=define_rules,
    ),
    Promise(
        "one_chunker_per_release",
        "All noun phrases of a release were found by the same program.",
        ECBD_CLOZE,
        SEVERAL_CHUNKERS,
        _TABLES,
    ),
    Promise(
        "chunker_is_spacy",
        "Warning: the bundled chunker, which is cruder than a spaCy model, found the noun phrases of these releases.",
        ECBD_RELEASES,
        BY_FALLBACK,
        {"releases": ECBD_RELEASES},
        is_warning=True,
    ),
)

NOT_ASKED = """
    SELECT coalesce(c.release, p.release), coalesce(c.cloze_id, p.item_id)
    FROM cloze AS c FULL JOIN (FROM prompts WHERE variant = 'original') AS p
    ON p.release = c.release AND p.item_id = c.cloze_id
    WHERE c.cloze_id IS NULL OR p.item_id IS NULL
"""
# The texts of all variants but two, from the item. An article before the mention and the noun phrase around it are left
# out by rules that SQL does not repeat; those variants are compared up to the entity.
_MASKED = "concat(left_context, '<extra_id_0>', right_context)"
_FILLED = "concat(left_context, target, right_context)"
OTHER_TEXTS = f"""
    SELECT release, cloze_id, variant FROM (
        SELECT c.*, p.* EXCLUDE (release, split, window_start)
        FROM cloze AS c JOIN prompts AS p ON p.release = c.release AND p.item_id = c.cloze_id
    )
    WHERE target <> answer OR CASE variant
        WHEN 'original' THEN {_MASKED} <> masked_sentence
        WHEN 'definition' THEN {_MASKED} <> concat(definition, ' ', masked_sentence)
        WHEN 'random_definition' THEN {_MASKED} IS DISTINCT FROM concat(random_definition, ' ', masked_sentence)
        WHEN 'no_ent_released' THEN lower({_FILLED}) <> lower(concat(
            substring(sentence, 1, mention_start_char), 'the entity', substring(sentence, mention_end_char + 1)))
        ELSE NOT contains(lower({_FILLED}), 'the entity') END
"""
_OF_ITEMS = {"cloze": ECBD_CLOZE, "prompts": ECBD_PROMPTS}
OF_PROMPTS = (
    Promise(
        "every_item_is_asked",
        "Every item, and nothing else, has a prompt of the variant original.",
        ECBD_PROMPTS,
        NOT_ASKED,
        _OF_ITEMS,
    ),
    Promise(
        "prompts_have_the_texts_of_their_items",
        "The text of a prompt is that of its item: as it is, behind a definition, or without the entity.",
        ECBD_PROMPTS,
        OTHER_TEXTS,
        _OF_ITEMS,
        sample=chosen_by("item_id", "item", "prompts"),
    ),
    ids_of_texts(ECBD_PROMPTS, chosen_by("item_id", "item", "prompts")),
)
