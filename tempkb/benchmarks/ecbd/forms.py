"""Recognises the forms of a mention that give it away: plural, possessive, other capitals, other hyphens. Pure."""

import re
from functools import lru_cache

from tempkb.benchmarks.ecbd.function_words import function_words
from tempkb.wikitext.counting import is_unspaced

_POSSESSIVE = "(?:['\u2019]s?)?"
_ARTICLE = re.compile(r"(?:the|an?) ", re.IGNORECASE)
_VOWELS = frozenset("aeiou")
_BETWEEN_WORDS = re.compile(r"[\W_]+")
# "US" is not "us": names of so few characters are compared with case.
_SHORT = 3


def count_forms(sentence: str, mention: str, language: str = "en") -> int:
    """Return how often a sentence contains a mention as a word in any form, also in compounds.

    Args:
        sentence: the sentence.
        mention: a name; an article at its beginning is ignored.
        language: code of their language; plurals follow English spelling in all languages.

    >>> count_forms("The Ferry of all ferries: the ferry-master's FERRY.", "Ferry")
    4
    """
    return len(_pattern(mention, language).findall(sentence))


def gives_away(answer: str, mention: str) -> bool:
    """Return whether an answer contains a mention or its plural, whatever punctuation is between their words.

    Args:
        answer: the text that is masked.
        mention: a name with a letter or digit.

    >>> gives_away("a spider man legend", "Spider-Man"), gives_away("a manly legend", "Man")
    (True, False)
    """
    answer, mention = (answer, mention) if len(mention) <= _SHORT else (answer.lower(), mention.lower())
    words, name = (_BETWEEN_WORDS.sub(" ", one).strip() for one in (answer, mention))
    return f" {name} " in f" {words} " or f" {name}s " in f" {words} "


@lru_cache(maxsize=1024)
def _pattern(mention: str, language: str) -> re.Pattern[str]:
    """A pattern for the mention in any case, and for its plural or singular unless that is a function word ("as")."""
    known = function_words(language)
    bare = mention[found.end() :] if (found := _ARTICLE.match(mention)) else mention
    mention = mention if bare.casefold() in known or not bare else bare
    folded = mention.casefold()
    others = {form for form in _numbers(folded) if form not in known}
    # "US" and "us" are different words.
    exact = [re.escape(mention)] if folded in known else [f"(?i:{re.escape(mention)})"]
    forms = [*exact, *(f"(?i:{re.escape(one)})" for one in sorted(others, key=lambda one: (-len(one), one)))]
    before = "" if is_unspaced(mention[0]) else r"(?<![^\W_])"
    behind = "" if is_unspaced(mention[-1]) else r"(?![^\W_])"
    return re.compile(f"{before}(?:{'|'.join(forms)}){_POSSESSIVE}{behind}")


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
