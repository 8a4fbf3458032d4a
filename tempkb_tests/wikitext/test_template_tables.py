"""Tables of template names: what each shows, which win, what is silent, and that no row is in vain."""

import tomllib
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

import tempkb.wikitext
from tempkb.titles import Site
from tempkb.wikitext import english, foreign, parser_functions, pronunciation, template_tables
from tempkb.wikitext.article import read_article
from tempkb.wikitext.template_tables import common_table, is_silent, own_table, table_version

CASES = tomllib.loads((Path(__file__).parent / "cases_of_languages.toml").read_text("utf-8"))["case"]
LANGUAGES = sorted(path.stem for path in (Path(tempkb.wikitext.__file__).parent / "languages").glob("*.toml"))


@pytest.mark.parametrize("case", CASES, ids=[f"{case['language']}: {case['name']}" for case in CASES])
def test_readers_see(case):
    article = read_article(case["wikitext"], Site(f"{case['language']}wiki"), date(2013, 6, 1))
    assert article.text == case["text"]
    assert [[link.surface, link.target] for link in article.links] == case.get("links", [])
    assert [hole.name for hole in article.holes] == case.get("holes", [])


def test_every_language_with_a_table_has_a_case():
    assert set(LANGUAGES) <= {case["language"] for case in CASES}


@pytest.mark.parametrize(
    "module", [english, foreign, parser_functions, pronunciation], ids=lambda module: module.__name__
)
def test_every_function_shows_some_template(module):
    used = {
        key
        for table in (common_table(), *map(own_table, LANGUAGES))
        for rows in (table, table.get("family", {}))
        for key in rows.get("render", {})
    }
    functions = {name for name, one in vars(module).items() if getattr(one, "__module__", "") == module.__name__}
    assert {name for name in functions if not name.startswith("_")} <= used


def test_a_wiki_s_own_row_wins_over_the_common_one():
    said = "a {{s|XII}} b {{m|1|c|m}} c"
    shown = [read_article(said, Site(f"{language}wiki")).text for language in ("fr", "it", "ru")]
    assert shown == ["a XIIe siècle b c", "a b 1 cm c", "a XII b c"]


def names(table):
    """Every row of a table: (section, name)."""
    for section in ("show", "text", "render", "silent"):
        for key, group in table.get(section, {}).items():
            if key != "beginnings":
                yield from ((section, name) for name in group)
    for section in ("link", "pattern"):
        yield from ((section, name) for name in table.get(section, {}))


@pytest.mark.parametrize("language", ["common", *LANGUAGES])
def test_names_are_written_as_they_are_looked_up_and_stand_in_one_row(language):
    rows = [name for _, name in names(common_table() if language == "common" else own_table(language))]
    assert [name for name in rows if name != " ".join(name.replace("_", " ").lower().split())] == []
    assert [name for name, times in Counter(rows).items() if times > 1] == []


@pytest.mark.parametrize(
    ("name", "language", "expected"),
    [
        ("citation needed", "en", True),
        ("infobox person", "en", True),
        ("cite web", "ja", True),
        ("sfn", "de", True),
        ("see also", "en", True),
        ("convert", "en", False),
        ("inflation", "en", False),
        ("", "en", False),
    ],
)
def test_silent_names(name, language, expected):
    assert is_silent(name, language) is expected


def test_the_version_is_another_when_a_row_changes_and_the_same_when_a_comment_does(tmp_path, monkeypatch):
    (tmp_path / "languages").mkdir()
    for name in ("templates.toml", "units.toml", "formulas.toml", "languages/de.toml"):
        (tmp_path / name).write_text('[text]\n"a" = ["b"]\n')
    monkeypatch.setattr(template_tables, "_HERE", tmp_path)

    def version(language_rows):
        (tmp_path / "languages/de.toml").write_text(language_rows)
        table_version.cache_clear()
        return table_version()

    first = version('[text]\n"a" = ["b"]\n')
    assert version('# why\n\n[text]\n"a" = ["b"]\n') == first
    assert version('[text]\n"a" = ["c"]\n') != first
    table_version.cache_clear()
