"""The table of dated text, and how often texts name years.

Declares the room of corpora.
"""

from tempkb.benchmarks.prompting import Prompting, Way
from tempkb.core.prompts import PROMPT_ID
from tempkb.engine.room import Room
from tempkb.store.columns import columns, rules
from tempkb.store.quoting import literals
from tempkb.store.tables import Family, Table, View
from tempkb.store.types import INT32, STRING, struct_of

HOME = "home"
"""Name of the corpus that is made of the home's own wiki."""
TRAIN, VALIDATION, TEST = SPLITS = ("train", "validation", "test")
SPAN_KINDS = ("entity", "date", "phrase")
"""Kinds of spans: links and what a user has marked, dates, and noun phrases; of two that are the same words the first
counts."""

SPAN = struct_of(("start_char", INT32), ("end_char", INT32), ("kind", STRING))

DATED_TEXTS = Table(
    name="dated_texts",
    meaning="Texts by the window of their date, for training: sentences of the wiki in the first window whose snapshot "
    "of the page has them, or texts of a user's own.",
    columns=columns.with_types(SPAN=SPAN)("""
        corpus VARCHAR: name of the corpus: home (of this wiki), or that of a user's own
        window_start DATE: first day of the window in which the text is first seen
        text_id VARCHAR: the first 32 hexadecimal digits of its SHA-256
        text VARCHAR (bulk): a sentence of the wiki, or a text of a user's own
        day DATE: day of a text of a user's own, the first if it has several in the window; null for the wiki's
        is_since_first_window BOOLEAN: true for sentences of the home's first window, which may be much older
        page_id BIGINT: the wiki's article with it; of several the one with the lowest number; null for a user's own
        revision_id BIGINT: revision of the article that was chosen in that window; null for a user's own
        start_char INTEGER: its offset in the text of the revision, in code points; null for a user's own
        entity_id VARCHAR: Wikidata item of the article; null if none or unknown, or for a user's own
        spans SPAN[]: what may be asked for in it, in order and without overlap: entities (links, or what the file
            marks), dates, and noun phrases that are names
        years INTEGER[]: the years that it names, ascending
        split VARCHAR: train, validation or test, by its text_id: the same in all windows and corpora
    """),
    key=("text_id",),
    family=Family.CORPUS,
    partitioned_by="corpus and window",
    partition_columns=("corpus", "window_start"),
    persist="view",
    row_group_rows=8_192,
    rules=rules(f"""
        id_is_the_digest: a text_id is the digest of the text
            text_id <> left(sha256(text), 32)
        known_split: the split has a known value
            split NOT IN {SPLITS}
        spans_are_parts: spans are not empty, lie in the text, and are of a known kind
            len(list_filter(spans, lambda one: one.start_char < 0 OR one.start_char >= one.end_char
            OR one.end_char > length(text) OR one.kind NOT IN {SPAN_KINDS})) > 0
    """),
)

CORPUS_YEARS = View(
    name="corpus_years",
    meaning="How many texts a corpus has of each window, and which share of them names a year at all, one in which the "
    "corpus has texts, and the year of their own window.",
    query=f"""
    WITH ranges AS (
        SELECT corpus, range(year(min(window_start)), year(max(window_start)) + 1) AS own
        FROM {DATED_TEXTS.name} GROUP BY corpus
    )
    SELECT corpus, window_start, count(*) AS n_texts, count(*) FILTER (WHERE split = '{TRAIN}') AS n_train,
           avg((len(years) > 0)::INTEGER) AS names_a_year,
           avg(list_has_any(years, own)::INTEGER) AS names_a_year_of_corpus,
           avg(list_contains(years, year(window_start))::INTEGER) AS names_its_year
    FROM {DATED_TEXTS.name} JOIN ranges USING (corpus)
    GROUP BY corpus, window_start ORDER BY corpus, window_start
    """,
    needs=(DATED_TEXTS.name,),
)

DATED_TEXT = "dated_text"
"""What asks about a corpus are called among the benchmarks, with the corpus as their release."""
_MOST = 2000  # texts of a window
_VARIANTS = {"text_undated": "the text", "text_dated": "the text after the date of its window"}
# In the words of `date_in_words`, for windows as long as the corpus has them.
_DATE = """
    CASE WHEN bool_and(dayofyear(window_start) = 1) OVER of_corpus THEN strftime(window_start, 'year: %Y ')
         WHEN bool_and(day(window_start) = 1 AND month(window_start) % 3 = 1) OVER of_corpus
         THEN strftime(window_start, 'quarter: %Y-Q') || quarter(window_start) || ' '
         WHEN bool_and(day(window_start) = 1) OVER of_corpus THEN strftime(window_start, 'month: %Y-%m ')
         ELSE strftime(window_start, 'week: %G-W%V ') END
"""

TEXT_PROMPTS = View(
    name="text_prompts",
    meaning=f"Prompts about the texts of a corpus that are held out for the test, at most {_MOST:,} of a window, by "
    "hash: a span of each, chosen by hash among those that do not stand at its beginning, is asked for. They are made "
    "of dated_texts and asked for by their variant alone (tempkb score --variant text_dated). "
    f"{'; '.join(f'{name}: {meaning}' for name, meaning in _VARIANTS.items())}. release is the corpus, item_id the "
    "text and its window, subset the kind of the span, and cluster_id the page (the text, if there is none). Texts of "
    "the home's first window, which may be much older, are left out.",
    query=f"""
    WITH able AS (
        SELECT *, list_filter(spans, lambda one: one.start_char > 0) AS able FROM {DATED_TEXTS.name}
        WHERE split = '{TEST}' AND NOT is_since_first_window
    ), chosen AS (
        SELECT *, {_DATE} AS date, able[1 + (md5_number_lower('span ' || text_id) % len(able))::INTEGER] AS span
        FROM able WHERE len(able) > 0 WINDOW of_corpus AS (PARTITION BY corpus)
        QUALIFY row_number() OVER (PARTITION BY corpus, window_start ORDER BY text_id) <= {_MOST}
    ), worded AS (
        SELECT *, unnest([{literals(_VARIANTS)}]) AS variant,
               unnest(['', date]) || text[:span.start_char] AS left_context,
               text[span.start_char + 1:span.end_char] AS target, text[span.end_char + 1:] AS right_context
        FROM chosen
    )
    SELECT corpus AS release, window_start, concat(text_id, '_', window_start) AS item_id, target AS target_id, variant,
           {PROMPT_ID} AS prompt_id, left_context, target, right_context, 'current' AS role,
           NULL::VARCHAR AS stands_for_id, coalesce(page_id::VARCHAR, text_id) AS cluster_id, split,
           span.kind AS subset
    FROM worded
    """,
    needs=(DATED_TEXTS.name,),
)

PROMPTING = Prompting(
    DATED_TEXTS,
    tuple(_VARIANTS),
    0,
    templates={"masked": "answer_l2r", "seq2seq": "span_end", "causal": "span_end"},
    view="",
    answered={"masked": Way("beam10", ()), "seq2seq": Way("greedy", ()), "causal": Way("greedy", ())},
    further=dict.fromkeys(_VARIANTS, TEXT_PROMPTS),
)
"""How models are asked about held-out texts, which is done if a variant of them is named."""


def partition_of(corpus: str, window: str) -> str:
    """Return the partition of the texts of a corpus in a window (YYYY-MM-DD)."""
    return f"{corpus}.{window}"


def parts_of(partition: str) -> tuple[str, str]:
    """Return corpus and window (YYYY-MM-DD) of a partition."""
    corpus, _, window = partition.rpartition(".")
    return corpus, window


ROOM = Room("corpora", (DATED_TEXTS,), (CORPUS_YEARS, TEXT_PROMPTS), "tempkb.models.corpora.steps")
