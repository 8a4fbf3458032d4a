"""The table `pages` of the demo world, from its SQL tables, against what the world knows."""

from datetime import date

import pytest

from tempkb.demo.export import write_dump
from tempkb.demo.model import Page
from tempkb.demo.world import make_world
from tempkb.dumps import pages as pages_module
from tempkb.dumps.catalogue import Dump, DumpFile, find_dumps
from tempkb.dumps.pages import pages_from_sql
from tempkb.errors import SourceError


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


NAMES = {
    "page": ("page_id", "page_namespace", "page_title", "page_is_redirect"),
    "redirect": ("rd_from", "rd_namespace", "rd_title", "rd_interwiki"),
}


def put_table(folder, name, row):
    columns = "".join(f"  `{column}` int,\n" for column in NAMES[name])
    path = folder / f"testwiki-20260401-{name}.sql"
    path.write_text(f"CREATE TABLE `{name}` (\n{columns}) ENGINE=x;\nINSERT INTO `{name}` VALUES {row};\n")
    return DumpFile(path, name)


@pytest.mark.parametrize(
    ("page", "redirect", "words"),
    [
        ("(1,2147483648,'A',0)", "(1,0,'B','')", "page.sql: the row of page 1 has 2147483648 where MediaWiki has the"),
        ("(1,0,'A',1)", "(1,3000000000,'B','')", "redirect.sql: the row of page 1 has 3000000000 where MediaWiki has"),
        ("(9223372036854775808,0,'A',0)", "(1,0,'B','')", "has 9223372036854775808 where MediaWiki has a number"),
    ],
)
def test_numbers_that_are_too_large_are_named(tmp_path, page, redirect, words):
    files = put_table(tmp_path, "page", page), put_table(tmp_path, "redirect", redirect)
    with pytest.raises(SourceError, match=words):
        rows(Dump("testwiki-20260401", "testwiki", date(2026, 4, 1), files, 0))


def test_a_namespace_may_have_any_number_of_32_bits(tmp_path):
    file = put_table(tmp_path, "page", "(1,2147483647,'A',0)")
    found = rows(Dump("testwiki-20260401", "testwiki", date(2026, 4, 1), (file,), 0))
    assert found[1]["namespace"] == 2147483647
