"""Tiny random models of every family, with tokenizers trained on a few sentences of the test's own."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
import transformers
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from tempkb.core.prompts import Prompt
from tempkb.models.loading import LoadedModel, loaded

LONG = "word after word after word, " * 3
PROMPTS = (
    Prompt("Ada Lovelace works for the ", "Analytical Society", " in London."),
    Prompt("Ada Lovelace works for the ", "Analytical Engine Works", " in London."),
    Prompt("The capital of France is ", "Paris", "."),
    Prompt("The capital of  France  is  ", "Paris", " .."),
    Prompt("", "Analytical Society", " is run by Ada Lovelace."),
    Prompt(" ", "Paris", " is large."),
    Prompt("Ada lives in ", "Zürich", ""),
    Prompt("Ada lives in", " Zürich ", "since 1840."),
    Prompt("A cafe\u0301 in ", "Ma\u0301laga", " serves tea."),
    Prompt("The sign shows ", "👩\u200d🚀 and 🏳️\u200d🌈", " today."),
    Prompt("She moved from ", "東京", " to Москва."),
    Prompt("The word un", "happy", " is here."),
    Prompt("A newly-", "built", " house."),
    Prompt("He plays for ", "Juventus F.C.", " and (rarely) for Paris."),
    Prompt("He plays for Juventus F.", "C", ".. today."),
    Prompt("Say <s> or [MASK] or <extra_id_0> to ", "Ada </s>", " now."),
    Prompt(LONG + "Ada lives in ", "Paris", "."),
    Prompt(LONG * 6 + "Ada lives in ", "Paris", "."),
)
TEXTS = [prompt.statement for prompt in PROMPTS] * 3


def byte_level(roberta: bool = False) -> PreTrainedTokenizerFast:
    """Byte-level BPE as in GPT-2, or in RoBERTa and BART with their special tokens around a text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<s>", "<pad>", "</s>", "<unk>"] if roberta else ["<|end|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    _train(tokenizer, trainers.BpeTrainer(vocab_size=420, special_tokens=special, initial_alphabet=alphabet))
    if not roberta:
        return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>", bos_token="<|end|>")
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True)])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    names = {"bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>", "sep_token": "</s>"}
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", unk_token="<unk>", mask_token="<mask>", **names
    )


def word_piece(lowercase: bool) -> PreTrainedTokenizerFast:
    """WordPiece as in BERT, cased or uncased."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    _train(tokenizer, trainers.WordPieceTrainer(vocab_size=260, special_tokens=special))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return _bert_like(tokenizer)


def unigram_bert() -> PreTrainedTokenizerFast:
    """SentencePiece's Unigram with BERT's special tokens, as in ALBERT."""
    tokenizer = _unigram(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], "[UNK]")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return _bert_like(tokenizer)


def unigram_t5() -> PreTrainedTokenizerFast:
    """SentencePiece's Unigram with sentinels, as in T5."""
    tokenizer = _unigram(["<pad>", "</s>", "<unk>"], "<unk>")
    sentinels = [AddedToken(f"<extra_id_{number}>", special=True, lstrip=True, rstrip=True) for number in range(3)]
    tokenizer.add_special_tokens(sentinels)
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")


def metaspace_bpe() -> PreTrainedTokenizerFast:
    """SentencePiece's BPE with a token that begins texts, as in Llama."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    _train(tokenizer, trainers.BpeTrainer(vocab_size=300, special_tokens=["<unk>", "<s>", "</s>"]))
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


def _unigram(special: list[str], unknown: str) -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    _train(tokenizer, trainers.UnigramTrainer(vocab_size=220, special_tokens=special, unk_token=unknown))
    return tokenizer


def _bert_like(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def _train(tokenizer: Tokenizer, trainer: object) -> None:
    trainer.show_progress = False
    tokenizer.train_from_iterator(TEXTS, trainer)


@dataclass(frozen=True)
class Kind:
    """A kind of model: its family, what tokens are like, and how the model and its tokenizer are made."""

    family: str
    pieces: str  # bytes, words or blanks: how the oracle reads tokens
    architecture: str
    tokenizer: object
    config: dict


CONTEXT = 64
_HEADS = {"num_hidden_layers": 1, "num_attention_heads": 2, "hidden_size": 32, "intermediate_size": 48}
_T5 = {"d_model": 32, "d_kv": 16, "d_ff": 48, "num_layers": 1, "num_heads": 2, "decoder_start_token_id": 0}
KINDS = {
    "bert_cased": Kind("masked", "words", "BertForMaskedLM", lambda: word_piece(False), _HEADS),
    "bert_uncased": Kind("masked", "words", "BertForMaskedLM", lambda: word_piece(True), _HEADS),
    "electra": Kind(
        "masked", "words", "ElectraForMaskedLM", lambda: word_piece(True), {**_HEADS, "embedding_size": 16}
    ),
    "albert": Kind("masked", "blanks", "AlbertForMaskedLM", unigram_bert, {**_HEADS, "embedding_size": 16}),
    "roberta": Kind(
        "masked", "bytes", "RobertaForMaskedLM", lambda: byte_level(roberta=True), {**_HEADS, "pad_token_id": 1}
    ),
    "t5": Kind("seq2seq", "blanks", "T5ForConditionalGeneration", unigram_t5, _T5),
    "t5_untied": Kind(
        "seq2seq",
        "blanks",
        "T5ForConditionalGeneration",
        unigram_t5,
        {**_T5, "tie_word_embeddings": False, "feed_forward_proj": "gated-gelu"},
    ),
    "bart": Kind(
        "seq2seq",
        "bytes",
        "BartForConditionalGeneration",
        lambda: byte_level(roberta=True),
        {"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2}
        | {"decoder_attention_heads": 2, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "forced_bos_token_id": 0},
    ),
    "gpt2": Kind("causal", "bytes", "GPT2LMHeadModel", byte_level, {"n_layer": 2, "n_head": 2, "n_embd": 32}),
    "gpt_neox": Kind("causal", "bytes", "GPTNeoXForCausalLM", byte_level, _HEADS),
    "gpt_neo": Kind(
        "causal",
        "bytes",
        "GPTNeoForCausalLM",
        byte_level,
        {"num_layers": 2, "num_heads": 2, "hidden_size": 32, "attention_types": [[["global", "local"], 1]]}
        | {"window_size": 8, "intermediate_size": 48},
    ),
    "llama": Kind("causal", "blanks", "LlamaForCausalLM", metaspace_bpe, {**_HEADS, "num_key_value_heads": 1}),
}


def random_model(kind: Kind, tokenizer: PreTrainedTokenizerFast, context: int = CONTEXT):
    """A model of random weights, so large that its distributions are far from even."""
    architecture = getattr(transformers, kind.architecture)
    config = architecture.config_class(
        vocab_size=len(tokenizer),
        max_position_embeddings=context + 2 if kind.architecture.startswith("Roberta") else context,
        **{"initializer_range": 0.3, "initializer_factor": 1.0, "init_std": 0.3, **kind.config},
    )
    torch.manual_seed(1)
    module = architecture(config)
    with torch.no_grad():
        for name, weights in module.named_parameters():
            if "bias" in name:  # left at zero, a bias that is forgotten would not be missed
                weights.normal_(0, 0.3)
        if "final_logits_bias" in dict(module.named_buffers()):
            module.final_logits_bias.normal_(0, 0.3)
    return module


@cache
def tokenizer_of(name: str) -> PreTrainedTokenizerFast:
    """The tokenizer of a kind, trained once: training twice may give two vocabularies."""
    return KINDS[name].tokenizer()


@cache
def tiny(name: str, dtype: str = "float64") -> LoadedModel:
    """A model of a kind, made once for all tests."""
    kind = KINDS[name]
    tokenizer = tokenizer_of(name)
    return loaded(kind.family, random_model(kind, tokenizer), tokenizer, dtype=dtype, context_tokens=CONTEXT)


def saved_tiny(name: str, folder: Path) -> Path:
    """Save a model of a kind with its tokenizer, unless it is there; return its folder."""
    if not folder.exists():
        random_model(KINDS[name], tokenizer_of(name)).save_pretrained(folder)
        tokenizer_of(name).save_pretrained(folder)
    return folder
