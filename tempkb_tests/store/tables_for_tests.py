"""A small table of towns, for tests of the store."""

import pyarrow as pa

from tempkb.store.columns import Column, Rule
from tempkb.store.tables import Family, Table
from tempkb.store.types import INT64, STRING

TOWNS = Table(
    name="towns",
    meaning="Towns of a test; it's quoted.",
    columns=(
        Column("region", STRING, "region, the partition"),
        Column("town_id", INT64, "number of the town"),
        Column("name", STRING, "its name"),
        Column("n_people", INT64, "how many live there"),
    ),
    key=("town_id", "name"),
    family=Family.WINDOW,
    partitioned_by="region",
    partition_columns=("region",),
    rules=(Rule("peopled", "nobody lives in no town", "n_people < 0"),),
    row_group_rows=100,
)


def towns(region, n, people=1, start=0):
    """Rows of a region, in key order."""
    return pa.table(
        {
            "region": pa.array([region] * n, pa.string()),
            "town_id": pa.array(range(start, start + n), pa.int64()),
            "name": pa.array([f"Town {at}" for at in range(start, start + n)], pa.string()),
            "n_people": pa.array([people] * n, pa.int64()),
        }
    )
