"""Finds the tokens of a span by the characters that they stand for, never by counting tokens of its parts. Pure.

Blanks belong to the token or span that follows them, as byte-level and SentencePiece tokenizers have it: the blanks
before a target are the target's, the blanks at its end belong to what comes next.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Tokens:
    """A tokenized text.

    Attributes:
        ids: tokens with the special ones that the tokenizer adds.
        offsets: of each token, the characters [start, end) of the text that it stands for.
        is_special: of each token, whether the tokenizer added it.
        words: of each token, the number of its word; None for special tokens.
    """

    text: str
    ids: tuple[int, ...]
    offsets: tuple[tuple[int, int], ...]
    is_special: tuple[bool, ...]
    words: tuple[int | None, ...]

    @property
    def content(self) -> "TokenSpan | None":
        """The tokens of the text, without the special ones around them; None if it has none."""
        plain = [at for at, is_special in enumerate(self.is_special) if not is_special]
        return TokenSpan(plain[0], plain[-1] + 1) if plain else None


@dataclass(frozen=True, slots=True)
class TokenSpan:
    """Tokens [start, end)."""

    start: int
    end: int

    def __len__(self) -> int:
        return self.end - self.start


def tokenize(tokenizer: Any, texts: Sequence[str]) -> list[Tokens]:
    """Tokenize texts with a fast tokenizer of transformers.

    Special tokens that happen to be spelled out in a text (an HTML `<s>` in an article) are text, not commands.
    """
    if not texts:
        return []
    batch = tokenizer(list(texts), split_special_tokens=True, truncation=False, padding=False, verbose=False)
    return [
        Tokens(
            text,
            tuple(one.ids),
            tuple(one.offsets),
            tuple(bool(flag) for flag in one.special_tokens_mask),
            tuple(one.word_ids),
        )
        for text, one in zip(texts, batch.encodings, strict=True)
    ]


def token_span(tokens: Tokens, start: int, end: int) -> TokenSpan | None:
    """Return the tokens of the characters [start, end), or None if they have no whole tokens of their own.

    A token belongs to the span if all its characters that are not blank lie in it. One that has such characters on both
    sides of an edge makes the span not alignable.
    """
    text = tokens.text
    begin = len(text[:start].rstrip())  # the blanks before the span are its own
    end = start + len(text[start:end].rstrip())
    cores = [
        (0, 0) if is_special else _core(text, *offset)
        for offset, is_special in zip(tokens.offsets, tokens.is_special, strict=True)
    ]
    touching = [at for at, (first, last) in enumerate(cores) if first < last and first < end and last > begin]
    if not touching or any(cores[at][0] < begin or cores[at][1] > end for at in touching):
        return None
    first = touching[0]
    while (
        first
        and not tokens.is_special[first - 1]
        and _is_blank_after(begin, tokens.offsets[first - 1], cores[first - 1])
    ):
        first -= 1
    return TokenSpan(first, touching[-1] + 1)


def _core(text: str, first: int, last: int) -> tuple[int, int]:
    """The characters of a token without blanks at its ends; equal ends if it has only blanks."""
    piece = text[first:last]
    first += len(piece) - len(piece.lstrip())
    return first, first + len(piece.strip())


def _is_blank_after(begin: int, offset: tuple[int, int], core: tuple[int, int]) -> bool:
    """Whether a token stands for blanks alone; some tokenizers give it no characters, but the place where they end."""
    return core[0] == core[1] and offset[1] > begin
