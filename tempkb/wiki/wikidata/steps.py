"""The steps and promises of the room: what is read from a Wikidata dump, once, and what later dumps say."""

from collections.abc import Sequence

from tempkb.engine.steps import Brought, Log, Look, Source, Standing, Step, bring
from tempkb.engine.tasks import Task
from tempkb.store.promises import Promise
from tempkb.store.store import Store
from tempkb.store.versions import Version
from tempkb.wiki.dumps.catalogue import Dump
from tempkb.wiki.dumps.tables import DUMP_FILES
from tempkb.wiki.wikidata.scope import PROVISIONAL_DAYS, day_of, dump_dates
from tempkb.wiki.wikidata.tables import (
    ENTITY_CLASSES,
    ENTITY_ORIGINS,
    FACTS,
    LATE_EDITS,
    SUBCLASSES,
    UNDATED_STATEMENTS,
    WIKIDATA_ENTITIES,
)

PROMISES = (
    Promise(
        "subjects_are_known",
        "The items of all facts and origins are in wikidata_entities of the same dump.",
        FACTS,
        """
        SELECT dump_id, id FROM (
            SELECT dump_id, fact_id AS id, subject_id AS entity_id FROM facts
            UNION ALL SELECT dump_id, entity_id, entity_id FROM entity_origins
        ) ANTI JOIN wikidata_entities USING (dump_id, entity_id)
        """,
        (WIKIDATA_ENTITIES, ENTITY_ORIGINS),
    ),
    Promise(
        "statements_are_counted",
        "No item has more facts and undated statements than statements.",
        WIKIDATA_ENTITIES,
        """
        SELECT dump_id, entity_id, count(DISTINCT fact_id), any_value(n_statements) FROM (
            SELECT dump_id, subject_id AS entity_id, fact_id FROM facts
            UNION ALL SELECT dump_id, subject_id, fact_id FROM undated_statements
        ) JOIN wikidata_entities USING (dump_id, entity_id)
        GROUP BY dump_id, entity_id HAVING count(DISTINCT fact_id) > any_value(n_statements)
        """,
        (FACTS, UNDATED_STATEMENTS),
    ),
    Promise(
        "late_edits_add_up",
        "No window ends after its dump's day, and the facts then, plus added, less removed, are the facts now, but for "
        "items that a dump lacks.",
        LATE_EDITS,
        """
        SELECT dump_id, window_start FROM late_edits
        WHERE window_end > dump_date OR earlier_dump_date > dump_date OR earlier_dump_date < window_end
           OR n_facts_then + n_added + n_absent_then - n_removed - n_absent_now <> n_facts_now
           OR (n_facts_then IS NULL) <> (n_added IS NULL) OR (late_edit_rate IS NULL) = (reason IS NULL)
        """,
    ),
)


def is_read(store: Store, dump: Dump) -> bool:
    """Return whether all that is read from a dump was read from its present files, under its day."""
    look, entities = Look(store, STEPS), store.lake.current(WIKIDATA_ENTITIES.name, dump.dump_id)
    if entities is None or entities.inputs != {file.path.name: file.sha256 for file in dump.entities}:
        return False
    is_of_day = entities.day in ("", str(dump.date))
    return is_of_day and all(look.is_current(table.name, dump.dump_id) for table in READ.makes)


def _is_of_one_pass(store: Store, version: Version) -> bool:
    """Was a table read in the same pass as the dump's entities? A run may have ended between two tables."""
    first = store.lake.current(WIKIDATA_ENTITIES.name, version.partition)
    return first is not None and all(
        getattr(first, name) == getattr(version, name) for name in ("inputs", "settings", "day")
    )


def _up_to(store: Store, dump_id: str) -> Sequence[str]:
    """A dump and those before it; later ones change nothing about it."""
    own = day_of(store.lake, dump_id)
    return sorted({dump_id, *(name for name, day in dump_dates(store.lake).items() if day <= own)})


READ = Standing(
    (WIKIDATA_ENTITIES, FACTS, UNDATED_STATEMENTS, ENTITY_ORIGINS, ENTITY_CLASSES, SUBCLASSES),
    (Source(DUMP_FILES),),
    is_complete=_is_of_one_pass,
)
LATE = Step(
    (LATE_EDITS,),
    (Source(FACTS, _up_to), Source(WIKIDATA_ENTITIES, _up_to)),
    "wiki.wikidata.late.late_edits",
    lambda _store: {"provisional_days": PROVISIONAL_DAYS},
)
STEPS = (READ, LATE)
TASKS = (
    Task(
        "wikidata",
        STEPS,
        "wiki.wikidata.making.wikidata",
        shown="wiki.wikidata.making.by_relation",
        is_skippable=True,
        promises=PROMISES,
    ),
)


def bring_late_edits(store: Store, log: Log) -> Brought:
    """Compare each dump with those before it, as far as these are others than when that was done."""
    return bring(store, STEPS, LATE, store.lake.partitions(WIKIDATA_ENTITIES.name), log)
