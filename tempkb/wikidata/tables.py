"""Tables of the room: entities, facts in time, origins, classes, and how much of a window is entered late."""

from tempkb.dumps.tables import DUMP_ID, WIKI
from tempkb.store.tables import Column, Family, Rule, Table
from tempkb.store.types import BOOL, DATE, FLOAT64, INT16, INT32, INT64, STRING, list_of, struct_of

_DUMP_DATE = Column("dump_date", DATE, "day of the Wikidata dump: the first day it knows nothing of")
_ENTITY = Column("entity_id", STRING, "Wikidata item (QID)")
_FACT = Column("fact_id", STRING, "GUID of the statement")
_SUBJECT = Column("subject_id", STRING, "item that the statement is about")
_RELATION = Column("relation", STRING, "property, such as P54")
_OBJECT = Column("object_id", STRING, "item that the statement names")
_RANK = Column("rank", STRING, "preferred, normal or deprecated")
_PRECISIONS = "'day', 'month', 'year', 'decade', 'century'"
_KINDS = "'value', 'somevalue', 'novalue', 'absent', 'unreadable'"
_KIND = "value, somevalue (not known), novalue (there is none), absent (nothing is said) or unreadable"

LABELS = struct_of(("language", STRING), ("label", STRING), ("aliases", list_of(STRING)))

WIKIDATA_ENTITIES = Table(
    name="wikidata_entities",
    meaning="Items with a page in the wiki (or all, by setting), as a Wikidata dump describes them.",
    columns=(
        WIKI,
        DUMP_ID,
        _DUMP_DATE,
        _ENTITY,
        Column("label", STRING, "name in the wiki's language, else the one for all languages (mul); null: none"),
        Column("aliases", list_of(STRING), "other names in the wiki's language"),
        Column("labels", list_of(LABELS), "names in every language that the setting `languages` asks for"),
        Column("site_title", STRING, "title of its page in the wiki, with namespace; null when it has none"),
        Column("n_site_links", INT32, "wikis that have a page about it"),
        Column("n_statements", INT32, "statements about it, of any rank"),
        Column("ended_from", DATE, "first day on which it may have died or been dissolved; null: not told"),
        Column("ended_to", DATE, "the day after the last such day"),
        Column("ended_precision", STRING, "how exactly that is known: day, month, year, decade or century"),
        Column("ended_property", STRING, "P570 (date of death) or P576 (dissolved)"),
    ),
    key=("entity_id",),
    family=Family.ENTITIES,
    partitioned_by="dump",
    partition_columns=("dump_id",),
)

FACTS = Table(
    name="facts",
    meaning="Statements that name an item and say when they hold: one row per stretch of time.",
    columns=(
        WIKI,
        DUMP_ID,
        _DUMP_DATE,
        _FACT,
        Column("interval_no", INT16, "which of the statement's stretches, from 1"),
        _SUBJECT,
        _RELATION,
        _OBJECT,
        Column("valid_from", DATE, "first day on which it may hold; null without a readable start"),
        Column("valid_to", DATE, "first day on which it can no longer hold; null without a readable end"),
        Column("certain_from", DATE, "latest day on which it may begin; null without a readable start"),
        Column("certain_to", DATE, "earliest day on which it may have ended; null without a readable end"),
        Column("start_precision", STRING, "day, month, year, decade or century; null without a readable start"),
        Column("end_precision", STRING, "the same of the end"),
        Column("start_kind", STRING, _KIND),
        Column("end_kind", STRING, _KIND),
        Column("is_point", BOOL, "told by a point in time (P585) only, not by a start (P580) or an end (P582)?"),
        _RANK,
    ),
    key=("fact_id", "interval_no"),
    family=Family.ENTITIES,
    partitioned_by="dump",
    partition_columns=("dump_id",),
    rules=(
        Rule(
            "known_words",
            "kinds, precisions and ranks are known ones",
            f"start_kind NOT IN ({_KINDS}) OR end_kind NOT IN ({_KINDS}) OR start_precision NOT IN ({_PRECISIONS}) "
            f"OR end_precision NOT IN ({_PRECISIONS}) OR rank NOT IN ('preferred', 'normal', 'deprecated')",
        ),
        Rule(
            "dates_go_with_kinds",
            "there is a start where its kind is value, and only there",
            "(start_kind = 'value') <> (valid_from IS NOT NULL) OR (end_kind = 'value') <> (certain_to IS NOT NULL)"
            " OR (start_kind = 'value') <> (start_precision IS NOT NULL)",
        ),
        Rule("possible_is_wider", "what is certain is possible", "certain_from < valid_from OR certain_to > valid_to"),
    ),
)

UNDATED_STATEMENTS = Table(
    name="undated_statements",
    meaning="Statements without a date, of subjects and relations that have dated ones: no facts, but told.",
    columns=(
        WIKI,
        DUMP_ID,
        _DUMP_DATE,
        _FACT,
        _SUBJECT,
        _RELATION,
        _OBJECT,
        _RANK,
        Column("contradicts", BOOL, "is its object in none of the dated statements, so that both cannot hold?"),
    ),
    key=("fact_id",),
    family=Family.ENTITIES,
    partitioned_by="dump",
    partition_columns=("dump_id",),
)

ENTITY_ORIGINS = Table(
    name="entity_origins",
    meaning="When items came into the world: the earliest of their dates of beginning, by ECBD's six properties.",
    columns=(
        WIKI,
        DUMP_ID,
        _DUMP_DATE,
        _ENTITY,
        Column("origin_from", DATE, "first day on which it may have begun; null: none of the six is given"),
        Column("origin_to", DATE, "the day after the last such day"),
        Column("origin_precision", STRING, "how exactly that is known: day, month or year"),
        Column("origin_property", STRING, "P580, P9448, P6949, P575, P585 or P571: which one tells"),
        Column("n_candidate_dates", INT32, "dates of the six properties, of the best rank each"),
        Column("earliest_any_rank_from", DATE, "the same with every rank but deprecated: first possible day"),
        Column("extended_from", DATE, "the same as origin_from with P577, P1619, P619 and P1191 as well"),
        Column("extended_to", DATE, "the day after the last such day"),
        Column("extended_precision", STRING, "how exactly that is known"),
        Column("extended_property", STRING, "which property tells"),
    ),
    key=("entity_id",),
    family=Family.ENTITIES,
    partitioned_by="dump",
    partition_columns=("dump_id",),
)

ENTITY_CLASSES = Table(
    name="entity_classes",
    meaning="What items are: their classes (P31), and those of the classes asked for that these are below (P279).",
    columns=(
        WIKI,
        DUMP_ID,
        _DUMP_DATE,
        _ENTITY,
        Column("class_id", STRING, "class that it is an instance of"),
        Column("depth", INT16, "steps of P279 from the nearest of its own classes; 0: said of it directly"),
    ),
    key=("entity_id", "class_id"),
    family=Family.ENTITIES,
    partitioned_by="dump",
    partition_columns=("dump_id",),
)

SUBCLASSES = Table(
    name="subclasses",
    meaning="Which class lies directly below which (P279), of all items, so that any table of classes can be closed.",
    columns=(
        WIKI,
        DUMP_ID,
        _DUMP_DATE,
        Column("class_id", STRING, "class"),
        Column("above_id", STRING, "class that it is a subclass of"),
    ),
    key=("class_id", "above_id"),
    family=Family.ENTITIES,
    partitioned_by="dump",
    partition_columns=("dump_id",),
)

LATE_EDITS = Table(
    name="late_edits",
    meaning="For each window, how much of what a dump knows of it the first dump after the window did not know; "
    "what lies outside the window is not compared.",
    columns=(
        WIKI,
        DUMP_ID,
        _DUMP_DATE,
        Column("window_start", DATE, "first day of the window (the home's granularity)"),
        Column("window_end", DATE, "first day after it"),
        Column("first_dump_date", DATE, "day of the first dump read that reaches to the window's end"),
        Column("n_facts_then", INT64, "facts possible in the window, by that dump"),
        Column("n_facts_now", INT64, "facts possible in the window, by this dump"),
        Column("n_added", INT64, "of those now, statements that the first dump did not have in the window"),
        Column("n_removed", INT64, "of those then, statements that this dump does not have in it"),
        Column(
            "n_changed",
            INT64,
            "stretches in both that name another object, or whose days within the window changed",
        ),
        Column("late_edit_rate", FLOAT64, "added, removed and changed ones as a share of those then and now"),
        Column("is_provisional", BOOL, "does the dump reach less than 90 days past the window's end?"),
    ),
    key=("window_start",),
    family=Family.ENTITIES,
    partitioned_by="dump",
    partition_columns=("dump_id",),
    code_version="2",
)

TABLES = (WIKIDATA_ENTITIES, FACTS, UNDATED_STATEMENTS, ENTITY_ORIGINS, ENTITY_CLASSES, SUBCLASSES, LATE_EDITS)
