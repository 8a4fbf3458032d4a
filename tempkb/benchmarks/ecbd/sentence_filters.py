"""Filters of sentences, each of which returns why it leaves a sentence out, and their order. Pure.

A new filter is a function here, its place in `filters_of`, and its cases in the
tests. Whatever reason it returns is counted in `exclusions`. The released code's
filters are in `released_mentions.py`.
"""

import re

from tempkb.benchmarks.ecbd.articles import Sighting
from tempkb.benchmarks.ecbd.forms import count_forms, count_text
from tempkb.benchmarks.ecbd.matching import longest
from tempkb.benchmarks.ecbd.quotes import quoted_spans
from tempkb.benchmarks.ecbd.sentences import MASK, is_whole
from tempkb.filtering import Chain, Filter
from tempkb.wikitext.counting import count_words
from tempkb.wikitext.holes import count_inside


def filters_of(min_words: int, language: str, *, strict: bool) -> Chain[Sighting]:
    """Return the filters of tempkb's rules, in their order.

    Args:
        min_words: number of words that a sentence must have.
        language: code of the articles' language.
        strict: whether another form of the mention (plural, possessive, other capitals) counts as a second mention.
    """
    return Chain(
        mentioned_more_than_once,
        *((mentioned_in_another_form(language),) if strict else ()),
        shorter_than(min_words),
        holds_mask,
        quoted,
        not_whole,
        name_goes_on,
        inside_longer_match,
        inside_other_link,
        holds_hole,
        repeated,
    )


def mentioned_more_than_once(sighting: Sighting) -> str:
    """The sentence must mention the entity once, and must not contain the mention's text elsewhere."""
    is_once = len(sighting.mentions) == 1 and count_text(sighting.sentence, sighting.surface) == 1
    return "" if is_once else "mentions the entity more than once"


def mentioned_in_another_form(language: str) -> Filter[Sighting]:
    """Return a filter of sentences that repeat the mention in the plural, the possessive or with other capitals."""

    def judge(sighting: Sighting) -> str:
        is_once = count_forms(sighting.sentence, sighting.surface, language) == 1
        return "" if is_once else "mentions the entity again in another form"

    return judge


def shorter_than(min_words: int) -> Filter[Sighting]:
    """Return a filter of sentences with fewer words."""
    reason = f"fewer than {min_words} words"
    return lambda sighting: reason if count_words(sighting.sentence) < min_words else ""


def holds_mask(sighting: Sighting) -> str:
    """The sentence must not contain the mask."""
    return "holds the mask's own sign" if MASK in sighting.sentence else ""


def quoted(sighting: Sighting) -> str:
    """The mention must not be in quotation marks, because it is then often a part of another name, such as a book's."""
    mention = sighting.mention
    is_quoted = any(start < mention.end and mention.start < end for start, end in quoted_spans(sighting.sentence))
    return "mention in quotation marks" if is_quoted else ""


def not_whole(sighting: Sighting) -> str:
    """The sentence must be complete."""
    return "" if is_whole(sighting.sentence, sighting.mention) else "no whole sentence"


def name_goes_on(sighting: Sighting) -> str:
    """The name must not continue after the mention, as in "Bell Gardens" or "Albert Speer: The End of a Myth"."""
    last = re.split(r"[\s-]", sighting.surface)[-1]
    behind = re.match(r":? (\w)", sighting.sentence[sighting.mention.end :])
    goes_on = last[:1].isupper() and behind is not None and behind[1].isupper()
    return "inside a longer name" if goes_on else ""


def inside_longer_match(sighting: Sighting) -> str:
    """The mention must not overlap a longer name of any entity, such as Ida in Hurricane Ida."""
    mention = sighting.mention_in_article
    is_longest = any((one.start, one.end) == mention for one in longest(sighting.matches))
    return "" if is_longest else "inside a longer name"


def inside_other_link(sighting: Sighting) -> str:
    """The mention must not be in a link to another article, because it then means that article."""
    mention, article = sighting.mention_in_article, sighting.article
    leads_elsewhere = any(
        start < mention.end and mention.start < end and target not in article.own_titles
        for start, end, target in article.links
    )
    return "inside a link to another article" if leads_elsewhere else ""


def holds_hole(sighting: Sighting) -> str:
    """The sentence must have no hole: if the cleaner left something out, its meaning may have changed."""
    n_holes = count_inside(sighting.article.text, sighting.article.holes, *sighting.place)
    return "a template, formula or picture was left out of it" if n_holes else ""


def repeated(sighting: Sighting) -> str:
    """The sentence must not have been kept before in the same article."""
    return "stands more than once in the article" if sighting.sentence in sighting.kept else ""
