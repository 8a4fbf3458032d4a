"""tempkb for Python: read any table of a home as Arrow."""

from typing import Any

import pyarrow as pa

from tempkb.benchmarks.dynamic_templama.tables import TABLES as DYNAMIC_TEMPLAMA
from tempkb.benchmarks.dynamic_templama.views import VIEWS as DYNAMIC_TEMPLAMA_VIEWS
from tempkb.benchmarks.ecbd.tables import TABLES as ECBD
from tempkb.benchmarks.ecbd.views import VIEWS as ECBD_VIEWS
from tempkb.benchmarks.fact_queries.tables import TABLES as FACT_QUERIES
from tempkb.benchmarks.fact_queries.views import VIEWS as FACT_QUERIES_VIEWS
from tempkb.benchmarks.tempel.tables import TABLES as TEMPEL
from tempkb.benchmarks.templama.tables import TABLES as TEMPLAMA
from tempkb.benchmarks.templama.views import VIEWS as TEMPLAMA_VIEWS
from tempkb.dumps.tables import TABLES as DUMPS
from tempkb.mentions.tables import TABLES as MENTIONS
from tempkb.mentions.views import VIEWS as MENTIONS_VIEWS
from tempkb.revisions.tables import TABLES as REVISIONS
from tempkb.settings import load_home
from tempkb.store.locks import Patience
from tempkb.store.store import Store
from tempkb.wikidata.tables import TABLES as WIKIDATA
from tempkb.wikidata.views import VIEWS as WIKIDATA_VIEWS

TABLES = (*DUMPS, *REVISIONS, *MENTIONS, *TEMPEL, *WIKIDATA, *ECBD, *FACT_QUERIES, *TEMPLAMA, *DYNAMIC_TEMPLAMA)
"""All declarations, in the order of the data."""

VIEWS = (
    *MENTIONS_VIEWS,
    *WIKIDATA_VIEWS,
    *ECBD_VIEWS,
    *FACT_QUERIES_VIEWS,
    *TEMPLAMA_VIEWS,
    *DYNAMIC_TEMPLAMA_VIEWS,
)
"""Named questions to the tables."""


def open_store(patience: Patience | None = None) -> Store:
    """Open the home that `TEMPKB_HOME` names.

    Args:
        patience: what may be spent waiting for the DuckDB file; by default ten seconds.
    """
    return Store(load_home(), TABLES, patience, VIEWS)


def read(table: str, **equal: Any) -> pa.Table:
    """Return the rows of a table, optionally those where columns equal values.

    Reads the lake, so neither a running build nor somebody's open database
    is in the way.

    Args:
        table: the name of a table, such as `stable_snapshots`, or of a named question, such as `fact_versions`.
        equal: column name -> value, such as `cut="2021-01-01"`.

    Raises:
        SettingsError: if there is no such table, column or comparable value.
    """
    return open_store().read(table, **equal)
