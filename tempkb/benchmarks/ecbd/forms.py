"""Other forms of a mention that give it away: in the plural, the possessive, or with other capitals. Pure."""

import re
from functools import lru_cache

from tempkb.benchmarks.ecbd.function_words import function_words
from tempkb.wikitext.counting import is_unspaced

_POSSESSIVE = "(?:['\u2019]s?)?"
_ARTICLE = re.compile(r"(?:the|an?) ", re.IGNORECASE)
_VOWELS = frozenset("aeiou")


def count_forms(sentence: str, mention: str, language: str = "en") -> int:
    """Return how often a mention's text stands in a sentence as a word, in whatever form, in compounds too.

    Args:
        sentence: its text.
        mention: a name, whose article does not count.
        language: of both; plurals are those of English spelling, as most of its neighbours write them.

    >>> count_forms("The Ferry of all ferries: the ferry-master's FERRY.", "Ferry")
    4
    """
    return len(_pattern(mention, language).findall(sentence))


@lru_cache(maxsize=1024)
def _pattern(mention: str, language: str) -> re.Pattern[str]:
    """The mention itself in any case; its plural or singular, unless that is another word, such as "as" of "A"."""
    known = function_words(language)
    bare = mention[found.end() :] if (found := _ARTICLE.match(mention)) else mention
    mention = mention if bare.casefold() in known or not bare else bare
    said = mention.casefold()
    others = {form for form in _numbers(said) if form not in known}
    # "US" and "us" are two words.
    exact = [re.escape(mention)] if said in known else [f"(?i:{re.escape(mention)})"]
    forms = [*exact, *(f"(?i:{re.escape(one)})" for one in sorted(others, key=lambda one: (-len(one), one)))]
    before = "" if is_unspaced(mention[0]) else r"(?<![^\W_])"
    behind = "" if is_unspaced(mention[-1]) else r"(?![^\W_])"
    return re.compile(f"{before}(?:{'|'.join(forms)}){_POSSESSIVE}{behind}")


def _numbers(said: str) -> set[str]:
    """The plural of a text that may be singular, and the singular of one that may be plural, by English spelling."""
    if not said[-1:].isalpha() or is_unspaced(said[-1]):
        return set()
    found = {f"{said}s", f"{said}es"}
    if said.endswith("y") and said[-2:-1] not in _VOWELS:
        found.add(f"{said[:-1]}ies")
    if said.endswith("ies"):
        found.add(f"{said[:-3]}y")
    if said.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
        found.add(said[:-2])
    if said.endswith("s") and not said.endswith(("ss", "us", "is")):
        found.add(said[:-1])
    return {form for form in found if len(form) > 1}
