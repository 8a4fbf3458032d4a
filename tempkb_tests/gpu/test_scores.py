"""Scores of language models computed on a GPU are those of a CPU but for rounding."""

import pytest

from tempkb.models.loading import loaded
from tempkb.models.scoring import Scorer
from tempkb_tests.models.test_batching import CANDIDATES
from tempkb_tests.models.tiny import CONTEXT, KINDS, random_model, tokenizer_of

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-4), ("bfloat16", 0.05)])
@pytest.mark.parametrize("name", sorted(KINDS))
def test_scores_are_those_of_the_cpu(name, dtype, tolerance):
    kind, tokenizer = KINDS[name], tokenizer_of(name)
    on_cpu, on_gpu = (
        Scorer(
            loaded(kind.family, random_model(kind, tokenizer), tokenizer, device, number, context_tokens=CONTEXT)
        ).score(CANDIDATES)
        for device, number in (("cpu", "float32"), ("cuda", dtype))
    )
    assert [one.status for one in on_gpu] == [one.status for one in on_cpu]
    expected = [one.log_prob_nats for one in on_cpu if one.status == "scored"]
    assert len(expected) >= len(CANDIDATES) // 2
    assert [one.log_prob_nats for one in on_gpu if one.status == "scored"] == pytest.approx(expected, rel=tolerance)
