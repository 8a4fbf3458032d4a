"""What an encoder reads of a mention and of an entity: strings that have at most as many tokens as it can read.

A trained linker reads `[CLS] left [Ms] mention [Me] right [SEP]` and `[CLS] title [Ent] description [SEP]`, as BLINK's
bi-encoder does. Training and encoding use the same strings. They are cut here, at the boundaries of words, so that no
library that tokenizes them has to cut anything.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from tempkb.benchmarks.linkable.declaration import entity_sentence, sentence_around
from tempkb.core.errors import ModelError

MENTION_START, MENTION_END, DESCRIPTION_START = MARKERS = ("[Ms]", "[Me]", "[Ent]")
"""Special tokens before and after a mention, and between the title and the description of an entity."""

_LEAST_TOKENS = 8
# Characters for each token that may be read: as a rule enough for as many tokens; and more than are ever read.
_TRIED, _ENOUGH = 6, 16
# So many tell how long a word is: BERT's tokenizers take one of more than a hundred for unknown.
_LEAST_CHARS = 128
_FROM_START, _FROM_END = False, True


@dataclass(frozen=True)
class MentionText:
    """A mention with the text around it."""

    left: str
    mention: str
    right: str


@dataclass(frozen=True)
class EntityText:
    """What is known of an entity."""

    title: str
    description: str


@dataclass(frozen=True)
class Whole:
    """A string that an encoder reads whole, and the numbers of its tokens, special ones included."""

    text: str
    ids: Sequence[int]


class Encoding(Protocol):
    """What a tokenizer makes of a text: the numbers of its tokens, and which characters each of them stands for."""

    ids: list[int]
    offsets: list[tuple[int, int]]


class Tower:
    """What one of the two encoders reads: its tokenizer, its markers, and the number of tokens.

    Attributes:
        max_tokens: the most tokens that it reads, special ones included.
        has_markers: whether its vocabulary has the markers; an encoder without them reads plain sentences.
        prompt: text that it reads before every other, such as `query: `; usually empty.
    """

    def __init__(self, tokenizer: Any, max_tokens: int, prompt: str = "") -> None:
        """Read texts with a tokenizer.

        Args:
            tokenizer: a `tokenizers.Tokenizer`; a copy of it is used, which neither pads nor truncates.

        Raises:
            ModelError: so few tokens leave no place for a text.
        """
        if max_tokens < _LEAST_TOKENS:
            raise ModelError(
                f"found an encoder that reads {max_tokens} tokens; expected at least {_LEAST_TOKENS}. Use a checkpoint "
                "that reads longer texts."
            )
        self.max_tokens, self.prompt = max_tokens, prompt
        self._tokenizer = type(tokenizer).from_str(tokenizer.to_str())
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        added = self._tokenizer.get_added_tokens_decoder()
        self._special = {number: token.content for number, token in added.items() if token.special}
        self._unknown = _unknown_id(self._tokenizer)
        self.has_markers = set(MARKERS) <= set(self._special.values())

    def whole(self, strings: Sequence[str]) -> list[Whole]:
        """Return strings behind the prompt, with their tokens."""
        prompted = [self.prompt + string for string in strings]
        # Nobody asks which characters these tokens stand for, and it takes long to find out.
        encoded = self._tokenizer.encode_batch_fast(prompted)
        return [Whole(text, one.ids) for text, one in zip(prompted, encoded, strict=True)]

    def pieces(self, texts: Sequence[str]) -> "list[Piece]":
        """Return texts with their tokens, without special ones; blanks are single and none are at the ends.

        What is spelled like a special token is no special token in the answer: a blank is put into it.
        """
        plain = [" ".join(text.split()) for text in texts]
        encoded = self._tokenizer.encode_batch(plain, add_special_tokens=False)
        return [
            Piece(*self._without_special(text, one))
            if not self._special.keys().isdisjoint(one.ids)
            else Piece(text, one.offsets)
            for text, one in zip(plain, encoded, strict=True)
        ]

    def nearest(self, texts: Sequence[str], from_end: bool) -> "list[Piece]":
        """Return one end of each text, of which no more than some words are tokenized: at least what can be read.

        Words are whole, so that their tokens are those in the whole text; only a word that is longer than all that can
        be read is cut.
        """
        found: dict[int, Piece] = {}
        waiting, n_chars = list(range(len(texts))), max(_LEAST_CHARS, _TRIED * self.max_tokens)
        while waiting:
            ends = [_end_of(texts[place], n_chars, from_end) for place in waiting]
            pieces = self.pieces([end for end, _ in ends])
            found |= dict(zip(waiting, pieces, strict=True))
            # Behind what is read there is a whole word, or the beginning of one that is longer than all that is read.
            waiting = [
                place
                for place, piece, (_, is_inside) in zip(waiting, pieces, ends, strict=True)
                if len(texts[place]) > n_chars and piece.n_tokens < self.max_tokens * (1 + is_inside)
            ]
            n_chars *= 4
        return [found[place] for place in range(len(texts))]

    def _without_special(self, text: str, encoded: Encoding) -> tuple[str, list[tuple[int, int]]]:
        while True:
            spelled = [
                (start, end)
                for number, (start, end) in zip(encoded.ids, encoded.offsets, strict=True)
                if number in self._special
                # A word that is not in the vocabulary has the same number as the special token.
                and (number != self._unknown or text[start:end].strip() == self._special[number])
            ]
            if not spelled:
                return text, encoded.offsets
            for start, end in reversed(spelled):
                text = text[:start] + _spaced(text[start:end]) + text[end:]
            text = " ".join(text.split())
            encoded = self._tokenizer.encode(text, add_special_tokens=False)


class Piece:
    """A part of a string, with the characters that each of its tokens stands for."""

    def __init__(self, text: str, offsets: Sequence[tuple[int, int]]) -> None:
        self.text, self._offsets = text, offsets

    @property
    def n_tokens(self) -> int:
        """How many tokens the whole text has."""
        return len(self._offsets)

    def cut(self, quota: int, from_end: bool) -> tuple[str, int]:
        """Return whole words from one end that have at most `quota` tokens, and the number of these.

        A word that alone has more tokens than the quota, as in a text without blanks, is cut between tokens.
        """
        if self.n_tokens <= quota:
            return self.text, self.n_tokens
        if quota <= 0:
            return "", 0
        used = self._whole_words(quota, from_end)
        if not used:
            return "", 0
        if from_end:
            return self.text[self._offsets[self.n_tokens - used][0] :].strip(), used
        return self.text[: self._offsets[used - 1][1]].strip(), used

    def _whole_words(self, quota: int, from_end: bool) -> int:
        """How many tokens the words have that fit; the quota itself if the first that does not is longer than it."""
        # The first and the last token of the word on the border.
        first = last = self.n_tokens - quota - 1 if from_end else quota
        word = self._word_of(first)
        while first > 0 and self._word_of(first - 1) == word:
            first -= 1
        while last + 1 < self.n_tokens and self._word_of(last + 1) == word:
            last += 1
        if last + 1 - first > quota:
            return quota
        return self.n_tokens - last - 1 if from_end else first

    def _word_of(self, token: int) -> int:
        """Where the blank before a token's word is, which no other word has."""
        start, end = self._offsets[token]
        # A token may begin with the blank before its word, so its last character says to which word it belongs.
        return self.text.rfind(" ", 0, max(start, end - 1))


@dataclass(frozen=True)
class _Draft:
    """A string in the making: its pieces, from which end each is read, and how many tokens each may have.

    The piece at the place `core`, which the string is about, is the last to be shortened.
    """

    pieces: tuple[Piece, ...]
    from_end: tuple[bool, ...]
    quotas: tuple[int, ...]
    core: int

    def cut(self) -> list[tuple[str, int]]:
        """The text of each piece, and the number of its tokens."""
        parts = zip(self.pieces, self.quotas, self.from_end, strict=True)
        return [piece.cut(quota, from_end) for piece, quota, from_end in parts]

    def shortened(self, n: int) -> "_Draft":
        """The same with about `n` tokens less, taken from the longest piece beside the core as long as there is any."""
        used = [n_tokens for _, n_tokens in self.cut()]
        others = [place for place in range(len(used)) if place != self.core and used[place]]
        place = max(others, key=lambda other: used[other]) if others else self.core
        quotas = list(self.quotas)
        quotas[place] = max(0, used[place] - n)
        return replace(self, quotas=tuple(quotas))


class Inputs:
    """The strings that the two encoders of a linker read."""

    def __init__(self, mentions: Tower, entities: Tower) -> None:
        """Read mentions with one tower and entities with the other, which may be the same."""
        self.mention_tower, self.entity_tower = mentions, entities

    @property
    def n_around(self) -> int:
        """How many characters on either side of a mention are enough of a text, whatever follows them."""
        return _ENOUGH * self.mention_tower.max_tokens

    @property
    def max_tokens(self) -> int:
        """The most tokens that both encoders read, special ones included."""
        return min(self.mention_tower.max_tokens, self.entity_tower.max_tokens)

    def mention(self, text: MentionText) -> str:
        """Return what is tokenized of a mention; see `mentions`."""
        return self.mentions([text])[0].text

    def entity(self, text: EntityText) -> str:
        """Return what is tokenized of an entity; see `entities`."""
        return self.entities([text])[0].text

    def mentions(self, texts: Sequence[MentionText]) -> list[Whole]:
        """Return what is tokenized of mentions, and its tokens.

        Mention and markers have at most half of the tokens. Half of the others are for the text on the left, half for
        that on the right; what one side does not use is the other's. Without markers, only the mention's sentence is
        read.

        Raises:
            ModelError: a text cannot be made so short that the encoder reads it whole.
        """
        tower = self.mention_tower
        assembled = _marked_mention if tower.has_markers else _plain_mention
        sides = [(text.left, text.right) for text in texts]
        if not tower.has_markers:
            sides = [sentence_around(*both) for both in sides]
        lefts = tower.nearest([left for left, _ in sides], _FROM_END)
        rights = tower.nearest([right for _, right in sides], _FROM_START)
        cores, costs = _cores(tower, [text.mention for text in texts], lambda core: assembled("", core, ""))
        drafts = []
        for left, core, right, cost in zip(lefts, cores, rights, costs, strict=True):
            free = tower.max_tokens - cost
            before, after = left.n_tokens, right.n_tokens
            quota = max(free // 2, free - after)
            _, used = left.cut(quota, _FROM_END)
            quotas = (min(quota, before), core.n_tokens, min(free - used, after))
            drafts.append(_Draft((left, core, right), (_FROM_END, _FROM_START, _FROM_START), quotas, core=1))
        return _fitting(tower, drafts, assembled)

    def entities(self, texts: Sequence[EntityText]) -> list[Whole]:
        """Return what is tokenized of entities, and its tokens; a title has at most half of them.

        Raises:
            ModelError: a text cannot be made so short that the encoder reads it whole.
        """
        tower = self.entity_tower
        assembled = _marked_entity if tower.has_markers else entity_sentence
        descriptions = tower.pieces([text.description for text in texts])
        cores, costs = _cores(tower, [text.title for text in texts], lambda core: assembled(core, ""))
        drafts = [
            _Draft((core, piece), (_FROM_START, _FROM_START), (core.n_tokens, tower.max_tokens - cost), core=0)
            for core, piece, cost in zip(cores, descriptions, costs, strict=True)
        ]
        return _fitting(tower, drafts, assembled)


def _marked_mention(left: str, mention: str, right: str) -> str:
    return _joined(left, MENTION_START, mention, MENTION_END, right)


def _plain_mention(left: str, mention: str, right: str) -> str:
    """A sentence after the mention that it is about, which an encoder without markers could not find in it."""
    return _joined(f"{mention}:", left, mention, right)


def _marked_entity(title: str, description: str) -> str:
    return _joined(title, DESCRIPTION_START, description)


def _end_of(text: str, n_chars: int, from_end: bool) -> tuple[str, bool]:
    """So many characters from one end of a text, without the part of a word; and whether they are inside one word."""
    if len(text) <= n_chars:
        return text, False
    end = text[-n_chars:] if from_end else text[:n_chars]
    words = end.split(None, 1) if from_end else end.rsplit(None, 1)
    return (words[from_end], False) if len(words) > 1 else (end, True)


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _cores(tower: Tower, texts: Sequence[str], assembled: Callable[[str], str]) -> tuple[list[Piece], list[int]]:
    """Mentions or titles that have at most half of the tokens, and how many tokens a string without more has."""
    cores, most = tower.pieces(texts), tower.max_tokens // 2
    costs = _lengths(tower, [assembled(core.text) for core in cores])
    for place, whole in enumerate(cores):
        n_tokens = whole.n_tokens
        while costs[place] > most and n_tokens > 1:
            # A plain sentence names a mention twice, so that half as many tokens may be enough.
            n_tokens = max(1, n_tokens - (costs[place] - most + 1) // 2)
            shorter, n_tokens = whole.cut(n_tokens, _FROM_START)
            cores[place] = tower.pieces([shorter])[0]
            costs[place] = _lengths(tower, [assembled(shorter)])[0]
    return cores, costs


def _fitting(tower: Tower, drafts: Sequence[_Draft], assembled: Callable[..., str]) -> list[Whole]:
    """The strings of drafts, shortened until the tokens of each whole string are few enough.

    The tokens of a string are not always those of its parts: a blank between two of them may join one.
    """
    fitting: dict[int, Whole] = {}
    waiting = list(enumerate(drafts))
    while waiting:
        parts = [draft.cut() for _, draft in waiting]
        bodies = [assembled(*(text for text, _ in part)) for part in parts]
        too_long = []
        for (place, draft), part, whole in zip(waiting, parts, tower.whole(bodies), strict=True):
            fitting[place], length = whole, len(whole.ids)
            if length > tower.max_tokens:
                if not any(n_tokens for _, n_tokens in part):
                    raise ModelError(
                        f"found {length} tokens around a text; expected fewer than {tower.max_tokens}, which is what "
                        f"the encoder reads. Its prompt is {tower.prompt!r}. Use a checkpoint that reads longer texts."
                    )
                too_long.append((place, draft.shortened(length - tower.max_tokens)))
        waiting = too_long
    return [fitting[place] for place in range(len(drafts))]


def _lengths(tower: Tower, strings: Sequence[str]) -> list[int]:
    return [len(one.ids) for one in tower.whole(strings)]


def _spaced(spelled: str) -> str:
    """A special token's spelling with a blank after its first character; a single character becomes a blank."""
    name = spelled.strip()
    return f" {name[0]} {name[1:]} " if len(name) > 1 else " "


def _unknown_id(tokenizer: Any) -> int | None:
    """The number of words that are not in the vocabulary; None if a tokenizer needs none."""
    model = json.loads(tokenizer.to_str())["model"]
    found = model.get("unk_id", tokenizer.token_to_id(model.get("unk_token") or ""))
    return None if found is None else int(found)
