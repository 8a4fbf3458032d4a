"""Random weights with which training begins: what they see of a text before anything is learnt."""

import pytest
import torch

from tempkb.models.linking.inputs import EntityText, MentionText
from tempkb.models.linking.training.lessons import Example, Lesson
from tempkb.models.linking.training.recipe import recipe_of

# sentence-transformers takes seconds to be imported, which is done once.
learning = pytest.importorskip("tempkb.models.linking.training.learning")

WORDS = ("anchor", "basil", "copper", "dragon", "ember", "falcon", "garnet", "hazel", "indigo", "jasper")
# In which each word occurs often enough to be a token.
CORPUS = tuple(" ".join(WORDS[at:] + WORDS[:at]) for at in range(len(WORDS)))


def begun(folder, **settings):
    """The transformer of random weights of the preset `demo` with other numbers, and its tokenizer."""
    import transformers

    folder.mkdir()
    changes = [(name, str(value)) for name, value in {"vocabulary": 400, **settings}.items()]
    example = Example(MentionText("the", "anchor", "of copper"), 1, EntityText("Anchor", "of copper"))
    recipe = recipe_of("a test", "demo", "", changes)
    torch.manual_seed(3)
    learning.write_beginning(Lesson("a-test", "key", recipe, 1, (example,), (example,), corpus=CORPUS), folder)
    return (
        transformers.AutoModel.from_pretrained(folder).eval(),
        transformers.AutoTokenizer.from_pretrained(folder),
    )


def spread(module, tokenizer):
    """By how much the vectors of texts differ that have no word in common: one minus their mean cosine."""
    with torch.inference_mode():
        found = module(**tokenizer(list(WORDS), return_tensors="pt", padding=True)).last_hidden_state[:, 0].double()
    found = torch.nn.functional.normalize(found, dim=1)
    return 1 - (found @ found.T)[~torch.eye(len(WORDS), dtype=torch.bool)].mean().item()


def test_vectors_differ_by_words_before_anything_is_learnt(tmp_path):
    assert spread(*begun(tmp_path / "one")) > 100 * spread(*begun(tmp_path / "other", passed_on=0))


@pytest.mark.parametrize("passed_on", [0.0, 1.0])
def test_what_attention_passes_on_is_added_to_the_diagonals_alone(tmp_path, passed_on):
    (module, _), (other, _) = begun(tmp_path / "one", passed_on=passed_on), begun(tmp_path / "other", passed_on=0)
    for layer, same in zip(module.encoder.layer, other.encoder.layer, strict=True):
        for name in ("self.value", "output.dense"):
            found = layer.attention.get_submodule(name).weight - same.attention.get_submodule(name).weight
            assert torch.allclose(found, passed_on * torch.eye(found.shape[0]), atol=1e-6)


def test_positions_are_multiplied(tmp_path):
    (module, _), (other, _) = begun(tmp_path / "one", positions=0.1), begun(tmp_path / "other", positions=1)
    ours, others = (one.embeddings.position_embeddings.weight for one in (module, other))
    assert torch.allclose(ours, 0.1 * others)
    assert torch.equal(module.embeddings.word_embeddings.weight, other.embeddings.word_embeddings.weight)
