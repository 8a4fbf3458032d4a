"""Encoders read by transformers alone give what sentence-transformers gives, at every place of a list."""

import json
import random
import shutil

import numpy as np
import pytest
import torch

from tempkb.core.errors import ModelError
from tempkb.models.linking import encoders
from tempkb.models.linking.checkpoints import read_layout
from tempkb.models.linking.encoders import load_encoder, load_layout
from tempkb.models.linking.inputs import EntityText, MentionText
from tempkb_tests.models.linking.tiny import TOKENIZERS, save_encoder

WORDS = [
    "Ada",
    "Lovelace",
    "works",
    "for",
    "the",
    "Analytical",
    "Society",
    "in",
    "London.",
    "Paris",
    "is",
    "large;",
    "東京",
    "Zürich",
    "[SEP]",
    "</s>",
    "[Ms]",
    "tea",
]


def texts(n: int) -> tuple[list[MentionText], list[EntityText]]:
    chance = random.Random(7)

    def some(most):
        return " ".join(chance.choices(WORDS, k=chance.randrange(most)))

    mentions = [MentionText(some(30), chance.choice(WORDS), some(30)) for _ in range(n)]
    return mentions, [EntityText(chance.choice(WORDS), some(60)) for _ in range(n)]


def row_of(folder) -> dict:
    row = {"linker": "tiny", "kind": "sentence-encoder", "checkpoint": str(folder), "hub_revision": None}
    return {**row, **read_layout(str(folder)).digests()}


def both_ways(folder, model, n=40, **options):
    """Vectors by tempkb and by sentence-transformers, of mentions and of entities."""
    encoder = load_encoder(row_of(folder), "cpu", **options)
    mentions, entities = texts(n)
    wholes = encoder.inputs.mentions(mentions), encoder.inputs.entities(entities)
    theirs = [
        ask([one.text for one in part], convert_to_numpy=True, prompt="")
        for ask, part in zip((model.encode_query, model.encode_document), wholes, strict=True)
    ]
    return [encoder.mentions(mentions), encoder.entities(entities)], theirs


@pytest.fixture(scope="module")
def two_towers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two") / "bert"
    return folder, save_encoder(folder, "bert", towers=2)


@pytest.mark.parametrize("kind", sorted(TOKENIZERS))
@pytest.mark.parametrize("markers", [True, False])
def test_token_ids_are_those_of_sentence_transformers_and_nothing_is_truncated(tmp_path, kind, markers):
    model = save_encoder(tmp_path / "one", kind, markers=markers)
    encoder = load_layout(read_layout(str(tmp_path / "one")), "cpu")
    assert encoder.inputs.max_tokens == 24
    mentions, entities = texts(60)
    ours = [*encoder.inputs.mentions(mentions), *encoder.inputs.entities(entities)]
    for one in ours:
        assert model.preprocess([one.text])["input_ids"][0].tolist() == one.ids
        assert model.tokenizer(one.text, truncation=False)["input_ids"] == one.ids
    assert max(len(one.ids) for one in ours) == 24


@pytest.mark.parametrize(
    "pooling", ["cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken", ("cls", "mean")]
)
def test_vectors_are_those_of_sentence_transformers(tmp_path, pooling):
    model = save_encoder(tmp_path / "one", "bert", pooling)
    for ours, theirs in zip(*both_ways(tmp_path / "one", model), strict=True):
        assert ours.dtype == np.float32
        np.testing.assert_allclose(ours, theirs, atol=1e-5, rtol=0)
        assert np.abs(theirs).max() > 0.1


@pytest.mark.parametrize("kind", ["roberta", "albert"])
def test_projections_and_norms_are_those_of_sentence_transformers(tmp_path, kind):
    from sentence_transformers.sentence_transformer.modules import Dense, Normalize

    torch.manual_seed(3)
    later = [Dense(64, 16), Dense(16, 8, bias=False, activation_function=torch.nn.Identity()), Normalize()]
    model = save_encoder(tmp_path / "one", kind, ("cls", "mean"), later=later)
    ours, theirs = both_ways(tmp_path / "one", model)
    for one, other in zip(ours, theirs, strict=True):
        assert one.shape == (40, 8)
        np.testing.assert_allclose(one, other, atol=1e-5, rtol=0)
    layout = read_layout(str(tmp_path / "one"))
    encoder = load_layout(layout, "cpu")
    assert (encoder.dim, encoder.n_towers, layout.n_towers) == (8, 1, 1)
    assert encoder.n_parameters == sum(weights.numel() for weights in model.parameters())


def test_two_towers_are_those_of_sentence_transformers(two_towers):
    folder, model = two_towers
    ours, theirs = both_ways(folder, model)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5, rtol=0)
    encoder = load_layout(read_layout(str(folder)), "cpu")
    assert (encoder.n_towers, encoder.dim) == (2, 32)
    assert encoder.n_parameters == sum(weights.numel() for weights in model.parameters())
    same = MentionText("", "Ada", "")
    string = encoder.inputs.mention(same)
    assert not np.allclose(encoder.mentions([same]), model.encode_document([string]), atol=1e-2)


def test_prompts_come_first(tmp_path):
    model = save_encoder(
        tmp_path / "one", "bert", "mean", markers=False, prompts={"query": "tea: ", "document": "large: "}
    )
    encoder = load_layout(read_layout(str(tmp_path / "one")), "cpu")
    mention, entity = MentionText("works for", "Ada", "in London"), EntityText("Ada", "works")
    assert encoder.inputs.mention(mention) == "tea: Ada: works for Ada in London"
    theirs = model.encode_query(["Ada: works for Ada in London"]), model.encode_document(["Ada works"])
    np.testing.assert_allclose(encoder.mentions([mention]), theirs[0], atol=1e-5, rtol=0)
    np.testing.assert_allclose(encoder.entities([entity]), theirs[1], atol=1e-5, rtol=0)


def test_vectors_that_are_compared_by_angle_are_normalised(tmp_path):
    save_encoder(tmp_path / "one", "bert", similarity_fn_name="cosine")
    encoder = load_layout(read_layout(str(tmp_path / "one")), "cpu")
    np.testing.assert_allclose(np.linalg.norm(encoder.mentions(texts(9)[0]), axis=1), 1, atol=1e-6)


def test_a_texts_place_is_kept_however_it_is_batched(two_towers, monkeypatch):
    folder, _ = two_towers
    mentions, entities = texts(50)
    alone = load_encoder(row_of(folder), "cpu", batch_tokens=1)
    monkeypatch.setattr(encoders, "_CHUNK", 17)
    monkeypatch.setattr(encoders, "_READ", 4)
    batched = load_encoder(row_of(folder), "cpu", batch_tokens=300)
    np.testing.assert_allclose(alone.mentions(mentions), batched.mentions(mentions), atol=1e-5, rtol=0)
    np.testing.assert_allclose(alone.entities(entities), batched.entities(entities), atol=1e-5, rtol=0)
    assert (batched.mentions(mentions) == batched.mentions(mentions)).all()
    assert batched.mentions([]).shape == (0, 32)
    done = []
    batched.entities(entities, done.append)
    assert (done[-1], done) == (50, sorted(done))
    assert len(done) > 3


def test_batches_hold_rows_of_like_length_within_the_tokens_that_are_allowed():
    lengths = [3, 9, 1, 4, 9, 2, 5]
    assert encoders._batches(lengths, 18) == [[1, 4], [6, 3, 0], [5, 2]]
    assert encoders._batches(lengths, 1) == [[1], [4], [6], [3], [0], [5], [2]]
    assert encoders._batches([], 18) == []


def test_bfloat16_gives_nearly_the_same_as_float32(two_towers):
    folder, _ = two_towers
    whole = load_encoder(row_of(folder), "cpu")
    half = load_encoder(row_of(folder), "cpu", "bfloat16")
    mentions, _ = texts(20)
    found, expected = half.mentions(mentions), whole.mentions(mentions)
    assert found.dtype == np.float32
    cosine = (found * expected).sum(1) / np.linalg.norm(found, axis=1) / np.linalg.norm(expected, axis=1)
    assert cosine.min() > 0.99


def copied(two_towers, tmp_path):
    return shutil.copytree(two_towers[0], tmp_path / "copy")


def test_digests_are_those_of_the_files(two_towers, tmp_path):
    folder = copied(two_towers, tmp_path)
    first = read_layout(str(folder)).digests()
    assert first == read_layout(str(two_towers[0])).digests()
    for changed, file in (
        ("weights_sha256", "document_0_Transformer/model.safetensors"),
        ("config_sha256", "query_1_Pooling/config.json"),
        ("config_sha256", "router_config.json"),
        ("tokenizer_sha256", "query_0_Transformer/tokenizer.json"),
    ):
        before = read_layout(str(folder)).digests()
        with (folder / file).open("a") as out:
            out.write(" ")
        after = read_layout(str(folder)).digests()
        assert [name for name in before if before[name] != after[name]] == [changed]
    with pytest.raises(ModelError, match=r"linker 'tiny': expected in .* to which its name is bound \(weights_sha256"):
        load_encoder({**row_of(folder), **first}, "cpu")


def with_projection(folder, **config):
    """Add a projection to the tower of documents, which is not asked further than its config."""
    router = json.loads((folder / "router_config.json").read_text())
    router["types"]["document_9_Dense"] = "sentence_transformers.models.Dense"
    router["structure"]["document"].append("document_9_Dense")
    (folder / "router_config.json").write_text(json.dumps(router))
    (folder / "document_9_Dense").mkdir()
    (folder / "document_9_Dense" / "config.json").write_text(json.dumps(config))


def spoil(file, damage):
    """Change values of the JSON of a file, or put other bytes in its place, or remove it."""
    if damage is None:
        file.unlink()
    elif isinstance(damage, bytes):
        file.write_bytes(damage)
    else:
        found = json.loads(file.read_text())
        (found[0] if isinstance(found, list) else found).update(damage)
        file.write_text(json.dumps(found))


MODULES, ROUTER, POOLING = "modules.json", "router_config.json", "query_1_Pooling/config.json"
SIMILARITY, LENGTH = "config_sentence_transformers.json", "query_0_Transformer/sentence_bert_config.json"
DOCUMENTS = "document_0_Transformer"


@pytest.mark.parametrize(
    ("file", "damage", "message"),
    [
        (MODULES, None, "is no encoder of sentences: expected modules.json"),
        (MODULES, b"{", "cannot be read as JSON"),
        (MODULES, b"[]", "is no list of modules"),
        (MODULES, {"type": "custom_st.Own"}, "has the module custom_st.Own"),
        (MODULES, {"type": "sentence_transformers.models.BoW"}, "has the module sentence_transformers.models.BoW"),
        (MODULES, {"path": "../other"}, "which is not within"),
        (MODULES, {"path": None}, "is no list of modules with type and path"),
        (ROUTER, {"structure": {"query": []}}, "has not both routes query and document"),
        (ROUTER, {"structure": {"query": [], "document": []}}, "has the modules none; expected Transformer"),
        (
            ROUTER,
            {"types": {"x": 7}, "structure": {"query": ["x"], "document": ["x"]}},
            "has the module 7 .* does not know",
        ),
        (POOLING, {"pooling_mode": "middle"}, "pools by middle"),
        (POOLING, {"include_prompt": False}, "pools without its prompt"),
        (POOLING, b'["mean"]', "query_1_Pooling/config.json is no JSON object"),
        (SIMILARITY, {"similarity_fn_name": "manhattan"}, "compares vectors by manhattan"),
        (
            SIMILARITY,
            {"prompts": ["query"]},
            r"found the prompts \['query'\] in .*expected an object with a text for each",
        ),
        (LENGTH, {"max_seq_length": "x"}, "max_seq_length in .*_config.json is 'x'; expected a whole number from 1"),
        (f"{DOCUMENTS}/model.safetensors", None, "has no weights"),
        (f"{DOCUMENTS}/model.safetensors", b"\x00" * 40, "is cut or damaged"),
        (f"{DOCUMENTS}/tokenizer.json", None, "has no tokenizer"),
        (f"{DOCUMENTS}/config.json", {"num_hidden_layers": 3}, "lacks 16 weights of its bert"),
        (f"{DOCUMENTS}/config.json", {"num_attention_heads": 0}, "cannot be loaded: integer modulo by zero"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_message(two_towers, tmp_path, file, damage, message):
    folder = copied(two_towers, tmp_path)
    spoil(folder / file, damage)
    with pytest.raises(ModelError, match=message):
        load_layout(read_layout(str(folder)), "cpu")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"out_features": 4}, "in_features in .* is None; expected a whole number"),
        ({"in_features": 32, "out_features": -1}, "out_features in .* is -1; expected a whole number from 1"),
    ],
)
def test_a_projection_of_no_size_is_refused(two_towers, tmp_path, config, message):
    folder = copied(two_towers, tmp_path)
    with_projection(folder, **config)
    with pytest.raises(ModelError, match=message):
        load_layout(read_layout(str(folder)), "cpu")


def test_weights_of_pytorchs_own_format_are_refused(two_towers, tmp_path):
    folder = copied(two_towers, tmp_path)
    weights = folder / "query_0_Transformer" / "model.safetensors"
    weights.rename(weights.with_name("pytorch_model.bin"))
    with pytest.raises(ModelError, match="expected safetensors, which cannot hold code"):
        read_layout(str(folder)).digests()
