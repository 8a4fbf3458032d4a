"""Declares the tables that both benchmarks of facts share: releases, subjects and spells; and columns of queries."""

from collections.abc import Mapping
from functools import partial

from tempkb.benchmarks.prompting import prompts_table
from tempkb.store.columns import columns, rules
from tempkb.store.tables import Family, Table, table_of_releases
from tempkb.store.types import DATE, INT16, INT32, STRING, list_of, struct_of

ANSWER = struct_of(("entity_id", STRING), ("label", STRING), ("aliases", list_of(STRING)))
DATED_ANSWER = struct_of(*ANSWER.fields, ("answer_age_days", INT32))
MEMBER = struct_of(("fact_id", STRING), ("interval_no", INT16), ("certain_from", DATE), ("certain_to", DATE))
_SPLITS = "'train', 'val', 'test'"

table_of_release_windows = partial(
    Table, family=Family.RELEASE, partitioned_by="release and window", partition_columns=("release", "window_start")
)

columns_of_facts = columns.with_types(ANSWER=ANSWER, DATED_ANSWER=DATED_ANSWER, MEMBER=MEMBER).extended("""
    window_start DATE: first day of the window
    granularity VARCHAR: length of the release's windows: week, month, quarter or year
    split VARCHAR: train, val or test; it depends only on the subject, so that no subject is in two
""")

FACT_RELEASES = table_of_releases(
    name="fact_releases",
    meaning="Releases of TempLAMA and DynamicTempLAMA with their designs.",
    columns=columns_of_facts("""
        wiki, release
        benchmark VARCHAR: templama or dynamic_templama
        preset, granularity
        study_from DATE: first day of the first window
        study_to DATE: first day after the last window
        dump_ids VARCHAR[]: Wikidata dump from which the release was made
        dump_date DATE: day of that dump
        design VARCHAR: the design as JSON, with the templates of all relations
    """),
    key=("release",),
)

FACT_SUBJECTS = table_of_releases(
    name="fact_subjects",
    meaning="The subjects of a release, by relation: the most popular ones of those with several objects.",
    columns=columns_of_facts("""
        wiki, dump_id, release, relation, subject_id
        label VARCHAR: name of the subject
        asked_as VARCHAR: its name in the queries; the title of its page if the name is ambiguous
        is_ambiguous BOOLEAN: true if another subject of the relation has the same name
        popularity BIGINT: number of its statements, site links or inlinks, as the design says
        popularity_rank INTEGER: rank among the relation's subjects; 1 is the most popular, ties by item number
        n_objects INTEGER: number of its objects in the study
        split
    """),
    key=("relation", "subject_id"),
    rules=rules(f"""
        known_split: the split is train, val or test
            split NOT IN ({_SPLITS})
    """),
)

FACT_SPELLS = table_of_releases(
    name="fact_spells",
    meaning="When a subject had an object, by validity interval: overlapping and adjacent facts are joined, gaps stay.",
    columns=columns_of_facts("""
        wiki, dump_id, release, subject_id, relation, object_id
        spell_no SMALLINT: number of the validity interval among those of the object, from 1
        answer_order INTEGER: position among all of subject and relation, which orders the answers
        object_label VARCHAR: name of the object
        object_aliases VARCHAR[]: other names of the object, if the design includes them
        valid_from, valid_to, start_precision, end_precision
        start_kind VARCHAR: kind of the start, as in facts
        end_kind VARCHAR: kind of the end, as in facts; subject_ended if the end of the subject itself closed it,
            open_too_long if the design's max_open_years did
        object_statements INTEGER: number of statements about the object in the dump, for most_frequent_answer
        members MEMBER[]: the joined statements, each with the days on which it is certain
    """),
    key=("subject_id", "relation", "object_id", "spell_no"),
    code_version="3",
    rules=rules("""
        is_forward: a validity interval ends after it begins
            valid_to <= valid_from AND end_kind <> 'released'
    """),
)

QUERY_COLUMNS = columns_of_facts("""
    wiki, dump_id, release, window_start
    query_id VARCHAR: subject, relation and date, as in the released files; with a number from template 2 on
    template_no SMALLINT: number of the relation's template, from 1
    subject_id, relation
    date VARCHAR: label of the window: 2019, 2019-Q1, 2019-01 or 2019-W01
    query
    answers DATED_ANSWER[]: all objects that hold in the window, in the order of their starts; answer_age_days: days
        from the first possible day of its validity to the window's first day, 0 if it begins later, null if the start
        is not known
    split, granularity, is_provisional
""")
"""Columns of `templama_queries` and `dynamic_templama_queries`."""

QUERY_RULES = rules(f"""
    is_a_question: a query has one _X_, and one or more answers
        len(answers) = 0 OR len(string_split(query, '_X_')) <> 2
    known_split: the split is train, val or test
        split NOT IN ({_SPLITS})
""")

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
        item=f"query_id of the query; <query_id>@<date> of variant dates{further_items}",
        target="Wikidata item (QID) of the object that is asked for",
        variants=variants,
        window="first day of the window",
        cluster="the query's subject",
        declare=partial(table_of_release_windows, code_version="2"),
    )
