"""Mentions as the released code found them (mode `ecbd_compat`). Pure.

Names are tried in their order, and the first that stands in the sentence once is
the mention, whatever else does; it may not lie between two straight quotation
marks, paired from the left; it begins and ends where spaCy's tokens do.
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
    """Return the mention of an entity in a sentence: the first of its names that stands there once; empty if none does.

    Args:
        sentence: its text.
        names: of the entity, the title first. Unlike the released code's they are
            no patterns: "C++" is looked for as it stands.
    """
    for name in names:
        found = list(re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", sentence))
        if len(found) == 1 and sentence.count(name) == 1:
            return [Place(*found[0].span())]
    return []


def released_filters(min_words: int) -> Chain[Sighting]:
    """Return the released code's filters of sentences, in their order.

    Args:
        min_words: white-space words that a sentence must have (the code: 6).
    """
    return Chain(shorter_than(min_words), holds_mask, not_mentioned, between_straight_quotes, cuts_token, repeated)


def shorter_than(min_words: int) -> Filter[Sighting]:
    """Return a filter of sentences with fewer white-space words."""
    reason = f"fewer than {min_words} words"
    return lambda sighting: reason if len(sighting.sentence.split()) < min_words else ""


def not_mentioned(sighting: Sighting) -> str:
    """Some name of the entity is to stand in the sentence once."""
    return "" if sighting.mentions else "no name stands in it once"


def between_straight_quotes(sighting: Sighting) -> str:
    """Is the mention between straight quotation marks, paired from the left?"""
    mention = sighting.mention
    quotes = _QUOTED.finditer(sighting.sentence)
    is_quoted = any(one.start() < mention.end and mention.start < one.end() for one in quotes)
    return "mention in quotation marks" if is_quoted else ""


def cuts_token(sighting: Sighting) -> str:
    """The mention is to begin and end where spaCy's tokens do."""
    return "mention cuts a token" if Tokens(sighting.sentence).of(*sighting.mention) is None else ""
