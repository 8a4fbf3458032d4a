"""Makes the text of an item in its variants (ECBD, section 3). Pure."""

from collections.abc import Mapping
from typing import Literal

from tempkb.benchmarks.sentences import Place
from tempkb.core.prompts import Prompt

Variant = Literal["original", "no_ent", "no_ent_released", "no_ent_chunk", "definition", "random_definition"]
VARIANTS: Mapping[Variant, str] = {
    "original": "the sentence",
    "no_ent": "the sentence with 'the entity' in place of the mention and of an article before it",
    "definition": "the sentence after the first sentence of the entity's article",
    "random_definition": "the sentence after the first sentence of another entity's article",
    "no_ent_released": "the sentence with 'the entity' in place of the mention alone, as in the released code",
    "no_ent_chunk": "the sentence with 'the entity' in place of the noun phrase around the mention",
}
"""The meaning of each variant; those of the papers' tables come first."""
_ARTICLES = ("the ", "a ", "an ")
_OPENING = "\"'\u201c\u2018\u00ab("


def prompt_of(
    variant: Variant,
    sentence: str,
    mention: Place,
    answer: Place,
    definition: str = "",
    random_definition: str | None = None,
    mention_chunk: Place | None = None,
) -> Prompt | None:
    """Return an item in one of its variants, or None if it does not have it.

    Args:
        variant: `original`; `no_ent`, the mention, with an article before it,
            replaced by "the entity"; `no_ent_released`, the mention alone, so that
            "the the entity" may arise; `no_ent_chunk`, the noun phrase around the
            mention (the paper's sensitivity test); `definition` and
            `random_definition`, a sentence before it.
        mention: where the entity is mentioned in it.
        answer: where the span is; it does not overlap the mention.
        definition: first sentence about the entity.
        random_definition: first sentence about another entity; None if there is none.
        mention_chunk: the noun phrase around the mention, if any was found.
    """
    match variant:
        case "original":
            return _around(sentence, answer)
        case "no_ent":
            return _without(sentence, _with_article(sentence, mention, answer), answer)
        case "no_ent_released":
            return _without(sentence, mention, answer)
        case "no_ent_chunk":
            overlaps = mention_chunk is None or (mention_chunk.start < answer.end and answer.start < mention_chunk.end)
            return None if overlaps or mention_chunk is None else _without(sentence, mention_chunk, answer)
        case "definition":
            return _behind(definition, sentence, answer)
        case "random_definition":
            return None if random_definition is None else _behind(random_definition, sentence, answer)


def _around(sentence: str, answer: Place) -> Prompt:
    return Prompt(sentence[: answer.start], sentence[answer.start : answer.end], sentence[answer.end :])


def _behind(definition: str, sentence: str, answer: Place) -> Prompt:
    plain = _around(sentence, answer)
    return Prompt(f"{definition} {plain.left}", plain.target, plain.right)


def _without(sentence: str, gone: Place, answer: Place) -> Prompt:
    begins = not sentence[: gone.start].strip(_OPENING)
    replacement = "The entity" if begins else "the entity"
    moved = len(replacement) - (gone.end - gone.start) if answer.start >= gone.end else 0
    text = f"{sentence[: gone.start]}{replacement}{sentence[gone.end :]}"
    return _around(text, Place(answer.start + moved, answer.end + moved))


def _with_article(sentence: str, mention: Place, answer: Place) -> Place:
    """The mention with the article right before it, unless the article is part of the answer.

    A capital "A" is an article only at the beginning of the sentence; elsewhere it may be a letter ("Vitamin A").
    """
    for article in _ARTICLES:
        start = mention.start - len(article)
        before_mention = sentence[start : mention.start] if start >= 0 else ""
        before = sentence[start - 1 : start] if start > 0 else ""
        begins = not sentence[:start].strip(_OPENING)
        if before_mention == article or (begins and before_mention == article.capitalize()):
            overlaps = start < answer.end and answer.start < mention.start
            return mention if overlaps or before.isalnum() else Place(start, mention.end)
    return mention
