"""Samples in Markdown: a renderer of Markdown shows every cell as it is stored."""

import html
import re

import pyarrow as pa
import pytest
from markdown_it import MarkdownIt

from tempkb.store.materialise import markdown

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
