"""What happens in the process that trains: strings, batches, loss and gradient, at the beginning of a training."""

import pytest
import torch

from tempkb.core.errors import ModelError
from tempkb.models.files import digest_of
from tempkb.models.linking.inputs import DESCRIPTION_START, MARKERS
from tempkb.models.linking.training.recipe import PRESETS
from tempkb_tests.models.linking.lessons import ENTITIES, lesson
from tempkb_tests.models.linking.tiny import save_base

# sentence-transformers takes seconds to be imported, which is done once.
learning = pytest.importorskip("tempkb.models.linking.training.learning")


def begun(folder, one):
    """A model and its trainer, before the first step."""
    torch.manual_seed(1)
    (folder / "beginning").mkdir()
    learning.write_beginning(one, folder / "beginning")
    model = learning.new_model(folder / "beginning", one.recipe.towers)
    return model, learning.new_trainer(model, one, folder)


@pytest.fixture
def two_towers(tmp_path):
    return begun(tmp_path, lesson())


def entities_of(model, batch, name="entity"):
    return [model.tokenizer.decode([one for one in row if one != 0]) for row in batch[f"{name}_input_ids"].tolist()]


@pytest.mark.parametrize("negatives", [0, 2])
def test_no_batch_has_an_entity_twice_nor_one_that_is_wrong_for_a_mention_and_right_for_another(tmp_path, negatives):
    model, trainer = begun(tmp_path, lesson(negatives=negatives))
    loader = trainer.get_train_dataloader()
    seen, orders = 0, []
    for epoch in range(3):
        loader.set_epoch(epoch)
        orders.append([])
        for batch in loader:
            named = [
                entity
                for name in ("entity", "negative_1", "negative_2")
                if f"{name}_input_ids" in batch
                for entity in entities_of(model, batch, name)
            ]
            assert len(named) == (negatives + 1) * len(batch["entity_input_ids"])
            assert len(set(named)) == len(named)
            orders[-1] += entities_of(model, batch)
            seen += len(batch["entity_input_ids"])
    # The mentions come in another order in each epoch.
    assert orders[0] != orders[1] != orders[2]
    assert seen > 3 * 60


def test_training_reads_the_strings_that_are_encoded_later_and_truncates_nothing(two_towers):
    model, trainer = two_towers
    inputs = learning.inputs_of(model, 32)
    one = lesson().train[0]
    data = learning.dataset_of(inputs, lesson(negatives=1).train)
    assert data.column_names == ["mention", "entity", "negative_1"]
    assert data[0]["mention"] == inputs.mention(one.mention)
    assert data[0]["entity"] == inputs.entity(one.entity)
    assert data[0]["negative_1"] == inputs.entity(ENTITIES[(one.page_id + 7) % 40])
    assert " [Ms] name" in data[0]["mention"]
    assert f" {DESCRIPTION_START} thing" in data[0]["entity"]
    batch = next(iter(trainer.get_train_dataloader()))
    for name in ("mention", "entity"):
        assert batch[f"{name}_input_ids"].shape[1] <= 32
        assert batch[f"{name}_task"] == {"mention": "query", "entity": "document"}[name]
    ids = {marker: model.tokenizer.convert_tokens_to_ids(marker) for marker in MARKERS}
    for name, expected in (
        ("mention", {"[Ms]": 1, "[Me]": 1, "[Ent]": 0}),
        ("entity", {"[Ms]": 0, "[Me]": 0, "[Ent]": 1}),
    ):
        for row in batch[f"{name}_input_ids"].tolist():
            assert {marker: row.count(number) for marker, number in ids.items()} == expected


def gradients(loss, model, features):
    model.zero_grad(set_to_none=True)
    value = loss(features, None)
    value.backward()
    return float(value.detach()), {
        name: weights.grad.clone() for name, weights in model.named_parameters() if weights.grad is not None
    }


@pytest.mark.parametrize(("towers", "negatives"), [(2, 0), (1, 0), (2, 2)])
def test_the_gradient_of_parts_is_that_of_the_whole_batch(tmp_path, towers, negatives):
    from sentence_transformers import util
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    one = lesson(negatives=negatives, towers=towers, dropout=0.0, mini_batch_size=3)
    model, trainer = begun(tmp_path, one)
    features, _ = trainer.collect_features(next(iter(trainer.get_train_dataloader())))
    assert trainer.loss.mini_batch_size == 3
    model.double().train()  # so that the order of additions does not matter
    parts = gradients(trainer.loss, model, [dict(part) for part in features])
    whole_loss = MultipleNegativesRankingLoss(model, scale=1.0, similarity_fct=util.dot_score)
    whole = gradients(whole_loss, model, [dict(part) for part in features])
    assert parts[0] == pytest.approx(whole[0], rel=1e-9)
    assert parts[1].keys() == whole[1].keys()
    assert len(parts[1]) > 15 * towers
    largest = max(gradient.abs().max() for gradient in whole[1].values())
    for name, gradient in whole[1].items():
        assert torch.allclose(parts[1][name], gradient, atol=1e-9 * float(largest)), name


def test_the_loss_is_the_cross_entropy_of_inner_products(tmp_path):
    """Written again with NumPy's means, from the vectors of sentence-transformers."""
    model, trainer = begun(tmp_path, lesson(dropout=0.0))
    features, _ = trainer.collect_features(next(iter(trainer.get_train_dataloader())))
    model.eval()
    with torch.no_grad():
        mentions, entities = (model(dict(part))["sentence_embedding"].double() for part in features)
        scores = mentions @ entities.T
        expected = (scores.logsumexp(dim=1) - scores.diagonal()).mean()
    assert float(trainer.loss(features, None).detach()) == pytest.approx(float(expected), rel=1e-5)


def test_the_rate_rises_for_a_tenth_of_the_steps_and_falls_to_zero(two_towers):
    _, trainer = two_towers
    trainer.create_optimizer_and_scheduler(12)
    rates = []
    for _ in range(12):
        rates.append(trainer.lr_scheduler.get_last_lr()[0])
        trainer.optimizer.step()
        trainer.lr_scheduler.step()
    # A tenth of 12 steps, rounded up, is two; ten steps are left to fall.
    expected = [0, 0.5, *(1 - step / 10 for step in range(10))]
    assert rates == pytest.approx([PRESETS["demo"].learning_rate * share for share in expected])


def test_random_weights_and_their_tokenizer_are_the_same_again(tmp_path):
    digests = []
    for name in ("a", "b"):
        torch.manual_seed(5)
        (tmp_path / name).mkdir()
        learning.write_beginning(lesson(), tmp_path / name)
        digests.append(
            [digest_of(tmp_path / name / file) for file in ("model.safetensors", "tokenizer.json", "config.json")]
        )
    assert digests[0] == digests[1]


def test_a_base_gets_the_markers_and_keeps_its_other_weights(tmp_path):
    from safetensors.torch import load_file
    from transformers import AutoTokenizer

    base = save_base(tmp_path / "base", "bert", max_tokens=64, markers=False)
    (tmp_path / "begun").mkdir()
    learning.write_beginning(lesson(base=str(base)), tmp_path / "begun")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "begun")
    n_before = len(AutoTokenizer.from_pretrained(base))
    assert tokenizer.convert_tokens_to_ids(list(MARKERS)) == [n_before, n_before + 1, n_before + 2]
    assert tokenizer.model_max_length == 32
    before, after = load_file(base / "model.safetensors"), load_file(tmp_path / "begun" / "model.safetensors")
    words = "embeddings.word_embeddings.weight"
    assert after[words].shape[0] == n_before + 3
    assert torch.equal(after[words][:n_before], before[words])
    assert all(torch.equal(after[name], before[name]) for name in before if name != words)


def test_a_base_that_cannot_be_used_is_refused(tmp_path):
    base = save_base(tmp_path / "base", "bert", max_tokens=64, markers=False)
    (tmp_path / "begun").mkdir()
    with pytest.raises(ModelError, match="reads 64 tokens, and max_tokens is 65. Set max_tokens=64 or less"):
        learning.write_beginning(lesson(base=str(base), max_tokens=65), tmp_path / "begun")
    (base / "model.safetensors").rename(base / "pytorch_model.bin")
    with pytest.raises(ModelError, match="has no safetensors"):
        learning.write_beginning(lesson(base=str(base)), tmp_path / "begun")
