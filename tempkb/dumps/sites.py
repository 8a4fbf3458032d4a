"""The table `namespaces`: written once per dump, read by everything that normalises titles."""

import contextlib

from tempkb.dumps.catalogue import Dump
from tempkb.dumps.files import open_dump
from tempkb.dumps.tables import NAMESPACES
from tempkb.dumps.xml import PageStream
from tempkb.errors import SourceError
from tempkb.store.drafts import Provenance
from tempkb.store.store import Store
from tempkb.store.versions import Version
from tempkb.titles import Site


def write_namespaces(store: Store, dump: Dump) -> Version:
    """Write the namespaces from the header of the dump's first history file."""
    import pyarrow as pa

    first = dump.history[0]
    pieces = open_dump(first.path)
    with contextlib.closing(pieces):
        site = PageStream(pieces, first.path.name).site
    rows = [
        {
            "wiki": dump.wiki,
            "dump_id": dump.dump_id,
            "namespace": number,
            "name": name,
            "is_case_sensitive": number in site.case_sensitive,
        }
        for number, name in sorted(site.namespaces.items())
    ]
    provenance = Provenance({first.path.name: first.sha256}, {"dump_id": dump.dump_id})
    return store.write(NAMESPACES, dump.dump_id, [pa.Table.from_pylist(rows, NAMESPACES.schema)], provenance)


def read_site(store: Store, dump_id: str) -> Site:
    """Return the wiki as the header of a dump describes it; if that dump was not registered, the newest dump's.

    Raises:
        SourceError: no namespaces have been written.
    """
    known = store.lake.partitions(NAMESPACES.name)
    if not known:
        raise SourceError(
            "the wiki's namespaces have not been built yet; build them first: tempkb build --select namespaces"
        )
    rows = store.read(NAMESPACES.name, dump_id=dump_id if dump_id in known else known[-1]).to_pylist()
    sensitive = frozenset(row["namespace"] for row in rows if row["is_case_sensitive"])
    return Site(store.home.wiki, {row["namespace"]: row["name"] for row in rows}, sensitive)
