"""Titles of lists in the words of several languages, and titles that only look like them."""

import re

import pytest

from tempkb.store.memory import in_memory
from tempkb.wikitext.list_titles import list_title_pattern

LISTS = [
    ("en", "List of bridges in Varland"),
    ("en", "Timeline of Varl"),
    ("de", "Liste der Brücken in Varland"),
    ("de", "Liste bedeutender Seen"),
    ("fr", "Liste d'îles de Varlande"),
    ("es", "Anexo:Puentes de Varlandia"),
    ("it", "Lista dei ponti"),
    ("pt", "Lista de pontes"),
    ("ru", "Список мостов"),
    ("ja", "橋の一覧"),
    ("ja", "橋の一覧 (A-B)"),
    ("zh", "桥梁列表"),
    ("zh", "橋樑一覽表"),
    ("ar", "قائمة الجسور"),
    ("ko", "다리 목록"),
    ("tr", "Köprüler listesi"),
    ("fi", "Siltojen luettelo"),
    ("nl", "Lijst van bruggen"),
    ("nb", "Liste over broer"),
    ("yue", "橋一覽"),
]
NONE = [
    ("en", "Lists"),
    ("en", "Franz List"),
    ("de", "Liste (Programmierung)"),
    ("de", "Listenhund"),
    ("fr", "Listeria"),
    ("es", "Listados"),
    ("ja", "一覧性"),
    ("de", "List of bridges"),
    ("ja", "List of bridges"),
    ("xx", "List of bridges"),
    ("xx", ""),
]


@pytest.mark.parametrize(
    ("language", "title", "is_list"), [(*one, True) for one in LISTS] + [(*one, False) for one in NONE]
)
def test_lists_are_known_by_their_titles(language, title, is_list):
    pattern = list_title_pattern(language)
    assert bool(re.search(pattern, title)) == is_list
    with in_memory() as connection:
        (found,) = connection.execute(
            "SELECT regexp_matches($title, $pattern)", {"title": title, "pattern": pattern}
        ).fetchone()
    assert found == is_list
