"""Tiny encoders of sentences with random weights, saved by sentence-transformers itself."""

from pathlib import Path

import torch
import transformers
from tokenizers import AddedToken
from transformers import PreTrainedTokenizerFast

from tempkb.models.linking.inputs import MARKERS
from tempkb_tests.models.tiny import byte_level, unigram_bert, word_piece

TOKENIZERS = {
    "bert": lambda: word_piece(lowercase=True),
    "roberta": lambda: byte_level(roberta=True),
    "albert": unigram_bert,
}
_SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
MODELS = {
    "bert": ("BertModel", {"pad_token_id": 0}),
    "roberta": ("RobertaModel", {"pad_token_id": 1}),
    "albert": ("AlbertModel", {"pad_token_id": 0, "embedding_size": 16}),
}


def tokenizer_of(kind: str, max_tokens: int, markers: bool) -> PreTrainedTokenizerFast:
    tokenizer = TOKENIZERS[kind]()
    tokenizer.model_max_length = max_tokens
    if markers:
        added = [AddedToken(one, lstrip=True, special=True, normalized=False) for one in MARKERS]
        tokenizer.add_special_tokens({"additional_special_tokens": added})
    return tokenizer


def save_base(folder: Path, kind: str, max_tokens: int = 24, markers: bool = True, seed: int = 1) -> Path:
    """A transformer of random weights with its tokenizer, as transformers saves them."""
    tokenizer = tokenizer_of(kind, max_tokens, markers)
    architecture, more = MODELS[kind]
    made = getattr(transformers, architecture)
    config = made.config_class(
        vocab_size=len(tokenizer), max_position_embeddings=64, initializer_range=0.3, **_SIZES | more
    )
    torch.manual_seed(seed)
    made(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_encoder(
    folder: Path, kind: str, pooling="cls", towers: int = 1, later=(), markers=True, max_tokens=24, **about
):
    """An encoder in the layout of sentence-transformers; with two towers, each has weights of its own."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Router, Transformer

    def tower(number: int) -> list:
        base = save_base(folder.with_name(f"{folder.name}-base-{number}"), kind, max_tokens, markers, seed=number)
        return [Transformer(str(base)), Pooling(32, pooling)]

    first = [Router.for_query_document(tower(1), tower(2))] if towers == 2 else tower(1)
    model = SentenceTransformer(modules=[*first, *later], device="cpu", **{"similarity_fn_name": "dot", **about})
    model.save(str(folder), create_model_card=False)
    return model.eval()
