"""`tempkb docs`: the pages, and those of groups of tables below one of them."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from tempkb.commands.cli import main

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("name", ["tutorial", "tables", "tables/results", "docs/tables/results.md", "docs/enwiki.md"])
def test_a_page_is_printed_by_its_name_or_its_path(name):
    path = DOCS / f"{name.removeprefix('docs/').removesuffix('.md')}.md"
    assert CliRunner().invoke(main, ["docs", name]).output == path.read_text("utf-8")


def test_the_list_has_the_pages_but_not_each_group_of_tables():
    lines = CliRunner().invoke(main, ["docs"]).output.splitlines()
    assert [line.split()[0] for line in lines] == sorted(path.stem for path in DOCS.glob("*.md"))
    assert "tutorial      Tutorial: ten minutes with the demo" in lines


@pytest.mark.parametrize("name", ["nope", "results/tables", "../README"])
def test_there_is_no_other_page(name, home_folder):
    done = CliRunner().invoke(main, ["docs", name])
    assert done.exit_code == 1
    assert done.stderr.startswith(f"tempkb: docs {name}: no such page; there: architecture, ")
