"""Joining Wikidata items to snapshots: two columns in memory, looked up by bisection."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa

from tempkb.store.store import read_files


class EntityIds:
    """Wikidata items by page number.

    Args:
        files: data files of `pages`, in key order.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        tables = [table for table in read_files(files, ["page_id", "entity_id"]) if table.num_rows]
        empty = pa.table({"page_id": pa.array([], pa.int64()), "entity_id": pa.array([], pa.string())})
        linked = pa.concat_tables([empty, *tables]).drop_null().combine_chunks()
        self._pages = linked["page_id"].to_numpy()
        # One null at the end, so that a page beyond the last has something to take.
        self._items = pa.concat_arrays([*linked["entity_id"].chunks, pa.nulls(1, pa.string())])

    def attach(self, rows: pa.Table) -> pa.Table:
        """Fill the column `entity_id` of snapshot rows."""
        pages = rows["page_id"].to_numpy()
        at = np.searchsorted(self._pages, pages)
        inside = at < len(self._pages)
        found = inside.copy()
        found[inside] = self._pages[at[inside]] == pages[inside]
        items = self._items.take(pa.array(np.where(found, at, 0), mask=~found))
        return rows.set_column(rows.schema.get_field_index("entity_id"), "entity_id", items)
