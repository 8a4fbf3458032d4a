"""Architectures of which batches would give wrong scores are refused; all others give those of a plain pass."""

import json
import math

import pytest
import torch
import transformers

from tempkb.core.errors import ModelError
from tempkb.core.prompts import Prompt
from tempkb.models.batching import Limits
from tempkb.models.checkpoints import load, read_checkpoint
from tempkb.models.loading import loaded
from tempkb.models.scoring import Scorer, require_sound
from tempkb_tests.models.test_batching import FAMILIES
from tempkb_tests.models.tiny import CONTEXT, KINDS, byte_level, random_model, tokenizer_of, unigram_t5

NAMES = ("Ada", "the Analytical Society", "F.C. Paris", "Juventus F.C. and London")
UNEQUAL = [
    Prompt("Ada lives in " + "Paris and works in " * n, NAMES[n], " or London" * (3 - n) + ".")
    for n in range(len(NAMES))
]
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
SPECIAL = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}


@pytest.fixture(scope="module")
def tokenizer():
    return byte_level(roberta=True)


@pytest.fixture
def save(tmp_path, tokenizer):
    """Saves a model of random weights, and gives its folder."""

    def saved(architecture, vocabulary=tokenizer, is_composite=False, **config):
        made = getattr(transformers, architecture)
        sizes = {} if is_composite else {"vocab_size": len(vocabulary), **SPECIAL}
        torch.manual_seed(0)
        module = made(made.config_class(**{**sizes, **config})).eval()
        for weights in module.parameters():
            weights.data.normal_(0, 0.3)
        folder = tmp_path / architecture
        module.save_pretrained(folder)
        vocabulary.save_pretrained(folder)
        return folder

    return saved


def plain(model, prompt):
    """The sum over a target's tokens from one pass of its own ids, read off all logits."""
    before, ids = (model.tokenizer(text).input_ids for text in (prompt.left.rstrip(), prompt.left + prompt.target))
    ids = ids[:-1] if ids[-1] == model.tokenizer.eos_token_id else ids
    start = len(before) - 1 if before[-1] == model.tokenizer.eos_token_id else len(before)
    assert ids[:start] == before[:start]
    with model.computing():
        lines = model.module(input_ids=torch.tensor([ids]), use_cache=False).logits[0].float().log_softmax(-1)
    return math.fsum(lines[at - 1, ids[at]].item() for at in range(start, len(ids)))


def require_plain(model):
    prompts = [*UNEQUAL, *(Prompt(UNEQUAL[0].left, name) for name in NAMES)]
    scores = Scorer(model).score(prompts)
    assert {score.status for score in scores} == {"scored"}
    assert [score.log_prob_nats for score in scores] == pytest.approx([plain(model, one) for one in prompts], rel=1e-5)


LAYERS = {"num_hidden_layers": 2, "num_attention_heads": 2, "max_position_embeddings": 512}
BART = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2}
BART |= {"decoder_attention_heads": 2, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48}
READABLE = {
    "OPTForCausalLM": {**LAYERS, "hidden_size": 32, "ffn_dim": 48, "word_embed_proj_dim": 32},
    "BartForCausalLM": BART,
    "ModernBertDecoderForCausalLM": {**SMALL, "global_attn_every_n_layers": 2, "cls_token_id": 0, "sep_token_id": 2},
    "BertLMHeadModel": {**SMALL, "is_decoder": True},
    "CodeGenForCausalLM": {"n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 8, "n_positions": 256, "n_ctx": 256},
}


@pytest.mark.parametrize("architecture", READABLE)
def test_layers_that_are_a_part_of_the_base_model_are_read(architecture, save):
    checkpoint = read_checkpoint(str(save(architecture, **READABLE[architecture])))
    assert checkpoint.family == "causal"
    require_plain(load(checkpoint))


def test_a_model_that_also_reads_pictures_is_scored_as_one_of_text(save, tokenizer):
    text = {**SMALL, **SPECIAL, "vocab_size": len(tokenizer) + 4, "num_key_value_heads": 1, "head_dim": 16}
    text |= {
        "max_position_embeddings": 200,
        "sliding_window": 8,
        "layer_types": ["sliding_attention", "full_attention"],
    }
    pictures = {**SMALL, "num_hidden_layers": 1, "image_size": 28, "patch_size": 14}
    more = {"mm_tokens_per_image": 4, "image_token_index": len(tokenizer), **SPECIAL}
    folder = save("Gemma3ForConditionalGeneration", is_composite=True, text_config=text, vision_config=pictures, **more)
    checkpoint = read_checkpoint(str(folder))
    assert (checkpoint.family, checkpoint.context_tokens) == ("causal", 200)
    require_plain(load(checkpoint))


CONVOLUTIONS = {**SMALL, "embedding_size": 32}
MIXING = {"ConvBertForMaskedLM": CONVOLUTIONS, "FNetForMaskedLM": SMALL, "NystromformerForMaskedLM": SMALL}


@pytest.mark.parametrize("architecture", MIXING)
def test_a_model_that_mixes_padding_into_texts_is_refused(architecture, save, tokenizer):
    folder = save(architecture, **MIXING[architecture])
    with pytest.raises(
        ModelError, match="differ by .* since padding or other texts of a batch have an influence"
    ) as said:
        read_checkpoint(str(folder))
    assert all(part in str(said.value) for part in (str(folder), architecture, "expected less than", "Choose a model"))
    assert "\n" not in str(said.value)
    module = getattr(transformers, architecture).from_pretrained(folder)
    with pytest.raises(ModelError, match=architecture):
        require_sound("it", loaded("masked", module, tokenizer), Limits(batch_tokens=64, has_fixed_shapes=True))


def test_a_model_that_sees_later_tokens_is_no_causal_one(tokenizer):
    module = transformers.BertLMHeadModel(
        transformers.BertConfig(vocab_size=len(tokenizer), initializer_range=0.3, **SMALL, **SPECIAL)
    )
    with pytest.raises(ModelError, match="its last token changes what it says of those before it by .* nats"):
        require_sound("it", loaded("causal", module, tokenizer))


def test_a_model_that_gives_no_numbers_is_not_refused(tokenizer):
    """Its prompts get a status of their own."""
    module = random_model(KINDS["gpt2"], tokenizer)
    module.lm_head.weight.data.fill_(float("nan"))
    require_sound("it", loaded("causal", module, tokenizer, context_tokens=CONTEXT))


def test_a_small_model_is_checked_on_one_thread(tokenizer):
    model, seen = loaded("causal", random_model(KINDS["gpt2"], tokenizer), tokenizer, context_tokens=CONTEXT), set()
    model.module.register_forward_pre_hook(lambda *_: seen.add(torch.get_num_threads()))
    torch.set_num_threads(2)
    require_sound("it", model)
    assert (seen, torch.get_num_threads()) == ({1}, 2)
    torch.set_num_threads(1)


def test_a_model_that_cannot_be_asked_is_one_clear_error(tokenizer, monkeypatch):
    model = loaded("causal", random_model(KINDS["gpt2"], tokenizer), tokenizer, context_tokens=CONTEXT)
    monkeypatch.setattr(model.module, "forward", lambda input_ids: {}[len(input_ids)])
    with pytest.raises(ModelError, match=r"asked for short texts it fails \(TypeError: .*\)\. It is a GPT2LMHeadModel"):
        require_sound("it", model)


def test_a_head_that_sees_all_positions_is_an_error(tokenizer, monkeypatch):
    model = loaded("causal", random_model(KINDS["gpt2"], tokenizer), tokenizer, context_tokens=CONTEXT)
    stranger = random_model(KINDS["gpt2"], tokenizer).base_model
    monkeypatch.setattr(model.module, "get_decoder", lambda: stranger)
    with pytest.raises(ModelError, match=r"logits of 4 rows and \d+ positions after 0 passes through its layers"):
        Scorer(model).score(UNEQUAL)


@pytest.mark.parametrize(
    ("architecture", "config", "part"),
    [
        ("BertLMHeadModel", SMALL, "found is_decoder false in the config of a model of type bert"),
        ("RobertaForCausalLM", SMALL, "found is_decoder false in the config of a model of type roberta"),
        ("BigBirdForCausalLM", SMALL, "found is_decoder false in the config of a model of type big_bird"),
        (
            "XLNetLMHeadModel",
            {"d_model": 32, "n_layer": 1, "n_head": 2, "d_inner": 48},
            "sees both sides of each token",
        ),
    ],
)
def test_a_config_that_says_that_tokens_see_later_ones_is_refused(architecture, config, part, save):
    folder = save(architecture, **config)
    with pytest.raises(ModelError, match=part) as said:
        read_checkpoint(str(folder), family="causal")
    assert str(folder) in str(said.value)
    assert "hoose a" in str(said.value) or "choose another" in str(said.value)


def test_experts_that_leave_out_tokens_are_refused(save):
    config = {"d_model": 32, "d_kv": 16, "d_ff": 48, "num_layers": 2, "num_heads": 2, "num_experts": 2}
    vocabulary = unigram_t5()
    with pytest.raises(ModelError, match="of type switch_transformers, and its experts leave out tokens"):
        read_checkpoint(
            str(save("SwitchTransformersForConditionalGeneration", vocabulary, decoder_start_token_id=0, **config))
        )


def test_positions_without_a_limit_are_none(save):
    folder = save("GPTNeoXForCausalLM", **SMALL)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"max_position_embeddings": -1}))
    checkpoint = read_checkpoint(str(folder))
    assert checkpoint.context_tokens is None
    require_plain(load(checkpoint))


@pytest.mark.parametrize("is_causal", [False, True])
def test_one_class_of_two_families_is_told_apart_by_its_config(is_causal, save):
    config = {"emb_dim": 32, "n_layers": 1, "n_heads": 2, "max_position_embeddings": 64, "causal": is_causal}
    folder = save("XLMWithLMHeadModel", pad_index=1, **config)
    assert read_checkpoint(str(folder)).family == ("causal" if is_causal else "masked")
    with pytest.raises(ModelError, match=f"which is a {'causal' if is_causal else 'masked'} model"):
        read_checkpoint(str(folder), family="masked" if is_causal else "causal")


@pytest.mark.parametrize(
    ("name", "dtype"), [(name, "float32") for name in sorted(KINDS)] + [(name, "bfloat16") for name in FAMILIES]
)
def test_asking_beforehand_changes_nothing(name, dtype):
    def model():
        tokenizer = tokenizer_of(name)
        module = random_model(KINDS[name], tokenizer)
        return loaded(KINDS[name].family, module, tokenizer, dtype=dtype, context_tokens=CONTEXT)

    asked, fresh = model(), model()
    state = torch.random.get_rng_state()
    require_sound(name, asked)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert Scorer(asked).score(UNEQUAL) == Scorer(fresh).score(UNEQUAL)
    require_sound(name, asked, Limits(batch_tokens=64, has_fixed_shapes=True))


def test_narrow_numbers_leave_the_frequencies_of_positions_as_they_are(save):
    """Rounded frequencies move later positions, the more the longer a text is."""
    folder = save("LlamaForCausalLM", **SMALL, max_position_embeddings=4096)
    checkpoint = read_checkpoint(str(folder))
    model = load(checkpoint, dtype="bfloat16")
    exact = load(checkpoint).module.model.rotary_emb.inv_freq
    assert {weights.dtype for weights in model.module.parameters()} == {torch.bfloat16}
    assert torch.equal(model.module.model.rotary_emb.inv_freq, exact)
    assert Scorer(model).name == "causal.span-2.bf16"
