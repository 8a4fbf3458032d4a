"""Samples in Markdown: a renderer of Markdown shows every cell as it is stored.

Rows and pictures in Dagster's metadata: shown at once, and nothing in them is taken for anything but text.
"""

import html
import re
from unittest import mock
from urllib.parse import unquote
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from markdown_it import MarkdownIt

from tempkb.platform.assets import sample_of, table_of
from tempkb.store.materialise import MOST_CHARACTERS, glance, markdown

TITLES = [
    "![x](http://example.org/spy.png)",
    "![x](//example.org/spy.png)",
    "![x][y]",
    '<img src="http://example.org/spy.png">',
    "<script>alert(1)</script>",
    "[click](javascript:alert)",
    "<b>bold</b>",
    "a|b",
    "a\\|b",
    "\\",
    "`code`",
    "``x`|`",
    "**b** _i_ __s__ a_b __x__y snake_case _x",
    "&lt;",
    "~~gone~~",
    "http://example.org/`x`|y",
    "me@example.org",
    "www.example.org",
    "<!-- c -->",
    "$x$",
    "# head",
    "'''x''' [[y|z]] {{t}}",
    "postgres:x:1",
    "10% [x] é",
]


@pytest.mark.parametrize("title", TITLES)
def test_a_title_is_shown_as_it_is_stored(title):
    text = markdown(pa.table({"title": [title], "page_id": [7]}))
    shown = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)
    heads, cells = (re.findall(rf"<{tag}>(.*?)</{tag}>", shown) for tag in ("th", "td"))
    assert heads == ["title", "page_id"]
    code = re.fullmatch(r"<code>(.*)</code>", cells[0])
    assert html.unescape(code[1] if code else cells[0]) == title
    assert cells[1] == "7"
    # What GitHub and Dagster's UI would turn into a link all the same is code.
    assert bool(code) == bool(re.search(r"://|www\.|@", title))


def test_signs_that_act_on_a_line_are_escapes():
    text = markdown(pa.table({"title": ["two\nlines", "turned \u202e"]}))
    assert text.splitlines()[2:] == ["| two\\\\nlines |", "| turned \\\\u202e |"]


SVG = "{http://www.w3.org/2000/svg}"


def drawn(markdown):
    """The picture in a Markdown image: the heights of each line at its steps in pixels, and all that is written."""
    found = re.fullmatch(r"!\[counts\]\(data:image/svg\+xml,([^()\s<>]+)\)", markdown)
    root = ElementTree.fromstring(unquote(found[1]))
    lines = []
    for path in root.findall(f"{SVG}path"):
        y, heights = 0, []
        for step, number in re.findall(r"([Mhv])([\d,-]+)", path.get("d")):
            if step == "M":
                y = int(number.partition(",")[2])
            elif step == "v":
                y += int(number)
            else:
                heights.append(74 - y)
        lines.append(heights)
    return lines, [text.text for text in root.findall(f"{SVG}text")]


def test_counts_are_drawn_to_scale_with_their_last_values():
    picture = glance(["2021-Q1", "2021-Q2", "2021-Q3"], {"pages": [10, 20, 5], "edits": [0, 40, 40]})
    assert drawn(picture) == ([[15, 30, 7], [0, 60, 60]], ["pages 5", "edits 40", "2021-Q1 .. 2021-Q3, 0 .. 40"])


@pytest.mark.parametrize("n", [1, 25, 104, 1300])
def test_however_many_windows_it_is_short_enough_to_be_shown_and_ends_with_the_last(n):
    labels = [f"w{number}" for number in range(n)]
    counts = [number * 7919 % 100_003 for number in range(n - 1)] + [100_003]
    picture = glance(labels, {"pages at the cut": counts, "edits in the window": counts})
    assert len(picture) <= MOST_CHARACTERS == 999, "Dagster hides what has 1000 characters or more behind a click"
    (heights, same), written = drawn(picture)
    assert heights == same
    assert heights[-1] == 60
    assert written[-1] == (f"w0 .. w{n - 1}, 0 .. 100003" if n > 1 else "w0, 0 .. 100003")


def test_names_cannot_leave_the_picture():
    _, written = drawn(glance(["a](http://127.0.0.1:9/x.png)"], {"<img src=x>": [1]}))
    assert written == ["<img src=x> 1", "a](http://127.0.0.1:9/x.png), 0 .. 1"]


def test_nothing_is_said_so():
    assert glance([], {"pages": []}) == glance(["a"], {}) == "(nothing to draw)"


def test_a_sample_shows_last_what_is_the_same_in_every_row():
    rows = pa.table({"wiki": ["x", "x"], "tags": [["a"], ["b"]], "none": [None, None], "page_id": [1, 2]})
    with mock.patch("tempkb.platform.assets.first_rows", return_value=rows):
        assert [column.name for column in sample_of(None).schema.columns] == ["tags", "page_id", "wiki", "none"]
    with mock.patch("tempkb.platform.assets.first_rows", return_value=rows.slice(0, 1)):
        assert [column.name for column in sample_of(None).schema.columns] == ["wiki", "tags", "none", "page_id"]


def test_cells_are_texts_as_they_are_stored_cut_at_one_length():
    rows = pa.table({"title": ["![x](http://127.0.0.1:9/x.png)", "y" * 61, None], "n": [2**53 + 1, 0, None]})
    shown = table_of(rows)
    assert [dict(record.data) for record in shown.records] == [
        {"title": "![x](http://127.0.0.1:9/x.png)", "n": "9007199254740993"},
        {"title": "y" * 59 + "…", "n": "0"},
        {"title": None, "n": None},
    ]
    assert [column.name for column in shown.schema.columns] == ["title", "n"]
    assert table_of(rows.slice(0, 0)).records == []
