"""Finds a mention again, as it is or in a form that gives it away: plural, possessive, other capitals. Pure."""

import re
from functools import lru_cache

from tempkb.benchmarks.ecbd.matching import folded
from tempkb.benchmarks.sentences import function_words
from tempkb.wiki.wikitext.counting import UNSPACED, has_unspaced, is_unspaced

_POSSESSIVE = "(?:['\u2019]s?)?"
_ARTICLE = re.compile(r"(?:the|an?) ", re.IGNORECASE)
_VOWELS = frozenset("aeiou")
# Where a letter that is a word by itself and one that is not are neighbours: a word begins and ends there.
_OF_LONGER_WORD = rf"[^\W_{UNSPACED}]"
_BORDER = re.compile(f"(?<=[{UNSPACED}])(?={_OF_LONGER_WORD})|(?<={_OF_LONGER_WORD})(?=[{UNSPACED}])")
_BORDER_MARK = "\ue000"
_BETWEEN_WORDS = re.compile(r"[\W_]+")
# "US" is not "us": names of so few characters are compared with case.
_SHORT = 3


def count_text(sentence: str, mention: str) -> int:
    """Return how often a sentence contains a mention's very text as a word, also in compounds (GPT in GPT-2).

    In scripts without blanks a word may begin and end beside any letter.

    >>> count_text("The Ferry of the Ferry-men, not of Ferrymen.", "Ferry"), count_text("他在Ferry上。", "Ferry")
    (2, 1)
    """
    return len(_exactly(_parted(mention)).findall(_parted(sentence)))


def count_forms(sentence: str, mention: str, language: str = "en") -> int:
    """Return how often a sentence contains a mention as a word in any form, also in compounds.

    Args:
        mention: a name; an article at its beginning is ignored.
        language: code of their language; plurals follow English spelling in all languages.

    >>> count_forms("The Ferry of all ferries: the ferry-master's FERRY.", "Ferry")
    4
    """
    return len(_in_any_form(_parted(mention), language).findall(_parted(sentence)))


def gives_away(answer: str, mention: str) -> bool:
    """Return whether an answer contains a mention or its plural, whatever punctuation is between their words.

    >>> gives_away("a spider man legend", "Spider-Man"), gives_away("a manly legend", "Man")
    (True, False)
    """
    answer, mention = (answer, mention) if len(mention) <= _SHORT else (folded(answer), folded(mention))
    words, name = (_BETWEEN_WORDS.sub(" ", one).strip() for one in (answer, mention))
    return any(count_text(words, one) for one in (name, f"{name}s"))


def _parted(text: str) -> str:
    """The text with marks on its borders. So patterns need not have the large class, which takes long to compile."""
    return _BORDER.sub(_BORDER_MARK, text) if has_unspaced(text) else text


@lru_cache(maxsize=1024)
def _exactly(mention: str) -> re.Pattern[str]:
    return _as_word(re.escape(mention), mention)


@lru_cache(maxsize=1024)
def _in_any_form(mention: str, language: str) -> re.Pattern[str]:
    """A pattern for the mention in any case, and for its plural or singular unless that is a function word ("as")."""
    known = function_words(language)
    bare = mention[found.end() :] if (found := _ARTICLE.match(mention)) else mention
    mention = mention if bare.casefold() in known or not bare else bare
    folded = mention.casefold()
    others = {form for form in _numbers(folded) if form not in known}
    # "US" and "us" are different words.
    exact = [re.escape(mention)] if folded in known else [f"(?i:{re.escape(mention)})"]
    forms = [*exact, *(f"(?i:{re.escape(one)})" for one in sorted(others, key=lambda one: (-len(one), one)))]
    return _as_word(f"(?:{'|'.join(forms)}){_POSSESSIVE}", mention)


def _as_word(pattern: str, mention: str) -> re.Pattern[str]:
    """Compile the pattern of a mention so that no word goes on around it."""
    before = "" if is_unspaced(mention[0]) else r"(?<![^\W_])"
    behind = "" if is_unspaced(mention[-1]) else r"(?![^\W_])"
    return re.compile(f"{before}{pattern}{behind}")


def _numbers(text: str) -> set[str]:
    """The possible plurals and singulars of a text, by English spelling."""
    if not text[-1:].isalpha() or is_unspaced(text[-1]):
        return set()
    found = {f"{text}s", f"{text}es"}
    if text.endswith("y") and text[-2:-1] not in _VOWELS:
        found.add(f"{text[:-1]}ies")
    if text.endswith("ies"):
        found.add(f"{text[:-3]}y")
    if text.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
        found.add(text[:-2])
    if text.endswith("s") and not text.endswith(("ss", "us", "is")):
        found.add(text[:-1])
    return {form for form in found if len(form) > 1}
