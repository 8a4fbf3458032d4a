"""The assets that write a dump's tables, once for each registered dump."""

from collections import Counter

import dagster as dg
import pyarrow as pa

from tempkb.dumps.catalogue import Dump
from tempkb.dumps.fetching import present_dump
from tempkb.dumps.looking import look_at, refuse_no_history
from tempkb.dumps.offers import HISTORY
from tempkb.dumps.pages import pages_from_sql, pages_made_from, pages_provenance
from tempkb.dumps.registration import describe_files
from tempkb.dumps.sites import write_namespaces
from tempkb.dumps.tables import DUMP_FILES, PAGES
from tempkb.errors import MissingDumpError
from tempkb.partitions import CHAINED
from tempkb.store.assets import sample_of
from tempkb.store.drafts import Provenance
from tempkb.store.materialise import facts_of
from tempkb.store.store import Store


def dump_of_run(context: dg.AssetExecutionContext, store: Store, dump_id: str) -> Dump | None:
    """Return the dump of a run's partition; fetch it from the mirror if it is not in the home.

    Returns:
        the dump; None in a run started by automation if the dump has disappeared in the meantime. The partition then
        stays missing without a failed run. A run that a user started raises the error instead.
    """
    try:
        return present_dump(store.home, dump_id, context.log.info)
    except MissingDumpError as error:
        if CHAINED not in context.run.tags:
            raise
        context.log.warning(f"{error} The run does nothing, and the partition stays missing.")
        return None


@dg.asset(
    output_required=False,
)
def dump_files(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]):  # type: ignore[no-untyped-def]  # noqa: ANN201 - a generator of results
    """Files of each dump, with sizes, checksums and what a pass over them found.

    A dump that is not in the home is fetched from the mirror. Its files are verified against the publisher's checksums.

    One row per file; key `dump_id, file_name`.
    """
    dump = dump_of_run(context, store, context.partition_key)
    if dump is None:
        return
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
        context.log.info("The files have not changed since their rows were written; nothing to do.")
        version = held
    else:
        inputs = {file.path.name: file.sha256 for file in dump.files}
        provenance = Provenance(inputs, {"dump_id": dump.dump_id})
        version = store.write(DUMP_FILES, dump.dump_id, [pa.Table.from_pylist(rows, DUMP_FILES.schema)], provenance)
    facts = facts_of(version)
    yield dg.MaterializeResult(metadata={**facts, "sample": sample_of(version)})


@dg.asset(
    deps=[dump_files],
    output_required=False,
)
def pages(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]):  # type: ignore[no-untyped-def]  # noqa: ANN201 - a generator of results
    """Pages as of the dump's day, with their Wikidata items.

    From the SQL tables `page`, `page_props` and `redirect`; key `page_id`. If a dump
    has no table `page`, the pass that builds its windows writes this table from the
    page headers in the XML. Without `page_props` the items come from Wikidata's site
    links when windows are built, or when a Wikidata dump is read later.
    """
    dump = dump_of_run(context, store, context.partition_key)
    if dump is None:
        return
    if not dump.holds_pages:
        context.log.info(f"Dump {dump.dump_id} holds Wikidata's entities and no pages.")
        return
    store.claim(dump.wiki)
    if dump.table("page") is None:
        context.log.warning(
            f"Dump {dump.dump_id} has no table `page`: its pages will be written from the XML headers when its "
            "windows are built."
        )
        return
    version = pages_made_from(store, dump)
    if version is not None:
        context.log.info("The SQL tables have not changed since the pages were made from them; nothing to do.")
    else:
        provenance = pages_provenance(dump, (file for file in dump.files if file.kind != HISTORY), dump.dump_id)
        version = store.write(PAGES, dump.dump_id, pages_from_sql(dump), provenance)
    facts = facts_of(version)
    yield dg.MaterializeResult(metadata={**facts, "sample": sample_of(version)})


@dg.asset(
    deps=[dump_files],
    output_required=False,
)
def namespaces(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]):  # type: ignore[no-untyped-def]  # noqa: ANN201 - a generator of results
    """Namespaces of the wiki, from the header of the dump's first history file.

    One row per namespace; key `namespace`. A dump without a history has no rows.
    """
    dump = dump_of_run(context, store, context.partition_key)
    if dump is None:
        return
    if not dump.history:
        context.log.info(f"Dump {dump.dump_id} has no history file, so there is no header to read.")
        return
    store.claim(dump.wiki)
    version = write_namespaces(store, dump)
    facts = facts_of(version)
    yield dg.MaterializeResult(metadata={**facts, "sample": sample_of(version)})
