"""Which entities are asked about, over small tables written by hand."""

from datetime import UTC, date, datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from tempkb.benchmarks.ecbd import categories
from tempkb.benchmarks.ecbd.categories import categorise, category_classes, category_names, excluded_classes
from tempkb.benchmarks.ecbd.design import Design
from tempkb.benchmarks.ecbd.entities import choose_entities
from tempkb.benchmarks.ecbd.matching import Name, NameFinder
from tempkb.benchmarks.ecbd.popular import count_elsewhere, is_risky
from tempkb.core.errors import DesignError
from tempkb.store.memory import in_memory

CLASSES = pa.schema([("entity_id", pa.string()), ("class_id", pa.string()), ("depth", pa.int16())])
EDGES = pa.schema([("class_id", pa.string()), ("above_id", pa.string())])
SNAPSHOT = pa.schema(
    [
        ("wiki", pa.string()),
        ("dump_id", pa.string()),
        ("page_id", pa.int64()),
        ("revision_id", pa.int64()),
        ("namespace", pa.int32()),
        ("title", pa.string()),
        ("entity_id", pa.string()),
        ("page_created_at", pa.timestamp("us", tz="UTC")),
        ("is_disambiguation", pa.bool_()),
        ("is_blank", pa.bool_()),
        ("redirect_title", pa.string()),
        ("redirect_namespace", pa.int32()),
        ("n_contributors", pa.int64()),
    ]
)
ORIGINS = pa.schema(
    [
        ("entity_id", pa.string()),
        ("origin_from", pa.date32()),
        ("origin_to", pa.date32()),
        ("origin_precision", pa.string()),
        ("origin_property", pa.string()),
        ("extended_from", pa.date32()),
        ("extended_to", pa.date32()),
        ("extended_precision", pa.string()),
        ("extended_property", pa.string()),
    ]
)


@pytest.fixture
def connection():
    with in_memory() as opened:
        yield opened


def fill(connection, schema, name, rows):
    connection.register(name, pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema))


def kinds(connection, classes, edges):
    fill(connection, CLASSES, "classes", [(one, kind, 0) for one, kind in classes])
    fill(connection, EDGES, "subclass_edges", edges)
    categorise(connection)
    return (
        dict(connection.execute("SELECT entity_id, category FROM item_category").fetchall()),
        dict(connection.execute("SELECT entity_id, reason FROM not_entities").fetchall()),
    )


def test_the_table_of_classes_has_the_nine_categories_and_no_class_twice():
    assert category_names() == (
        "Sports",
        "Media",
        "Infrastructure",
        "Natural Risks",
        "Products",
        "Businesses",
        "Organizations",
        "Other Events",
        "Misc.",
    )
    assert all(one[0] == "Q" and one[1:].isdigit() for one in (*category_classes(), *excluded_classes()))
    assert not category_classes().keys() & excluded_classes().keys()
    text = Path(categories.__file__).with_suffix(".toml").read_text("utf-8")
    listed = [line.split(" =")[0] for line in text.splitlines() if line.startswith("Q")]
    assert len(listed) == len(set(listed)) == len(category_classes())


def test_the_nearest_class_decides_and_then_the_order_of_table_1(connection):
    category, excluded = kinds(
        connection,
        [
            ("film", "Q11424"),
            ("club", "Q990"),
            ("firm", "Q991"),
            ("both", "Q43229"),
            ("both", "Q11424"),
            ("riddle", "Q999"),
            ("loop", "Q992"),
            ("ada", "Q5"),
            ("list", "Q994"),
        ],
        # 990 is a club of a sport; 991 a business that is an organization; 992 and 993 lie below one another.
        [
            ("Q990", "Q476028"),
            ("Q991", "Q4830453"),
            ("Q4830453", "Q43229"),
            ("Q992", "Q993"),
            ("Q993", "Q992"),
            ("Q993", "Q1656682"),
            ("Q994", "Q13406463"),
        ],
    )
    assert category == {
        "film": "Media",
        "club": "Sports",
        "firm": "Businesses",
        "both": "Media",
        "loop": "Other Events",
    }
    assert excluded == {"ada": "human", "list": "list"}


OLD = datetime(2010, 1, 1, tzinfo=UTC)
NEW = datetime(2021, 6, 1, tzinfo=UTC)


def page(number, entity, *, created=NEW, is_disambiguation=False, redirect=None, blank=False, contributors=1):
    return (
        "w",
        "d",
        number,
        number * 10,
        0,
        f"Page {number}",
        entity,
        created,
        is_disambiguation,
        blank,
        redirect,
        0 if redirect else None,
        contributors,
    )


def born(entity, first, last, precision="day", *, extended=None):
    return (entity, first, last, precision, "P571", *(extended or (first, last)), precision, "P571")


def world(connection, pages, origins, *, words=None, inlinks=None, classes=()):
    wiki(connection, pages, words or {}, inlinks or {})
    fill(connection, ORIGINS, "origins", origins)
    fill(connection, CLASSES, "classes", classes)
    fill(connection, EDGES, "subclass_edges", [])
    connection.register(
        "entities",
        pa.table({"entity_id": ["Q1"], "label": ["One"], "aliases": pa.array([["I"]], pa.list_(pa.string()))}),
    )


def wiki(connection, pages, words, inlinks):
    fill(connection, SNAPSHOT, "snapshot", pages)
    connection.register(
        "texts",
        pa.table(
            {
                "page_id": [row[2] for row in pages],
                "revision_id": [row[3] for row in pages],
                "n_words": pa.array([words.get(row[2], 600) for row in pages], pa.int32()),
                "text": [f"Text {row[2]}" for row in pages],
            }
        ),
    )
    connection.register(
        "popularity",
        pa.table(
            {
                "page_id": [row[2] for row in pages],
                "n_inlinks": [inlinks.get(row[2], 0) for row in pages],
                "n_contributors": [row[12] for row in pages],
            }
        ),
    )


STUDY = {"cut": date(2024, 1, 1), "first": date(2021, 1, 1), "end": date(2023, 1, 1), "dump_id": "wd"}


def chosen(connection, **changes):
    left_out = choose_entities(connection, Design(**{**STUDY, **changes}), "en")
    rows = connection.execute("SELECT page_id, subset, origin_window FROM chosen ORDER BY page_id").fetchall()
    return rows, dict(left_out.counts)


def test_without_any_item_there_is_no_release_of_popular_pages_in_silence(connection):
    """Eleven items have an origin, and the articles are there, but nothing tells which article is whose."""
    day = (date(2021, 5, 4), date(2021, 5, 5))
    world(connection, [page(1, None), page(2, None)], [born("Q1", *day)])
    words = r"none of the 2 articles has a Wikidata item.*no page_props.*no site link.*tempkb build.*--dump-id none"
    with pytest.raises(DesignError, match=words):
        chosen(connection, popular=5)
    wiki(other := duckdb.connect(), [page(1, None), page(2, None)], {}, {})
    assert [row[1] for row in chosen(other, popular=5, dump_id="")[0]] == ["popular", "popular"]
    world(connection, [page(1, "Q1"), page(2, None)], [born("Q1", *day)])
    assert (1, "odie", "2021-Q2") in chosen(connection, popular=5)[0]


def test_each_reason_to_leave_an_item_out(connection):
    day = (date(2021, 5, 4), date(2021, 5, 5))
    world(
        connection,
        [
            page(1, "Q1"),
            page(2, "Q2"),
            page(3, "Q3", is_disambiguation=True),
            page(4, "Q4"),
            page(5, "Q5"),
            page(6, "Q6"),
            page(7, "Q7", created=OLD),
            page(8, "Q8", redirect="Page 1"),
            page(9, "Q9", blank=True),
            page(10, "Q10"),
            page(11, "Q1"),
            page(12, None),
        ],
        [
            born("Q1", *day),
            born("Q2", *day),
            born("Q3", *day),
            born("Q4", date(1999, 1, 1), date(1999, 1, 2)),
            born("Q5", date(2022, 1, 1), date(2024, 1, 1), "year"),
            born("Q6", *day),
            born("Q7", date(2021, 1, 1), date(2022, 1, 1), "year"),
            born("Q8", *day),
            born("Q9", *day),
            born("Q77", *day),
        ],
        words={6: 499},
        classes=[("Q2", "Q5", 0)],
    )
    rows, left_out = chosen(connection)
    assert rows == [(1, "odie", "2021-Q2"), (7, "odie", "2021")]
    assert left_out == {
        "human": 1,
        "disambiguation": 1,
        "origin outside the study": 1,
        "origin on an edge of the study": 1,
        "fewer words than min_words": 1,
        "no article at the cut": 3,
        "second article about the item": 1,
        "article without a date of origin": 2,
    }
    (suspect,) = connection.execute("SELECT list(page_id) FROM chosen WHERE suspect_old_entity").fetchall()[0]
    assert suspect == [7]
    assert chosen(connection, suspects="drop")[0] == [(1, "odie", "2021-Q2")]
    assert chosen(connection, min_words=100)[0] == [(1, "odie", "2021-Q2"), (6, "odie", "2021-Q2"), (7, "odie", "2021")]


def test_the_extended_properties_move_an_origin(connection):
    early = (date(2021, 2, 2), date(2021, 2, 3))
    world(connection, [page(1, "Q1")], [born("Q1", date(2023, 5, 1), date(2023, 5, 2), extended=early)])
    assert chosen(connection)[0] == []
    assert chosen(connection, origins="extended")[0] == [(1, "odie", "2021-Q1")]


def test_popular_articles_are_those_of_most_people_and_mentions(connection):
    pages = [page(n, f"Q{n}", contributors=c) for n, c in ((1, 9), (2, 8), (3, 7), (4, 1), (5, 99))]
    world(
        connection,
        pages,
        [born("Q5", date(2021, 5, 4), date(2021, 5, 5))],
        inlinks={1: 1, 2: 7, 3: 6, 4: 2, 5: 99},
        words={},
        classes=[("Q2", "Q5", 0), ("Q3", "Q13406463", 0)],
    )
    # Sums of ranks: page 1: 2 + 5, page 2 (a person): 3 + 2, page 4: 5 + 4. Page 3 is a list, page 5 has an origin.
    rows, _ = chosen(connection, popular=2)
    assert rows == [(1, "popular", None), (2, "popular", None), (5, "odie", "2021-Q2")]
    rows, left_out = chosen(connection, popular_pages=(4, 5, 77, 3))
    assert rows == [(4, "popular", None), (5, "odie", "2021-Q2")]
    assert {reason: n for reason, n in left_out.items() if reason.startswith("listed")} == {
        "listed page that is no article at the cut": 1,
        "listed page that is asked about by its origin": 1,
        "listed page with too few words, or no entity": 1,
    }


def test_no_item_is_asked_about_by_its_origin_and_as_a_popular_one(connection):
    day = (date(2021, 5, 4), date(2021, 5, 5))
    world(connection, [page(1, "Q1"), page(2, "Q1", contributors=9), page(3, "Q3")], [born("Q1", *day)])
    assert chosen(connection, popular=3)[0] == [(1, "odie", "2021-Q2"), (3, "popular", None)]


@pytest.mark.parametrize(
    ("first", "words", "reason"),
    [
        (page(5, "Q1", is_disambiguation=True), {}, "disambiguation"),
        (page(5, "Q1"), {5: 9}, "fewer words than min_words"),
    ],
)
def test_an_item_is_asked_about_by_its_first_page_that_may_be(connection, first, words, reason):
    day = (date(2021, 5, 4), date(2021, 5, 5))
    world(connection, [first, page(9, "Q1"), page(10, "Q1")], [born("Q1", *day)], words=words)
    assert chosen(connection) == ([(9, "odie", "2021-Q2")], {reason: 1, "second article about the item": 1})


def test_without_a_wikidata_dump_there_are_popular_articles_only(connection):
    wiki(connection, [page(1, None), page(2, "Q2", contributors=5)], {}, {})
    assert chosen(connection, dump_id="", popular=1)[0] == [(2, "popular", None)]
    assert connection.execute("SELECT category, classes, label FROM chosen").fetchall() == [("Misc.", [], None)]


def test_dates_that_no_calendar_of_ours_has_are_outside_the_study(connection):
    world(connection, [page(1, "Q1"), page(2, "Q2"), page(3, "Q3")], [born("Q1", date(2021, 5, 4), date(2021, 5, 5))])
    connection.execute(
        """
        CREATE TABLE far_origins AS
        SELECT * REPLACE ('Q2' AS entity_id, DATE '300001-01-01 (BC)' AS origin_from, DATE '300000-01-01 (BC)' AS origin_to)
        FROM origins UNION ALL
        SELECT * REPLACE ('Q3' AS entity_id, DATE '9999-11-05' AS origin_from, DATE '9999-11-06' AS origin_to)
        FROM origins UNION ALL FROM origins
        """
    )
    connection.unregister("origins")
    connection.execute("ALTER TABLE far_origins RENAME TO origins")
    rows, left_out = chosen(connection)
    assert rows == [(1, "odie", "2021-Q2")]
    assert left_out == {"origin outside the study": 2}


def test_classes_are_named_by_their_pages_or_by_the_table(connection):
    day = (date(2021, 5, 4), date(2021, 5, 5))
    classes = [("Q1", "Q11424", 0), ("Q1", "Q999", 0), ("Q1", "Q35127", 0)]
    world(connection, [page(1, "Q1")], [born("Q1", *day)], classes=classes)
    connection.unregister("entities")
    connection.execute(
        "CREATE TABLE entities AS SELECT 'Q35127' AS entity_id, 'web site' AS label, []::VARCHAR[] AS aliases"
    )
    chosen(connection)
    (named,) = connection.execute("SELECT classes FROM chosen").fetchall()[0]
    assert [(one["class_id"], one["label"]) for one in named] == [
        ("Q11424", "film"),
        ("Q35127", "web site"),
        ("Q999", None),
    ]


def test_an_article_without_its_text_is_counted(connection):
    world(connection, [page(1, "Q1"), page(2, "Q2")], [born("Q1", date(2021, 5, 4), date(2021, 5, 5))])
    connection.execute("CREATE TABLE some_texts AS FROM texts WHERE page_id = 1")
    connection.unregister("texts")
    connection.execute("ALTER TABLE some_texts RENAME TO texts")
    assert chosen(connection) == ([(1, "odie", "2021-Q2")], {"article whose text is missing": 1})


def test_a_popular_entity_may_be_older_than_our_era(connection):
    world(connection, [page(1, "Q1"), page(2, "Q2")], [born("Q2", date(2021, 5, 4), date(2021, 5, 5))])
    connection.execute(
        """
        CREATE TABLE old_origins AS
        SELECT * REPLACE ('Q1' AS entity_id, DATE '0300-01-01 (BC)' AS origin_from, DATE '0299-01-01 (BC)' AS origin_to)
        FROM origins UNION ALL FROM origins
        """
    )
    connection.unregister("origins")
    connection.execute("ALTER TABLE old_origins RENAME TO origins")
    rows, left_out = chosen(connection, popular=1)
    assert rows == [(1, "popular", None), (2, "odie", "2021-Q2")]
    assert left_out == {"origin outside the study": 1}
    (told,) = connection.execute("SELECT origin_from::VARCHAR FROM chosen WHERE page_id = 1").fetchall()[0]
    assert told == "0300-01-01 (BC)"


def test_names_that_stand_elsewhere_are_risky(connection):
    texts = [
        "Nana is a storm.",
        "My nana and Nana knit.",
        "Nana sang.",
        "Nana sailed.",
        "We saw Nana and the Nina.",
        "",
    ]
    connection.register("articles", pa.table({"page_id": list(range(6)), "revision_id": list(range(6))}))
    connection.register("texts", pa.table({"page_id": list(range(6)), "revision_id": list(range(6)), "text": texts}))
    connection.register("chosen", pa.table({"page_id": [0]}))
    # The fifth article links to the storm, so it means the storm.
    connection.register("mentions", pa.table({"source_page_id": [4], "target_page_id": [0]}))
    counts, n = count_elsewhere(connection, NameFinder(["Nana", "Nina"]), {0: ["Nana", "Nina"]}, 100, 1)
    assert (counts, n) == ({(0, "Nana"): 3}, 6)
    assert is_risky(Name("Nana", "alias"), 3, 6, 0.0005)
    assert not is_risky(Name("Nana", "alias"), 2, 6, 0.0005)
    assert not is_risky(Name("Nana", "alias"), 3, 10_000, 0.0005)
    assert not is_risky(Name("Nana", "title"), 600, 600, 0.0005)
    fewer, n = count_elsewhere(connection, NameFinder(["Nana", "Nina"]), {0: ["Nana", "Nina"]}, 2, 1)
    assert n == 2
    assert sum(fewer.values()) <= 2
