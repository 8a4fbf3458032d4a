"""Lists are no sources and no targets: by Wikidata's classes, and by titles in the wiki's language."""

from datetime import date

import pytest

from tempkb.benchmarks.tempel.candidates import mark_lists
from tempkb.benchmarks.tempel.design import make_design
from tempkb.platform.api import open_store
from tempkb.store.memory import in_memory
from tempkb.wiki.wikidata.classes import fill_list_items

CUT = date(2024, 1, 1)
PAGES = {1: ("橋の一覧", None), 2: ("橋", "Q2"), 3: ("List of bridges", None), 4: ("大きな橋", "Q4")}


@pytest.mark.parametrize(
    ("preset", "language", "lists"),
    [("tempkb", "ja", [1, 4]), ("tempkb", "en", [3, 4]), ("paper", "ja", [3]), ("tempkb", "xx", [4])],
)
def test_titles_and_items_tell_which_pages_are_lists(preset, language, lists):
    with in_memory() as connection:
        connection.execute("CREATE TABLE snapshot (page_id BIGINT, title VARCHAR, entity_id VARCHAR)")
        for page, told in PAGES.items():
            connection.execute("INSERT INTO snapshot VALUES (?, ?, ?)", [page, *told])
        connection.execute("CREATE TABLE list_items AS SELECT 'Q4' AS entity_id")
        mark_lists(connection, make_design(preset, [CUT]), language)
        found = connection.execute("SELECT page_id FROM list_pages ORDER BY page_id").fetchall()
    assert [page for (page,) in found] == lists


def test_items_of_lists_are_those_of_the_wikidata_dump(demo_home, monkeypatch):
    monkeypatch.setenv("TEMPKB_HOME", str(demo_home))
    monkeypatch.setenv("TEMPKB_NAMESPACES", "all")
    store = open_store()
    said = {row["entity_id"] for row in store.read("entity_classes").to_pylist() if row["class_id"] == "Q13406463"}
    with in_memory() as connection:
        versions = fill_list_items(store, connection, CUT)
        found = {item for (item,) in connection.execute("FROM list_items").fetchall()}
    assert found == said
    assert found
    assert [one.table for one in versions] == ["entity_classes", "subclasses"]
