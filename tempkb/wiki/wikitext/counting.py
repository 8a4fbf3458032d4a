"""Definition of a word in every script; texts, contexts and spans are counted by it. Pure.

A word is a maximal run of characters that are not white space. Scripts that are written
without blanks between words (Han, kana, Thai, Lao, Khmer, Myanmar, Tibetan and related ones)
would make one word of a whole sentence, so each of their letters and digits counts as a
word of its own, with the marks and the punctuation around it. Hangul has blanks.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import groupby

# Blocks of the scripts, first and last code point (Unicode's Blocks.txt).
_BLOCKS = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x0F00, 0x0FFF),  # Tibetan
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19DF),  # Tai Le, New Tai Lue
    (0x1A20, 0x1AAF),  # Tai Tham
    (0x1B00, 0x1B7F),  # Balinese
    (0x3005, 0x3007),  # the sign of repetition, the closing mark, the zero
    (0x3021, 0x312F),  # Hangzhou numerals, Hiragana, Katakana, Bopomofo
    (0x31A0, 0x31BF),  # Bopomofo, extended
    (0x31F0, 0x31FF),  # Katakana, extended
    (0xA000, 0xA48F),  # Yi
    (0xA980, 0xA9FF),  # Javanese, Myanmar extended B
    (0xAA60, 0xAA7F),  # Myanmar, extended A
    (0xF900, 0xFAFF),  # Han, compatibility
    (0xFF66, 0xFF9F),  # Katakana of half width
    (0x1AFF0, 0x1B16F),  # kana supplements
)
# Large blocks of letters only; code points that Unicode has not assigned yet will be letters as well.
_HAN_BLOCKS = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0x20000, 0x323AF))


def _class_of(kinds: str) -> str:
    """Return the characters of the blocks whose general category begins with one of `kinds`, as ranges of a pattern."""
    codes = (code for first, last in _BLOCKS for code in range(first, last + 1))
    wanted = [code for code in codes if unicodedata.category(chr(code))[0] in kinds]
    # Consecutive codes keep their distance from a running number, so they form one group.
    runs = (list(run) for _, run in groupby(enumerate(wanted), lambda pair: pair[1] - pair[0]))
    return _ranges((run[0][1], run[-1][1]) for run in runs)


def _ranges(ends: Iterable[tuple[int, int]]) -> str:
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ends)


UNSPACED = _class_of("LN") + _ranges(_HAN_BLOCKS)
"""Letters and digits of the scripts, as the inside of a character class of a pattern."""
UNSPACED_MARKS = _class_of("M")
"""Marks that these scripts put on and around their letters, in the same form."""
_ANY_UNSPACED = re.compile(f"[{UNSPACED}]")
# Much faster than the exact class: nothing before Thai, and no general punctuation, is in one of these scripts.
_PERHAPS_UNSPACED = re.compile("[^\x00-\u0dff\u2000-\u2bff]")
_OF_WORD = re.compile(f"[{UNSPACED}{UNSPACED_MARKS}]")
_KATAKANA = re.compile("[\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9d]")
_HAN = re.compile("[\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af]")
_RUN = re.compile(r"\S+")
# Marks are not \w, so punctuation and marks go with the letter before them, an opening bracket with the next one.
_WORD = re.compile(rf"[^\s\w]*[{UNSPACED}][^\s\w]*|[^\s{UNSPACED}]+")


def has_unspaced(text: str) -> bool:
    """Does a text hold a letter or digit of a script that is written without blanks?"""
    if text.isascii():
        return False
    perhaps = _PERHAPS_UNSPACED.search(text)
    return perhaps is not None and _ANY_UNSPACED.search(text, perhaps.start()) is not None


def is_unspaced(sign: str) -> bool:
    """Is a character a letter, digit or mark of a script that is written without blanks?"""
    return _OF_WORD.match(sign) is not None


def may_part(left: str, right: str, language: str = "") -> bool:
    """May a name end between two neighbouring characters although both are letters?

    It may where one of them is of a script without blanks. But a mark stays with its
    letter, and Katakana, which write foreign words, are never separated. Nor are Han
    characters in Japanese, since kana separate the words there.

    >>> may_part("京", "は"), may_part("T", "は"), may_part("カ", "ン"), may_part("e", "r")
    (True, True, False, False)
    >>> may_part("京", "在"), may_part("言", "学", "ja")
    (True, False)
    """
    if not (is_unspaced(left) or is_unspaced(right)) or unicodedata.category(right).startswith("M"):
        return False
    if language == "ja" and _HAN.match(left) and _HAN.match(right):
        return False
    return not (_KATAKANA.match(left) and _KATAKANA.match(right))


def count_words(text: str) -> int:
    """Return how many words a text has.

    >>> count_words("It rained."), count_words("東京は、雨。"), count_words("iPhoneは 2007年")
    (2, 4, 4)
    """
    # Nearly all texts have none of these scripts, and splitting is many times faster than matching.
    return len(_WORD.findall(text)) if has_unspaced(text) else len(text.split())


def words_in(text: str) -> Iterator[re.Match[str]]:
    """Yield the words of a text with their places."""
    return (_WORD if has_unspaced(text) else _RUN).finditer(text)


def split_words(text: str) -> list[str]:
    """Return the words of a text, each with the punctuation that touches it."""
    return _WORD.findall(text) if has_unspaced(text) else text.split()


def words_before(text: str, end: int, n: int) -> str:
    """Return the last `n` words of text[:end], with the white space between and after them.

    >>> words_before("one two three host", 14, 2)
    'two three '
    """
    # Words are short, so a piece of the text is enough, unless there is no white space.
    begin = max(0, end - 24 * n)
    piece = text[begin:end]
    starts = [word.start() for word in words_in(piece)]
    if begin and len(starts) <= n:
        piece = text[:end]
        starts = [word.start() for word in words_in(piece)]
    return piece[starts[-n] :] if len(starts) > n else piece


def words_behind(text: str, start: int, n: int) -> str:
    """Return the first `n` words of text[start:], with the white space before and between them.

    >>> words_behind("host one two three", 4, 2)
    ' one two'
    """
    # A piece is enough if it contains one word more than wanted.
    for piece in (text[start : start + 24 * n], text[start:]):
        end = 0
        for number, word in enumerate(words_in(piece)):
            if number == n:
                return piece[:end]
            end = word.end()
    return text[start:]
