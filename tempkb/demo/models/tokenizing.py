"""One byte-level vocabulary for all models of a home, with what each family puts around a text."""

from collections.abc import Sequence

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from tempkb.demo.models.corpus import Corpus
from tempkb.demo.models.lessons import Row
from tempkb.demo.models.recipe import VOCABULARY
from tempkb.models.alignment import Tokens, token_span
from tempkb.models.names import Family

BEGIN, PAD, END, MASK = "<s>", "<pad>", "</s>", "<mask>"
SENTINELS = ("<extra_id_0>", "<extra_id_1>")
AROUND = 2  # special tokens that a model reads around a sentence, at most
_SPECIAL = (BEGIN, PAD, END, MASK, *SENTINELS)


def train_tokenizer(corpora: Sequence[Corpus]) -> Tokenizer:
    """Train a vocabulary on the sentences of all corpora; it puts nothing around a text.

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
    tokenizer.train_from_iterator((one.text for corpus in corpora for one in corpus.sentences), trainer)
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
