"""The wiki's namespaces in the lake: written once per dump, read by whoever reads titles."""

import contextlib

from tempkb.dumps.catalogue import Dump
from tempkb.dumps.files import open_dump
from tempkb.dumps.tables import NAMESPACES
from tempkb.dumps.xml import PageStream
from tempkb.errors import SourceError
from tempkb.store.drafts import Provenance
from tempkb.store.lake import Version
from tempkb.store.store import Store
from tempkb.titles import Site


def write_namespaces(store: Store, dump: Dump) -> Version:
    """Read the head of the dump's first history file and write down its namespaces."""
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
    """Return the wiki as a dump's head describes it; when that dump was not registered, as the newest does.

    Raises:
        SourceError: no dump's namespaces are written down.
    """
    known = store.lake.partitions(NAMESPACES.name)
    if not known:
        raise SourceError(
            "the namespaces of the wiki are not written down yet; do so first: tempkb build --select namespaces"
        )
    rows = store.read(NAMESPACES.name, dump_id=dump_id if dump_id in known else known[-1]).to_pylist()
    sensitive = frozenset(row["namespace"] for row in rows if row["is_case_sensitive"])
    return Site(store.home.wiki, {row["namespace"]: row["name"] for row in rows}, sensitive)
