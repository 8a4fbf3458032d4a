"""Joins Wikidata items to snapshots: a few columns in memory, looked up by bisection."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa

from tempkb.store.store import read_files

_COLUMNS = ("entity_id", "entity_id_source")
_NOBODY = pa.schema([("page_id", pa.int64()), *((name, pa.string()) for name in _COLUMNS)]).empty_table()


class EntityIds:
    """Wikidata items by page number, with their source.

    Args:
        files: data files of `pages`, in key order.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        tables = [table for table in read_files(files, ["page_id", *_COLUMNS]) if table.num_rows]
        linked = pa.concat_tables([_NOBODY, *tables]).drop_null().combine_chunks()
        self._pages = linked["page_id"].to_numpy()
        # One null at the end, as the item of pages beyond the last one.
        self._values = {name: pa.concat_arrays([*linked[name].chunks, pa.nulls(1, pa.string())]) for name in _COLUMNS}

    def attach(self, rows: pa.Table) -> pa.Table:
        """Fill the columns `entity_id` and `entity_id_source` of snapshot rows, replacing what they hold."""
        pages = rows["page_id"].to_numpy()
        at = np.searchsorted(self._pages, pages)
        inside = at < len(self._pages)
        found = inside.copy()
        found[inside] = self._pages[at[inside]] == pages[inside]
        places = pa.array(np.where(found, at, 0), mask=~found)
        for name, values in self._values.items():
            rows = rows.set_column(rows.schema.get_field_index(name), name, values.take(places))
        return rows
