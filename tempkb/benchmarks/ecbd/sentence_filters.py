"""Filters of sentences, each of which returns why it leaves a sentence out, and their order. Pure.

A new filter is a function here, its place in `filters_of`, and its cases in the tests. Whatever reason it returns is
counted in `exclusions`. The released code's filters are in `released.py`.

Names in quotation marks are often parts of other names, such as titles of books (ECBD, section 2.2). A mark opens
where a word begins and closes where one ends, so an apostrophe is not a mark, and a single stray mark does not invert
the rest of the sentence. A quotation that is not closed extends to the end of the sentence, and one that is not
opened begins with it.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from tempkb.benchmarks.ecbd.forms import count_forms, count_text
from tempkb.benchmarks.ecbd.matching import Sighting, longest
from tempkb.benchmarks.sentences import MASK, is_whole
from tempkb.core.filtering import Chain, Filter
from tempkb.wiki.wikitext.counting import count_words
from tempkb.wiki.wikitext.holes import count_inside


class Quotation(NamedTuple):
    """A quotation, marks included: code points, half-open.

    Attributes:
        start: offset of its opening mark; None if it began before the sentence.
        end: offset after its closing mark; None if it continues after the sentence.
    """

    start: int | None
    end: int | None


_PAIRS = {
    "\u201c": "\u201d",
    "\u201d": "\u201d",
    "\u2018": "\u2019",
    "\u00ab": "\u00bb",
    "\u2039": "\u203a",
    "\u201e": "\u201c\u201d",
    "\u201a": "\u2018\u2019",
    "\u00bb": "\u00ab",
    "\u300c": "\u300d",
    "\u300e": "\u300f",
}
_STRAIGHT = "\"'"
# Some languages open with the mark with which others close: the guillemet, and the high mark of Swedish and Finnish.
_HIGH_MARK = "\u201d"
_ALSO_OPENING = frozenset(("\u00bb", _HIGH_MARK))
_BEFORE_OPENING = frozenset("([")
_CLOSING_MARKS = frozenset('"\u201d\u00bb\u203a')
_CLOSING = frozenset("".join(_PAIRS.values())) - frozenset(_PAIRS)


def quoted_spans(sentence: str) -> list[tuple[int, int]]:
    r"""Return the outermost quotations, marks included: code points, half-open.

    >>> quoted_spans('He said "no" to the crew\'s cook.')
    [(8, 12)]
    """
    spans: list[tuple[int, int]] = []
    for one in quotations(sentence):
        start, end = one.start or 0, len(sentence) if one.end is None else one.end
        if not spans or start >= spans[-1][1]:
            spans.append((start, end))
    return spans


def quotations(sentence: str) -> list[Quotation]:
    """Return all quotations in the order of their beginnings; an outer one comes before its inner ones."""
    found: list[Quotation] = []
    opened: list[tuple[str, int]] = []
    for at, sign in enumerate(sentence):
        if sign not in _STRAIGHT and sign not in _PAIRS and sign not in _CLOSING:
            continue
        if opened and _closes(sentence, at, opened[-1][0]):
            found.append(Quotation(opened.pop()[1], at + 1))
        elif _opens(sentence, at):
            opened.append((sign, at))
        elif not opened and not found and _closes_what_came_before(sentence, at):
            found.append(Quotation(None, at + 1))
    # A high mark at the beginning that nothing closes was left by the sentence before, whose quotation it closed.
    found += [Quotation(at, None) for sign, at in opened if at or sign != _HIGH_MARK]
    return sorted(found, key=lambda one: -1 if one.start is None else one.start)


def parts_quotation(quoted: Sequence[Quotation], start: int, end: int) -> bool:
    """Return whether a part of the sentence contains one mark of a quotation without the other.

    >>> sentence = 'She wrote "A Song" and "Ode".'
    >>> some = quotations(sentence)
    >>> parts_quotation(some, 13, 22), parts_quotation(some, 10, 22), parts_quotation(some, 11, 17)
    (True, False, False)
    """
    return any(
        (one.start is not None and start <= one.start < end) != (one.end is not None and start < one.end <= end)
        for one in quoted
    )


def holds_half_pair(text: str) -> bool:
    """Return whether a text by itself shows half a pair of double quotation marks; a low one has another partner.

    >>> holds_half_pair('the "old'), holds_half_pair("6\u201d shell"), holds_half_pair("\u201dgamla\u201d kyrkan")
    (True, True, False)
    """
    if text.count('"') % 2:
        return True
    n_closing = text.count("\u201d")
    # Without a mark that only opens, the closing ones are the pairs of Swedish and Finnish.
    is_half = not n_closing if "\u201c" in text else n_closing % 2 == 1
    return is_half and "\u201e" not in text


def _opens(sentence: str, at: int) -> bool:
    sign = sentence[at]
    before, after = sentence[at - 1 : at] if at else "", sentence[at + 1 : at + 2]
    if sign in _ALSO_OPENING:
        return (not before or before.isspace() or before in _BEFORE_OPENING) and after.isalnum()
    if sign in _CLOSING:
        return False
    if sign in _PAIRS and sign != "\u2018":
        return True
    if sign in _STRAIGHT and before in _CLOSING_MARKS:  # the possessive of a quoted name
        return False
    # '90s and rock 'n' roll: before a digit or a single letter, a single mark is an apostrophe.
    if sign == "'" and (after.isdigit() or sentence[at + 2 : at + 3] in ("'", "\u2019")):
        return False
    return not before.isalnum() and bool(after) and not after.isspace()


def _closes(sentence: str, at: int, opening: str) -> bool:
    sign = sentence[at]
    wanted = opening if opening in _STRAIGHT else _PAIRS[opening]
    if sign not in wanted:
        return False
    before, after = sentence[at - 1 : at], sentence[at + 1 : at + 2]
    if sign in ("'", "\u2019"):
        return not after.isalnum() and not before.isspace()
    return sign not in _STRAIGHT or not before.isspace()


def _closes_what_came_before(sentence: str, at: int) -> bool:
    sign = sentence[at]
    if sign in ("'", "\u2019"):  # an apostrophe, such as that of the workers' union
        return False
    before = sentence[at - 1 : at] if at else ""
    # 5'10" is a height.
    return bool(before) and not before.isspace() and not (sign == '"' and before.isdigit())


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
