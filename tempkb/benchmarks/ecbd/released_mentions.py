"""Mentions as the released code found them (mode `ecbd_compat`). Pure.

Names are tried in their order, and the first that stands in the sentence once is
the mention, whatever else does; it may not lie between two straight quotation
marks, paired from the left; it begins and ends where spaCy's tokens do.
"""

import re
from collections.abc import Sequence

from tempkb.benchmarks.ecbd.released_spans import Tokens
from tempkb.benchmarks.ecbd.sentences import MASK, Place

_QUOTED = re.compile(r'"([^"]*)"')


def released_mention(sentence: str, names: Sequence[str], min_words: int) -> tuple[Place | None, str]:
    """Return the mention of an entity in a sentence, or why there is none.

    Args:
        sentence: its text.
        names: of the entity, the title first. Unlike the released code's they are
            no patterns: "C++" is looked for as it stands.
        min_words: white-space words that a sentence must have (the code: 6).
    """
    if len(sentence.split()) < min_words:
        return None, f"fewer than {min_words} words"
    if MASK in sentence:
        return None, "holds the mask's own sign"
    for name in names:
        found = list(re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", sentence))
        if len(found) == 1 and sentence.count(name) == 1:
            mention = Place(*found[0].span())
            if any(one.start() < mention.end and mention.start < one.end() for one in _QUOTED.finditer(sentence)):
                return None, "mention in quotation marks"
            if Tokens(sentence).of(*mention) is None:
                return None, "mention cuts a token"
            return mention, ""
    return None, "no name stands in it once"
