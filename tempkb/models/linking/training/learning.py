"""The process that trains linkers, by sentence-transformers; see `tempkb.models.training.learning`.

It begins with random weights and a tokenizer of their own, or with another checkpoint, and adds the markers.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from datasets import Dataset, disable_progress_bars
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
    util,
)
from sentence_transformers.base.sampler import BatchSamplers
from sentence_transformers.sentence_transformer.losses import CachedMultipleNegativesRankingLoss
from sentence_transformers.sentence_transformer.modules import Pooling, Router, Transformer
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import TrainerCallback

from tempkb.core.errors import ModelError
from tempkb.models.checkpoints import UNFIT, check_vocabulary, quiet_transformers, read_tokenizer
from tempkb.models.files import first_line, weight_files
from tempkb.models.linking.checkpoints import read_layout
from tempkb.models.linking.encoders import load_layout
from tempkb.models.linking.inputs import MARKERS, Inputs, Tower, Whole
from tempkb.models.linking.training.lessons import Example, Lesson
from tempkb.models.linking.training.recipe import Recipe
from tempkb.models.training.learning import Tell, arguments, begin, n_processes, run
from tempkb.models.training.lessons import CHECKPOINT, Course

_SPECIAL = ("[PAD]", "[CLS]", "[SEP]")
_PARTS = 1_024  # vectors of validation mentions that are compared at once


def learn(lesson: Lesson, folder: Path, keep_seconds: float, tell: Tell) -> Course | None:
    """Train a linker and write its checkpoint; see `tempkb.models.training.learning.Learn`.

    Raises:
        ModelError: the base cannot be used, or the loss became infinite.
    """
    disable_progress_bars()
    rank = begin(lesson)
    with quiet_transformers():
        beginning = folder / f"beginning-{rank}"
        write_beginning(lesson, beginning)
        model = new_model(beginning, lesson.recipe.towers)
        trainer = new_trainer(model, lesson, folder)
    course = run(trainer, lesson, folder, keep_seconds, tell)
    if course is not None:
        model.save(str(folder / CHECKPOINT), create_model_card=False)
        load_layout(read_layout(str(folder / CHECKPOINT)), "cpu")
    return course


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


def new_model(beginning: Path, towers: int) -> SentenceTransformer:
    """Return an encoder whose towers begin with the same weights."""
    made = []
    for _ in range(towers):
        transformer = Transformer(str(beginning))
        made.append([transformer, Pooling(transformer.get_embedding_dimension(), "cls")])
    modules = made[0] if towers == 1 else [Router.for_query_document(made[0], made[1])]
    return SentenceTransformer(modules=modules, similarity_fn_name="dot")


def new_trainer(model: SentenceTransformer, lesson: Lesson, folder: Path) -> SentenceTransformerTrainer:
    """Return the trainer of a lesson."""
    recipe, is_alone = lesson.recipe, n_processes() == 1
    inputs = inputs_of(model, recipe.max_tokens)
    data = dataset_of(inputs, lesson.train)
    told = SentenceTransformerTrainingArguments(
        **arguments(lesson, folder),
        num_train_epochs=recipe.epochs,
        # Batches are made for all processes together, so that none has an entity twice, and are divided among them.
        per_device_train_batch_size=recipe.batch_size,
        accelerator_config={"split_batches": not is_alone},
        dataloader_drop_last=not is_alone,
        batch_sampler=BatchSamplers.NO_DUPLICATES,
        router_mapping={name: "query" if name == "mention" else "document" for name in data.column_names}
        if recipe.towers == 2
        else {},
        lr_scheduler_type="linear",
        warmup_steps=math.ceil(recipe.warm_up * lesson.n_steps(n_processes())),
    )
    loss = CachedMultipleNegativesRankingLoss(
        model,
        scale=1.0,
        similarity_fct=util.dot_score,
        mini_batch_size=recipe.mini_batch_size,
        gather_across_devices=not is_alone,
    )
    judges = [_Judge(lesson, model, inputs)] if lesson.validation else []
    return _Trainer(model=model, args=told, train_dataset=data, loss=loss, callbacks=judges)


def inputs_of(model: SentenceTransformer, max_tokens: int) -> Inputs:
    """Return the strings that a model of sentence-transformers reads; both towers have one vocabulary."""
    tower = Tower(model.tokenizer.backend_tokenizer, max_tokens)
    return Inputs(tower, tower)


def dataset_of(inputs: Inputs, examples: Sequence[Example]) -> Dataset:
    """Return examples as columns of strings: mention, entity, and negative_1 to negative_n."""
    columns = {
        "mention": _texts(inputs.mentions([one.mention for one in examples])),
        "entity": _texts(inputs.entities([one.entity for one in examples])),
    }
    for place in range(len(examples[0].negatives)):
        columns[f"negative_{place + 1}"] = _texts(inputs.entities([one.negatives[place] for one in examples]))
    return Dataset.from_dict(columns)


def _texts(wholes: Sequence[Whole]) -> list[str]:
    return [one.text for one in wholes]


class _Trainer(SentenceTransformerTrainer):  # type: ignore[misc]  # the library is not typed
    """Writes no cards: that of the linker says what is to be known."""

    def add_model_card_callback(self, default_args_dict: dict[str, Any]) -> None:
        pass

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        self.model.save(output_dir, create_model_card=False)


class _Judge(TrainerCallback):  # type: ignore[misc]  # the library is not typed
    """Judges what is trained after each epoch."""

    def __init__(self, lesson: Lesson, model: SentenceTransformer, inputs: Inputs) -> None:
        self._model = model
        self._mentions = _texts(inputs.mentions([one.mention for one in lesson.validation]))
        entities = _texts(inputs.entities([one.entity for one in lesson.validation]))
        self._entities = list(dict.fromkeys(entities))
        places = {entity: place for place, entity in enumerate(self._entities)}
        self._gold = np.array([places[entity] for entity in entities])

    def on_epoch_end(self, args: Any, state: Any, control: Any, **further: Any) -> None:
        if state.is_world_process_zero:
            state.log_history.append({"validation": self._accuracy(), "epoch": round(state.epoch)})

    def _accuracy(self) -> float:
        mentions = self._model.encode_query(self._mentions, show_progress_bar=False)
        entities = self._model.encode_document(self._entities, show_progress_bar=False)
        best = [
            (mentions[start : start + _PARTS] @ entities.T).argmax(axis=1) for start in range(0, len(mentions), _PARTS)
        ]
        return float((np.concatenate(best) == self._gold).mean())
