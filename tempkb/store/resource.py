"""Dagster's resource for a home: one `Store` per run, at whose end what was written is published."""

import contextlib
from collections.abc import Iterator, Sequence

import dagster as dg

from tempkb.settings import load_home
from tempkb.store.locks import Patience, at_work, name_of_run
from tempkb.store.owned import own
from tempkb.store.store import Store
from tempkb.store.tables import Table, View

# Seconds that one run may wait for the DuckDB file in all; the next run publishes what is left.
PATIENCE_SECONDS = 10.0
# Locks that the process holds until it ends, for after its resources are gone it has yet to say how the run ended.
_HELD = contextlib.ExitStack()


def store_resource(tables: Sequence[Table], views: Sequence[View]) -> dg.ResourceDefinition:
    """Return the resource `store` for the home that `TEMPKB_HOME` names."""

    @dg.resource(description="The home's lake and its DuckDB file.")
    def store(context: dg.InitResourceContext) -> Iterator[Store]:
        home = load_home()
        store = Store(home, tables, Patience(PATIENCE_SECONDS), views)
        if context.run_id:
            _HELD.enter_context(at_work(own(home.path, home.working), [name_of_run(context.run_id)]))
        try:
            yield store
        finally:
            publication = store.publish()
            for said in filter(None, (publication.set_aside, publication.reason, *publication.damaged)):
                if context.log is not None:
                    context.log.warning(said)

    return store
