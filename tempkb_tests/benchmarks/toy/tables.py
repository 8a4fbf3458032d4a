"""The tables of the toy benchmark: titles, and what models are asked about them."""

from tempkb.benchmarks.prompting import prompts_table, scores_view
from tempkb.store.tables import Column, Family, Table, View
from tempkb.store.types import DATE, INT64, STRING

_RELEASE = Column("release", STRING, "name of the release")

TOY_TITLES = Table(
    name="toy_titles",
    meaning="Titles of a snapshot that begin with a letter.",
    columns=(
        Column("wiki", STRING, "wiki, such as enwiki"),
        _RELEASE,
        Column("cut", DATE, "cut of the snapshot"),
        Column("page_id", INT64, "number of the page"),
        Column("title", STRING, "title at the cut"),
        Column("since", DATE, "day on which the page became an article"),
        Column("dump_id", STRING, "dump that the snapshot was read from"),
    ),
    key=("page_id",),
    family=Family.RELEASE,
    partitioned_by="release",
    partition_columns=("release",),
)
TOY_PROMPTS = prompts_table(
    "toy_letters",
    "ToyLetters",
    _RELEASE,
    item="number of the page",
    target="letter, since an item has one",
    variants={"plain": "a sentence about the title's first letter"},
    window="day on which the page became an article",
    cluster="number of the page",
)
TOY_COUNTS = View(
    "toy_counts",
    "Titles of each release.",
    "SELECT release, count(*) AS n FROM toy_titles GROUP BY release",
    ("toy_titles",),
)
TOY_SCORES = scores_view("toy_scores", "ToyLetters", TOY_PROMPTS.name)
