import csv

import pytest
from click.testing import CliRunner
from PIL import Image

from tempkb.commands.cli import main
from tempkb.commands.screens.papers import standing
from tempkb.platform.api import open_store
from tempkb.results.papers.items import Drawing, papers
from tempkb.results.papers.pictures import drawn
from tempkb_tests.results.papers.test_items import CITIES

ITEMS = [(paper.name, name) for paper in papers().values() for name, item in paper.items.items() if item.kind == "data"]


@pytest.fixture
def typed(scored_home, linked_home, monkeypatch):
    """Types tempkb paper over the home of a paper's benchmark; returns what it prints."""

    def run(*words, code=0):
        monkeypatch.setenv("TEMPKB_HOME", str(linked_home if words[:1] == ("tempel",) else scored_home))
        done = CliRunner().invoke(main, ["paper", *map(str, words)])
        assert done.exit_code == code, done.output
        return done.output

    return run


@pytest.mark.parametrize(("paper", "name"), ITEMS)
def test_each_item_is_printed_or_says_what_it_lacks(paper, name, scored_home, linked_home, monkeypatch):
    monkeypatch.setenv("TEMPKB_HOME", str(linked_home if paper == "tempel" else scored_home))
    done = CliRunner().invoke(main, ["paper", paper, name])
    here, lacks = standing(open_store(), papers()[paper], papers()[paper].items[name])
    assert done.exit_code == 0 or "this home has nothing of it" in done.output, done.output
    assert (done.exit_code, bool(lacks)) in {"yes": [(0, False)], "in part": [(0, True)], "no": [(1, True)]}[here]


def test_all_items_are_listed_with_what_is_lacking(typed):
    for paper in papers().values():
        said = typed(paper.name)
        assert paper.title in said
        assert all(f"│ {name} " in said for name in paper.items)


def test_an_item_is_written_as_csv_latex_and_picture(typed, tmp_path):
    files = [tmp_path / name for name in ("t.csv", "t.tex", "t.png")]
    said = typed("ecbd", "table-5", "--csv", files[0], "--latex", files[1], "--picture", files[2])
    assert "ECBD, Table 5" in said
    rows = list(csv.DictReader(files[0].open()))
    assert {"release", "model", "variant", "value", "low", "high", "n_items", "n_clusters"} <= rows[0].keys()
    assert files[1].read_text().startswith("\\begin{table}")
    with Image.open(files[2]) as picture:
        assert picture.size[0] > 300


def test_only_some_models_are_shown(typed):
    said = typed("ecbd", "table-5", "--model", "late")
    assert ("late" in said, "early" in said) == (True, False)
    refused = typed("ecbd", "table-5", "--model", "nobody", code=1)
    assert "found nothing of nobody; there: demo-cloze; " in refused


@pytest.mark.parametrize("words", [("ecbd", "table-55"), ("lama",), ("lama", "table-1")])
def test_what_is_not_there_is_refused(typed, words):
    assert "no such" in typed(*words, code=1)


def test_files_need_an_item(typed, tmp_path):
    assert "name an item, such as tempkb paper ecbd table-5" in typed("ecbd", "--csv", tmp_path / "a", code=2)


def test_a_drawing_says_that_it_has_no_data(typed):
    assert "a drawing without data" in typed("ecbd", "figure-2", code=1)


@pytest.mark.parametrize("kind", ["lines", "bars", "violin"])
def test_rows_are_drawn(kind, tmp_path):
    with drawn(Drawing(kind, "year", series=("model",)), CITIES, "cities") as figure:
        titles = [axis.get_title() for axis in figure.axes]
    assert titles == ["a", "b"]


def test_pictures_show_no_interval_beyond_what_is_possible():
    rows = [{"x": 1, "value": 0.9, "low": 0.7, "high": 1.1}, {"x": 2, "value": 0.1, "low": -0.2, "high": 0.4}]
    for kind in ("lines", "bars"):
        with drawn(Drawing(kind, "x", within=(0, 1)), rows, "shares") as figure:
            (axis,) = figure.axes
            ends = [tuple(line.get_ydata()) for line in axis.lines if len(set(line.get_xdata())) == 1]
        assert ends == [(0.7, 1.0), (0.0, 0.4)]
    assert rows[0]["high"] == 1.1


def test_a_violin_names_each_series_once():
    """Each way of answering has cells of one of three models alone."""
    rows = [{"model": model, "way": way, "value": 0.5} for model, way in (("m", "b"), ("n", "a"), ("o", "b"))]
    with drawn(Drawing("violin", "model", series=("way",)), rows, "cells") as figure:
        (axis,) = figure.axes
        assert axis.get_legend_handles_labels()[1] == ["b", "a"]
