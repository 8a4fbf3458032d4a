"""Declares the room's tables: entities, facts with dates, origins, classes, and late edits."""

from functools import partial

from tempkb.dumps.tables import DUMP_ID, WIKI
from tempkb.store.tables import Column, Family, Rule, Table
from tempkb.store.types import BOOL, DATE, FLOAT64, INT16, INT32, INT64, STRING, list_of, struct_of

_DUMP_DATE = Column("dump_date", DATE, "day of the Wikidata dump, which contains nothing of this day or later")
_ENTITY = Column("entity_id", STRING, "Wikidata item (QID)")
_FACT = Column("fact_id", STRING, "GUID of the statement")
_SUBJECT = Column("subject_id", STRING, "item that the statement is about")
_RELATION = Column("relation", STRING, "property, such as P54")
_OBJECT = Column("object_id", STRING, "item that the statement names")
_RANK = Column("rank", STRING, "preferred, normal or deprecated")
_PRECISIONS = "'day', 'month', 'year', 'decade', 'century'"
_KINDS = "'value', 'somevalue', 'novalue', 'absent', 'unreadable'"
_KIND = "value (a date), somevalue (unknown), novalue (explicitly none), absent (not given) or unreadable"

_table = partial(Table, family=Family.ENTITIES, partitioned_by="dump", partition_columns=("dump_id",))

LABELS = struct_of(("language", STRING), ("label", STRING), ("aliases", list_of(STRING)))

WIKIDATA_ENTITIES = _table(
    name="wikidata_entities",
    meaning="Items that have a page in the wiki (or all items, by a setting), as a Wikidata dump describes them.",
    columns=(
        WIKI,
        DUMP_ID,
        _DUMP_DATE,
        _ENTITY,
        Column("label", STRING, "name in the wiki's language, or else for all languages (mul); null if there is none"),
        Column("aliases", list_of(STRING), "other names in the wiki's language"),
        Column(
            "labels", list_of(LABELS), "names and aliases by language, for all languages in the setting `languages`"
        ),
        Column("site_title", STRING, "title of its page in the wiki, with namespace; null if it has none"),
        Column("n_site_links", INT32, "number of wikis with a page about it"),
        Column("n_statements", INT32, "number of statements about it, of any rank"),
        Column("ended_from", DATE, "first day on which it may have died or been dissolved; null if not known"),
        Column("ended_to", DATE, "the day after the last such day"),
        Column("ended_precision", STRING, "precision of that date: day, month, year, decade or century"),
        Column("ended_property", STRING, "P570 (date of death) or P576 (dissolved)"),
    ),
    key=("entity_id",),
    code_version="2",
)

FACTS = _table(
    name="facts",
    meaning="Statements with an item as value and with dates: one row for each interval in which a statement holds.",
    columns=(
        WIKI,
        DUMP_ID,
        _DUMP_DATE,
        _FACT,
        Column("interval_no", INT16, "number of the interval within its statement, from 1"),
        _SUBJECT,
        _RELATION,
        _OBJECT,
        Column("valid_from", DATE, "first day on which it may hold; null without a readable start"),
        Column("valid_to", DATE, "first day on which it can no longer hold; null without a readable end"),
        Column("certain_from", DATE, "latest day on which it may begin; null without a readable start"),
        Column("certain_to", DATE, "earliest day on which it may have ended; null without a readable end"),
        Column("start_precision", STRING, "day, month, year, decade or century; null without a readable start"),
        Column("end_precision", STRING, "day, month, year, decade or century; null without a readable end"),
        Column("start_kind", STRING, f"kind of the start: {_KIND}"),
        Column("end_kind", STRING, f"kind of the end: {_KIND}"),
        Column("is_point", BOOL, "true if it has only a point in time (P585), and no start (P580) or end (P582)"),
        _RANK,
    ),
    key=("fact_id", "interval_no"),
    rules=(
        Rule(
            "known_words",
            "kinds, precisions and ranks have known values",
            f"start_kind NOT IN ({_KINDS}) OR end_kind NOT IN ({_KINDS}) OR start_precision NOT IN ({_PRECISIONS}) "
            f"OR end_precision NOT IN ({_PRECISIONS}) OR rank NOT IN ('preferred', 'normal', 'deprecated')",
        ),
        Rule(
            "dates_go_with_kinds",
            "a start or an end has a date if its kind is value, and otherwise none",
            "(start_kind = 'value') <> (valid_from IS NOT NULL) OR (end_kind = 'value') <> (certain_to IS NOT NULL)"
            " OR (start_kind = 'value') <> (start_precision IS NOT NULL)",
        ),
        Rule("possible_is_wider", "what is certain is possible", "certain_from < valid_from OR certain_to > valid_to"),
    ),
    code_version="2",
)

UNDATED_STATEMENTS = _table(
    name="undated_statements",
    meaning="Statements without a date whose subject and relation also have dated ones. They are not in facts.",
    columns=(
        WIKI,
        DUMP_ID,
        _DUMP_DATE,
        _FACT,
        _SUBJECT,
        _RELATION,
        _OBJECT,
        _RANK,
        Column("contradicts", BOOL, "true if no dated statement has this object, so that they contradict it"),
    ),
    key=("fact_id",),
)

ENTITY_ORIGINS = _table(
    name="entity_origins",
    meaning="When items began to exist: the earliest of their dates by ECBD's six properties of origin.",
    columns=(
        WIKI,
        DUMP_ID,
        _DUMP_DATE,
        _ENTITY,
        Column("origin_from", DATE, "first day on which it may have begun; null without a date of the six properties"),
        Column("origin_to", DATE, "the day after the last such day"),
        Column("origin_precision", STRING, "precision of that date: day, month or year"),
        Column("origin_property", STRING, "property of that date: P580, P9448, P6949, P575, P585 or P571"),
        Column("n_candidate_dates", INT32, "number of dates of the six properties, each of its property's best rank"),
        Column("earliest_any_rank_from", DATE, "like origin_from, but with dates of every rank except deprecated"),
        Column("extended_from", DATE, "like origin_from, but with the properties P577, P1619, P619 and P1191 added"),
        Column("extended_to", DATE, "the day after the last such day"),
        Column("extended_precision", STRING, "precision of that date: day, month or year"),
        Column("extended_property", STRING, "property of that date"),
    ),
    key=("entity_id",),
)

ENTITY_CLASSES = _table(
    name="entity_classes",
    meaning="The classes of items (P31), and those classes of the setting `classes` that are above them (P279).",
    columns=(
        WIKI,
        DUMP_ID,
        _DUMP_DATE,
        _ENTITY,
        Column("class_id", STRING, "class that it is an instance of"),
        Column("depth", INT16, "steps of P279 from the nearest of its own classes; 0 for its own classes"),
    ),
    key=("entity_id", "class_id"),
)

SUBCLASSES = _table(
    name="subclasses",
    meaning="The edges of the class tree (P279), of all items: a class and a class directly above it.",
    columns=(
        WIKI,
        DUMP_ID,
        _DUMP_DATE,
        Column("class_id", STRING, "class"),
        Column("above_id", STRING, "class that it is a subclass of"),
    ),
    key=("class_id", "above_id"),
)

LATE_EDITS = _table(
    name="late_edits",
    meaning="For each window and each earlier dump that covers it, the differences between what the two dumps say "
    "about it, together and by relation. Only days within the window are compared.",
    columns=(
        WIKI,
        DUMP_ID,
        _DUMP_DATE,
        Column("window_start", DATE, "first day of the window, which has the home's granularity"),
        Column("window_end", DATE, "first day after it"),
        Column(
            "earlier_dump_date",
            DATE,
            "day of the earlier dump; this dump's own if no earlier one covers the window, which then has one row "
            "without a comparison",
        ),
        Column("relation", STRING, "property of the facts, or all"),
        Column("n_facts_then", INT64, "number of facts that are possible in the window by the earlier dump"),
        Column("n_facts_now", INT64, "number of facts that are possible in the window by this dump"),
        Column("n_added", INT64, "facts in the window by this dump, but not by the earlier one"),
        Column("n_removed", INT64, "facts in the window by the earlier dump, but not by this one"),
        Column(
            "n_changed",
            INT64,
            "facts by both dumps with another object, or with other days in the window",
        ),
        Column("n_absent_then", INT64, "facts of items that the earlier dump lacks, though one before it has them"),
        Column("n_absent_now", INT64, "facts of items that this dump lacks altogether"),
        Column(
            "late_edit_rate",
            FLOAT64,
            "share that was added, removed or changed, of the facts by either dump whose items both have; or null",
        ),
        Column("reason", STRING, "why there is no rate; null if there is one"),
        Column("is_provisional", BOOL, "true if the dump is less than 90 days past the window's end"),
    ),
    key=("window_start", "earlier_dump_date", "relation"),
    code_version="3",
)

TABLES = (WIKIDATA_ENTITIES, FACTS, UNDATED_STATEMENTS, ENTITY_ORIGINS, ENTITY_CLASSES, SUBCLASSES, LATE_EDITS)
