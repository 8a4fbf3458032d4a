"""Which tokens are a target's, written by hand for vocabularies that are written by hand."""

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from tempkb.models.rows import TokenSpan, token_span, tokenize
from tempkb_tests.models.tiny import PROMPTS, tokenizer_of


def byte_level(*merges, trims=False):
    """A byte-level tokenizer with these merges, such as ("Ġ P", "ĠP a")."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pairs = [tuple(merge.split()) for merge in merges]
    vocabulary = {token: at for at, token in enumerate([*alphabet, *("".join(pair) for pair in pairs), "<s>", "</s>"])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    ends = [(token, vocabulary[token]) for token in ("</s>", "<s>")]
    tokenizer.post_processor = processors.RobertaProcessing(*ends, trim_offsets=trims, add_prefix_space=False)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def word_piece(*pieces, lowercase):
    tokenizer = Tokenizer(models.WordPiece(vocab={token: at for at, token in enumerate(["[UNK]", *pieces])}))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="[UNK]")


def unigram(*pieces):
    tokenizer = Tokenizer(models.Unigram([("<unk>", -20.0), *((piece, -1.0) for piece in pieces)], unk_id=0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>")


# Each: a tokenizer, left, target, right, and the target's tokens; None if they are not the target's alone.
PARIS = ("P a", "Ġ Pa", "r i", "ri s")
CASES = {
    "the blank before a name is the name's": (byte_level(*PARIS), "in ", "Paris", ".", ["ĠPa", "ris"]),
    "whether offsets hold it or not": (byte_level(*PARIS, trims=True), "in ", "Paris", ".", ["ĠPa", "ris"]),
    "all blanks are": (byte_level(*PARIS), "in  ", "Paris", ".", ["Ġ", "ĠPa", "ris"]),
    "all of them, trimmed": (byte_level(*PARIS, trims=True), "in  ", "Paris", ".", ["Ġ", "ĠPa", "ris"]),
    "a blank within the target as well": (byte_level(*PARIS), "in", " Paris", ".", ["ĠPa", "ris"]),
    "the blank after it is not": (byte_level("P a", "r i", "ri s"), "in ", "Paris ", "x", ["Ġ", "Pa", "ris"]),
    "a name at the beginning": (byte_level(*PARIS), "", "Paris", " is", ["Pa", "ris"]),
    "a name at the end": (byte_level(*PARIS), "in ", "Paris", "", ["ĠPa", "ris"]),
    "half of a token on the left": (byte_level("u n", "un h"), "un", "happy", ".", None),
    "half of a token on the right": (byte_level(". ."), "by ", "F.", ".. x", None),
    "a sign of four bytes": (byte_level(), "a ", "😀", "b", ["Ġ", "ð", "Ł", "ĺ", "Ģ"]),
    "bytes of two signs in one token": (byte_level("Ģ ð"), "a😀", "😀", "b", None),
    "the same within the target": (byte_level("Ģ ð"), "a ", "😀😀", "b", ["Ġ", "ð", "Ł", "ĺ", "Ģð", "Ł", "ĺ", "Ģ"]),
    "a combining accent": (byte_level(), "a", "e\u0301", "b", ["e", "Ì", "ģ"]),
    "an accent that begins it": (byte_level("e Ì"), "e", "\u0301x", ".", ["Ì", "ģ", "x"]),
    "pieces of words": (word_piece("in", "Par", "##is", ".", lowercase=False), "in ", "Paris", ".", ["Par", "##is"]),
    "pieces in lower case": (
        word_piece("in", "par", "##is", ".", lowercase=True),
        "in ",
        "PARIS",
        ".",
        ["par", "##is"],
    ),
    "accents that are dropped": (word_piece("malaga", ".", lowercase=True), "", "Ma\u0301laga", ".", ["malaga"]),
    "an unknown word": (word_piece("in", ".", lowercase=False), "in ", "東京x", ".", ["[UNK]", "[UNK]", "[UNK]"]),
    "a word that begins before it": (word_piece("unhappy", lowercase=False), "un", "happy", "", None),
    "a blank with its word": (unigram("▁in", "▁Paris", "."), "in ", "Paris", ".", ["▁Paris"]),
    "a blank by itself": (unigram("▁in", "▁", "Par", "is", "."), "in ", "Paris", ".", ["▁", "Par", "is"]),
    "a blank that was put before the text": (unigram("▁", "Par", "is", "."), "", "Paris", ".", ["▁", "Par", "is"]),
    "an unknown sign after a blank": (unigram("▁in", "▁", "."), "in ", "東", ".", ["▁", "東"]),
    "a piece across the edge": (unigram("▁in", "▁Par", "is."), "in ", "Paris", ".", None),
}


@pytest.mark.parametrize("case", CASES)
def test_the_tokens_of_a_target(case):
    tokenizer, left, target, right, expected = CASES[case]
    tokens = tokenize(tokenizer, [left + target + right])[0]
    span = token_span(tokens, len(left), len(left) + len(target))
    spelled = tokenizer.backend_tokenizer.encode(tokens.text).tokens
    assert (None if span is None else spelled[span.start : span.end]) == expected
    if span is not None:
        assert len(span) == len(expected)


def test_special_tokens_that_are_spelled_out_are_text():
    text = "Say <s> or </s> and <mask>."
    tokens = tokenize(tokenizer_of("roberta"), [text])[0]
    assert tokens.is_special == (True, *[False] * (len(tokens.ids) - 2), True)
    special = set(tokenizer_of("roberta").all_special_ids)
    assert not special & set(tokens.ids[1:-1])
    assert tokens.content == TokenSpan(1, len(tokens.ids) - 1)


@pytest.mark.parametrize("name", ["roberta", "bert_uncased", "albert", "t5", "gpt2", "llama"])
def test_texts_are_tokenized_together_as_alone(name):
    texts = [prompt.statement for prompt in PROMPTS]
    assert tokenize(tokenizer_of(name), texts) == [tokenize(tokenizer_of(name), [text])[0] for text in texts]
    assert tokenize(tokenizer_of(name), []) == []
