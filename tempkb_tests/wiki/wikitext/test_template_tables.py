"""Tables of template names: what each shows, which win, what is silent and when, and that no row is in vain."""

import tomllib
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

import tempkb.wiki.wikitext
from tempkb.core.titles import Site
from tempkb.wiki.wikitext import language_templates, template_tables
from tempkb.wiki.wikitext import renderers as parser_functions
from tempkb.wiki.wikitext.article import read_article
from tempkb.wiki.wikitext.template_tables import common_table, own_table, silent_when, table_version

CASES = tomllib.loads((Path(__file__).parent / "cases_of_languages.toml").read_text("utf-8"))["case"]
LANGUAGES = sorted(path.stem for path in (Path(tempkb.wiki.wikitext.__file__).parent / "languages").glob("*.toml"))


@pytest.mark.parametrize("case", CASES, ids=[f"{case['language']}: {case['name']}" for case in CASES])
def test_readers_see(case):
    article = read_article(case["wikitext"], Site(f"{case['language']}wiki"), date(2013, 6, 1))
    assert article.text == case["text"]
    assert [[link.surface, link.target] for link in article.links] == case.get("links", [])
    assert [hole.name for hole in article.holes] == case.get("holes", [])


def test_every_language_with_a_table_has_a_case():
    assert set(LANGUAGES) <= {case["language"] for case in CASES}


@pytest.mark.parametrize("module", [language_templates, parser_functions], ids=lambda module: module.__name__)
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
    for section in ("show", "text", "render", "silent", "silent_if"):
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
        ("citation needed", "en", "always"),
        ("infobox person", "en", "always"),
        ("sfn", "de", "always"),
        ("see also", "en", "always"),
        ("harv", "es", "always"),
        ("coord missing", "en", "always"),
        ("commons category", "en", "always"),
        ("commons category-inline", "en", "never"),
        ("cite web", "ja", "never"),
        ("convert", "en", "never"),
        ("inflation", "en", "never"),
        ("", "en", "never"),
        ("coord", "fr", "display=title|t"),
        ("coord", "no", "vis|display=tittel|title|t"),
        ("harvs", "en", "txt|nb="),
        ("audio", "de", "aside"),
    ],
)
def test_when_names_are_silent(name, language, expected):
    assert silent_when(name, language) == expected


def said(wikitext, language):
    """Text and names of holes on the wiki of a language."""
    article = read_article(wikitext, Site(f"{language}wiki"))
    return article.text, [hole.name for hole in article.holes]


TABLES = [("en", common_table()), *((language, own_table(language)) for language in LANGUAGES)]
TABLE_IDS = ["common", *LANGUAGES]


@pytest.mark.parametrize(("language", "table"), TABLES, ids=TABLE_IDS)
def test_every_silent_name_leaves_neither_words_nor_a_hole_in_a_sentence(language, table):
    silent = table.get("silent", {})
    called = [name for key, group in silent.items() if key != "beginnings" for name in group]
    called += [f"{beginning}zz" for beginning in silent.get("beginnings", ())]
    wrong = [name for name in called if said(f"A {{{{{name}|x}}}} b c.", language) != ("A b c.", [])]
    assert wrong == []


def calls_of(name, condition):
    """A call that meets a condition of `silent_if`, if there is one, and a call that does not."""
    if condition in ("never", "aside"):
        return "", f"{{{{{name}|x}}}}"
    arguments, _, values = condition.partition("=")
    argument, value = arguments.split("|")[0], values.split("|")[0]
    if not value:
        return f"{{{{{name}}}}}", f"{{{{{name}|{argument}=x}}}}"
    return f"{{{{{name}|{argument}={value}}}}}", f"{{{{{name}|x}}}}"


@pytest.mark.parametrize(("language", "table"), TABLES, ids=TABLE_IDS)
def test_every_name_that_is_silent_by_condition_leaves_a_hole_without_it_but_for_a_line_of_its_own(language, table):
    wrong = []
    for condition, names in table.get("silent_if", {}).items():
        for name in names:
            met, unmet = calls_of(name, condition)
            hole = name.partition(":")[0]
            found = [
                said(f"A {met} b c.", language),
                said(f"A {unmet} b c.", language),
                said(f"A b.\n{unmet}\nC.", language),
                said(f"A (b, {unmet}, c) d.", language)[1],
            ]
            expected = [("A b c.", []), ("A b c.", [hole]), ("A b.\nC.", []), [] if condition == "aside" else [hole]]
            if found != expected:
                wrong.append((name, found))
    assert wrong == []


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
