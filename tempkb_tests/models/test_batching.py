"""Batches change how fast scores come, and nothing else."""

from dataclasses import replace

import pytest
import torch

from tempkb.core.errors import ModelMemoryError, SettingsError
from tempkb.core.prompts import Prompt
from tempkb.models.batching import Limits
from tempkb.models.loading import loaded
from tempkb.models.scoring import Scorer
from tempkb_tests.models.tiny import CONTEXT, KINDS, PROMPTS, random_model, tiny, tokenizer_of

FAMILIES = ("roberta", "t5", "bart", "gpt2")  # of all others, batches give what the definition gives
SURE = [prompt for prompt in PROMPTS if prompt.left.strip()]
NAMES = (
    "Ada",
    "Ada Lovelace",
    "Paris",
    "the Analytical Society",
    "Juventus",
    "Juventus F.C.",
    "F.C. Paris",
    "serves tea",
)
CANDIDATES = [Prompt("Ada Lovelace lives today in London and works for ", name, " and Paris.") for name in NAMES]


def own_model(name, dtype="float32"):
    """A model of a test's own, which it may change."""
    kind, tokenizer = KINDS[name], tokenizer_of(name)
    return loaded(kind.family, random_model(kind, tokenizer), tokenizer, dtype=dtype, context_tokens=CONTEXT)


def values(scores):
    return [score.log_prob_nats for score in scores if score.status == "scored"]


class Calls:
    """Counts what passes through a module: shapes of its first input."""

    def __init__(self, module):
        self.shapes = []
        self.handle = module.register_forward_pre_hook(self._note, with_kwargs=True)

    def _note(self, module, arguments, named):
        given = arguments[0] if arguments else named.get("input_ids", named.get("decoder_input_ids"))
        self.shapes.append(tuple(given.shape))

    @property
    def rows(self):
        return sum(shape[0] for shape in self.shapes)

    @property
    def cells(self):
        return sum(shape[0] * shape[1] for shape in self.shapes)


@pytest.mark.parametrize("name", FAMILIES)
def test_scores_do_not_depend_on_the_company(name):
    model = tiny(name, "float32")
    together = Scorer(model).score(PROMPTS)
    small = Scorer(model, limits=Limits(batch_tokens=40)).score(PROMPTS[::-1])[::-1]
    alone = [Scorer(model).score([prompt])[0] for prompt in PROMPTS]
    for one, two, three in zip(together, small, alone, strict=True):
        assert one.status == two.status == three.status
        if one.status == "scored":
            assert one.log_prob_nats == pytest.approx(two.log_prob_nats, abs=1e-5 * max(1, abs(two.log_prob_nats)))
            assert one.log_prob_nats == pytest.approx(three.log_prob_nats, abs=1e-5 * max(1, abs(three.log_prob_nats)))
            assert one.token_ids == two.token_ids == three.token_ids


@pytest.mark.parametrize("name", FAMILIES)
def test_fixed_shapes_give_equal_bytes_in_any_company(name):
    model = own_model(name)
    limits = Limits(batch_tokens=256, has_fixed_shapes=True)
    together = Scorer(model, limits=limits).score([*PROMPTS, *CANDIDATES])
    turned = Scorer(model, limits=limits).score([*CANDIDATES, *PROMPTS][::-1])
    turned = turned[::-1][len(CANDIDATES) :] + turned[::-1][: len(CANDIDATES)]
    alone = [Scorer(model, limits=limits).score([prompt])[0] for prompt in [*PROMPTS, *CANDIDATES]]
    assert together == turned == alone
    assert sum(score.status == "scored" for score in together) >= 12
    plain = Scorer(own_model(name)).score([*PROMPTS, *CANDIDATES])
    assert values(together) == pytest.approx(values(plain), rel=1e-5, abs=1e-5)


def test_fixed_shapes_are_few():
    """Whatever the lengths, a batch is 8 rows of 32 tokens, or 4 of 64."""
    long = Prompt("She moved from 東京 to Москва. " * 2, "Paris", ".")
    model = own_model("gpt2")
    calls = Calls(model.module)
    Scorer(model, limits=Limits(batch_tokens=256, has_fixed_shapes=True)).score([*PROMPTS, long])
    assert {(8, 32)} < set(calls.shapes) <= {(8, 32), (4, 64)}


def test_equal_prompts_are_asked_once():
    model = own_model("roberta")
    calls = Calls(model.module)
    once = Scorer(model).score(CANDIDATES)
    n = calls.rows
    calls.shapes.clear()
    thrice = Scorer(model).score([*CANDIDATES, *CANDIDATES, *CANDIDATES])
    assert calls.rows == n
    assert thrice == once * 3


def test_targets_of_equal_length_share_their_first_masked_copy():
    """With all of the target masked, a query is the same row whatever the target is."""
    model = own_model("bert_cased")
    scorer = Scorer(model)
    targets = ("a", "b", "c", "d")
    assert all(score.n_tokens == 1 for score in scorer.score([Prompt("Ada ", target, " Paris") for target in targets]))
    calls = Calls(model.module)
    scorer.score([Prompt("Ada ", target, " Paris") for target in targets])
    assert calls.rows == 1
    calls.shapes.clear()
    # Two tokens each, the first of which differs in the second row.
    scorer.score([Prompt("Ada ", f"{target} x", " Paris") for target in targets])
    assert calls.rows == 1 + len(targets)


def test_the_head_sees_only_what_is_read():
    model = own_model("roberta")
    heads = Calls(model.module.lm_head)
    scores = Scorer(model, "original").score(PROMPTS[:1])
    assert sum(shape[1] for shape in heads.shapes) == scores[0].n_tokens > 1
    causal = own_model("gpt2")
    heads = Calls(causal.module.lm_head)
    Scorer(causal).score(CANDIDATES[:1])
    assert heads.shapes == [(1, Scorer(tiny("gpt2", "float32")).score(CANDIDATES[:1])[0].n_tokens, 32)]


def test_a_source_is_encoded_once():
    model = own_model("t5")
    encoder = Calls(model.module.encoder)
    scores = Scorer(model, "span_end").score(CANDIDATES)
    assert all(score.status == "scored" for score in scores)
    assert encoder.rows == 1


def test_candidates_of_one_query_share_their_beginning():
    model = own_model("gpt2")
    calls = Calls(model.module)
    scores = Scorer(model).score(CANDIDATES)
    n_shared = len(model.tokenizer("Ada Lovelace lives today in London and works for").input_ids)
    longest = max(score.n_tokens for score in scores)
    assert calls.shapes[0] == (1, n_shared)
    assert all(shape[1] <= longest - 1 for shape in calls.shapes[1:])
    assert calls.cells < n_shared + len(CANDIDATES) * longest
    for prompt, score in zip(CANDIDATES, scores, strict=True):
        alone = Scorer(tiny("gpt2", "float32")).score([prompt])[0]
        assert score.log_prob_nats == pytest.approx(alone.log_prob_nats, abs=1e-4)


@pytest.mark.parametrize("name", ["roberta", "t5", "bart", "gpt2"])
def test_when_memory_runs_out_smaller_batches_go_on(name):
    model = own_model(name)
    expected = Scorer(model).score(PROMPTS)
    heavy = model.module.get_encoder() if model.family == "seq2seq" else model.module.base_model
    refused = []

    def refuse(module, arguments, named):
        shape = tuple((arguments[0] if arguments else named["input_ids"]).shape)
        if shape[0] > 1 and shape[0] * shape[1] > 130:
            refused.append(shape)
            raise torch.OutOfMemoryError("CUDA out of memory")

    handle = heavy.register_forward_pre_hook(refuse, with_kwargs=True)
    scorer = Scorer(model)
    found = scorer.score(PROMPTS)
    assert refused
    assert scorer.batch_tokens < Scorer(model).batch_tokens
    assert [score.status for score in found] == [score.status for score in expected]
    assert values(found) == pytest.approx(values(expected), rel=1e-5, abs=1e-5)
    handle.remove()


def test_when_not_even_one_row_fits_the_message_says_what_to_do():
    model = own_model("gpt2")

    def refuse(*_):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 7 bytes")

    model.module.base_model.register_forward_pre_hook(refuse)
    with pytest.raises(
        ModelMemoryError, match=r"memory of cpu is too small for a single input of this model in float32"
    ):
        Scorer(model).score(CANDIDATES)
    with pytest.raises(ModelMemoryError, match=r"for a batch of fixed shape of this model"):
        Scorer(model, limits=Limits(has_fixed_shapes=True)).score(CANDIDATES)


def test_other_errors_of_a_model_are_not_taken_for_lack_of_memory():
    model = own_model("gpt2")

    def fail(*_):
        raise RuntimeError("a bug")

    model.module.base_model.register_forward_pre_hook(fail)
    with pytest.raises(RuntimeError, match="a bug"):
        Scorer(model).score(CANDIDATES)


def test_what_is_not_finite_is_a_status_of_its_own_row():
    model = own_model("gpt_neox")
    token = model.tokenizer("Ж").input_ids[-1]
    good, bad = Prompt("Ada lives in ", "Paris", "."), Prompt("Ж lives in ", "Paris", ".")
    assert token not in model.tokenizer(good.statement).input_ids
    before = Scorer(model).score([good, bad])
    assert [score.status for score in before] == ["scored", "scored"]
    with torch.no_grad():
        model.module.base_model.embed_in.weight[token] = float("nan")
    after = Scorer(model).score([good, bad, good])
    assert [score.status for score in after] == ["scored", "not_finite", "scored"]
    assert after[0].log_prob_nats == pytest.approx(before[0].log_prob_nats, abs=1e-5)
    assert (after[1].log_prob_nats, after[1].token_log_probs) == (None, ())
    assert after[1].token_ids == before[1].token_ids


def test_a_probability_of_zero_is_not_finite():
    model = own_model("bart")
    token = model.tokenizer(" Paris", add_special_tokens=False).input_ids[0]
    with torch.no_grad():
        model.module.final_logits_bias[0, token] = -float("inf")
    scores = Scorer(model).score([Prompt("Ada lives in ", "Paris", "."), Prompt("Ada lives in ", "Zürich", ".")])
    assert [score.status for score in scores] == ["not_finite", "scored"]


@pytest.mark.parametrize("name", ["roberta", "t5", "gpt2"])
def test_bfloat16_is_near(name):
    model = own_model(name, "bfloat16")
    scorer = Scorer(model)
    assert scorer.name.endswith("-2.bf16")
    for one, other in zip(scorer.score(CANDIDATES), Scorer(tiny(name, "float32")).score(CANDIDATES), strict=True):
        assert one.log_prob_nats == pytest.approx(other.log_prob_nats, rel=0.1)
        assert one.log_prob_nats != other.log_prob_nats


def test_a_stream_takes_prompts_as_it_goes():
    taken = 0

    def prompts():
        nonlocal taken
        for _ in range(10):
            for prompt in SURE:
                taken += 1
                yield prompt

    scores = Scorer(tiny("gpt2", "float32")).stream(prompts(), shard=7)
    first = next(scores)
    assert taken == 7
    rest = [first, *scores]
    assert taken == len(rest) == 10 * len(SURE)
    expected = Scorer(tiny("gpt2", "float32")).score(SURE)
    for one, other in zip(rest, expected * 10, strict=True):
        assert replace(one, log_prob_nats=None, token_log_probs=()) == replace(
            other, log_prob_nats=None, token_log_probs=()
        )


def test_nothing_is_scored_without_prompts():
    assert Scorer(tiny("gpt2", "float32")).score([]) == []


def test_the_name_of_a_scorer_says_family_template_version_and_numbers():
    assert Scorer(tiny("roberta")).name == "masked.answer_l2r-1.f64"
    assert Scorer(tiny("bart", "float32"), "span_end").name == "seq2seq.span_end-1.f32"
    with pytest.raises(
        SettingsError, match=r"causal models have no template 'answer_l2r'; expected one of span, span_end"
    ):
        Scorer(tiny("gpt2"), "answer_l2r")
