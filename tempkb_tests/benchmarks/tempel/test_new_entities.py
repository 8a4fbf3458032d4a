"""What kind of news new entities are: keywords of titles, runs of words, series, and the table of a release."""

import random
from datetime import date

import pyarrow as pa
import pytest

from tempkb.benchmarks.promises import broken
from tempkb.benchmarks.register import mark_built
from tempkb.benchmarks.tempel import new_entities
from tempkb.benchmarks.tempel.methods import OF_NEW
from tempkb.benchmarks.tempel.new_entities import paper_type, write_new_entities
from tempkb.benchmarks.tempel.similarity import MOST_PAGES, Origin, origins, runs_of
from tempkb.benchmarks.tempel.tables import TEMPEL_NEW_ENTITIES
from tempkb.benchmarks.work import working
from tempkb.store.drafts import Provenance
from tempkb.wiki.mentions.tables import PAGE_TEXTS
from tempkb.wiki.wikidata.tables import ENTITY_CLASSES
from tempkb_tests.benchmarks.tempel.releases_for_tests import CUTS

WORDS = [f"w{at}" for at in range(16)]


@pytest.mark.parametrize(
    ("title", "year", "expected"),
    [
        ("2018 BNP Paribas Open", 2019, "recurrent"),
        ("2018_BNP_Paribas_Open", 2019, "recurrent"),
        # Dated by its first letters, though the year is far away.
        ("2030 FIFA World Cup", 2019, "recurrent"),
        ("Miss Tourism 2019", 2019, "recurrent"),
        # In the middle of a title only the years around the snapshot count.
        ("Men's tournament 2015", 2019, "other"),
        ("Men's tournament 2020", 2019, "recurrent"),
        ("2018 in music", 2019, "other"),
        ("2019 occupation of Ruritania", 2019, "recurrent"),
        ("2018–19 Serie A", 2019, "recurrent"),  # noqa: RUF001
        ("2018-19 Serie A", 2019, "other"),
        ("1999–00 Serie A 2000", 2000, "recurrent"),  # noqa: RUF001
        ("World Cup", 2019, "other"),
        # What is of the pandemic is so before it is recurrent.
        ("Impact of the COVID-19 pandemic on the 2020 Olympics", 2021, "covid"),
        ("Human coronavirus HKU1", 2006, "covid"),
        ("Covidien", 2008, "covid"),
    ],
)
def test_types_by_the_keywords_of_the_paper(title, year, expected):
    assert paper_type(title, year) == expected


def test_runs_are_of_eight_words_whatever_their_case_and_blanks():
    assert len(runs_of(" ".join(WORDS[:7]))) == 0
    assert len(runs_of(" ".join(WORDS[:8]))) == 1
    assert len(runs_of(" ".join(WORDS))) == 9
    assert runs_of(" ".join(WORDS)).tolist() == runs_of("\n ".join(WORDS).upper()).tolist()
    # Repeated runs are one.
    assert len(runs_of("word " * 20)) == 1
    assert runs_of(" ".join(WORDS[:8])).tolist() != runs_of(" ".join(reversed(WORDS[:8]))).tolist()


def test_a_text_is_from_the_page_that_has_most_of_its_runs():
    new = {1: " ".join(WORDS), 2: "nothing of this was ever told before by anybody here", 3: "too short", 4: ""}
    pages = [
        (1, new[1]),  # the page itself, then no article of its own
        (10, " ".join(["before", *WORDS[:11], "after"])),
        (11, " ".join(WORDS[6:])),
        (12, " ".join(WORDS[8:])),
    ]
    # Page 10 has the runs that begin at words 0 to 3, page 11 those at 6 to 8, page 12 that at 8.
    assert origins(new, iter(pages)) == {
        1: Origin(9, 10, pytest.approx(4 / 9)),
        2: Origin(3, None, 0.0),
        3: Origin(0, None, None),
        4: Origin(0, None, None),
    }


def test_runs_that_many_pages_have_are_formulas_and_do_not_count():
    formula, own = " ".join(WORDS[:9]), "a river rises in these hills and runs to the sea"
    new = {1: f"{formula} {own}"}
    few = [(10 + at, formula) for at in range(MOST_PAGES)]
    assert origins(new, few)[1] == Origin(len(runs_of(new[1])), 10, pytest.approx(2 / len(runs_of(new[1]))))
    many = [*few, (99, formula), (100, own)]
    own_runs = len(runs_of(own))
    assert origins(new, many)[1] == Origin(
        len(runs_of(new[1])) - 2, 100, pytest.approx(own_runs / (len(runs_of(new[1])) - 2))
    )


def test_origins_equal_a_count_of_all_pairs():
    chance = random.Random(3)  # noqa: S311 - reproducible chance, not secrets
    stock = [" ".join(chance.choices(WORDS, k=30)) for _ in range(12)]
    texts = [" ".join(chance.sample(stock, 3)) for _ in range(40)]
    new, pages = dict(enumerate(texts[:10])), [(100 + at, text) for at, text in enumerate(texts[10:])]

    def runs(text):
        words = text.split()
        return {" ".join(words[at : at + 8]) for at in range(len(words) - 7)}

    found = origins(new, pages)
    for page, text in new.items():
        rare = [run for run in runs(text) if sum(run in runs(other) for _, other in pages) <= MOST_PAGES]
        shares = [(sum(run in runs(other) for run in rare) / len(rare), -at) for at, other in pages]
        best, at = max(shares)
        assert found[page] == Origin(len(rare), -at if best else None, pytest.approx(best))
    assert {origin.share for origin in found.values()} != {0.0}


def write(store, release):
    """Write what stands of the second snapshot anew."""
    with working(store, release) as work:
        write_new_entities(work, CUTS[1])


def rows_of(store, cut):
    return {row["title"]: row for row in store.read("tempel_new_entities", release="r", cut=cut).to_pylist()}


def test_each_new_entity_of_a_release_has_a_row(released):
    store, _ = released
    for cut in CUTS:
        entities = store.read("tempel_entities", release="r", cut=cut).to_pylist()
        new = {row["title"]: row["page_id"] for row in entities if row["category"] == "new"}
        assert {title: row["page_id"] for title, row in rows_of(store, cut).items()} == new
        assert len(new) > 5
    pages = {row["title"]: row["page_id"] for row in store.read("tempel_entities", release="r").to_pylist()}
    found = rows_of(store, CUTS[1])
    cup, fever = found["2022 Varland Rowing Cup"], found["Vorrel fever"]
    assert (cup["paper_type"], cup["series_page_id"]) == ("recurrent", pages["2021 Varland Rowing Cup"])
    assert (fever["paper_type"], fever["series_page_id"], fever["is_extract"]) == ("other", None, False)
    assert found["Pier 2022 of Grand Harbour"]["series_page_id"] == pages["Pier 2021 of Grand Harbour"]
    assert fever["article_since"].date() == date(2022, 4, 21)
    # The home has no snapshot before the first one, so that nothing is known of it.
    for row in rows_of(store, CUTS[0]).values():
        assert [row[name] for name in ("n_runs", "shingle_share", "is_extract", "series_page_id")] == [None] * 4


def test_a_new_entity_without_a_row_breaks_the_promise(released):
    store, _ = released
    cut = CUTS[1]
    assert broken(store, OF_NEW[0], ["r"]) == []
    rows = store.read(TEMPEL_NEW_ENTITIES.name, release="r", cut=cut)
    first, *_, last = rows["page_id"].to_pylist()
    store.write(TEMPEL_NEW_ENTITIES, f"r.{cut}", [rows.slice(1)], Provenance())
    mark_built(store, "r")
    assert broken(store, OF_NEW[0], ["r"]) == [("r", cut, first)]
    renamed = pa.Table.from_pylist(
        [row | {"title": "Another"} if row["page_id"] == last else row for row in rows.to_pylist()], rows.schema
    )
    store.write(TEMPEL_NEW_ENTITIES, f"r.{cut}", [renamed], Provenance())
    mark_built(store, "r")
    assert OF_NEW[0].verdict(broken(store, OF_NEW[0], ["r"])).facts == {
        "broken": 1,
        "examples": [f"r at {cut}: page {last}"],
    }


def test_a_text_that_an_older_page_had_is_an_extract_of_it(released):
    store, release = released
    entities = {row["title"]: row for row in store.read("tempel_entities", release="r", cut=CUTS[0]).to_pylist()}
    older = entities["Grand Harbour"]
    texts = {(row["page_id"], row["revision_id"]): row["text"] for row in store.read("page_texts").to_pylist()}
    words = texts[older["page_id"], older["revision_id"]].split()
    fever = {row["title"]: row for row in store.read("tempel_entities", release="r", cut=CUTS[1]).to_pylist()}[
        "Vorrel fever"
    ]
    quarter = "2022-04-01"
    table = store.read("page_texts", quarter=date(2022, 4, 1))
    # The rest of the new text is its own.
    own = " ".join(f"new{at}" for at in range(8))
    changed = pa.array(
        [
            " ".join(words) + " " + own if row["revision_id"] == fever["revision_id"] else row["text"]
            for row in table.to_pylist()
        ]
    )
    assert changed.to_pylist() != table["text"].to_pylist()
    store.write(
        PAGE_TEXTS, quarter, [table.set_column(table.schema.names.index("text"), "text", changed)], Provenance()
    )
    store.lake.remove(TEMPEL_NEW_ENTITIES.name, f"r.{CUTS[1]}")
    write(store, release)
    row = rows_of(store, CUTS[1])["Vorrel fever"]
    assert (row["extract_of_page_id"], row["is_extract"]) == (older["page_id"], True)
    assert 0.3 < row["shingle_share"] < 0.8


def test_the_class_is_the_one_with_the_lowest_number(released):
    store, release = released
    (version,) = store.lake.versions(ENTITY_CLASSES.name)
    rows = store.read(ENTITY_CLASSES.name).to_pylist()
    cup = next(
        row["entity_id"]
        for row in store.read("tempel_entities", release="r", cut=CUTS[1]).to_pylist()
        if row["title"] == "2022 Varland Rowing Cup"
    )
    more = [{**rows[0], "entity_id": cup, "class_id": name, "depth": depth} for name, depth in CLASSES]
    rows = sorted([*rows, *more], key=lambda row: [row[name] for name in ENTITY_CLASSES.key])
    table = pa.Table.from_pylist(rows, ENTITY_CLASSES.schema)
    store.write(ENTITY_CLASSES, version.partition, [table], Provenance())
    write(store, release)
    found = rows_of(store, CUTS[1])
    assert found["2022 Varland Rowing Cup"]["entity_class"] == "Q500"
    assert found["Vorrel fever"]["entity_class"] is None


CLASSES = (("Q27020041", 0), ("Q500", 0), ("Q35120", 2))


def test_the_paper_s_keywords_say_nothing_in_other_languages(released, monkeypatch):
    store, release = released
    monkeypatch.setattr(new_entities, "language_of_wiki", lambda settings: "fr")
    store.lake.remove(TEMPEL_NEW_ENTITIES.name, f"r.{CUTS[1]}")
    write(store, release)
    found = rows_of(store, CUTS[1])
    assert {row["paper_type"] for row in found.values()} == {None}
    assert found["2022 Varland Rowing Cup"]["series_page_id"] is not None
