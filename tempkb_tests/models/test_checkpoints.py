"""Reading checkpoints: what is said about good ones, and one clear error for each kind of bad one."""

import hashlib
import json
import os
import shutil

import pytest
import torch
import transformers
from huggingface_hub.errors import LocalEntryNotFoundError
from safetensors.torch import load_file, save_file

from tempkb.core.errors import ModelError
from tempkb.models.checkpoints import load, read_checkpoint, read_digests
from tempkb.models.files import are_files_of, find_folder
from tempkb.models.scoring import Scorer
from tempkb.models.tables import DIGESTS
from tempkb_tests.models.tiny import CONTEXT, KINDS, PROMPTS, saved_tiny, tiny, tokenizer_of


@pytest.fixture
def own(saved, tmp_path):
    """A copy of a saved model that may be damaged."""
    return lambda name: shutil.copytree(saved(name), tmp_path / name)


def config_with(folder, **changes):
    config = json.loads((folder / "config.json").read_text())
    config.update(changes)
    (folder / "config.json").write_text(json.dumps({key: value for key, value in config.items() if value is not None}))


@pytest.mark.parametrize("name", ["roberta", "bert_uncased", "t5", "bart", "gpt2", "llama"])
def test_a_saved_model_gives_the_scores_of_the_model_in_memory(name, saved):
    checkpoint = read_checkpoint(str(saved(name)))
    assert checkpoint.family == KINDS[name].family
    assert checkpoint.architecture == KINDS[name].architecture
    assert checkpoint.context_tokens == CONTEXT
    assert checkpoint.weights_format == "safetensors"
    assert checkpoint.hub_revision is None
    assert Scorer(load(checkpoint, dtype="float64")).score(PROMPTS) == Scorer(tiny(name)).score(PROMPTS)


def test_digests_are_those_of_the_files(saved):
    folder = saved("roberta")
    checkpoint = read_checkpoint(str(folder))
    assert checkpoint.weights_sha256 == sha256(folder / "model.safetensors")
    assert checkpoint.config_sha256 == sha256(folder / "config.json")
    lines = "".join(f"{name} {sha256(folder / name)}\n" for name in ("tokenizer.json", "tokenizer_config.json"))
    assert checkpoint.tokenizer_sha256 == hashlib.sha256(lines.encode()).hexdigest()
    assert checkpoint.chat_template_sha256 is None


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_weights_that_are_used_twice_are_counted_once(saved):
    vocabulary, hidden = len(tokenizer_of("gpt2")), 32
    # Two embeddings; two layers of two norms, attention (in, out) and a network of fourfold width; a last norm.
    layer = 2 * 2 * hidden + (hidden * 3 * hidden + 3 * hidden) + (hidden * hidden + hidden)
    layer += hidden * 4 * hidden + 4 * hidden + 4 * hidden * hidden + hidden
    assert read_checkpoint(str(saved("gpt2"))).n_parameters == (vocabulary + CONTEXT) * hidden + 2 * layer + 2 * hidden


def test_a_chat_template_has_a_digest(own):
    folder = own("llama")
    (folder / "chat_template.jinja").write_text("{{ messages[0]['content'] }}")
    expected = hashlib.sha256(json.dumps("{{ messages[0]['content'] }}").encode()).hexdigest()
    assert read_checkpoint(str(folder)).chat_template_sha256 == expected


def test_plain_tensors_in_a_file_of_pytorch_are_read(own):
    folder = own("roberta")
    before = Scorer(load(read_checkpoint(str(folder)))).score(PROMPTS)
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    checkpoint = read_checkpoint(str(folder))
    assert checkpoint.weights_format == "bin"
    assert checkpoint.weights_sha256 == sha256(folder / "pytorch_model.bin")
    assert Scorer(load(checkpoint)).score(PROMPTS) == before


def test_weights_in_several_files_are_read(own):
    folder = own("gpt2")
    whole = read_checkpoint(str(folder))
    module = load(whole).module
    (folder / "model.safetensors").unlink()
    module.save_pretrained(folder, max_shard_size="50KB")
    parts = sorted(folder.glob("model-*.safetensors"))
    assert len(parts) > 1
    checkpoint = read_checkpoint(str(folder))
    lines = "".join(f"{part.name} {sha256(part)}\n" for part in parts)
    assert checkpoint.weights_sha256 == hashlib.sha256(lines.encode()).hexdigest()
    assert checkpoint.n_parameters == whole.n_parameters
    parts[0].unlink()
    with pytest.raises(ModelError, match=rf"lacks {parts[0].name}"):
        read_checkpoint(str(folder))


def test_a_head_of_t5_that_is_its_own_is_read_and_not_scaled(own):
    """T5 1.1: its config says that the embeddings are not tied, its weights hold a head."""
    folder = own("t5")
    weights = load_file(folder / "model.safetensors")
    head = torch.randn(weights["shared.weight"].shape)
    save_file({**weights, "lm_head.weight": head}, folder / "model.safetensors", metadata={"format": "pt"})
    config_with(folder, tie_word_embeddings=False, scale_decoder_outputs=None)
    module = load(read_checkpoint(str(folder))).module
    assert torch.equal(module.lm_head.weight, head)
    states = torch.randn(1, 2, 32)
    source, answer = torch.tensor([[5, 6, 1]]), torch.tensor([[0, 7]])
    handle = module.decoder.register_forward_hook(
        lambda *given: transformers.modeling_outputs.BaseModelOutputWithPastAndCrossAttentions(last_hidden_state=states)
    )
    logits = module(input_ids=source, decoder_input_ids=answer).logits
    handle.remove()
    assert torch.allclose(logits, states @ head.T, atol=1e-5)


# Each of these breaks a folder, and says a part of the error.
def without_config(folder):
    (folder / "config.json").unlink()
    return "has no config.json"


def with_broken_config(folder):
    (folder / "config.json").write_text("{")
    return "is not JSON"


def with_code_of_its_own(folder):
    config_with(folder, model_type="thoughtful", auto_map={"AutoModelForMaskedLM": "modeling.Thoughtful"})
    (folder / "modeling.py").write_text("raise SystemExit('this code was run')")
    return "wants to run code of its own"


def without_weights(folder):
    (folder / "model.safetensors").unlink()
    return "has no weights; expected model.safetensors or pytorch_model.bin"


def with_an_index(folder, index):
    (folder / "model.safetensors").rename(folder / "part.safetensors")
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def with_weights_elsewhere(folder):
    outside = folder.parent / "part.safetensors"
    with_an_index(folder, {"weight_map": {"a": str(outside), "b": "part.safetensors"}})
    shutil.copy(folder / "part.safetensors", outside)
    return f"lacks {outside}, which "


def with_weights_above(folder):
    with_an_index(folder, {"weight_map": {"a": "../part.safetensors"}})
    shutil.copy(folder / "part.safetensors", folder.parent)
    return "lacks ../part.safetensors, which "


def with_a_number_for_a_file(folder):
    with_an_index(folder, {"weight_map": {"a": 5}})
    return "lacks 5, which "


def with_a_list_for_an_index(folder):
    with_an_index(folder, ["part.safetensors"])
    return "index.json does not say where the weights are"


def with_cut_weights(folder):
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(data[: len(data) // 2])
    return "is cut or damaged"


class Bomb:
    def __reduce__(self):
        return os.system, ("touch bomb-went-off",)


def with_code_in_its_weights(folder):
    (folder / "model.safetensors").unlink()
    torch.save({"weight": torch.zeros(2), "bomb": Bomb()}, folder / "pytorch_model.bin")
    return "holds more than weights, possibly code"


def without_its_head(folder):
    weights = load_file(folder / "model.safetensors")
    kept = {name: value for name, value in weights.items() if not name.startswith("lm_head.")}
    assert kept != weights
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    return "of a masked model of type roberta, such as lm_head."


def without_tokenizer(folder):
    for file in folder.glob("*token*"):
        file.unlink()
    return "has no tokenizer; expected tokenizer.json, or vocab.json with merges.txt, or vocab.txt"


def with_a_broken_tokenizer(folder):
    (folder / "tokenizer.json").write_text('{"version": "1.0"}')
    return "has no fast tokenizer"


def with_a_tokenizer_of_another_model(folder):
    vocabulary = json.loads((folder / "tokenizer.json").read_text())
    vocabulary["added_tokens"].append({**vocabulary["added_tokens"][-1], "id": 421, "content": "<more>"})
    (folder / "tokenizer.json").write_text(json.dumps(vocabulary))
    return "knows 421 tokens, but its tokenizer gives numbers up to 421"


def without_a_mask(folder):
    tokenizer_of("gpt2").save_pretrained(folder)
    return "has no mask token"


# Lines of a config that cannot be, with a part of the error.
CONFIGS = {
    "of_unknown_architecture": (
        {"model_type": "thoughtful", "architectures": ["ThoughtfulModel"]},
        "unknown architecture 'thoughtful'",
    ),
    "of_another_size": ({"hidden_size": 48, "num_attention_heads": 3}, "has the shape [32], expected [48] by"),
    # Without the comparison with the weights, 27 GB would be taken.
    "of_a_size_that_no_memory_has": (
        {"vocab_size": 200_000_000},
        "a model of 6600010864 numbers, and its weights have",
    ),
    "of_negative_size": ({"vocab_size": -1}, "do not fit its config: Padding_idx must be within num_embeddings"),
    "without_heads": ({"num_attention_heads": 0}, "do not fit its config: integer modulo by zero"),
    "without_layers": ({"num_hidden_layers": 0}, "found 0 layers in its config, expected 1 at least"),
    "of_a_size_in_words": (
        {"hidden_size": "many"},
        "Field 'hidden_size' expected int, got str (value: 'many'). Found in",
    ),
    "of_quantised_weights": (
        {"quantization_config": {"quant_method": "eetq"}},
        "needs a library that is not installed",
    ),
    "of_attention_that_is_not_installed": (
        {"attn_implementation": "flash_attention_3"},
        "needs a library that is not installed",
    ),
    "of_unknown_numbers": ({"dtype": "float99"}, "cannot be read: module 'torch' has no attribute 'float99'"),
    "with_a_number_for_its_architecture": ({"architectures": [5]}, "has the architectures [5] in"),
}
SPOILED = (
    without_config,
    with_broken_config,
    with_code_of_its_own,
    without_weights,
    with_weights_elsewhere,
    with_weights_above,
    with_a_number_for_a_file,
    with_a_list_for_an_index,
    with_cut_weights,
    with_code_in_its_weights,
    without_its_head,
    without_tokenizer,
    with_a_broken_tokenizer,
    with_a_tokenizer_of_another_model,
    without_a_mask,
)


@pytest.mark.parametrize("spoil", [*SPOILED, *CONFIGS], ids=lambda one: one if isinstance(one, str) else one.__name__)
def test_a_checkpoint_that_cannot_be_loaded_is_one_clear_error(spoil, own, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = own("roberta")
    if spoil in CONFIGS:
        changes, part = CONFIGS[spoil]
        config_with(folder, **changes)
    else:
        part = spoil(folder)
    with pytest.raises(ModelError) as caught:
        read_checkpoint(str(folder))
    assert part in str(caught.value)
    assert "roberta" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "bomb-went-off").exists()


def test_a_text_for_the_longest_text_is_one_clear_error(own):
    folder = own("t5")
    config_with(folder, max_position_embeddings="x")
    with pytest.raises(ModelError, match="says that it reads 'x' tokens; expected a number"):
        read_checkpoint(str(folder))


def test_code_that_a_known_architecture_offers_is_left_alone(own):
    """Many checkpoints name code beside an architecture that transformers has itself."""
    folder = own("gpt2")
    config_with(folder, auto_map={"AutoModelForCausalLM": "modeling.Own"})
    (folder / "modeling.py").write_text("raise SystemExit('this code was run')")
    assert read_checkpoint(str(folder)).architecture == "GPT2LMHeadModel"


@pytest.mark.parametrize(
    ("name", "family", "part"),
    [
        ("roberta", "causal", "found RobertaForMaskedLM of type roberta, which is a masked model"),
        ("gpt2", "masked", "found GPT2LMHeadModel of type gpt2, which is a causal model"),
        ("t5", "causal", "found T5ForConditionalGeneration of type t5, which is a seq2seq model"),
        ("bart", "masked", "found BartForConditionalGeneration of type bart, which is a seq2seq model"),
    ],
)
def test_a_family_that_does_not_fit_is_refused(name, family, part, saved):
    with pytest.raises(ModelError) as caught:
        read_checkpoint(str(saved(name)), family=family)
    assert part in str(caught.value)


def test_an_architecture_that_leaves_the_family_open_needs_a_name_and_a_head(own):
    folder = own("bert_cased")
    config_with(folder, architectures=["BertModel"])
    with pytest.raises(ModelError, match="causal or masked models can be made"):
        read_checkpoint(str(folder))
    assert read_checkpoint(str(folder), family="masked").family == "masked"
    config_with(folder, model_type="vit", architectures=["ViTModel"])
    with pytest.raises(ModelError, match="is open: found ViTModel of type vit, which is no language model"):
        read_checkpoint(str(folder))


def test_an_old_name_of_an_architecture_is_known(own):
    folder = own("t5")
    config_with(folder, architectures=["T5WithLMHeadModel"])
    assert read_checkpoint(str(folder)).architecture == "T5ForConditionalGeneration"


def test_without_network_the_message_says_what_would_be_fetched(monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    with pytest.raises(ModelError) as caught:
        read_checkpoint("google-t5/t5-large", revision="v2")
    said = str(caught.value)
    assert "revision v2 of https://huggingface.co/google-t5/t5-large" in said
    assert "config.json, tokenizer files, and weights" in said
    with pytest.raises(ModelError, match="neither a folder of this machine nor an id of the hub"):
        read_checkpoint("/no/such folder")


@pytest.mark.parametrize("library", ["httpx", "httpx2"])
def test_without_network_a_checkpoint_in_the_cache_is_read_and_another_is_one_clear_error(library, saved, monkeypatch):
    """The hub's client lets errors of its HTTP library through, which later versions of it have replaced."""
    errors = pytest.importorskip(library)

    def unreachable(*_, **__):
        raise errors.ConnectError("Name or service not known")

    def cached(name, local_files_only=False, **_):
        if name != "tiny/gpt2":
            raise LocalEntryNotFoundError("not in the cache")
        assert local_files_only
        return str(saved("gpt2"))

    monkeypatch.setattr("tempkb.models.files.HfApi.model_info", unreachable)
    monkeypatch.setattr("tempkb.models.files.snapshot_download", cached)
    found = read_checkpoint("tiny/gpt2", may_fetch=True)
    assert (found.architecture, found.hub_revision) == ("GPT2LMHeadModel", "gpt2")
    with pytest.raises(ModelError, match=r"could not be fetched \(Name or service not known\)") as caught:
        read_checkpoint("tiny/other", revision="v2", may_fetch=True)
    assert "revision v2 of https://huggingface.co/tiny/other" in str(caught.value)
    assert "put these files into a folder" in str(caught.value)


def test_what_the_hubs_client_hides_behind_an_empty_cache_is_the_reason(monkeypatch):
    """It looks into the cache when the hub cannot be reached, and complains only that nothing is there."""

    def behind(name, local_files_only=False, **_):
        if local_files_only:
            raise LocalEntryNotFoundError("not in the cache")
        raise LocalEntryNotFoundError("not in the cache") from OSError("Name or service not known")

    monkeypatch.setattr("tempkb.models.files.HfApi.model_info", lambda *_, **__: None)
    monkeypatch.setattr("tempkb.models.files.snapshot_download", behind)
    with pytest.raises(ModelError, match=r"could not be fetched \(Name or service not known\)"):
        find_folder("tiny/other", None, may_fetch=True, wanted=("*.json",))
    with pytest.raises(ModelError, match=r"could not be fetched \(fetching was not allowed\)"):
        find_folder("tiny/other", None, may_fetch=False)


def test_digests_can_be_read_without_loading_the_weights(own):
    folder = own("roberta")
    whole = read_checkpoint(str(folder))
    (folder / "model.safetensors").write_bytes(b"no weights")
    digests = read_digests(str(folder))
    assert digests.weights_sha256 == hashlib.sha256(b"no weights").hexdigest() != whole.weights_sha256
    assert digests.config_sha256 == whole.config_sha256
    assert digests.tokenizer_sha256 == whole.tokenizer_sha256


def test_a_folder_has_no_revision(saved):
    with pytest.raises(ModelError, match="has no revision 'main'"):
        read_checkpoint(str(saved("gpt2")), revision="main")


def test_transformers_stays_as_talkative_as_it_was(saved):
    transformers.utils.logging.set_verbosity_info()
    try:
        read_checkpoint(str(saved("gpt2")))
        assert transformers.utils.logging.get_verbosity() == transformers.utils.logging.INFO
    finally:
        transformers.utils.logging.set_verbosity_warning()


def test_files_are_surely_those_of_a_row_if_their_digests_are_and_no_chat_template_has_a_file(tmp_path):
    folder = saved_tiny("gpt2", tmp_path / "gpt2")
    digests = read_digests(str(folder))
    row = {"model": "m", **{name: getattr(digests, name) for name in DIGESTS}}
    assert are_files_of(row, folder)
    assert not are_files_of({**row, "tokenizer_sha256": "0" * 64}, folder)
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    assert not are_files_of(row, folder)
    (folder / "chat_template.jinja").unlink()
    (folder / "model.safetensors").write_bytes(b"other")
    assert not are_files_of(row, folder)
