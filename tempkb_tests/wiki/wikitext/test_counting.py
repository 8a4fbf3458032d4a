"""Words in scripts with and without blanks between them: counts by hand, and English as it always was."""

import random

import pytest

from tempkb.wiki.wikitext.counting import count_words, has_unspaced, may_part, split_words, words_in


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It rained – twice.", ["It", "rained", "–", "twice."]),
        ("東京は、雨。", ["東", "京", "は、", "雨。"]),
        ("「東京」(Tokyo)は街だ", ["「東", "京」(", "Tokyo)", "は", "街", "だ"]),
        ("iPhoneは 2007年", ["iPhone", "は", "2007", "年"]),
        ("アメリカー", ["ア", "メ", "リ", "カ", "ー"]),
        ("人々", ["人", "々"]),
        ("柏林在1237年", ["柏", "林", "在", "1237", "年"]),
        # Vowel signs and tone marks above and below a letter belong to it.
        ("เป็นที่", ["เ", "ป็", "น", "ที่"]),
        ("ལྷ་ས།", ["ལྷ་", "ས།"]),
        ("မြန်မာ", ["မြ", "န်", "မာ"]),
        # Hangul, Arabic and Devanagari have blanks.
        ("서울은 수도이다.", ["서울은", "수도이다."]),
        ("रामायण महाकाव्य है", ["रामायण", "महाकाव्य", "है"]),
        ("", []),
    ],
)
def test_what_a_word_is(text, words):
    assert split_words(text) == words
    assert count_words(text) == len(words)
    assert [one[0] for one in words_in(text)] == words


def test_texts_with_blanks_have_the_words_that_blanks_part():
    chance = random.Random(7)
    signs = "abc ÄéЖд عל한글 .,-–—“”'\n\t\u00a0\u2009€°"
    for _ in range(500):
        text = "".join(chance.choice(signs) for _ in range(40))
        assert not has_unspaced(text)
        assert split_words(text) == text.split()
        assert [one[0] for one in words_in(text)] == text.split()
        assert count_words(text) == len(text.split())


@pytest.mark.parametrize(
    ("left", "right", "language", "may"),
    [
        ("京", "は", "", True),
        ("T", "は", "", True),
        ("カ", "ン", "", False),
        ("e", "r", "", False),
        ("林", "在", "zh", True),
        ("語", "学", "ja", False),
        ("語", "の", "ja", True),
        ("ป", "\u0e47", "th", False),
    ],
)
def test_where_names_may_end(left, right, language, may):
    assert may_part(left, right, language) == may
