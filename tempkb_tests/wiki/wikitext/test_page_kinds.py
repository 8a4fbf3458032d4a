"""Titles of lists in the words of several languages, and titles that only look like them.

Languages of wikis: by their names, as Wikimedia's configuration and Wikidata's labels have them.
"""

import re

import pytest

from tempkb.core.titles import Site, Title
from tempkb.store.memory import in_memory
from tempkb.wiki.wikitext.page_kinds import (
    is_disambiguation,
    label_language,
    list_title_pattern,
    read_redirect,
    redirect_target,
    starts_like_redirect,
    words_table,
)

TARGETS = [
    ("#REDIRECT [[Rain]]", Title(0, "Rain")),
    ("#redirect[[rain]]", Title(0, "Rain")),
    ("  \n#Redirect: [[Rain gauge|gauges]]", Title(0, "Rain gauge")),
    ("#REDIRECT [[Rain#Measuring]]\n{{R from section}}", Title(0, "Rain")),
    ("#REDIRECT [[:Category:Rain]]", Title(14, "Rain")),
    ("#REDIRECT [[User talk:ada_b]]", Title(3, "Ada b")),
    ("#WEITERLEITUNG [[Regen]]", Title(0, "Regen")),
    ("#REDIRECTION [[Pluie]]", Title(0, "Pluie")),
    ("#перенаправление [[Дождь]]", Title(0, "Дождь")),
    ("#転送 [[雨]]", Title(0, "雨")),
    ("＃転送 [[雨]]", Title(0, "雨")),
    ("#תחל [[x]]", None),
    ("#REDIRECT Rain", None),
    ("#REDIRECT [[]]", None),
    ("#REDIRECT [[#Section]]", None),
    ("The text #REDIRECT [[Rain]]", None),
    ("# one\n# two [[Rain]]", None),
    ("", None),
]

# Words of MediaWiki's message files, by language.
WORDS = {
    "bg": "#пренасочване",
    "cu": "#ПРѢНАПРАВЛЄНИѤ",
    "eo": "#ALIDIREKTU",
    "et, vep": "#suuna",
    "hy": "#ՎԵՐԱՀՂՈՒՄ",
    "ka, xmf": "#გადამისამართება",
    "kk-arab": "#ايداۋ",
    "km": "#បញ្ជូនបន្ត",
    "ksh": "#ÖMLEIDUNG",
    "mk": "#види",
    "ml": "#തിരിച്ചുവിടൽ",
    "ml, in the older encoding": "#തിരിച്ചുവിടല്\u200d",
    "mr": "#पुनर्निर्देशन",
    "mt": "#RINDIRIZZA",
    "mwl": "#ANCAMINAR",
    "nds": "#wiederleiden",
    "nds-nl": "#DEURVERWIEZING",
    "ro": "#REDIRECTEAZA",
    "sa": "#पुनर्निदेशन",
    "sd": "#چوريو",
    "si": "#යළියොමුව",
    "sq": "#RIDREJTO",
    "srn": "#STIR",
    "tt": "#yünältü",
    "vec": "#VARDA",
    "vro": "#saadaq",
    "yi": "#ווייטערפירן",
}


@pytest.mark.parametrize("word", WORDS.values(), ids=WORDS)
@pytest.mark.parametrize("wiki", [None, "demowiki"])
def test_a_wiki_of_unknown_language_takes_the_words_of_all(word, wiki):
    assert redirect_target(f"{word} [[rain]]", Site(wiki)) == Title(0, "Rain")


# Wikis, the words that MediaWiki takes there for redirects, and words of other languages that are text there.
OF_WIKIS = {
    "enwiki": ("#REDIRECT", "#WEITERLEITUNG #REDIRECTION #перенаправление"),
    "enwiktionary": ("#REDIRECT", "#WEITERLEITUNG"),
    "simplewiki": ("#REDIRECT", "#WEITERLEITUNG"),
    "commonswiki": ("#REDIRECT", "#WEITERLEITUNG"),
    "wikidatawiki": ("#REDIRECT", "#WEITERLEITUNG"),
    "dewiki": ("#REDIRECT #WEITERLEITUNG #Weiterleitung", "#REDIRECTION #OMDIRIGERING"),
    "dewikiquote": ("#REDIRECT #WEITERLEITUNG", "#RINVIA"),
    "barwiki": ("#REDIRECT #WEITERLEITUNG", "#RINVIA"),
    "alswiki": ("#REDIRECT #WEITERLEITUNG", "#REDIRECTION"),
    "kshwiki": ("#REDIRECT #ÖMLEIDUNG #WEITERLEITUNG", "#DOORVERWIJZING"),
    "nds_nlwiki": ("#REDIRECT #DEURVERWIEZING #DOORVERWIJZING", "#WEITERLEITUNG"),
    "be_x_oldwiki": ("#REDIRECT #перанакіраваньне", "#перенаправление"),
    "nowiki": ("#REDIRECT #OMDIRIGERING #omdiriger", "#WEITERLEITUNG"),
    "dawiki": ("#REDIRECT", "#OMDIRIGERING"),
    "zh_yuewiki": ("#REDIRECT", "#重定向"),
    "zh_min_nanwiki": ("#REDIRECT #重新導向 #重定向", "#転送"),
    "zhwiki": ("#REDIRECT #重定向", "#転送"),
    "fiu_vrowiki": ("#REDIRECT #saadaq #suuna", "#OHJAUS"),
    "lezwiki": ("#REDIRECT #перенаправление #İSTİQAMƏTLƏNDİRMƏ", "#YÖNLENDİR"),
    "trwiki": ("#REDIRECT #YÖNLENDİRME #yönlendirme", "#İSTİQAMƏTLƏNDİR"),
    "ttwiki": ("#REDIRECT #ЮНӘЛТҮ #перенаправление", "#пренасочване"),
    "lmowiki": ("#REDIRECT #RINVIA #VARDA", "#REDIRECTION"),
    "frwiki": ("#REDIRECT #REDIRECTION", "#REDIRECCION"),
}


@pytest.mark.parametrize("wiki", OF_WIKIS)
def test_a_wiki_takes_the_words_of_its_language_and_of_those_behind_it(wiki):
    own, others = (words.split() for words in OF_WIKIS[wiki])
    assert [word for word in own + others if redirect_target(f"{word} [[rain]]", Site(wiki))] == own


def test_every_language_behind_another_has_words_that_begin_with_a_sharp():
    table = words_table()
    assert {"en"} == table["redirect_words_also_of"].keys() - table["redirect_words"].keys()
    assert all(word[0] in "#\uff03" for words in table["redirect_words"].values() for word in words)


@pytest.mark.parametrize(("text", "target"), TARGETS)
def test_redirects(text, target):
    assert redirect_target(text, Site()) == target
    if target is not None:
        assert starts_like_redirect(text.encode())


SECTIONS = [
    ("#REDIRECT [[Rain#Measuring]]", "Measuring"),
    ("#REDIRECT [[Rain]]", None),
    ("#REDIRECT [[Rain#]]", None),
    ("#REDIRECT [[Rain# |here]]", None),
    ("#REDIRECT [[Rain#How_to_measure|here]] {{R to section}}", "How to measure"),
    ("#REDIRECT [[Rain#Caf%C3%A9_life]]", "Café life"),
    ("#REDIRECT [[Rain%23Causes]]", "Causes"),
    ("#REDIRECT [[Rain#Old &amp; new]]", "Old & new"),
    # The older encoding of anchors may stand for itself as well, so it stays as it is.
    ("#REDIRECT [[Rain#Caf.C3.A9]]", "Caf.C3.A9"),
    ("#WEITERLEITUNG [[Regen#Messung]]", "Messung"),
    ("#REDIRECTION [[Pluie#Mesure]]", "Mesure"),
    ("#ПЕРЕНАПРАВЛЕНИЕ [[Дождь#Измерение]]", "Измерение"),
    ("#転送 [[雨#測定]]", "測定"),
    ("#تحويل [[مطر#قياس]]", "قياس"),
]


@pytest.mark.parametrize(("text", "section"), SECTIONS)
def test_sections_of_redirects(text, section):
    assert read_redirect(text, Site()).section == section


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{disambiguation}}", True),
        ("x\n{{Disambig|geo}}", True),
        ("{{ hndis | name=Ada }}", True),
        ("{{Template:Dab}}", True),
        ("{{human_name_disambiguation}}", True),
        ("{{Begriffsklärung}}", True),
        ("{{неоднозначность}}", True),
        ("__DISAMBIG__", True),
        ("{{disambiguation needed|date=May 2020}}", False),
        ("{{other uses|Rain (disambiguation)}}", False),
        ("[[Rain (disambiguation)]]", False),
        ("disambiguation", False),
    ],
)
def test_disambiguations(text, expected):
    assert is_disambiguation(text) is expected


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


# The setting wgLanguageCode of Wikimedia's wikis.
DIFFERENT = {
    "alswiki": "gsw",
    "alswiktionary": "gsw",
    "bat_smgwiki": "sgs",
    "be_x_oldwiki": "be-tarask",
    "bhwiki": "bho",
    "fiu_vrowiki": "vro",
    "nowiki": "nb",
    "nowiktionary": "nb",
    "nowikisource": "nb",
    "roa_rupwiki": "rup",
    "roa_rupwiktionary": "rup",
    "shywiktionary": "shy-latn",
    "simplewiki": "en",
    "simplewiktionary": "en",
    "zh_classicalwiki": "lzh",
    "zh_min_nanwiki": "nan",
    "zh_min_nanwikisource": "nan",
    "zh_yuewiki": "yue",
}
EQUAL = {
    "dewiki": "de",
    "enwikivoyage": "en",
    "nnwiki": "nn",
    "zhwiki": "zh",
    "cbk_zamwiki": "cbk-zam",
    "crhwiki": "crh",
    "emlwiki": "eml",
    "map_bmswiki": "map-bms",
    "nds_nlwiki": "nds-nl",
    "nrmwiki": "nrm",
    "roa_tarawiki": "roa-tara",
    "tlywiki": "tly",
    "mywiki": "my",
}


@pytest.mark.parametrize(("wiki", "language"), (DIFFERENT | EQUAL).items())
def test_the_name_of_one_of_wikimedias_wikis_tells_its_language_whatever_a_dump_states(wiki, language):
    assert [label_language(Site(wiki, language=stated)) for stated in ("", "fr")] == [language] * 2


@pytest.mark.parametrize(
    ("wiki", "stated", "language"),
    [
        ("ourcompanywiki", "de", "de"),
        ("my_wiki", "no", "nb"),
        ("devwiki", "en", "en"),
        ("brwikimedia", "pt-br", "pt-br"),
        ("commonswiki", "en", "en"),
        # Wikis newer than the list, of which no dump is here.
        ("yuewiktionary", "", "yue"),
        ("xyzwiki", "", "xyz"),
        ("commonswiki", "", "en"),
        ("wikidatawiki", "", "en"),
        ("betawikiversity", "", "en"),
        ("testwiki", "", "en"),
    ],
)
def test_of_another_wiki_it_is_what_a_dump_states_else_the_code_in_its_name(wiki, stated, language):
    assert label_language(Site(wiki, language=stated)) == language
