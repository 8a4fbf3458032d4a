"""Speed and memory of scorers: `python -m tempkb_tests.bench.scoring [--device cuda --dtype bfloat16 --items 3000]`.

Models have the sizes of RoBERTa-base, T5-small and GPT-2 and random weights, and read made-up sentences of the lengths
of DynamicTempLAMA and ECBD. The other side of each comparison is the loop of the released code, written again here: one
forward pass a token or item, gradients off only where they are off there, the vocabulary at every position. Sides run in
turn, three times; ratios are taken pair by pair. On a CPU, seconds are CPU seconds of one thread; on a GPU, wall seconds.
`--items` is the number of statements; from twice as many on, a loop is timed over its first part only and extrapolated.
"""

import argparse
import math
import random
import subprocess
import sys
import time
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from tempkb.core.prompts import Prompt
from tempkb.models.loading import LoadedModel, loaded
from tempkb.models.rows import Score
from tempkb.models.scoring import Scorer
from tempkb_tests.bench.measuring import row, spread

REPEATS = 3
QUARTERS, NEW_EACH_QUARTER = 13, 0.05  # 90 to 99 of 100 facts of a quarter are those of the last one
CANDIDATES = 200
SYLLABLES = ("ka", "lo", "mir", "ten", "sa", "vel", "dor", "in", "pu", "sto", "ran", "che", "bi", "ul", "ga", "no")


@dataclass
class Timed:
    """A side: what it does, for how many items it was done, and the seconds a run took."""

    name: str
    run: Callable[[], list[float]]
    share: float = 1.0  # of the items that the loop was done for
    seconds: list[float] = field(default_factory=list)
    values: list[float] = field(default_factory=list)


def measure_all(device: str = "cpu", dtype: Any = "float32", n_items: int = 300) -> None:
    """Print the table of scorers."""
    torch.set_num_threads(1)
    unit = "CPU s" if device == "cpu" else "s"
    where = torch.cuda.get_device_name() if device.startswith("cuda") else "one CPU thread"
    print(
        f"torch {torch.__version__}, transformers {transformers.__version__}, {where}, {dtype}, {n_items} statements.\n"
    )
    row("random weights of the size of", f"a loop, {unit}", f"tempkb, {unit}", "loop / tempkb", "largest difference")
    row("---", "---", "---", "---", "---")
    share = 1.0 if n_items <= 600 else 300 / n_items
    _masked(device, dtype, n_items, share)
    _seq2seq(device, dtype, n_items, share)
    _causal(device, dtype, n_items, share)
    print()
    _memory()


def _masked(device: str, dtype: Any, n_items: int, share: float) -> None:
    model = roberta_base(device, dtype)
    prompts = statements(n_items)
    scorer = Scorer(model, "original")
    loop = Timed("loop", lambda: masked_loop(model, prompts[: _part(n_items, share)]), share)
    _compare("RoBERTa-base, `original`", loop, Timed("tempkb", lambda: _sums(scorer.score(prompts))), device)
    series = quarters(n_items)
    distinct = list({prompt.prompt_id: prompt for quarter in series for prompt in quarter}.values())
    ours = Timed("tempkb", lambda: _sums(scorer.score(distinct)))
    _run(ours, device)
    loops = [seconds * len(series) for seconds in loop.seconds]
    _row(f"a series of {len(series)} quarters, {len(distinct)} distinct (loop extrapolated)", loops, ours.seconds, "")
    default = Timed("tempkb", lambda: _sums(Scorer(model).score(prompts)))
    _run(default, device)
    _row("RoBERTa-base, `answer_l2r` (loop of `original`)", loop.seconds, default.seconds, "")
    _minicons(model, prompts[: n_items // 5], device)


def _minicons(model: LoadedModel, prompts: list[Prompt], device: str) -> None:
    """Whole sentences by minicons, where it is installed; it is no dependency."""
    try:
        theirs = minicons_scorer(model)
    except ImportError:
        row("minicons (whole sentences)", "not installed", "", "", "")
        return
    texts = [prompt.statement for prompt in prompts]

    def score() -> list[float]:
        found: list[float] = []
        for start in range(0, len(texts), 8):
            part = texts[start : start + 8]
            found += theirs.sequence_score(part, reduction=lambda x: x.sum(0).item(), PLL_metric="original")
        return found

    scorer = Scorer(model, "sentence")
    ours = Timed("tempkb", lambda: _sums(scorer.score(prompts)))
    _compare(f"minicons, {len(texts)} whole sentences", Timed("minicons", score), ours, device)


def minicons_scorer(model: LoadedModel) -> Any:
    """A scorer of minicons for a model in memory; version 0.3.39 calls a method that tokenizers no longer have."""
    from minicons.scorer import MaskedLMScorer

    tokenizer = copy(model.tokenizer)
    tokenizer.batch_encode_plus = model.tokenizer.__call__
    return MaskedLMScorer(model.module, str(model.device), tokenizer=tokenizer)


def _seq2seq(device: str, dtype: Any, n_items: int, share: float) -> None:
    model = t5_small(device, dtype)
    prompts = variants(n_items * 8 // 3)
    scorer = Scorer(model)
    loop = Timed("loop", lambda: t5_loop(model, prompts[: _part(len(prompts), share)]), share)
    ours = Timed("tempkb", lambda: _sums(scorer.score(prompts)))
    _compare(f"T5-small, {len(prompts)} items of ECBD's lengths", loop, ours, device)


def _causal(device: str, dtype: Any, n_items: int, share: float) -> None:
    model = gpt2(device, dtype)
    prompts = statements(n_items)
    scorer = Scorer(model)
    loop = Timed("loop", lambda: causal_loop(model, prompts[: _part(n_items, share)]), share)
    _compare("GPT-2, left context and target", loop, Timed("tempkb", lambda: _sums(scorer.score(prompts))), device)
    candidates = closed_set(CANDIDATES)
    loop = Timed("loop", lambda: causal_loop(model, candidates))
    ours = Timed("tempkb", lambda: _sums(scorer.score(candidates)))
    _compare(f"GPT-2, {CANDIDATES} candidates of one query", loop, ours, device)


def _memory() -> None:
    """Peak memory of streams of different length, each in a process of its own."""
    row("prompts in one stream, small model", "peak MB", "CPU s")
    row("---", "---", "---")
    for n in (1_000, 10_000, 100_000):
        command = [sys.executable, "-m", "tempkb_tests.bench.scoring", "--stream", str(n)]
        row(f"{n:,}", *subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())


def _stream(n: int) -> None:
    """Score a stream of prompts, none of them equal to another, and print peak memory and CPU seconds."""
    torch.set_num_threads(1)
    tokenizer = byte_level()
    sizes = {"n_layer": 1, "n_head": 2, "n_embd": 32}
    module = transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=len(tokenizer), **sizes))
    scorer = Scorer(loaded("causal", module, tokenizer, context_tokens=1024))
    start = time.process_time()
    prompts = (Prompt(f"{sentence(number, 10)} ", sentence(number + n, 2), ".") for number in range(n))
    assert sum(score.status == "scored" for score in scorer.stream(prompts)) == n
    status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    peak = int(status["VmHWM"].split()[0]) / 1024  # unlike ru_maxrss, never that of the process which started this one
    print(f"{peak:.0f} {time.process_time() - start:.1f}")


# The loops of the released code.


def masked_loop(model: LoadedModel, prompts: list[Prompt]) -> list[float]:
    """The loop of temporal-robustness: a pass a token of the answer, all positions, and a copy of them to the CPU."""
    tokenizer, found = model.tokenizer, []
    for prompt in prompts:
        answer = tokenizer(" " + prompt.target, add_special_tokens=False).input_ids
        masks = " ".join([tokenizer.mask_token] * len(answer))
        ids = tokenizer(f"{prompt.left.rstrip()} {masks}{prompt.right}").input_ids
        places = [at for at, token in enumerate(ids) if token == tokenizer.mask_token_id]
        for at, token in zip(places, answer, strict=True):
            ids[at] = token
        total = 0.0
        for at, token in zip(places, answer, strict=True):
            masked = [tokenizer.mask_token_id if place == at else other for place, other in enumerate(ids)]
            with torch.no_grad():
                logits = model.module(torch.tensor([masked], device=model.device)).logits.detach().cpu()
            total += logits[:, at][0].float().log_softmax(-1)[token].item()
        found.append(total)
    return found


def t5_loop(model: LoadedModel, prompts: list[Prompt]) -> list[float]:
    """The loop of ecbd: a pass an item with labels, with gradients, and a loss at every position."""
    tokenizer, found = model.tokenizer, []
    loss = torch.nn.CrossEntropyLoss(ignore_index=-100, reduction="none")
    first, last = tokenizer.convert_tokens_to_ids(["<extra_id_0>", "<extra_id_1>"])
    for prompt in prompts:
        ids = tokenizer(f"{prompt.left}<extra_id_0>{prompt.right}", return_tensors="pt").to(model.device)
        labels = tokenizer(f"<extra_id_0> {prompt.target} <extra_id_1>", return_tensors="pt").to(model.device).input_ids
        assert first in ids.input_ids
        assert labels[0, -2] == last
        with torch.enable_grad():
            given = model.module(**ids, decoder_attention_mask=torch.ones_like(labels), labels=labels)
        each = loss(given.logits.float().view(-1, given.logits.size(-1)), labels.view(-1))
        found.append(-each[1:-2].sum().item())
    return found


def causal_loop(model: LoadedModel, prompts: list[Prompt]) -> list[float]:
    """A pass an item."""
    found = []
    for prompt in prompts:
        n_left = len(model.tokenizer(prompt.left.rstrip()).input_ids)
        ids = torch.tensor([model.tokenizer(prompt.left + prompt.target).input_ids], device=model.device)
        with torch.inference_mode():
            lines = model.module(ids, use_cache=False).logits[0, :-1].float().log_softmax(-1)
        values = lines.gather(1, ids[0, 1:, None])[:, 0]
        found.append(values[n_left - 1 :].sum().item())
    return found


# Models and prompts.


def roberta_base(device: str, dtype: Any) -> LoadedModel:
    """RoBERTa-base's size: 12 layers of 768, 50,265 tokens."""
    config = transformers.RobertaConfig(vocab_size=50265, max_position_embeddings=514, pad_token_id=1)
    tokenizer = byte_level("<s>", "<pad>", "</s>", "<unk>")
    tokenizer.backend_tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    tokenizer.add_special_tokens({"mask_token": AddedToken("<mask>", lstrip=True), "pad_token": "<pad>"})
    tokenizer.add_special_tokens({"cls_token": "<s>", "sep_token": "</s>", "bos_token": "<s>", "eos_token": "</s>"})
    return loaded("masked", _random(transformers.RobertaForMaskedLM, config), tokenizer, device, dtype, 512)


def t5_small(device: str, dtype: Any) -> LoadedModel:
    """T5-small's size: 6 + 6 layers of 512, 32,128 tokens."""
    config = transformers.T5Config(vocab_size=32128, decoder_start_token_id=0)
    tokenizer = unigram()
    return loaded("seq2seq", _random(transformers.T5ForConditionalGeneration, config), tokenizer, device, dtype, 512)


def gpt2(device: str, dtype: Any) -> LoadedModel:
    """GPT-2's size: 12 layers of 768, 50,257 tokens."""
    config = transformers.GPT2Config()
    return loaded("causal", _random(transformers.GPT2LMHeadModel, config), byte_level(), device, dtype, 1024)


def _random(architecture: Any, config: Any) -> Any:
    torch.manual_seed(5)
    return architecture(config)


@cache
def _words() -> list[str]:
    chance = random.Random(11)
    return sorted({"".join(chance.choices(SYLLABLES, k=chance.randint(1, 4))) for _ in range(2_000)})


def sentence(seed: int, n_words: int) -> str:
    """Made-up words."""
    return " ".join(random.Random(seed).choices(_words(), k=n_words)).capitalize()


def statements(n: int, first: int = 0) -> list[Prompt]:
    """Statements of about 15 tokens, three or four of them the answer's, as in DynamicTempLAMA."""
    return [
        Prompt(f"{sentence(number, 5)} ", sentence(number + 10**6, 1 + number % 2), f" {sentence(number + 10**7, 1)}.")
        for number in range(first, first + n)
    ]


def quarters(n: int) -> list[list[Prompt]]:
    """A series of quarters, of each of which a few statements are new and take the place of older ones."""
    changed = math.ceil(n * NEW_EACH_QUARTER)
    everything = statements(n + changed * (QUARTERS - 1))
    return [everything[changed * number : changed * number + n] for number in range(QUARTERS)]


def variants(n: int) -> list[Prompt]:
    """Items in four variants, two of them with a definition before the sentence, of the lengths of ECBD's items."""
    found = []
    for number in range(n // 4):
        target, right = sentence(number + 10**6, 1 + number % 5), f" {sentence(number, 6)}."
        for variant in range(4):
            definition = f"{sentence(number + variant, 28)}. " if variant > 1 else ""
            found.append(Prompt(f"{definition}{sentence(number + variant % 2 * 10**7, 23)} ", target, right))
    return found


def closed_set(n: int) -> list[Prompt]:
    """One query with many candidates."""
    return [Prompt(f"{sentence(3, 12)} ", sentence(10**6 + number, 1 + number % 3), ".") for number in range(n)]


@cache
def _texts() -> list[str]:
    return [sentence(number, 12) + "." for number in range(3_000)]


def byte_level(*special: str) -> PreTrainedTokenizerFast:
    """Byte-level BPE over the made-up words."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=2_000, special_tokens=list(special) or ["<|end|>"], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(_texts(), trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=special[2] if special else "<|end|>")


def unigram() -> PreTrainedTokenizerFast:
    """SentencePiece's Unigram over the made-up words, with T5's sentinels."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<pad>", "</s>", "<unk>"]
    trainer = trainers.UnigramTrainer(vocab_size=1_500, special_tokens=special, unk_token="<unk>", show_progress=False)
    tokenizer.train_from_iterator(_texts(), trainer)
    tokenizer.add_special_tokens([AddedToken(f"<extra_id_{at}>", lstrip=True, rstrip=True) for at in range(2)])
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>")


# Timing.


def _compare(name: str, theirs: Timed, ours: Timed, device: str) -> None:
    """Run two sides in turn and print their row."""
    for _ in range(REPEATS):
        _once(theirs, device)
        _once(ours, device)
    both = zip(theirs.values, ours.values, strict=False)
    largest = max(abs(one - other) / max(1, abs(one)) for one, other in both)
    _row(name, theirs.seconds, ours.seconds, f"{largest:.1e}")


def _row(name: str, theirs: list[float], ours: list[float], largest: str) -> None:
    ratios = [one / other for one, other in zip(theirs, ours, strict=True)]
    row(name, spread(theirs), spread(ours), spread(ratios, "{:.1f}"), largest)


def _run(side: Timed, device: str) -> None:
    for _ in range(REPEATS):
        _once(side, device)


def _once(side: Timed, device: str) -> None:
    clock = time.process_time if device == "cpu" else time.perf_counter
    start = clock()
    side.values = side.run()
    if device != "cpu":
        torch.cuda.synchronize()
    side.seconds.append((clock() - start) / side.share)


def _sums(scores: list[Score]) -> list[float]:
    assert all(score.status == "scored" for score in scores)
    return [score.log_prob_nats for score in scores if score.log_prob_nats is not None]


def _part(n: int, share: float) -> int:
    return round(n * share)


def main() -> None:
    """Measure what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16", "float64"))
    parser.add_argument("--items", type=int, default=300)
    parser.add_argument("--stream", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.stream:
        _stream(options.stream)
    else:
        measure_all(options.device, options.dtype, options.items)


if __name__ == "__main__":
    main()
