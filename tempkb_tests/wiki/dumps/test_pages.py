"""The table `pages` of the demo world, from its SQL tables, against what the world knows."""

import random
import tracemalloc
from datetime import date

import pyarrow as pa
import pytest

from tempkb.core.errors import SourceError
from tempkb.demo.export import write_dump
from tempkb.demo.pages import Page
from tempkb.demo.world import make_world
from tempkb.wiki.dumps import pages as pages_module
from tempkb.wiki.dumps.catalogue import Dump, DumpFile, find_dumps
from tempkb.wiki.dumps.pages import TextsByPage, complete_headers, pages_from_sql


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
    "page_props": ("pp_page", "pp_propname", "pp_value"),
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


@pytest.mark.parametrize("order", ["in order", "in any order"])
def test_items_and_targets_are_those_of_a_dict_in_which_the_last_row_of_a_page_counts(tmp_path, monkeypatch, order):
    monkeypatch.setattr(pages_module, "_ROWS", 40)
    chance = random.Random(24)
    told = chance.choices(range(1, 400), k=300)
    page_ids = chance.sample(range(1, 400), 200)
    if order == "in order":
        told, page_ids = sorted(told), sorted(page_ids)
    items = [(page_id, f"Q{chance.randrange(10**6)}") for page_id in told]
    marks = [page_id for page_id in told if page_id % 7 == 0]
    targets = [(page_id, chance.randrange(16), chance.choice(["Zürich", "", "漢字", "B c"])) for page_id in told]
    rows_of_props = [f"({page_id},'wikibase_item','{item}')" for page_id, item in items]
    rows_of_props += [f"({page_id},'disambiguation','')" for page_id in marks]
    files = (
        put_table(tmp_path, "page", ",".join(f"({page_id},0,'Page_{page_id}',0)" for page_id in page_ids)),
        put_table(tmp_path, "page_props", ",".join(rows_of_props)),
        put_table(tmp_path, "redirect", ",".join(f"({one[0]},{one[1]},'{one[2]}','')" for one in targets)),
    )
    dump = Dump("testwiki-20260401", "testwiki", date(2026, 4, 1), files, 0)
    item_of, target_of = dict(items), {page_id: (number, title) for page_id, number, title in targets}
    expected = [
        {
            "wiki": "testwiki",
            "dump_id": "testwiki-20260401",
            "page_id": page_id,
            "namespace": 0,
            "title": f"Page {page_id}",
            "entity_id": item_of.get(page_id),
            "entity_id_source": "page_props" if page_id in item_of else None,
            "is_redirect": False,
            "redirect_namespace": target_of.get(page_id, (None, None))[0],
            "redirect_title": target_of.get(page_id, (None, None))[1],
            "is_disambiguation": page_id in marks,
        }
        for page_id in sorted(page_ids)
    ]
    tables = list(pages_from_sql(dump))
    assert [row for table in tables for row in table.to_pylist()] == expected
    beside = ("entity_id", "entity_id_source", "redirect_namespace", "redirect_title", "is_disambiguation")
    empty = [
        pa.table({**dict(zip(table.column_names, table.columns, strict=True)), **nulls(table, beside)})
        for table in tables
    ]
    assert [row for table in complete_headers(empty, dump) for row in table.to_pylist()] == expected


def nulls(table, names):
    return {name: pa.nulls(len(table), table.schema.field(name).type) for name in names}


def test_a_page_takes_some_thirty_bytes_beside_its_text():
    n = 50_000
    tracemalloc.start()
    found = TextsByPage()
    for page_id in range(n):
        found.add(page_id, "a text of twenty-five...", page_id % 16)
    found.settle()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.find([7, n]) == [(7, "a text of twenty-five..."), None]
    assert taken < n * (24 + 40)
