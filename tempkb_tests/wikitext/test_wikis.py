"""Languages of wikis: by their names, as Wikimedia's configuration and Wikidata's labels have them."""

import pytest

from tempkb.titles import Site
from tempkb.wikitext.wikis import label_language

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
