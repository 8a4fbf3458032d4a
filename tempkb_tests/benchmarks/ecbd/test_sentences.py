"""Words, quotations, names and sentences: little stories, expectations by hand."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tempkb.benchmarks.ecbd.harvest import Harvester
from tempkb.benchmarks.ecbd.matching import (
    RELEASED_KINDS,
    Article,
    Match,
    NameFinder,
    Sighting,
    holds,
    is_bounded,
    longest,
    names_of,
)
from tempkb.benchmarks.ecbd.released import released_filters, released_mentions
from tempkb.benchmarks.ecbd.sentence_filters import filters_of, quoted_spans
from tempkb.benchmarks.sentences import (
    Place,
    clean_definition,
    covered,
    is_whole,
    sentencex_splitter,
    split_paragraph,
    words_of,
)
from tempkb.core.filtering import Chain
from tempkb.wiki.wikitext.holes import SENTENCE_ENDS


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("It rained.", ["It", "rained"]),
        ("The (old) mill, as they say, turned.", ["The", "old", "mill", "as", "they", "say", "turned"]),
        ("Ida's crew – all of them – left.", ["Ida's", "crew", "all", "of", "them", "left"]),
        ("North—south and east", ["North", "south", "and", "east"]),
        ("A U.S. ship of Varl Inc. sank.", ["A", "U.S.", "ship", "of", "Varl", "Inc.", "sank"]),
        ("It is in the U.S.", ["It", "is", "in", "the", "U.S"]),
        ("C++ cost $5.50 & 3%", ["C++", "cost", "$5.50", "3%"]),
        ("", []),
        ("… — !", []),
    ],
)
def test_words_have_no_punctuation_around_them(sentence, words):
    assert [sentence[word.start : word.end] for word in words_of(sentence)] == words


def test_a_stretch_that_cuts_a_word_covers_none():
    sentence = "A newly-built (old) mill."
    words = words_of(sentence)
    assert covered(words, 2, 13) == (1, 1)
    assert covered(words, 8, 13) is None  # built
    assert covered(words, 14, 19) == (2, 2)  # (old)
    assert covered(words, 20, 25) == (3, 3)  # mill.
    assert covered(words, 20, 23) is None  # mil
    assert covered(words, 19, 20) is None  # a blank


@pytest.mark.parametrize(
    ("sentence", "quoted"),
    [
        ('He said "no" twice.', ['"no"']),
        ("He said “no ‘never’ no” twice.", ["“no ‘never’ no”"]),
        ("On « la mer » and ‹ici›.", ["« la mer »", "‹ici›"]),
        ("Er sagte „nein“ und ging.", ["„nein“"]),
        ("The crew's cook and the workers' union.", []),
        ("The crew’s cook and the workers’ union.", []),
        ("In the '90s rock 'n' roll was loud.", []),
        ('It is 5\'10" tall, and "old".', ['"old"']),
        ("'Not now', said he.", ["'Not now'"]),
        ('He began: "It is late and', ['"It is late and']),
        ('is late" he ended.', ['is late"']),
        ('A "b" c "d" e', ['"b"', '"d"']),
        ("Er sagte »nein« und ging.", ["»nein«"]),
        ("»Nein«, sagte er.", ["»Nein«"]),
        ('The "Foo"\'s bar is old.', ['"Foo"']),
        ("Den ”gamla” kyrkan kallas (”Lilla huset”) av alla.", ["”gamla”", "”Lilla huset”"]),
        ("”Lilla huset” är gammalt.", ["”Lilla huset”"]),
        ("Huset heter ”Stora huset", ["”Stora huset"]),
        ("”The board will have eleven members.", []),
        ("He said “no” at the big” house.", ["“no”"]),
        ("No quotes at all.", []),
    ],
)
def test_quotations_of_every_kind(sentence, quoted):
    assert [sentence[start:end] for start, end in quoted_spans(sentence)] == quoted


@pytest.mark.parametrize(
    ("title", "label", "aliases", "names"),
    [
        ("The Lamp (film)", "The Lamp", ["Lamp", "The Lamp"], ["The Lamp (film)", "The Lamp", "Lamp"]),
        ("The Lamps", None, [], ["The Lamps", "the Lamps"]),
        ("NATO", "NATO", ["Q"], ["NATO"]),
        ("Soup", "soup", ["!?"], ["Soup", "soup"]),
        ("C++", "C++", [], ["C++"]),
    ],
)
def test_names_are_told_once_and_the_title_first(title, label, aliases, names):
    assert [name.text for name in names_of(title, label, aliases, [])] == names


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("في الساحة، وكان؛ فهل عاد؟", ["في", "الساحة", "وكان", "فهل", "عاد"]),
        ("میٹرو چلتی ہے۔", ["میٹرو", "چلتی", "ہے"]),
        ("दिल्ली मेट्रो चलती है।", ["दिल्ली", "मेट्रो", "चलती", "है"]),
        ("Երևանը մայրաքաղաքն է։", ["Երևանը", "մայրաքաղաքն", "է"]),
        ("ዋና ከተማ ናት።", ["ዋና", "ከተማ", "ናት"]),
        ("״עיר״ של צה״ל", ["עיר", "של", "צה״ל"]),
    ],
)
def test_words_of_other_scripts_have_no_punctuation_around_them(sentence, words):
    assert [sentence[word.start : word.end] for word in words_of(sentence)] == words


def test_no_word_ends_with_the_end_of_its_sentence():
    for sign in SENTENCE_ENDS:
        assert [(one.start, one.end) for one in words_of(f"word{sign}")] == [(0, 4)]


@pytest.mark.parametrize(
    ("language", "title", "small"),
    [("tr", "İncir Kupası", "incir Kupası"), ("tr", "Iğdır Evi", "ığdır Evi"), ("en", "Iron Cup", "iron Cup")],
)
def test_small_letters_are_those_of_the_language(language, title, small):
    assert [name.text for name in names_of(title, None, [], [], language=language)] == [title, small]


def test_the_released_code_looks_for_titles_as_they_stand():
    found = names_of("The Lamp (film)", "The Lamp", ["Lamp"], [], RELEASED_KINDS)
    assert [(name.text, name.kind) for name in found] == [
        ("The Lamp (film)", "title"),
        ("The Lamp", "label"),
        ("Lamp", "alias"),
    ]


@pytest.mark.parametrize(
    ("text", "name", "is_found"),
    [
        ("Ida left.", "Ida", True),
        ("Hurricane Ida's path", "Ida", True),
        ("Ida, and Idaho", "Ida", True),
        ("Idaho", "Ida", False),
        ("Florida", "ida", False),
        ("GPT-2 is new", "GPT", False),
        ("GPT-2 is new", "GPT-2", True),
        ("post-Ida days", "Ida", False),
        ("C++ is old", "C", False),
        ("C++ is old", "C++", True),
        ("C+++", "C++", False),
        ("of C.", "C", True),
        ("see ida.com", "ida", False),
        ("(Ida)", "Ida", True),
        ("“Ida”", "Ida", True),
        ("Ida Inc.", "Ida Inc.", True),
        ("l'Ida", "Ida", False),
        ("Straße_Ida", "Ida", False),
        ("Foo\u0301 is no Foo", "Foo\u0301", True),
        ("Foo\u0301 is new", "Foo", False),
        ("रामायण", "राम", False),
    ],
)
def test_names_stand_between_the_edges_of_words(text, name, is_found):
    found = NameFinder([name]).find(text)
    assert bool(found) == is_found
    if is_found:
        assert text[found[0].start : found[0].end] == name


@pytest.mark.parametrize(
    ("text", "is_held"), [("gpt-2 is", True), ("a gpt", True), ("gpts", False), ("agpt gpt", True), ("", False)]
)
def test_a_text_holds_a_name_in_compounds_too(text, is_held):
    assert holds(text, "gpt") == is_held


def test_no_name_is_a_pattern():
    assert NameFinder(["Wall (film)", "a.c"]).find("the Wall film abc") == []
    assert NameFinder(["Wall (film)"]).find("the Wall (film) ended") == [Match(4, 15, 0)]


def test_of_overlapping_names_the_longest_stands():
    finder = NameFinder(["Ida", "Hurricane Ida", "Ida B", "Ida Bay"])
    text = "é Hurricane Ida hit Ida Bay"
    assert [text[one.start : one.end] for one in longest(finder.find(text))] == ["Hurricane Ida", "Ida Bay"]


names = st.lists(st.text("ab c+-", min_size=1, max_size=4).filter(str.strip), min_size=1, max_size=6, unique=True)


@given(names, st.text("ab c+-.'é", max_size=30))
def test_the_automaton_finds_what_a_search_for_each_name_finds(some, text):
    expected = sorted(
        Match(one.start(), one.end(), at)
        for at, name in enumerate(some)
        for one in (re.compile(re.escape(name)).match(text, start) for start in range(len(text)))
        if one and is_bounded(text, one.start(), one.end())
    )
    assert sorted(NameFinder(some).find(text)) == expected


def sighting(sentence: str, mentions: list[Place], kept=frozenset()) -> Sighting:
    """An article of one sentence whose only names are the mentions."""
    article = Article(1, "Lamp", sentence, [], [], frozenset(("Lamp",)), {})
    matches = [Match(one.start, one.end, 0) for one in mentions]
    return Sighting(article, Place(0, len(sentence)), sentence, mentions, matches, kept)


def why(sentence: str, mention: str = "Lamp", least: int = 5) -> str:
    places = [Place(one.start(), one.end()) for one in re.finditer(rf"\b{mention}\b", sentence)]
    return filters_of(least, "en", strict=True).reason(sighting(sentence, places))


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("The Lamp stood on a hill.", ""),
        ("The crew's Lamp stood on a hill (in Varland).", ""),
        ("He wrote “on a hill” of the Lamp.", ""),
        ("Lamp's oil was never cheap.", ""),
        ("The Lamp was lit.", "fewer than 5 words"),
        ("The Lamp of a Lamp burns.", "mentions the entity more than once"),
        ("The Lamp-maker lit the Lamp again.", "mentions the entity more than once"),
        ('She said "the Lamp is out" to them.', "mention in quotation marks"),
        ("She said «the Lamp is out» to them.", "mention in quotation marks"),
        ("The keeper of “Songs of ‘the Lamp’ men” slept.", "mention in quotation marks"),
        ("Hall Lamp kallas ofta ”Stora huset” av alla.", ""),
        ("Huset kallas ofta ”Stora Lamp” av alla.", "mention in quotation marks"),
        ("The Lamp stood on <extra_id_0> hill.", "holds the mask's own sign"),
        ("The Lamp has been shown in:", "no whole sentence"),
        ("stood near the Lamp on a hill.", "no whole sentence"),
        ("The Lamp stood (on a hill.", "no whole sentence"),
        ("They met at the Lamp Society in May.", "inside a longer name"),
        ("They read Lamp: A Life of Light.", "inside a longer name"),
    ],
)
def test_which_sentences_are_asked_about(sentence, reason):
    assert why(sentence) == reason


def test_a_small_mention_may_begin_a_sentence_and_go_before_a_name():
    assert why("iPhone users paid a lot.", "iPhone") == ""
    assert why("The first lamp Ada Holm lit was red.", "lamp") == ""


@pytest.mark.parametrize(
    ("sentence", "is_complete"),
    [
        ("ამ დროს თბილისი გახდა დედაქალაქი.", True),
        ("ამ დროს თბილისი გახდა", False),
        ("Ამ დროს.", True),
        ("ⴀⴋ ⴃⴐⴍⴑ.", False),
        ("في ذلك الوقت.", True),
        ("на горе.", False),
    ],
)
def test_a_sentence_begins_with_a_capital_where_its_letters_have_any(sentence, is_complete):
    # The modern Georgian letters have capitals in Unicode, which no text uses at the beginning of a sentence.
    assert is_whole(sentence, Place(3, 4)) == is_complete


@pytest.mark.parametrize(
    "sentence",
    [
        "یہ جملہ ہے۔",
        "یہ جملہ ہے۔”",
        "ይህ ዓረፍተ ነገር ነው።",
        "Սա նախադասություն է։",
        "ဒါက စာကြောင်းပါ။",
        "នេះជាប្រយោគ។",
        "यह वाक्य है।",
        "इति श्लोकः॥",
        "འདི་ཚིག་གྲུབ་ཡིན།",
        "Sie rief: „Das ist ein Satz.“",
        "これは文です．",  # noqa: RUF001 - a full stop of Japanese
    ],
)
def test_each_script_ends_sentences_with_its_own_sign(sentence):
    assert is_whole(sentence, Place(3, 4))
    assert not is_whole(sentence.rstrip("۔።։။។।॥།．”.“"), Place(3, 4))  # noqa: RUF001


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Miraitowa () is a mascot.", "Miraitowa is a mascot."),
        ("Lund ( ; ) is ( , ) a town.", "Lund is a town."),
        ("Ada (; born 1815) wrote.", "Ada (born 1815) wrote."),
        ("Ada (born 1815; ) wrote.", "Ada (born 1815) wrote."),
        ("Ada ((), Lady) wrote.", "Ada (Lady) wrote."),
        ("Ada (born 1815) wrote.", "Ada (born 1815) wrote."),
        ("Asia (or) and Lut (or ; Arabic: Lud) are old.", "Asia and Lut (Arabic: Lud) are old."),
        ("Ada (born Ada Holm; – March 6, 1982) wrote.", "Ada (born Ada Holm) wrote."),
        ("X (pronounced) and Y (Chinese: ; pinyin) and Z (Russian: , tr. ).", "X and Y and Z."),
        ("The land ; Landland , is old.", "The land; Landland, is old."),
        ("War (1939-1945, or longer) is an evil (C.).", "War (1939-1945, or longer) is an evil (C.)."),
        ("f(x) of IBM (International, Inc.; and others)", "f(x) of IBM (International, Inc.; and others)"),
    ],
)
def test_definitions_have_no_debris_of_brackets(text, clean):
    assert clean_definition(text) == clean


def test_sentences_know_where_they_stand():
    text = "Head\nÉté! Dr. Holm of the U.S. Navy left.  He said: “No. Never.” 😀 Then Ida came."
    places = split_paragraph(text, Place(5, len(text)), sentencex_splitter("en"))
    assert [text[place.start : place.end] for place in places] == [
        "Été!",
        "Dr. Holm of the U.S. Navy left.",
        "He said: “No. Never.”",
        "😀 Then Ida came.",
    ]


LEAD = "Ida is a storm of the summer of a year."


def harvest(said: str, filters: Chain[Sighting], rules: str = "tempkb", holes=(), language: str = "en"):
    """Harvest an article on the storm Ida with a paragraph behind its lead."""
    text = f"{LEAD}\n{said}"
    paragraphs = [("prose", 0, len(LEAD)), ("prose", len(LEAD) + 1, len(text))]
    names = {name.text: name for name in names_of("Ida", "Ida", [], [])}
    article = Article(1, "Ida", text, paragraphs, [], frozenset(("Ida",)), names, holes)
    finder = NameFinder(list(names), language)
    return Harvester(finder, sentencex_splitter(language), filters, False, rules).harvest(article)


@pytest.mark.slow
def test_a_sentence_with_a_hole_is_left_out_and_counted():
    kept = "People say that Ida was the worst of all storms."
    holed = "The arithmetic mean of and is what Ida had."
    said = f"{kept} {holed}"
    # Behind the full stop of the first sentence of the paragraph, and between "of" and "and" of the second.
    note, hole = len(LEAD) + 1 + len(kept), len(LEAD) + 1 + said.index("and is")
    ours, released = filters_of(5, "en", strict=True), released_filters(5)
    assert [one.text for one in harvest(said, ours, holes=(note,)).kept] == [kept, holed]
    found = harvest(said, ours, holes=(note, hole))
    assert [one.text for one in found.kept] == [kept]
    assert list(found.left_out.rows()) == [("a template, formula or picture was left out of it", 1, holed)]
    assert [one.text for one in harvest(said, released, "released", (note, hole)).kept] == [kept, holed]


@pytest.mark.parametrize(
    ("language", "kept", "twice"),
    [
        ("zh", "人们在2021年把Ida称为大风暴。", "人们把Ida和Ida的雨称为大风暴。"),
        ("ja", "政府はIdaの会議に初めて参加した。", "政府はIdaとIdaの会議に参加した。"),
    ],
)
def test_a_latin_name_among_letters_that_are_words_is_mentioned(language, kept, twice):
    found = harvest(f"{kept}{twice}", filters_of(5, language, strict=True), language=language)
    assert [one.text for one in found.kept] == [kept]
    assert list(found.left_out.rows()) == [("mentions the entity more than once", 1, twice)]


def test_a_new_filter_is_a_function_and_a_place_in_the_chain():
    """What it leaves out is counted with an example; no other line of the room names it."""

    def too_loud(sighting: Sighting) -> str:
        return "too loud" if "!" in sighting.sentence else ""

    quiet, loud, short = "Once more Ida came over the sea.", "Once more Ida came over the sea!", "Ida came!"
    filters = Chain(*filters_of(5, "en", strict=True).filters, too_loud)
    found = harvest(f"{loud} {quiet} {quiet} {short} {loud}", filters)
    assert [one.text for one in found.kept] == [quiet]
    # The short one is loud, too: the first filter that gives a reason ends the chain.
    assert list(found.left_out.rows()) == [
        ("fewer than 5 words", 1, short),
        ("stands more than once in the article", 1, quiet),
        ("too loud", 2, loud),
    ]


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("The Lamp burned on a hill.", ""),
        ("The Lamp burned there.", "fewer than 6 words"),
        ("The Lamp burned on a <extra_id_0>.", "holds the mask's own sign"),
        ("The Lamp is a Lamp and a Lamp.", "no name stands in it once"),
        ('She said "the Lamp is out" to them.', "mention in quotation marks"),
        ("She said “the Lamp is out” to them.", ""),
        ("The red Lamp-maker lit it once again.", ""),
        ("The Lamp$ shop sells oil to them.", "mention cuts a token"),
    ],
)
def test_which_sentences_the_released_code_asks_about(sentence, reason):
    assert released_filters(6).reason(sighting(sentence, released_mentions(sentence, ["Lamp"]))) == reason


def test_the_released_code_takes_the_first_name_that_stands_once():
    sentence = "The lamp of Lund is the lamp of C++ users."
    assert released_mentions(sentence, ["lamp", "C++", "Lund"]) == [Place(32, 35)]
    assert released_mentions(sentence, ["lamp", "Lun"]) == []
