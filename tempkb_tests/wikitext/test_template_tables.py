"""Tables of template names: which win, what is silent, and that no row is in vain."""

from collections import Counter
from pathlib import Path

import pytest

import tempkb.wikitext
from tempkb.wikitext import template_tables
from tempkb.wikitext.template_tables import common_table, is_silent, own_table, table_version

LANGUAGES = sorted(path.stem for path in (Path(tempkb.wikitext.__file__).parent / "languages").glob("*.toml"))


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
        ("citation needed", "en", True), ("infobox person", "en", True), ("cite web", "ja", True), ("sfn", "de", True),
        ("see also", "en", True), ("convert", "en", False), ("inflation", "en", False), ("", "en", False),
    ],
)  # fmt: skip
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
