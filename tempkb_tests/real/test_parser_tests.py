"""MediaWiki's own tests of its parser, read by the cleaner: `TEMPKB_REAL_DATA=folder make real`.

The file is GPL and no part of tempkb: `parser-tests/parserTests.txt` in the folder of
real data, from `tests/parser` of wikimedia/parsoid, July 2021.
"""

import html
import re
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from tempkb.core.titles import Site
from tempkb.wiki.wikitext.article import read_article
from tempkb.wiki.wikitext.page_kinds import redirect_target
from tempkb_tests.real.data import DATA, REAL

pytestmark = REAL
ENGLISH = Site("enwiki")


class ParserTest(NamedTuple):
    """A test of the file: its name, a wikitext, and the HTML that MediaWiki makes of it or, on the way back, it of that."""

    name: str
    wikitext: str
    html: str
    is_way_back: bool


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
            is_way_back = "parsoid=" in sections.get("options", "") and "wt2html" not in sections["options"]
            found.append(ParserTest(sections["test"].strip(), sections["wikitext"], shown, is_way_back))
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
_HIDDEN = re.compile(r'<div style="display: ?none">.*?</div>', re.DOTALL)
_BLOCK = re.compile(
    r"</?(?:p|div|section|[uod]l|li|d[td]|h[1-6r]|br|table|caption|tbody|t[rdh]|blockquote|pre|center)\b[^<>]*>", re.I
)
_TAG = re.compile(r"""<!--.*?-->|</?[a-z](?:[^<>"']|"[^"]*"|'[^']*')*>""", re.IGNORECASE | re.DOTALL)
_WORD = re.compile(r"\w+")


def words_of_html(shown: str) -> list[str]:
    """The words that readers see of HTML without tags, links for editing, and tables, that of contents included."""
    shown = _CONTENTS.sub(" ", _HIDDEN.sub("", _EDIT.sub("", shown)))
    while (without := _TABLE.sub(" ", shown)) != shown:  # the inner ones first
        shown = without
    return _WORD.findall(html.unescape(_TAG.sub("", _BLOCK.sub(" ", shown))))


def words_of_wikitext(wikitext: str) -> list[str]:
    """The words of the text that `page_texts` would hold: none of a redirect."""
    if redirect_target(wikitext, ENGLISH) is not None:
        return []
    return _WORD.findall(read_article(wikitext, ENGLISH, None, ()).text)


# Why the words differ, by the first rule that holds; what no rule names is a fault of the cleaner.
KINDS: dict[str, Callable[[ParserTest], object]] = {
    "extension that only the tests have": lambda one: re.search(
        "<(tag|statictag|tåg|langconvert|asidetag)", one.wikitext, re.I
    ),
    "HTML for Parsoid's way back, from which the wikitext was made": lambda one: one.is_way_back,
    "number of an external link without words": lambda one: "autonumber" in one.html,
    "picture, or its caption": lambda one: re.search("<img|<figcaption|Special:Upload", one.html),
    "interwiki table of the tests": lambda one: re.search(r"\[\[(mi|mul):", one.wikitext),
    "text behind a redirect: here it has none": lambda one: redirect_target(one.wikitext, ENGLISH) is not None,
    "several pipes in a label: here the last part": lambda one: re.search(r"\|[^|\[\]]+\|[^|\[\]]+\]\]", one.wikitext),
    "row of a table that nothing opens: not shown here": lambda one: re.search(r"^\|", one.wikitext, re.MULTILINE),
    "text that HTML moves out of a table": lambda one: re.search("<table></table>", one.html),
    "note": lambda one: "<ref" in one.wikitext,
    "brackets that are no link: not shown here": lambda one: re.search(r"\[\[|>\[http", one.html),
    "tag that MediaWiki shows as it is written: not shown here": lambda one: "&lt;" in one.html and "<" in one.wikitext,
    "signs that MediaWiki encodes in an address": lambda one: re.search(r"\b\w+://\S*&\S+;|%23%3c", one.wikitext),
}
LEAST_EQUAL = 880


def test_shows_the_words_that_mediawiki_shows():
    tests = parser_tests()
    differ = [one for one in tests if words_of_html(one.html) != words_of_wikitext(one.wikitext)]
    kinds = Counter(next((kind for kind, holds in KINDS.items() if holds(one)), f"?? {one.name}") for one in differ)
    print(f"\n{len(tests) - len(differ)} of {len(tests)} have the same words; the others:")
    for kind, n in kinds.most_common():
        print(f"  {n}: {kind}")
    assert not [kind for kind in kinds if kind not in KINDS]
    assert len(tests) - len(differ) >= LEAST_EQUAL
