"""The tables of the toy benchmark: titles, and what models are asked about them."""

from tempkb.benchmarks.prompting import prompts_table, scores_view
from tempkb.store.columns import columns
from tempkb.store.tables import Family, Table, View

TOY_TITLES = Table(
    name="toy_titles",
    meaning="Titles of a snapshot that begin with a letter.",
    columns=columns("""
        wiki VARCHAR: wiki, such as enwiki
        release
        cut DATE: cut of the snapshot
        page_id BIGINT: number of the page
        title VARCHAR: title at the cut
        since DATE: day on which the page became an article
        dump_id VARCHAR: dump that the snapshot was read from
    """),
    key=("page_id",),
    family=Family.RELEASE,
    partitioned_by="release",
    partition_columns=("release",),
)
TOY_PROMPTS = prompts_table(
    "toy_letters",
    "ToyLetters",
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
