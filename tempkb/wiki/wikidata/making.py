"""Makes all tables of Wikidata dumps, each in one pass over a dump, the oldest first. No Dagster here."""

from tempkb.engine.tasks import Done, Order, Rows, Shows
from tempkb.store.memory import asking
from tempkb.store.quoting import file_names
from tempkb.store.store import Store
from tempkb.wiki.dumps.making import dumps_of
from tempkb.wiki.wikidata.building import read_dump
from tempkb.wiki.wikidata.tables import FACTS


def wikidata(order: Order) -> Done:
    """Read each Wikidata dump once; dumps of pages are left out."""
    store, done, notes = order.store, Done(), list[str]()
    dumps = sorted((dump for dump in dumps_of(order) if dump.entities), key=lambda one: one.horizon)
    for dump in dumps:
        report = read_dump(store, dump, order.log)
        done.add(*report.versions.values())
        notes += [report.warning] if report.warning else []
        notes += [
            f"{name} is damaged: {tally.reason}. Every complete entity that could be read was kept."
            for name, tally in report.tallies.items()
            if tally.reason
        ]
    done.notes = notes
    return done


def by_relation(store: Store, dump_id: str) -> Shows:
    """Return the twenty properties with the most facts of a dump, and the precision of their dates."""
    paths = file_names(store.lake.files(FACTS.name, [dump_id]))
    with asking() as connection:
        found = connection.sql(
            """
            SELECT relation, count(*) AS facts, count(*) FILTER (WHERE start_precision = 'day') AS starts_by_day,
                   count(*) FILTER (WHERE start_precision = 'year') AS starts_by_year,
                   count(*) FILTER (WHERE end_kind = 'absent' AND NOT is_point) AS without_end
            FROM read_parquet($paths) GROUP BY relation ORDER BY facts DESC, relation LIMIT 20
            """,
            params={"paths": paths},
        ).to_arrow_table()
    return {FACTS.name: {"relations": Rows(found)}}
