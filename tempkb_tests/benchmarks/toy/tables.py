"""The table of the toy benchmark."""

from tempkb.store.tables import Column, Family, Table, View
from tempkb.store.types import DATE, INT64, STRING

TOY_TITLES = Table(
    name="toy_titles",
    meaning="Titles of a snapshot that begin with a letter.",
    columns=(
        Column("wiki", STRING, "wiki, such as enwiki"),
        Column("release", STRING, "name of the release"),
        Column("cut", DATE, "cut of the snapshot"),
        Column("page_id", INT64, "number of the page"),
        Column("title", STRING, "title at the cut"),
        Column("dump_id", STRING, "dump that the snapshot was read from"),
    ),
    key=("page_id",),
    family=Family.RELEASE,
    partitioned_by="release",
    partition_columns=("release",),
)
TOY_COUNTS = View(
    "toy_counts",
    "Titles of each release.",
    "SELECT release, count(*) AS n FROM toy_titles GROUP BY release",
    ("toy_titles",),
)
