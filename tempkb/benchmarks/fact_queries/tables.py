"""Tables that both benchmarks of facts share: releases, chosen subjects, spells; and the columns of their queries."""

from tempkb.dumps.tables import DUMP_ID, WIKI
from tempkb.store.tables import Column, Family, Rule, Table
from tempkb.store.types import BOOL, DATE, INT16, INT32, INT64, STRING, list_of, struct_of

RELEASE = Column("release", STRING, "name of the release")
WINDOW = Column("window_start", DATE, "first day of the window")
SUBJECT = Column("subject_id", STRING, "item that is asked about")
RELATION = Column("relation", STRING, "property that is asked for, such as P54")
OBJECT = Column("object_id", STRING, "item that answers")
GRANULARITY = Column("granularity", STRING, "how long the release's windows are: week, month, quarter or year")
SPLIT = Column("split", STRING, "train, val or test: by the subject alone, so that no subject is in two")

ANSWER = struct_of(("entity_id", STRING), ("label", STRING), ("aliases", list_of(STRING)))
DATED_ANSWER = struct_of(*ANSWER.fields, ("answer_age_days", INT32))
MEMBER = struct_of(("fact_id", STRING), ("interval_no", INT16), ("certain_from", DATE), ("certain_to", DATE))
_SPLITS = "'train', 'val', 'test'"

FACT_RELEASES = Table(
    name="fact_releases",
    meaning="Releases of TempLAMA and DynamicTempLAMA with their designs.",
    columns=(
        WIKI,
        RELEASE,
        Column("benchmark", STRING, "templama or dynamic_templama"),
        Column("preset", STRING, "preset the design began with"),
        GRANULARITY,
        Column("study_from", DATE, "first day of the first window"),
        Column("study_to", DATE, "first day after the last window"),
        Column("dump_ids", list_of(STRING), "Wikidata dump the release is made from"),
        Column("dump_date", DATE, "its day"),
        Column("design", STRING, "the design as JSON, wordings of all relations included"),
    ),
    key=("release",),
    family=Family.RELEASE,
    partitioned_by="release",
    partition_columns=("release",),
)

FACT_SUBJECTS = Table(
    name="fact_subjects",
    meaning="Subjects that a release asks about, by relation: the most popular of those with several objects.",
    columns=(
        WIKI,
        DUMP_ID,
        RELEASE,
        RELATION,
        SUBJECT,
        Column("label", STRING, "its name"),
        Column("asked_as", STRING, "its name in the queries: the title of its page where the name is ambiguous"),
        Column("is_ambiguous", BOOL, "has another subject of the relation the same name?"),
        Column("popularity", INT64, "statements, site links or inlinks, by the design"),
        Column("popularity_rank", INT32, "place among the relation's subjects, 1 the most popular; ties by number"),
        Column("n_objects", INT32, "objects it has had in the study"),
        SPLIT,
    ),
    key=("relation", "subject_id"),
    family=Family.RELEASE,
    partitioned_by="release",
    partition_columns=("release",),
    rules=(Rule("known_split", "the split is train, val or test", f"split NOT IN ({_SPLITS})"),),
)

FACT_SPELLS = Table(
    name="fact_spells",
    meaning="When each object of a chosen subject was its object: overlapping and adjacent facts joined, gaps kept.",
    columns=(
        WIKI,
        DUMP_ID,
        RELEASE,
        SUBJECT,
        RELATION,
        OBJECT,
        Column("spell_no", INT16, "which of the object's spells, from 1"),
        Column("answer_order", INT32, "place among the spells of subject and relation: the order of answers"),
        Column("object_label", STRING, "the object's name"),
        Column("object_aliases", list_of(STRING), "its other names, if the design asks for them"),
        Column("valid_from", DATE, "first day on which it may hold; null: nobody knows since when"),
        Column("valid_to", DATE, "first day on which it can no longer hold; null: no end is known"),
        Column("start_precision", STRING, "how exactly the start is known; null without one"),
        Column("end_precision", STRING, "the same of the end"),
        Column("start_kind", STRING, "kind of the start, as in facts"),
        Column(
            "end_kind",
            STRING,
            "kind of the end, as in facts; subject_ended where the subject's own end closed it, "
            "open_too_long where the design's max_open_years did",
        ),
        Column("members", list_of(MEMBER), "statements that are joined, each with the days on which it is certain"),
    ),
    key=("subject_id", "relation", "object_id", "spell_no"),
    family=Family.RELEASE,
    partitioned_by="release",
    partition_columns=("release",),
    code_version="2",
    rules=(Rule("is_forward", "a spell ends after it begins", "valid_to <= valid_from AND end_kind <> 'released'"),),
)

QUERY_COLUMNS = (
    WIKI,
    DUMP_ID,
    RELEASE,
    WINDOW,
    Column("query_id", STRING, "subject, relation and date, as in the released files; further wordings have a number"),
    Column("template_no", INT16, "which wording of the relation, from 1"),
    SUBJECT,
    RELATION,
    Column("date", STRING, "the window as people write it: 2019, 2019-Q1, 2019-01 or 2019-W01"),
    Column("query", STRING, "the question: _X_ stands for the answer"),
    Column(
        "answers",
        list_of(DATED_ANSWER),
        "all objects that hold in the window, by when they began; answer_age_days: days "
        "from the first possible day of the spell to the window's first, 0 if it begins later; null: start not known",
    ),
    SPLIT,
    GRANULARITY,
    Column("is_provisional", BOOL, "does the dump reach less than 90 days past the window's end?"),
)
"""Columns of `templama_queries` and `dynamic_templama_queries`."""

QUERY_RULES = (
    Rule(
        "is_a_question",
        "a query has one blank and one answer or more",
        "len(answers) = 0 OR len(string_split(query, '_X_')) <> 2",
    ),
    Rule("known_split", "the split is train, val or test", f"split NOT IN ({_SPLITS})"),
)

TABLES = (FACT_RELEASES, FACT_SUBJECTS, FACT_SPELLS)
