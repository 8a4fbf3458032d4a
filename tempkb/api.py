"""tempkb for Python: read any table of a home as Arrow."""

from typing import Any

import pyarrow as pa

from tempkb.benchmarks.tempel.tables import TABLES as TEMPEL
from tempkb.dumps.tables import TABLES as DUMPS
from tempkb.mentions.tables import TABLES as MENTIONS
from tempkb.revisions.tables import TABLES as REVISIONS
from tempkb.settings import load_home
from tempkb.store.locks import Patience
from tempkb.store.store import Store

TABLES = (*DUMPS, *REVISIONS, *MENTIONS, *TEMPEL)
"""All declarations, in the order of the data."""


def open_store(patience: Patience | None = None) -> Store:
    """Open the home that `TEMPKB_HOME` names.

    Args:
        patience: what may be spent waiting for the DuckDB file; by default ten seconds.
    """
    return Store(load_home(), TABLES, patience)


def read(table: str, **equal: Any) -> pa.Table:
    """Return the rows of a table, optionally those where columns equal values.

    Reads the lake, so neither a running build nor somebody's open database
    is in the way.

    Args:
        table: a table's name, such as `stable_snapshots`.
        equal: column name -> value, such as `cut="2021-01-01"`.

    Raises:
        SettingsError: if there is no such table, column or comparable value.
    """
    return open_store().read(table, **equal)
