"""Dagster's resource for a home: one `Store` per run."""

from collections.abc import Sequence

import dagster as dg

from tempkb.settings import load_home
from tempkb.store.locks import Patience
from tempkb.store.store import Store
from tempkb.store.tables import Table, View

# Seconds that one run may wait for the DuckDB file in all; the next commit publishes what is left.
PATIENCE_SECONDS = 10.0


def store_resource(tables: Sequence[Table], views: Sequence[View]) -> dg.ResourceDefinition:
    """Return the resource `store` for the home that `TEMPKB_HOME` names."""

    @dg.resource(description="The home's lake and its DuckDB file.")
    def store(_context: dg.InitResourceContext) -> Store:
        return Store(load_home(), tables, Patience(PATIENCE_SECONDS), views)

    return store
