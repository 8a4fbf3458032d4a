"""The table `pages` of the demo world, from its SQL tables, against what the world knows."""

from tempkb.demo.export import write_dump
from tempkb.demo.model import Page
from tempkb.demo.world import make_world
from tempkb.dumps import pages as pages_module
from tempkb.dumps.catalogue import find_dumps
from tempkb.dumps.pages import pages_from_sql


def rows(dump):
    return {row["page_id"]: row for table in pages_from_sql(dump) for row in table.to_pylist()}


def test_every_page_with_its_item_title_and_target(tmp_path, monkeypatch):
    monkeypatch.setattr(pages_module, "_ROWS", 7)
    world = make_world()
    day = world.dump_days[0]
    write_dump(world, day, tmp_path)
    found = rows(find_dumps(tmp_path)[0])
    known: dict[int, Page] = {page.page_id: page for page in world.pages_at(day)}
    assert found.keys() == known.keys()
    for page_id, page in known.items():
        name = page.name_at(day)
        told = (found[page_id]["namespace"], found[page_id]["title"], found[page_id]["entity_id"])
        assert told == (name.namespace, name.title, page.entity_id)
    redirect = next(row for row in found.values() if row["title"] == "Clock of the harbour")
    assert (redirect["is_redirect"], redirect["redirect_namespace"], redirect["redirect_title"]) == (
        True,
        0,
        "Harbour Clock",
    )
    category = next(row for row in found.values() if row["title"] == "Clock pictures")
    assert (category["redirect_namespace"], category["redirect_title"]) == (14, "Places of Varland")
    marked = [row["title"] for row in found.values() if row["is_disambiguation"]]
    assert marked == ["Anvil", "Tassel"]


def test_without_page_props_items_are_unknown(tmp_path):
    world = make_world()
    write_dump(world, world.dump_days[0], tmp_path)
    for path in tmp_path.rglob("*page_props*"):
        path.unlink()
    found = rows(find_dumps(tmp_path)[0])
    assert {(row["entity_id"], row["is_disambiguation"]) for row in found.values()} == {(None, None)}
