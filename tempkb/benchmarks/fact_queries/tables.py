"""Declares the tables that both benchmarks of facts share: releases, subjects and spells; and columns of queries."""

from collections.abc import Mapping
from functools import partial

from tempkb.benchmarks.prompting import prompts_table
from tempkb.dumps.tables import DUMP_ID, WIKI
from tempkb.store.tables import Column, Family, Rule, Table, table_of_releases
from tempkb.store.types import BOOL, DATE, INT16, INT32, INT64, STRING, list_of, struct_of

RELEASE = Column("release", STRING, "name of the release")
WINDOW = Column("window_start", DATE, "first day of the window")
SUBJECT = Column("subject_id", STRING, "Wikidata item (QID) of the query's subject")
RELATION = Column("relation", STRING, "Wikidata property of the query, such as P54")
OBJECT = Column("object_id", STRING, "Wikidata item (QID) of an answer")
GRANULARITY = Column("granularity", STRING, "length of the release's windows: week, month, quarter or year")
SPLIT = Column("split", STRING, "train, val or test; it depends only on the subject, so that no subject is in two")

ANSWER = struct_of(("entity_id", STRING), ("label", STRING), ("aliases", list_of(STRING)))
DATED_ANSWER = struct_of(*ANSWER.fields, ("answer_age_days", INT32))
MEMBER = struct_of(("fact_id", STRING), ("interval_no", INT16), ("certain_from", DATE), ("certain_to", DATE))
_SPLITS = "'train', 'val', 'test'"

table_of_release_windows = partial(
    Table, family=Family.RELEASE, partitioned_by="release and window", partition_columns=("release", "window_start")
)

FACT_RELEASES = table_of_releases(
    name="fact_releases",
    meaning="Releases of TempLAMA and DynamicTempLAMA with their designs.",
    columns=(
        WIKI,
        RELEASE,
        Column("benchmark", STRING, "templama or dynamic_templama"),
        Column("preset", STRING, "preset from which the design was made"),
        GRANULARITY,
        Column("study_from", DATE, "first day of the first window"),
        Column("study_to", DATE, "first day after the last window"),
        Column("dump_ids", list_of(STRING), "Wikidata dump from which the release was made"),
        Column("dump_date", DATE, "day of that dump"),
        Column("design", STRING, "the design as JSON, with the templates of all relations"),
    ),
    key=("release",),
)

FACT_SUBJECTS = table_of_releases(
    name="fact_subjects",
    meaning="The subjects of a release, by relation: the most popular ones of those with several objects.",
    columns=(
        WIKI,
        DUMP_ID,
        RELEASE,
        RELATION,
        SUBJECT,
        Column("label", STRING, "name of the subject"),
        Column("asked_as", STRING, "its name in the queries; the title of its page if the name is ambiguous"),
        Column("is_ambiguous", BOOL, "true if another subject of the relation has the same name"),
        Column("popularity", INT64, "number of its statements, site links or inlinks, as the design says"),
        Column(
            "popularity_rank", INT32, "rank among the relation's subjects; 1 is the most popular, ties by item number"
        ),
        Column("n_objects", INT32, "number of its objects in the study"),
        SPLIT,
    ),
    key=("relation", "subject_id"),
    rules=(Rule("known_split", "the split is train, val or test", f"split NOT IN ({_SPLITS})"),),
)

FACT_SPELLS = table_of_releases(
    name="fact_spells",
    meaning="The spells in which a subject had an object: overlapping and adjacent facts are joined, gaps are kept.",
    columns=(
        WIKI,
        DUMP_ID,
        RELEASE,
        SUBJECT,
        RELATION,
        OBJECT,
        Column("spell_no", INT16, "number of the spell among the object's spells, from 1"),
        Column("answer_order", INT32, "position among the spells of subject and relation, which orders the answers"),
        Column("object_label", STRING, "name of the object"),
        Column("object_aliases", list_of(STRING), "other names of the object, if the design includes them"),
        Column("valid_from", DATE, "first day on which it may hold; null if the start is not known"),
        Column("valid_to", DATE, "first day on which it can no longer hold; null if the end is not known"),
        Column("start_precision", STRING, "precision of the start; null without one"),
        Column("end_precision", STRING, "precision of the end; null without one"),
        Column("start_kind", STRING, "kind of the start, as in facts"),
        Column(
            "end_kind",
            STRING,
            "kind of the end, as in facts; subject_ended if the end of the subject itself closed it, "
            "open_too_long if the design's max_open_years did",
        ),
        Column(
            "object_statements", INT32, "number of statements about the object in the dump, for most_frequent_answer"
        ),
        Column("members", list_of(MEMBER), "the joined statements, each with the days on which it is certain"),
    ),
    key=("subject_id", "relation", "object_id", "spell_no"),
    code_version="3",
    rules=(Rule("is_forward", "a spell ends after it begins", "valid_to <= valid_from AND end_kind <> 'released'"),),
)

QUERY_COLUMNS = (
    WIKI,
    DUMP_ID,
    RELEASE,
    WINDOW,
    Column(
        "query_id", STRING, "subject, relation and date, as in the released files; with a number from template 2 on"
    ),
    Column("template_no", INT16, "number of the relation's template, from 1"),
    SUBJECT,
    RELATION,
    Column("date", STRING, "label of the window: 2019, 2019-Q1, 2019-01 or 2019-W01"),
    Column("query", STRING, "text of the query, with _X_ in place of the answer"),
    Column(
        "answers",
        list_of(DATED_ANSWER),
        "all objects that hold in the window, in the order of their starts; answer_age_days: days from the first "
        "possible day of the spell to the window's first day, 0 if it begins later, null if the start is not known",
    ),
    SPLIT,
    GRANULARITY,
    Column("is_provisional", BOOL, "true if the dump is less than 90 days past the window's end"),
)
"""Columns of `templama_queries` and `dynamic_templama_queries`."""

QUERY_RULES = (
    Rule(
        "is_a_question",
        "a query has one _X_, and one or more answers",
        "len(answers) = 0 OR len(string_split(query, '_X_')) <> 2",
    ),
    Rule("known_split", "the split is train, val or test", f"split NOT IN ({_SPLITS})"),
)

TABLES = (FACT_RELEASES, FACT_SUBJECTS, FACT_SPELLS)


def queries_table(name: str, meaning: str) -> Table:
    """Declare the table of the queries of a benchmark of facts."""
    return table_of_release_windows(
        name=name, meaning=meaning, columns=QUERY_COLUMNS, key=("query_id",), rules=QUERY_RULES, code_version="2"
    )


def fact_prompts_table(benchmark: str, title: str, variants: Mapping[str, str], further_items: str = "") -> Table:
    """Declare the table of the prompts of a benchmark of facts.

    Args:
        further_items: what else `item_id` may be, in words.
    """
    return prompts_table(
        benchmark,
        title,
        RELEASE,
        item=f"query_id of the query; <query_id>@<date> of variant dates{further_items}",
        target="Wikidata item (QID) of the object that is asked for",
        variants=variants,
        window="first day of the window",
        cluster="the query's subject",
        partitioned_by="release and window",
        partition_columns=("release", "window_start"),
        code_version="2",
    )
