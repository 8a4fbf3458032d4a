"""What a model is trained from, as it is sent to the process that trains it, and what it reads in each step of that.

Corpora of two cuts differ in size. If each were read from end to end, the model of the smaller one would read every
fact more often; so a share of tokens belongs to each kind of article, and its sentences are read again and again. One
byte-level vocabulary serves all models of a home, with what each family puts around a text.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from tempkb.benchmarks.chance import draw
from tempkb.core.model_words import Family
from tempkb.demo.models.corpus import Corpus
from tempkb.demo.models.recipe import VOCABULARY, Recipe
from tempkb.models.rows import Tokens, token_span

_POOL = 512  # sentences that are put into steps together


@dataclass(frozen=True)
class Row:
    """A sentence as a model reads it.

    Attributes:
        kind: of its article, one of `KINDS`.
        ids: its tokens, without special ones.
        names: half-open ranges of tokens that are names.
        own: those of them that name what the article is about.
    """

    kind: str
    ids: tuple[int, ...]
    names: tuple[tuple[int, int], ...]
    own: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Lesson:
    """All that a model is trained from.

    Attributes:
        seed: of the weights at the beginning, of the order of sentences, and of what is hidden in them.
        tokenizer: tokenizer.json, without anything around a text.
        place: folder of its checkpoint, which it gets when it is whole.
    """

    name: str
    family: Family
    recipe: Recipe
    seed: int
    rows: tuple[Row, ...]
    tokenizer: str
    place: Path


def steps(
    rows: Sequence[Row], exposure: Mapping[str, float], n_steps: int, step_tokens: int, around: int, seed: int
) -> Iterator[list[Row]]:
    """Yield the sentences of each step, whose padded tokens are at most `step_tokens`.

    Args:
        exposure: share of each kind in the tokens; that of a kind without sentences falls to the others.
        step_tokens: padded tokens of a step; a longer sentence is cut.
        around: special tokens around a sentence, which count as its own.
        seed: decides the order.
    """
    stream = _mixed(rows, exposure, step_tokens - around, seed)
    pools = (_packed(list(islice(stream, _POOL)), step_tokens, around, (seed, number)) for number in count())
    return islice(chain.from_iterable(pools), n_steps)


def _packed(pool: list[Row], step_tokens: int, around: int, key: tuple[int, int]) -> list[list[Row]]:
    """Put sentences of like lengths into steps, so that little is padded, in a random order of the steps."""
    packed: list[list[Row]] = [[]]
    for row in sorted(pool, key=lambda row: len(row.ids)):
        # The last is the longest so far.
        if (len(packed[-1]) + 1) * (len(row.ids) + around) > step_tokens:
            packed.append([])
        packed[-1].append(row)
    return [packed[at] for at in sorted(range(len(packed)), key=lambda at: draw(*key, at))]


def _mixed(rows: Sequence[Row], exposure: Mapping[str, float], longest: int, seed: int) -> Iterator[Row]:
    """Sentences without end, next of the kind that lacks most tokens."""
    own = {kind: [row for row in rows if row.kind == kind] for kind in exposure}
    streams = {kind: _again_and_again(kind, own[kind], seed) for kind in exposure if own[kind]}
    whole = sum(exposure[kind] for kind in streams)
    read = dict.fromkeys(streams, 0)
    while True:
        total = sum(read.values())
        kind = max(streams, key=lambda kind: exposure[kind] / whole * total - read[kind])
        row = _cut(next(streams[kind]), longest)
        read[kind] += len(row.ids)
        yield row


def _cut(row: Row, longest: int) -> Row:
    if len(row.ids) <= longest:
        return row
    names, own = (tuple(span for span in spans if span[1] <= longest) for spans in (row.names, row.own))
    return Row(row.kind, row.ids[:longest], names, own)


def _again_and_again(kind: str, rows: Sequence[Row], seed: int) -> Iterator[Row]:
    """All sentences in a random order, then again in another one."""
    round_no = 0
    while True:
        order = sorted(range(len(rows)), key=lambda at: draw(seed, kind, round_no, at))
        yield from (rows[at] for at in order)
        round_no += 1


BEGIN, PAD, END, MASK = "<s>", "<pad>", "</s>", "<mask>"
SENTINELS = ("<extra_id_0>", "<extra_id_1>")
AROUND = 2  # special tokens that a model reads around a sentence, at most
_SPECIAL = (BEGIN, PAD, END, MASK, *SENTINELS)


def train_tokenizer(texts: Iterable[str]) -> Tokenizer:
    """Train a vocabulary on texts; it puts nothing around a text.

    All bytes are in it, so that every text can be read and written again.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[AddedToken(token, special=True, normalized=False) for token in _SPECIAL],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def special_ids(tokenizer: Tokenizer) -> dict[str, int]:
    """Return the number of each special token."""
    vocabulary = tokenizer.get_vocab()
    return {token: vocabulary[token] for token in _SPECIAL}


def of_family(tokenizer: Tokenizer, family: Family) -> Tokenizer:
    """Return a copy that puts around a text what models of a family read there."""
    own = Tokenizer.from_str(tokenizer.to_str())
    form = {"causal": f"{BEGIN} $A", "masked": f"{BEGIN} $A {END}", "seq2seq": f"$A {END}"}[family]
    around = [(token, own.token_to_id(token)) for token in (BEGIN, END)]
    own.post_processor = processors.Sequence(
        # Offsets leave the blank before a word to what precedes it, as those of GPT-2 and RoBERTa do not.
        [processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(single=form, special_tokens=around)]
    )
    return own


def rows_of(tokenizer: Tokenizer, corpus: Corpus) -> tuple[Row, ...]:
    """Return the sentences of a corpus as tokens; names that have no whole tokens of their own are left out."""
    plain = Tokenizer.from_str(tokenizer.to_str())
    plain.encode_special_tokens = True  # what is spelled like a special token in an article is text
    encoded = plain.encode_batch([one.text for one in corpus.sentences], add_special_tokens=False)
    rows = []
    for sentence, one in zip(corpus.sentences, encoded, strict=True):
        n = len(one.ids)
        tokens = Tokens(sentence.text, tuple(one.ids), tuple(one.offsets), (False,) * n, (None,) * n)
        rows.append(Row(sentence.kind, tokens.ids, _spans(tokens, sentence.names), _spans(tokens, sentence.own)))
    return tuple(rows)


def _spans(tokens: Tokens, names: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    found = (token_span(tokens, start, end) for start, end in names)
    return tuple((one.start, one.end) for one in found if one is not None)
