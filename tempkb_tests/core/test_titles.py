import pytest

from tempkb.core.titles import Site, Target, Title

GERMAN = Site("dewiki", {0: "", 1: "Diskussion", 10: "Vorlage", 14: "Kategorie"})
TURKISH = Site("trwiki", {0: "", 14: "Kategori"})
WIKTIONARY = Site("enwiktionary", {0: "", 1: "Talk", 14: "Category"}, frozenset({0}))


@pytest.mark.parametrize(
    ("site", "text", "namespace", "title"),
    [
        (Site(), "rain_gauge", 0, "Rain gauge"),
        (Site(), "  Rain   gauge ", 0, "Rain gauge"),
        (Site(), "Rain\u00a0gauge\u200e", 0, "Rain gauge"),
        (Site(), ":Category:Rivers", 14, "Rivers"),
        (Site(), "category : rivers", 14, "Rivers"),
        (Site(), "Image:clock.jpg", 6, "Clock.jpg"),
        (Site(), "2001: A Space Odyssey", 0, "2001: A Space Odyssey"),
        (Site(), "ßtraße", 0, "ßtraße"),
        (Site(), "élan", 0, "Élan"),
        (Site(), "საათი", 0, "საათი"),
        (Site(), "template:ჰარი", 10, "ჰარი"),
        (TURKISH, "insan", 0, "İnsan"),
        (TURKISH, "ısı", 0, "Isı"),
        (TURKISH, "Isparta", 0, "Isparta"),
        (TURKISH, "kategori:iller", 14, "İller"),
        (Site("azwiki"), "iran", 0, "İran"),
        (Site("kaawiki"), "iyun", 0, "İyun"),
        (Site("trvwiki"), "ini", 0, "Ini"),
        (Site("trwiktionary", case_sensitive=frozenset({0})), "insan", 0, "insan"),
        (GERMAN, "Kategorie:fluss", 14, "Fluss"),
        (GERMAN, "Category:fluss", 14, "Fluss"),
        (GERMAN, "Diskussion:Regen", 1, "Regen"),
        (WIKTIONARY, "rain", 0, "rain"),
        (WIKTIONARY, "category:english nouns", 14, "English nouns"),
    ],
)
def test_normal_form(site, text, namespace, title):
    assert site.normalize(text) == Title(namespace, title)


def test_the_pages_own_namespace_number_wins_over_its_prefix():
    assert Site().within("Draft:Rain", 118) == "Draft:Rain"
    assert Site().within("Talk:rain", 1) == "Rain"


@pytest.mark.parametrize(
    ("text", "target"),
    [
        # Nothing behind the sign names no section, so the link names the page.
        ("rain#", Target("page", 0, "Rain")),
        ("rain#_", Target("page", 0, "Rain")),
        ("rain#Life", Target("section", 0, "Rain", "Life")),
        ("rain##", Target("section", 0, "Rain", "#")),
        # Without a page it is the page itself, which is no target by its name.
        ("#", Target("section", 0, "", "")),
        ("#Life", Target("section", 0, "", "Life")),
        ("", Target("invalid", 0, "")),
    ],
)
def test_a_link_to_a_section_names_one(text, target):
    assert Site().read_target(text) == target


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Rock&amp;roll", "Rock&roll"),
        ("Rock&#38;roll", "Rock&roll"),
        ("Rock&#x26;Roll", "Rock&Roll"),
        # Without a semicolon nothing is an entity, nor is the beginning of a longer word.
        ("Rock&notes", "Rock&notes"),
        ("Rock&copy 2", "Rock&copy 2"),
        ("Rock&notes;", "Rock&notes;"),
        ("R&#38 2", "R&"),
        ("AT&T", "AT&T"),
    ],
)
def test_entities_end_with_a_semicolon(text, title):
    assert Site().read_target(text).title == title


def test_letters_and_marks_of_entities_are_composed():
    assert Site().read_target("cafe&#769;") == Target("page", 0, "Café")
    assert Site().read_target("rain#Cafe&#x301;") == Target("section", 0, "Rain", "Café")
