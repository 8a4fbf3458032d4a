import pytest

from tempkb.core.errors import SettingsError
from tempkb.results.papers.items import Item, Paper, find, listings, papers
from tempkb.store.listings import BETTER, WORSE, Marked, as_latex

TABLES = {"tempel": 13, "ecbd": 8, "templama": 9, "dynamic-templama": 7}
FIGURES = {"tempel": 8, "ecbd": 3, "templama": 5, "dynamic-templama": 9}
CITIES = [
    {"release": "a", "model": "late", "year": 2021, "value": 8.0, "change": None, "low": 7.0, "high": 9.0},
    {"release": "a", "model": "late", "year": 2022, "value": 10.5, "change": 2.5, "low": None, "high": None},
    {"release": "a", "model": "early", "year": 2022, "value": None, "change": None, "low": None, "high": None},
    {"release": "b", "model": "late", "year": None, "value": 3.0, "change": -0.25, "low": None, "high": None},
]


def paper(**parts):
    item = Item(shows="perplexity by year", lines=("model",), across="year", **parts)
    return Paper("cities", "Cities (A et al. 2020)", {"table-1": item}, {})


def sheets(one, rows=CITIES):
    return [listing.sheet(own) for listing, own in listings(one, "table-1", rows)]


def test_each_table_and_figure_of_the_papers_is_declared():
    for name, one in papers().items():
        assert {f"table-{n}" for n in range(1, TABLES[name] + 1)} <= one.items.keys()
        assert {f"figure-{n}" for n in range(1, FIGURES[name] + 1)} <= one.items.keys()


def test_what_is_made_of_data_says_how_and_what_is_not_says_why():
    for one in papers().values():
        for name, item in one.items.items():
            assert bool(item.query) + bool(item.rows) == (item.kind == "data"), name
            assert item.shows, name
            assert {"elsewhere": item.differs, "text": item.see}.get(item.kind, name), name
            assert set(item.lacks) <= one.lacks.keys()


def test_a_release_has_a_table_of_its_own_with_columns_in_the_order_of_the_rows():
    first, second = sheets(paper(delta="change"))
    assert first.title == "Cities, Table 1: perplexity by year (release a)"
    assert (first.heads, second.heads) == (["model", "2021", "2022"], ["model", "all"])
    assert [[str(getattr(cell, "text", cell)) for cell in line] for line in first.lines] == [
        ["late", "8.00", "10.50 (+2.50)"],
        ["early", "None", ""],
    ]
    assert second.lines == [["late", Marked("3.00 (-0.25)")]]


def test_a_difference_colours_its_cell():
    (first, second) = sheets(paper(shade="change", form="count"))
    assert first.lines[0][2] == Marked("10", BETTER, 2.5)
    assert second.lines[0][1] == Marked("3", WORSE, -0.25)
    assert r"\cellcolor{red!60}3" in as_latex(second)


def test_values_of_by_have_tables_of_their_own():
    assert [sheet.title.rpartition("(")[2] for sheet in sheets(paper(by=("model",)))] == [
        "release a, model late)",
        "release a, model early)",
        "release b, model late)",
    ]


@pytest.mark.parametrize(("name", "near"), [("table-55", "table-5"), ("figur-1", "figure-1"), ("x", "table-1")])
def test_an_unknown_item_is_refused_with_the_nearest(name, near):
    with pytest.raises(SettingsError, match=rf"ecbd {name}: no such item; .*{near}.* are; all: tempkb paper ecbd"):
        find("ecbd", name)
    with pytest.raises(SettingsError, match="expected one of tempel, ecbd, templama, dynamic-templama"):
        find("lama", "table-1")
