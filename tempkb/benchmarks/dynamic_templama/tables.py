"""Tables of the room: queries by window, what changed between windows, and how many tokens answers have."""

from tempkb.benchmarks.fact_queries.tables import (
    GRANULARITY,
    OBJECT,
    QUERY_COLUMNS,
    QUERY_RULES,
    RELATION,
    RELEASE,
    SUBJECT,
    WINDOW,
)
from tempkb.dumps.tables import DUMP_ID, WIKI
from tempkb.store.tables import Column, Family, Rule, Table
from tempkb.store.types import DATE, INT32, STRING, list_of

_OF_WINDOW = "release and window"
_CHANGES = "'unchanged', 'updated', 'new', 'deleted', 'undatable'"
_ROLES = "'arriving', 'leaving'"
ARRIVALS = "role IS DISTINCT FROM 'leaving'"
"""SQL condition that counts an update once: of its two rows that of the object that arrives."""
_DETAILS = "'extended', 'reduced', 'replaced', 'appeared', 'vanished', 'returning'"

DYNAMIC_TEMPLAMA_QUERIES = Table(
    name="dynamic_templama_queries",
    meaning="DynamicTempLAMA: for each subject, relation and window the question and all its answers.",
    columns=QUERY_COLUMNS,
    key=("query_id",),
    family=Family.RELEASE,
    partitioned_by=_OF_WINDOW,
    partition_columns=("release", "window_start"),
    rules=QUERY_RULES,
    code_version="2",
)

DYNAMIC_TEMPLAMA_CHANGES = Table(
    name="dynamic_templama_changes",
    meaning="What became of each answer from one window to the next, by subject, relation and object.",
    columns=(
        WIKI,
        DUMP_ID,
        RELEASE,
        WINDOW,
        SUBJECT,
        RELATION,
        OBJECT,
        Column("change", STRING, "unchanged, updated, new, deleted; undatable: the causing date is too coarse"),
        Column(
            "change_detail",
            STRING,
            "what became of all answers of the question: extended, reduced, replaced, appeared, vanished; returning: "
            "the object had been one before; or null",
        ),
        Column(
            "role",
            STRING,
            "of an update by the rule handover: arriving, or leaving; an update is counted by its arriving row",
        ),
        Column("paired_object_id", STRING, "the object that an updated one took over from, or gave way to"),
        Column(
            "paired_window_start",
            DATE,
            "first day of the window in which the paired object has its row; before or after the study it has none",
        ),
        Column("previous_object_ids", list_of(STRING), "all answers of the window before, by their numbers"),
        GRANULARITY,
        Column("n_times", INT32, "how often it counts: once, but by the released rule as often as it is listed"),
    ),
    key=("subject_id", "relation", "object_id"),
    family=Family.RELEASE,
    partitioned_by=_OF_WINDOW,
    partition_columns=("release", "window_start"),
    rules=(
        Rule(
            "known_words",
            "changes and details are known ones",
            f"change NOT IN ({_CHANGES}) OR change_detail NOT IN ({_DETAILS}) OR role NOT IN ({_ROLES})",
        ),
        Rule(
            "pairs_are_whole",
            "a role, a paired object and its window are there together, and of an update only",
            "(role IS NULL) <> (paired_object_id IS NULL) OR (role IS NULL) <> (paired_window_start IS NULL) "
            "OR (role IS NOT NULL AND change <> 'updated') OR paired_object_id = object_id",
        ),
    ),
    code_version="2",
)

ANSWER_TOKENS = Table(
    name="answer_tokens",
    meaning="How many tokens the answers of a release have, by tokenizer: models fill a mask per token.",
    columns=(
        WIKI,
        DUMP_ID,
        RELEASE,
        Column("tokenizer", STRING, "name of the tokenizer: of its file or of the folder it lies in"),
        Column("tokenizer_sha256", STRING, "hash of the tokenizer's file"),
        OBJECT,
        Column("label", STRING, "the answer's name"),
        Column("n_tokens", INT32, "its tokens, with a blank before it, as within a sentence"),
    ),
    key=("tokenizer", "object_id"),
    family=Family.RELEASE,
    partitioned_by="release",
    partition_columns=("release",),
)

TABLES = (DYNAMIC_TEMPLAMA_QUERIES, DYNAMIC_TEMPLAMA_CHANGES, ANSWER_TOKENS)
