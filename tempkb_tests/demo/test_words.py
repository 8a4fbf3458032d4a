"""The words of the demo world are complete: packaged, named in the README, and read without a slip."""

import re

import pytest

from tempkb.demo.pages import Clock, quarters
from tempkb.demo.words import DATA


def test_the_readme_names_all_files_of_words():
    text = (DATA.parent / "README.md").read_text("utf-8")
    assert set(re.findall(r"^\| `(\w+\.toml)` \|", text, re.MULTILINE)) == {path.name for path in DATA.iterdir()}


@pytest.mark.parametrize("words", ["", "4 + 10", "2021", "late+1 month", "end"])
def test_a_time_that_is_none_is_refused(words):
    with pytest.raises(ValueError, match="no time of the demo world; expected such as 2021-03-20, 4\\+10 or last-3"):
        Clock(quarters(9)).at(words)
