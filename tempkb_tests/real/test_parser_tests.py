"""MediaWiki's own tests of its parser, read by the cleaner: `TEMPKB_REAL_DATA=folder make real`.

The file is GPL and no part of tempkb: `parser-tests/parserTests.txt` in the folder of
real data, from `tests/parser` of wikimedia/parsoid, July 2021.
"""

import html
import re
from typing import NamedTuple

from tempkb.titles import Site
from tempkb.wikitext.article import read_article
from tempkb.wikitext.redirects import redirect_target
from tempkb_tests.real.data import DATA, REAL

pytestmark = REAL
ENGLISH = Site("enwiki")


class ParserTest(NamedTuple):
    """A test of the file: its name, a wikitext, and the HTML that MediaWiki makes of it."""

    name: str
    wikitext: str
    html: str


_MARK = re.compile(r"^!![ \t]*(\S+).*\n", re.MULTILINE)
_MODES_OF_PARSOID = re.compile(r"parsoid=\S+")


def parser_tests() -> list[ParserTest]:
    """The tests of wikitexts without templates that have no options, but for Parsoid's modes."""
    _, *parts = _MARK.split((DATA / "parser-tests" / "parserTests.txt").read_text("utf-8"))
    found, sections = [], dict[str, str]()
    for kind, text in zip(map(str.lower, parts[::2]), parts[1::2], strict=True):
        sections = {} if kind == "test" else sections
        sections[kind] = text
        if kind == "end" and "wikitext" in sections and (shown := _html_of(sections)) is not None:
            found.append(ParserTest(sections["test"].strip(), sections["wikitext"], shown))
    return found


def _html_of(sections: dict[str, str]) -> str | None:
    """The HTML of the parser in PHP, else of Parsoid; None of a test that is not for us."""
    if "{{" in sections["wikitext"] or _MODES_OF_PARSOID.sub("", sections.get("options", "")).strip():
        return None
    kinds = sorted((one for one in sections if one.startswith("html")), key=lambda one: ("parsoid" in one, one))
    return sections[kinds[0]] if kinds else None


_EDIT = re.compile(r'<span class="mw-editsection">.*?\]</span></span>', re.DOTALL)
_CONTENTS = re.compile(r'<div id="toc".*?</ul>\s*</div>', re.DOTALL)
_TABLE = re.compile(r"<table(?:(?!<table).)*?</table>", re.DOTALL)
_BLOCK = re.compile(
    r"</?(?:p|div|section|[uod]l|li|d[td]|h[1-6r]|br|table|caption|tbody|t[rdh]|blockquote|pre|center)\b[^<>]*>", re.I
)
_TAG = re.compile(r"""<!--.*?-->|</?[a-z](?:[^<>"']|"[^"]*"|'[^']*')*>""", re.IGNORECASE | re.DOTALL)
_WORD = re.compile(r"\w+")


def words_of_html(shown: str) -> list[str]:
    """The words of HTML without tags, links for editing, and tables, that of contents included."""
    shown = _CONTENTS.sub(" ", _EDIT.sub("", shown))
    while (without := _TABLE.sub(" ", shown)) != shown:  # the inner ones first
        shown = without
    return _WORD.findall(html.unescape(_TAG.sub("", _BLOCK.sub(" ", shown))))


def words_of_wikitext(wikitext: str) -> list[str]:
    """The words of the text that `page_texts` would hold: none of a redirect."""
    if redirect_target(wikitext, ENGLISH) is not None:
        return []
    return _WORD.findall(read_article(wikitext, ENGLISH, None, ()).text)


def test_shows_the_words_that_mediawiki_shows():
    tests = parser_tests()
    differ = [one for one in tests if words_of_html(one.html) != words_of_wikitext(one.wikitext)]
    print(len(tests), len(differ))
