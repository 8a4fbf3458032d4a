"""Declares the tables of DynamicTempLAMA: queries by window, changes between windows, and tokens of answers."""

from tempkb.benchmarks.fact_queries.prompts import VARIANTS
from tempkb.benchmarks.fact_queries.tables import (
    columns_of_facts,
    fact_prompts_table,
    queries_table,
    table_of_release_windows,
)
from tempkb.store.columns import rules
from tempkb.store.tables import table_of_releases

_CHANGES = "'unchanged', 'updated', 'new', 'deleted', 'undatable'"
_ROLES = "'arriving', 'leaving'"
ARRIVALS = "role IS DISTINCT FROM 'leaving'"
"""SQL condition that counts an update once: of its two rows, the one of the arriving object."""
_DETAILS = "'extended', 'reduced', 'replaced', 'appeared', 'vanished', 'returning'"

DYNAMIC_TEMPLAMA_QUERIES = queries_table(
    "dynamic_templama_queries",
    "The queries of DynamicTempLAMA: one for each subject, relation and window, with all its answers.",
)

DYNAMIC_TEMPLAMA_CHANGES = table_of_release_windows(
    name="dynamic_templama_changes",
    meaning="How each answer changed from the window before, by subject, relation and object.",
    columns=columns_of_facts("""
        wiki, dump_id, release, window_start, subject_id, relation, object_id
        change VARCHAR: unchanged, updated, new or deleted; undatable if the date of the change is too coarse
        change_detail VARCHAR: how the set of the query's answers changed: extended, reduced, replaced, appeared or
            vanished; returning if the object was an answer before; or null
        role VARCHAR: arriving or leaving, for an update by the rule handover; an update is counted by its arriving row
        paired_object_id VARCHAR: the object that this one replaced, or by which it was replaced
        paired_window_start DATE: first day of the window with the paired object's row; outside the study there is no
            such row
        previous_object_ids VARCHAR[]: all answers in the window before, in the order of their item numbers
        granularity
        n_times INTEGER: how often the row counts: once, or by the released rule as often as it is listed
    """),
    key=("subject_id", "relation", "object_id"),
    rules=rules(f"""
        known_words: changes, details and roles have known values
            change NOT IN ({_CHANGES}) OR change_detail NOT IN ({_DETAILS}) OR role NOT IN ({_ROLES})
        pairs_are_whole: only an update has a role, and a role has a paired object and its window
            (role IS NULL) <> (paired_object_id IS NULL) OR (role IS NULL) <> (paired_window_start IS NULL)
            OR (role IS NOT NULL AND change <> 'updated') OR paired_object_id = object_id
    """),
    code_version="2",
)

ANSWER_TOKENS = table_of_releases(
    name="answer_tokens",
    meaning="The number of tokens of a release's answers, by tokenizer. A masked language model fills one mask per "
    "token.",
    columns=columns_of_facts("""
        wiki, dump_id, release
        tokenizer VARCHAR: name of the tokenizer: that of its file, or of the file's folder
        tokenizer_sha256 VARCHAR: hash of the tokenizer's file
        object_id
        label VARCHAR: name of the answer
        n_tokens INTEGER: number of its tokens after a space, as within a sentence
    """),
    key=("tokenizer", "object_id"),
)

DYNAMIC_TEMPLAMA_PROMPTS = fact_prompts_table("dynamic_templama", "DynamicTempLAMA", VARIANTS)

TABLES = (DYNAMIC_TEMPLAMA_QUERIES, DYNAMIC_TEMPLAMA_CHANGES, DYNAMIC_TEMPLAMA_PROMPTS, ANSWER_TOKENS)
