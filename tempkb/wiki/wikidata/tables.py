"""Declares the room's tables: entities, facts with dates, origins, classes, and late edits."""

from functools import partial

from tempkb.store.columns import columns, rules
from tempkb.store.tables import Family, Table
from tempkb.store.types import STRING, list_of, struct_of

_PRECISIONS = "'day', 'month', 'year', 'decade', 'century'"
_KINDS = "'value', 'somevalue', 'novalue', 'absent', 'unreadable'"
_KIND = "value (a date), somevalue (unknown), novalue (explicitly none), absent (not given) or unreadable"

_table = partial(Table, family=Family.ENTITIES, partitioned_by="dump", partition_columns=("dump_id",))

LABELS = struct_of(("language", STRING), ("label", STRING), ("aliases", list_of(STRING)))

_columns = columns.with_types(LABELS=LABELS).extended("""
    dump_date DATE: day of the Wikidata dump, which contains nothing of this day or later
    entity_id VARCHAR: Wikidata item (QID)
    fact_id VARCHAR: GUID of the statement
    rank VARCHAR: preferred, normal or deprecated
""")

WIKIDATA_ENTITIES = _table(
    name="wikidata_entities",
    meaning="Items that have a page in the wiki (or all items, by a setting), as a Wikidata dump describes them.",
    columns=_columns("""
        wiki, dump_id, dump_date, entity_id
        label VARCHAR: name in the wiki's language, or else for all languages (mul); null if there is none
        aliases VARCHAR[]: other names in the wiki's language
        labels LABELS[]: names and aliases by language, for all languages in the setting `languages`
        site_title VARCHAR: title of its page in the wiki, with namespace; null if it has none
        n_site_links INTEGER: number of wikis with a page about it
        n_statements INTEGER: number of statements about it, of any rank
        ended_from DATE: first day on which it may have died or been dissolved; null if not known
        ended_to DATE: the day after the last such day
        ended_precision VARCHAR: precision of that date: day, month, year, decade or century
        ended_property VARCHAR: P570 (date of death) or P576 (dissolved)
    """),
    key=("entity_id",),
    code_version="2",
)

FACTS = _table(
    name="facts",
    meaning="Statements with an item as value and with dates: one row for each interval in which a statement holds.",
    columns=_columns(f"""
        wiki, dump_id, dump_date, fact_id
        interval_no SMALLINT: number of the interval within its statement, from 1
        subject_id, relation, object_id, valid_from, valid_to
        certain_from DATE: latest day on which it may begin; null if the start is not known
        certain_to DATE: earliest day on which it may have ended; null if the end is not known
        start_precision, end_precision
        start_kind VARCHAR: kind of the start: {_KIND}
        end_kind VARCHAR: kind of the end: {_KIND}
        is_point BOOLEAN: true if it has only a point in time (P585), and no start (P580) or end (P582)
        rank
    """),
    key=("fact_id", "interval_no"),
    rules=rules(f"""
        known_words: kinds, precisions and ranks have known values
            start_kind NOT IN ({_KINDS}) OR end_kind NOT IN ({_KINDS}) OR start_precision NOT IN ({_PRECISIONS})
            OR end_precision NOT IN ({_PRECISIONS}) OR rank NOT IN ('preferred', 'normal', 'deprecated')
        dates_go_with_kinds: a start or an end has a date if its kind is value, and otherwise none
            (start_kind = 'value') <> (valid_from IS NOT NULL) OR (end_kind = 'value') <> (certain_to IS NOT NULL)
            OR (start_kind = 'value') <> (start_precision IS NOT NULL)
        possible_is_wider: what is certain is possible
            certain_from < valid_from OR certain_to > valid_to
    """),
    code_version="2",
)

UNDATED_STATEMENTS = _table(
    name="undated_statements",
    meaning="Statements without a date whose subject and relation also have dated ones. They are not in facts.",
    columns=_columns("""
        wiki, dump_id, dump_date, fact_id, subject_id, relation, object_id, rank
        contradicts BOOLEAN: true if no dated statement has this object, so that they contradict it
    """),
    key=("fact_id",),
)

ENTITY_ORIGINS = _table(
    name="entity_origins",
    meaning="When items began to exist: the earliest of their dates by ECBD's six properties of origin.",
    columns=_columns("""
        wiki, dump_id, dump_date, entity_id
        origin_from DATE: first day on which it may have begun; null without a date of the six properties
        origin_to, origin_precision
        origin_property VARCHAR: property of that date: P580, P9448, P6949, P575, P585 or P571
        n_candidate_dates INTEGER: number of dates of the six properties, each of its property's best rank
        earliest_any_rank_from DATE: like origin_from, but with dates of every rank except deprecated
        extended_from DATE: like origin_from, but with the properties P577, P1619, P619 and P1191 added
        extended_to DATE: the day after the last such day
        extended_precision VARCHAR: precision of that date: day, month or year
        extended_property VARCHAR: property of that date
    """),
    key=("entity_id",),
)

ENTITY_CLASSES = _table(
    name="entity_classes",
    meaning="The classes of items (P31), and those classes of the setting `classes` that are above them (P279).",
    columns=_columns("""
        wiki, dump_id, dump_date, entity_id
        class_id VARCHAR: class that it is an instance of
        depth SMALLINT: steps of P279 from the nearest of its own classes; 0 for its own classes
    """),
    key=("entity_id", "class_id"),
)

SUBCLASSES = _table(
    name="subclasses",
    meaning="The edges of the class tree (P279), of all items: a class and a class directly above it.",
    columns=_columns("""
        wiki, dump_id, dump_date
        class_id VARCHAR: class
        above_id VARCHAR: class that it is a subclass of
    """),
    key=("class_id", "above_id"),
)

LATE_EDITS = _table(
    name="late_edits",
    meaning="For each window and each earlier dump that covers it, the differences between what the two dumps say "
    "about it, together and by relation. Only days within the window are compared.",
    columns=_columns("""
        wiki, dump_id, dump_date
        window_start DATE: first day of the window, which has the home's granularity
        window_end DATE: first day after it
        earlier_dump_date DATE: day of the earlier dump; this dump's own if no earlier one covers the window, which then
            has one row without a comparison
        relation VARCHAR: property of the facts, or all
        n_facts_then BIGINT: number of facts that are possible in the window by the earlier dump
        n_facts_now BIGINT: number of facts that are possible in the window by this dump
        n_added BIGINT: facts in the window by this dump, but not by the earlier one
        n_removed BIGINT: facts in the window by the earlier dump, but not by this one
        n_changed BIGINT: facts by both dumps with another object, or with other days in the window
        n_absent_then BIGINT: facts of items that the earlier dump lacks, though one before it has them
        n_absent_now BIGINT: facts of items that this dump lacks altogether
        late_edit_rate DOUBLE: share that was added, removed or changed, of the facts by either dump whose items both
            have; or null
        reason VARCHAR: why there is no rate; null if there is one
        is_provisional
    """),
    key=("window_start", "earlier_dump_date", "relation"),
    code_version="3",
)

TABLES = (WIKIDATA_ENTITIES, FACTS, UNDATED_STATEMENTS, ENTITY_ORIGINS, ENTITY_CLASSES, SUBCLASSES, LATE_EDITS)
