"""What the card of a release says of how popular its articles are, beside all articles."""

from datetime import UTC, date, datetime

import pyarrow as pa
import pytest

from tempkb.benchmarks.card import card_beside, popularity_in_words, popularity_of
from tempkb.benchmarks.fact_queries.tables import FACT_SUBJECTS
from tempkb.platform.api import open_store
from tempkb.store.drafts import Provenance
from tempkb.wiki.mentions.tables import ENTITY_POPULARITY
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS

APRIL, JULY = date(2021, 4, 1), date(2021, 7, 1)
ASKED = ("subject_id", "s.entity_id")


def test_a_release_of_the_demos_wiki_is_said_to_be_invented(tmp_path):
    told = 'licence = "cc0-1.0"\ntasks = []\ntask_ids = []\ntags = []\npaper = ""\nintro = "Rows of {wiki}."\n[sections]\n[rai]\n'
    (tmp_path / "card.toml").write_text(told)
    real, demo = (
        card_beside(str(tmp_path / "card.py"), (), language="en", wiki=one) for one in ("simplewiki", "demowiki")
    )
    assert real.intro == "Rows of simplewiki."
    notice, _, intro = demo.intro.partition("\n\n")
    assert notice.startswith("Invented: tempkb's demo has made up this wiki, its Wikidata and their dumps")
    assert intro == "Rows of demowiki."


def write(store, table, key, rows):
    """Rows of a window, in which what is not said is null, or where it must not be zero or a day."""
    usual = {"wiki": "w", "dump_id": "d"}
    if "window_start" in table.column_names():
        usual["window_start"] = date.fromisoformat(key)
    for field in table.schema:
        if not field.nullable:
            usual.setdefault(
                field.name, {"timestamp[us, tz=UTC]": datetime(2020, 1, 1, tzinfo=UTC)}.get(str(field.type), 0)
            )
    made = [{**dict.fromkeys(table.column_names()), **usual, **row} for row in rows]
    store.write(table, key, [pa.Table.from_pylist(made, table.schema)], Provenance())


@pytest.fixture
def store(home_folder):
    store = open_store()
    for key, cut, factor in (("2021-01-01", APRIL, 10), ("2021-04-01", JULY, 1)):
        pages = [{"page_id": n, "cut": cut, "entity_id": f"Q{n}", "title": f"P{n}"} for n in range(1, 6)]
        write(
            store,
            STABLE_SNAPSHOTS,
            key,
            [{**row, "title_source": "moves", "entity_id_source": "page_props"} for row in pages],
        )
        numbers = [{"page_id": n, "cut": cut, "n_inlinks": n * factor, "n_contributors": 1} for n in range(1, 6)]
        write(store, ENTITY_POPULARITY, key, [{**row, "n_revisions": 7, "entity_prior": 0.0} for row in numbers])
    for release, subjects in (("r", ("Q2", "Q4")), ("other", ("Q1", "Q3", "Q5"))):
        rows = [{"release": release, "relation": "P6", "subject_id": one, "split": "test"} for one in subjects]
        write(store, FACT_SUBJECTS, release, rows)
    return store


@pytest.mark.parametrize(
    ("end", "asked", "every", "cut"),
    [
        # Of 2 and 4: a quarter and a half of them do not exceed 2.
        (date(2022, 1, 1), "2, 2, 4", "2, 3, 4", JULY),
        (JULY, "2, 2, 4", "2, 3, 4", JULY),
        (date(2021, 6, 30), "20, 20, 40", "20, 30, 40", APRIL),
    ],
)
def test_quartiles_of_the_articles_at_the_last_cut_up_to_the_end(store, end, asked, every, cut):
    said = popularity_in_words(popularity_of(store, "r", end, FACT_SUBJECTS, ASKED))
    assert said["popular_articles"] == (
        f"Medians of the articles that it asks about: mentions in other articles {asked.split(', ')[1]}, contributors 1, "
        f"revisions 7; of all articles: mentions in other articles {every.split(', ')[1]}, contributors 1, revisions 7."
    )
    assert said["popularity"].splitlines()[2:] == [
        "| articles | n | mentions in other articles | contributors | revisions | cut |",
        "| --- | --- | --- | --- | --- | --- |",
        f"| asked about | 2 | {asked} | 1, 1, 1 | 7, 7, 7 | {cut} |",
        f"| all | 5 | {every} | 1, 1, 1 | 7, 7, 7 | {cut} |",
    ]


def test_without_a_cut_nothing_is_said(store):
    found = popularity_of(store, "r", date(2021, 1, 1), FACT_SUBJECTS, ASKED)
    assert popularity_in_words(found) == {"popularity": "", "popular_articles": ""}
