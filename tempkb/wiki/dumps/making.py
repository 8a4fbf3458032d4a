"""Makes the tables of dumps, each once for each registered dump. No Dagster here."""

from collections import Counter
from collections.abc import Iterator

import pyarrow as pa

from tempkb.core.errors import MissingDumpError
from tempkb.engine.tasks import Done, Order
from tempkb.store.drafts import Provenance
from tempkb.wiki.dumps.catalogue import Dump
from tempkb.wiki.dumps.download import present_dump
from tempkb.wiki.dumps.looking import look_at, refuse_no_history
from tempkb.wiki.dumps.offers import HISTORY
from tempkb.wiki.dumps.pages import describe_files, pages_from_sql, pages_made_from, pages_provenance, write_namespaces
from tempkb.wiki.dumps.tables import DUMP_FILES, PAGES


def dumps_of(order: Order) -> Iterator[Dump]:
    """Yield the dumps of an order; one that is not in the home is fetched from the mirror.

    One that has disappeared before a run which nobody has asked for is left out, so that its partition stays missing.

    Raises:
        MissingDumpError: there is no such dump.
    """
    for dump_id in order.keys:
        try:
            yield present_dump(order.store.home, dump_id, order.log)
        except MissingDumpError as error:
            if not order.is_automatic:
                raise
            order.log(f"{error} The run does nothing, and the partition stays missing.")


def dump_files(order: Order) -> Done:
    """Verify the files of dumps, look into each, and write down what they are."""
    store, done = order.store, Done()
    for dump in dumps_of(order):
        seen = Counter[str]()
        for file in dump.files:
            file.verify()
            look_at(file.path, file.kind, seen)
        refuse_no_history([file.path for file in dump.history], seen)
        # Wikidata's entities can be used with any wiki, so they do not tie the home to one.
        if dump.holds_pages:
            store.claim(dump.wiki)
        rows = describe_files(dump)
        held = store.lake.current(DUMP_FILES.name, dump.dump_id)
        known = store.read(DUMP_FILES.name, dump_id=dump.dump_id) if held else None
        if held and known is not None and known["checksum"].to_pylist() == [row["checksum"] for row in rows]:
            order.log("The files have not changed since their rows were written; nothing to do.")
            done.add(held)
            continue
        inputs = {file.path.name: file.sha256 for file in dump.files}
        provenance = Provenance(inputs, {"dump_id": dump.dump_id})
        done.add(store.write(DUMP_FILES, dump.dump_id, [pa.Table.from_pylist(rows, DUMP_FILES.schema)], provenance))
    return done


def pages(order: Order) -> Done:
    """Read the pages of dumps from their SQL tables, if they have any."""
    store, done = order.store, Done()
    for dump in dumps_of(order):
        if not dump.holds_pages:
            order.log(f"Dump {dump.dump_id} holds Wikidata's entities and no pages.")
            continue
        store.claim(dump.wiki)
        if dump.table("page") is None:
            order.log(
                f"Dump {dump.dump_id} has no table `page`: its pages will be written from the XML headers when its "
                "windows are built."
            )
            continue
        version = pages_made_from(store, dump)
        if version is None:
            provenance = pages_provenance(dump, (file for file in dump.files if file.kind != HISTORY), dump.dump_id)
            version = store.write(PAGES, dump.dump_id, pages_from_sql(dump), provenance)
        done.add(version)
    return done


def namespaces(order: Order) -> Done:
    """Read the namespaces of the wiki from the header of each dump's first history file; one without has no rows."""
    done = Done()
    for dump in dumps_of(order):
        if dump.history:
            order.store.claim(dump.wiki)
            done.add(write_namespaces(order.store, dump))
    return done
