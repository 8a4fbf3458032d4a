"""The checkpoint with which training begins, with markers: random weights and a tokenizer of their own, or another."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from tempkb.core.errors import ModelError
from tempkb.models.checkpoints import (
    UNFIT,
    check_vocabulary,
    quiet_transformers,
    read_tokenizer,
)
from tempkb.models.files import first_line, weight_files
from tempkb.models.linking.inputs import MARKERS
from tempkb.models.linking.training.lessons import Lesson
from tempkb.models.linking.training.recipe import Recipe

_SPECIAL = ("[PAD]", "[CLS]", "[SEP]")


def write_beginning(lesson: Lesson, folder: Path) -> None:
    """Write a transformer and its tokenizer, which has the markers; the same files for the same lesson.

    Raises:
        ModelError: the base cannot be used.
    """
    recipe = lesson.recipe
    with quiet_transformers():
        tokenizer, module = _loaded(lesson) if lesson.base else _random(recipe, lesson.corpus)
        added = [AddedToken(one, lstrip=True, special=True, normalized=False) for one in MARKERS]
        tokenizer.add_special_tokens({"additional_special_tokens": added})
        tokenizer.model_max_length = recipe.max_tokens
        most = int(module.config.max_position_embeddings)
        if most < recipe.max_tokens:
            raise ModelError(
                f"linker {lesson.linker!r}: its base {lesson.base} reads {most} tokens, and max_tokens is "
                f"{recipe.max_tokens}. Set max_tokens={most} or less, or begin with another checkpoint."
            )
        module.resize_token_embeddings(
            max(len(tokenizer), module.get_input_embeddings().weight.shape[0]), mean_resizing=False
        )
        check_vocabulary(lesson.base or lesson.linker, module, tokenizer)
        module.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def _loaded(lesson: Lesson) -> tuple[Any, Any]:
    folder = Path(lesson.base)
    _, weights_format = weight_files(lesson.base, folder)
    if weights_format != "safetensors":
        raise ModelError(f"the base {lesson.base} has no safetensors; expected them, since they cannot hold code.")
    tokenizer = read_tokenizer(lesson.base, folder)
    if tokenizer.cls_token is None:
        raise ModelError(
            f"the base {lesson.base} has no token [CLS], whose vector stands for a text; expected a model like BERT."
        )
    try:
        module = transformers.AutoModel.from_pretrained(
            folder, trust_remote_code=False, local_files_only=True, use_safetensors=True, dtype=torch.float32
        )
    except UNFIT as error:
        raise ModelError(f"the base {lesson.base} cannot be loaded: {first_line(error)}.") from error
    return tokenizer, module


def _random(recipe: Recipe, corpus: Sequence[str]) -> tuple[Any, Any]:
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=_trained_tokenizer(corpus, recipe.vocabulary),
        pad_token="[PAD]",  # noqa: S106 - tokens of a vocabulary
        cls_token="[CLS]",  # noqa: S106
        sep_token="[SEP]",  # noqa: S106
    )
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        pad_token_id=tokenizer.pad_token_id,
        hidden_size=recipe.hidden_size,
        num_hidden_layers=recipe.layers,
        num_attention_heads=recipe.heads,
        intermediate_size=recipe.intermediate_size,
        max_position_embeddings=recipe.max_tokens,
        type_vocab_size=1,
        hidden_dropout_prob=recipe.dropout,
        attention_probs_dropout_prob=recipe.dropout,
        initializer_range=recipe.initializer_range,
    )
    return tokenizer, _seeing_words(transformers.BertModel(config), recipe)


def _seeing_words(module: Any, recipe: Recipe) -> Any:
    """Random weights with which the vector of a text depends on its words, and hardly on their places.

    With a few hundred mentions a tiny model learns which words matter, but not to see them.
    """
    with torch.no_grad():
        module.embeddings.position_embeddings.weight.mul_(recipe.positions)
        for layer in module.encoder.layer:
            for matrix in (layer.attention.self.value, layer.attention.output.dense):
                matrix.weight.diagonal().add_(recipe.passed_on)
    return module


def _trained_tokenizer(corpus: Sequence[str], vocabulary: int) -> Tokenizer:
    """Pairs of bytes, as in GPT-2, of texts in lower case.

    Trained again it is the same, which WordPiece is not: it numbers letters in the order of a hash table.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=list(_SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus, trainer)
    around = [(one, tokenizer.token_to_id(one)) for one in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=around)
    return tokenizer
