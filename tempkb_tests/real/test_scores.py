"""Scores of real items beside the released functions, unmodified, and beside minicons and lm-eval.

The released code is read from TEMPKB_REAL_DATA/code/ecbd (yasumasaonoe/ecbd) and .../code/temporal-robustness
(amazon-science/temporal-robustness). Models are tiny and random, so that the numbers mean nothing, and their agreement
does. What the released functions tokenize in parts, and tempkb as a whole, is compared where the tokens are the same; the
rest is counted.
"""

import importlib.util
import json
import math
import sys
import types

import pytest

from tempkb.core.prompts import Prompt
from tempkb.models.loading import loaded
from tempkb.models.rows import Plan
from tempkb.models.scoring import Scorer
from tempkb_tests.bench.scoring import minicons_scorer
from tempkb_tests.models.tiny import KINDS, random_model, tokenizer_of
from tempkb_tests.real.data import DATA, REAL, filled
from tempkb_tests.real.released_files import read_records

pytestmark = REAL
SAMPLES = DATA / "ecbd" / "ekp_2020_2021" / "all_ent_2020_2021_np_500samples.json"
QUERIES = DATA / "templama" / "templama_val.jsonl"
CONTEXT = 512


def close(one, other):
    return one == pytest.approx(other, rel=1e-5, abs=1e-5)


def model_of(kind):
    tokenizer = tokenizer_of(kind)
    module = random_model(KINDS[kind], tokenizer, CONTEXT)
    return loaded(KINDS[kind].family, module, tokenizer, context_tokens=CONTEXT)


def released_module(path, name, **stubs):
    """A file of released code as a module; modules that it imports and this test does not need are put in its way."""
    if not path.is_file():
        pytest.skip(f"{path} is not there; check the released repository out into {DATA / 'code'}")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    before = {one: sys.modules.get(one) for one in stubs}
    for one, names in stubs.items():
        sys.modules[one] = types.ModuleType(one)
        sys.modules[one].__path__ = []
        sys.modules[one].__dict__.update(dict.fromkeys(names))
    try:
        spec.loader.exec_module(module)
    finally:
        for one, old in before.items():
            sys.modules.pop(one) if old is None else sys.modules.update({one: old})
    return module


@pytest.fixture(scope="module")
def ecbd():
    return released_module(
        DATA / "code/ecbd/evaluation/eval_utils.py",
        "released_ecbd.evaluation.eval_utils",
        **{
            "allennlp": (),
            "allennlp.predictors": ("Predictor",),
            "released_ecbd": (),
            "released_ecbd.evaluation": (),
            "released_ecbd.data_construction": (),
            "released_ecbd.data_construction.data_utils": ("clean_sentence", "save_json"),
        },
    )


@pytest.fixture(scope="module")
def cloze():
    if not SAMPLES.is_file():
        pytest.skip(f"{SAMPLES} is not there")
    found = [
        Prompt(sentence[: answer.start], sentence[answer.start : answer.end], sentence[answer.end :])
        for sentence, _, answer in map(filled, read_records(SAMPLES, "propagation"))
    ]
    assert len(found) == 500
    return found


@pytest.fixture(scope="module")
def facts():
    """One prompt an answer, of 300 queries."""
    if not QUERIES.is_file():
        pytest.skip(f"{QUERIES} is not there")
    found = []
    with QUERIES.open(encoding="utf-8") as lines:
        for line in list(lines)[::20]:
            row = json.loads(line)
            left, right = row["query"].split("_X_")
            found += [Prompt(left, answer["name"], right) for answer in row["answer"]]
    return found[:300]


def asked(model, template, prompts):
    """The row of each prompt, or None."""
    planner = model.planner(template)
    texts = model.tokenize([planner.text(prompt) for prompt in prompts])
    plans = [planner.plan(prompt, tokens) for prompt, tokens in zip(prompts, texts, strict=True)]
    return [plan.rows[0] if isinstance(plan, Plan) else None for plan in plans]


def summary(name, n_compared, n):
    print(f"\n{name}: {n_compared} of {n} compared, the others tokenized otherwise")


@pytest.mark.parametrize("kind", ["t5", "t5_untied"])
def test_t5_is_the_released_perplexity(kind, ecbd, cloze):
    """Where the right context begins with a blank, or is tokenized alike without one."""
    model = model_of(kind)
    model.module.name_or_path = "t5"
    n = 0
    for prompt, row, score in zip(cloze, asked(model, "span", cloze), Scorer(model).score(cloze), strict=True):
        source, answer = f"{prompt.left}<extra_id_0>{prompt.right}", f"<extra_id_0> {prompt.target} <extra_id_1>"
        is_same = row is not None and tuple(model.tokenizer(source).input_ids) == row.source
        if not is_same or tuple(model.tokenizer(answer).input_ids[:-2]) != row.targets:
            continue
        ((perplexity, losses),) = ecbd.compute_perplexity([source], [answer], model.module, model.tokenizer, "cpu")
        assert len(losses) == score.n_tokens
        assert close(-score.log_prob_nats, sum(loss for _, loss in losses)), prompt.prompt_id
        assert close(-score.log_prob_nats / score.n_tokens, math.log(perplexity)), prompt.prompt_id
        n += 1
    summary(kind, n, len(cloze))
    assert n >= 300  # behind a sentinel, the released code's tokenizer puts a blank before a comma


def test_bart_is_the_released_perplexity(ecbd, cloze):
    model = model_of("bart")
    model.module.name_or_path = "bart"
    n = 0
    for prompt, row, score in zip(cloze, asked(model, "span", cloze), Scorer(model).score(cloze), strict=True):
        source = f"{prompt.left}<mask>{prompt.right}"
        if row is None or tuple(model.tokenizer(source).input_ids) != row.source:
            continue
        ((_, losses),) = ecbd.compute_perplexity([source], [prompt.statement], model.module, model.tokenizer, "cpu")
        assert len(losses) == score.n_tokens
        assert close(-score.log_prob_nats, sum(loss for _, loss in losses)), prompt.prompt_id
        n += 1
    summary("bart", n, len(cloze))
    assert n >= 400


@pytest.mark.parametrize("kind", ["gpt2", "gpt_neo"])
def test_gpt_is_the_released_perplexity(kind, ecbd, cloze):
    """The released code counts the tokens of the parts; where the parts are not tokenized as the whole, it is elsewhere."""
    model = model_of(kind)
    tokenizer = model.tokenizer
    tokenizer.pad_token = tokenizer.eos_token
    model.module.name_or_path = "gpt"
    n = 0
    for prompt, score in zip(cloze, Scorer(model).score(cloze), strict=True):
        parts = [prompt.left.rstrip(), f" {prompt.target}", prompt.right]
        whole = tokenizer(prompt.statement).input_ids
        is_same = prompt.left.endswith(" ") and prompt.right and score.status == "scored"
        if not is_same or [token for part in parts for token in tokenizer(part).input_ids] != whole:
            continue
        given = ([prompt.statement], [prompt.target], model.module, tokenizer, "cpu", [parts[0]], [parts[2]])
        ((_, losses),) = ecbd.compute_perplexity(*given)
        assert len(losses) == score.n_tokens
        assert close(-score.log_prob_nats, sum(loss for _, loss in losses)), prompt.prompt_id
        n += 1
    summary(kind, n, len(cloze))
    assert n >= 300


def test_masked_is_the_released_pseudo_perplexity(facts, tmp_path):
    released = released_module(DATA / "code/temporal-robustness/utils/mlm_scoring.py", "released_mlm_scoring")
    model = model_of("roberta")
    tokenizer = model.tokenizer
    special = set(tokenizer.all_special_ids)
    labels = [[token for token in tokenizer(f" {prompt.target}").input_ids if token not in special] for prompt in facts]
    data = {
        "text": [f"{prompt.left}<mask>{prompt.right}" for prompt in facts],
        "labels": [[prompt.target] for prompt in facts],
        "labels_ids": [[ids] for ids in labels],
        "relation": [""] * len(facts),
    }
    pipeline = types.SimpleNamespace(model=model.module)
    theirs = released.compute_mlm_scoring(tokenizer, pipeline, data, "tiny", "2010", "all", str(tmp_path))
    scores = Scorer(model, "original").score(facts)
    n = 0
    for prompt, ids, score, theirs_one in zip(facts, labels, scores, theirs["all_pppl_scores"], strict=True):
        if score.token_ids != tuple(ids):
            continue
        assert close(score.log_prob_nats / score.n_tokens, -math.log(theirs_one)), prompt.prompt_id
        n += 1
    summary("roberta", n, len(facts))
    assert n >= 0.6 * len(facts)  # the others begin with their answer, which released code puts a blank before


@pytest.mark.parametrize("metric", ["original", "within_word_l2r"])
@pytest.mark.parametrize("kind", ["roberta", "bert_cased", "bert_uncased"])
def test_whole_sentences_are_those_of_minicons(kind, metric, facts):
    pytest.importorskip("minicons", reason="minicons is not installed; put it into an environment of its own")
    model = model_of(kind)
    theirs = minicons_scorer(model)
    template = "sentence" if metric == "original" else "sentence_within_word_l2r"
    some = facts[:100]
    for prompt, score in zip(some, Scorer(model, template).score(some), strict=True):
        given = theirs.sequence_score([prompt.statement], reduction=lambda x: x.sum(0).item(), PLL_metric=metric)
        assert close(score.log_prob_nats, given[0]), prompt.prompt_id


@pytest.mark.parametrize("kind", ["gpt2", "gpt_neox", "llama"])
def test_causal_is_the_log_likelihood_of_lm_eval(kind, facts, cloze):
    pytest.importorskip("lm_eval", reason="lm-eval is not installed; put it into an environment of its own")
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    model = model_of(kind)
    tokenizer = model.tokenizer
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    theirs = HFLM(pretrained=model.module, tokenizer=tokenizer, batch_size=8, max_length=CONTEXT, device="cpu")
    prompts = [prompt for prompt in [*facts[:150], *cloze[:150]] if prompt.left.strip()]
    requests = [
        Instance("loglikelihood", {}, (prompt.left, prompt.target), number) for number, prompt in enumerate(prompts)
    ]
    given = theirs.loglikelihood(requests, disable_tqdm=True)
    n = 0
    for prompt, row, score, (value, _) in zip(
        prompts, asked(model, "span", prompts), Scorer(model).score(prompts), given, strict=True
    ):
        left = tokenizer(prompt.left.rstrip()).input_ids
        if row is None or list(row.tokens[: row.n_shared]) != left:
            continue
        assert close(score.log_prob_nats, value), prompt.prompt_id
        n += 1
    summary(kind, n, len(prompts))
    assert n >= 0.8 * len(prompts)
