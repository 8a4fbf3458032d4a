"""Finds mentions by the rules of the released code (rules = released). Pure.

Names are tried in their order, and the first one that occurs once in the sentence is
the mention. It must not be between two straight quotation marks, which are paired from
the left, and it must begin and end at boundaries of spaCy's tokens.
"""

import re
from collections.abc import Iterable

from tempkb.benchmarks.ecbd.articles import Sighting
from tempkb.benchmarks.ecbd.released_spans import Tokens
from tempkb.benchmarks.ecbd.sentence_filters import holds_mask, repeated
from tempkb.benchmarks.ecbd.sentences import Place
from tempkb.filtering import Chain, Filter

_QUOTED = re.compile(r'"([^"]*)"')


def released_mentions(sentence: str, names: Iterable[str]) -> list[Place]:
    """Return the mention of an entity in a sentence: the first of its names that occurs once; empty if none does.

    Args:
        names: the entity's names, the title first. Unlike in the released code they
            are not patterns, so "C++" is searched for as it is.
    """
    for name in names:
        found = list(re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", sentence))
        if len(found) == 1 and sentence.count(name) == 1:
            return [Place(*found[0].span())]
    return []


def released_filters(min_words: int) -> Chain[Sighting]:
    """Return the released code's filters of sentences, in their order.

    Args:
        min_words: number of words, separated by white space, that a sentence must have (the released code: 6).
    """
    return Chain(shorter_than(min_words), holds_mask, not_mentioned, between_straight_quotes, cuts_token, repeated)


def shorter_than(min_words: int) -> Filter[Sighting]:
    """Return a filter of sentences with fewer words, separated by white space."""
    reason = f"fewer than {min_words} words"
    return lambda sighting: reason if len(sighting.sentence.split()) < min_words else ""


def not_mentioned(sighting: Sighting) -> str:
    """The sentence must contain some name of the entity exactly once."""
    return "" if sighting.mentions else "no name stands in it once"


def between_straight_quotes(sighting: Sighting) -> str:
    """The mention must not be between straight quotation marks, paired from the left."""
    mention = sighting.mention
    quotes = _QUOTED.finditer(sighting.sentence)
    is_quoted = any(one.start() < mention.end and mention.start < one.end() for one in quotes)
    return "mention in quotation marks" if is_quoted else ""


def cuts_token(sighting: Sighting) -> str:
    """The mention must begin and end at boundaries of spaCy's tokens."""
    return "mention cuts a token" if Tokens(sighting.sentence).of(*sighting.mention) is None else ""
