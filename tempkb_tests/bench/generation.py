"""Speed and memory of decoders: `python -m tempkb_tests.bench.generation`.

Models have random weights and a middling size (width 256, 4 layers, 8,000 tokens), and are asked made-up questions of
the lengths of DynamicTempLAMA and ECBD. The other sides are the released loop of DynamicTempLAMA (100 samples a mask,
all positions; with its fault of reading the first sample's logits corrected, so that results can be compared), and
transformers' `generate` for one item at a time, as the released code of ECBD calls it. Sides run in turn; seconds are
CPU seconds of one thread, and those of the released loop are extrapolated from its first items.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import torch
import transformers
from tokenizers import AddedToken, processors

from tempkb.core.prompts import Question
from tempkb.models.decoding.decoder import Decoder
from tempkb.models.decoding.masks import SAMPLES, TOP_K, draws
from tempkb.models.decoding.stepping import GAP
from tempkb.models.loading import LoadedModel, loaded
from tempkb.models.scorers import MASKS, NEW_TOKENS
from tempkb_tests.bench.measuring import row
from tempkb_tests.bench.scoring import Timed, _compare, _row, byte_level, sentence, unigram

N_MASKED, N_LOOP = 8, 1
N_RECALL = {10: 16, 100: 4}
WIDTH, LAYERS, HEADS, VOCABULARY = 256, 4, 4, 8_000


def measure_all() -> None:
    """Print the tables of decoders."""
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, transformers {transformers.__version__}, one CPU thread, float32.\n")
    row("random weights, width 256", "other, CPU s", "tempkb, CPU s", "other / tempkb", "largest difference")
    row("---", "---", "---", "---", "---")
    _masked()
    _recall()
    print()
    _lengths()


def _masked() -> None:
    model, questions = roberta(), cloze(N_MASKED)
    loop = Timed("loop", lambda: released_loop(model, questions[:N_LOOP]), N_LOOP / N_MASKED)
    paper = Timed("tempkb", lambda: _mean_scores(model, "paper", questions))
    _compare(f"masked.paper, {N_MASKED} questions (released loop)", loop, paper, "cpu")
    rows = Timed("loop", lambda: beam_loop(model, questions))
    beams = Timed("tempkb", lambda: _mean_scores(model, "beam10", questions))
    _compare(f"masked.beam10, {N_MASKED} questions (its definition, row by row)", rows, beams, "cpu")
    _row(f"masked.beam10, {N_MASKED} questions (released loop)", loop.seconds, beams.seconds, "")


def _mean_scores(model: LoadedModel, way: str, questions: list[Question]) -> list[float]:
    """The scores of each number of masks, of one question after the other."""
    answers = Decoder(model, way).answer(questions)
    return [one.score or 0.0 for of_one in answers for one in sorted(of_one, key=lambda one: one.n_tokens or 0)]


def _recall() -> None:
    model = t5()
    for n_beams, n in N_RECALL.items():
        questions = spans(n)
        theirs = Timed("generate", lambda n_beams=n_beams, of=questions: generate_loop(model, of, n_beams))
        ours = Timed("tempkb", lambda n_beams=n_beams, of=questions: _first_scores(model, n_beams, of))
        _compare(f"recall@10, beam {n_beams}, {n} questions (generate, one at a time)", theirs, ours, "cpu")


def _first_scores(model: LoadedModel, n_beams: int, questions: list[Question]) -> list[float]:
    """Scores of best beams; weights are random, so that few have spans, and the best one is told instead."""
    model.module.set_attn_implementation("sdpa")  # as `generate` has it; the decoder chooses its own
    answers = Decoder(model, f"recall_beam{n_beams}").answer(questions)
    found = [of_one[0].score or 0.0 for of_one in answers]
    model.module.set_attn_implementation("sdpa")
    return found


def _lengths() -> None:
    """Time and peak memory of streams of different length, each in a process of its own."""
    row("questions in one stream, small model", "peak MB", "CPU s")
    row("---", "---", "---")
    for n in (100, 1_000, 10_000, 100_000):
        command = [sys.executable, "-m", "tempkb_tests.bench.generation", "--stream", str(n)]
        row(f"{n:,}", *subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())


def _stream(n: int) -> None:
    """Ask a stream of questions, none of them equal to another, and print peak memory and CPU seconds."""
    torch.set_num_threads(1)
    tokenizer = byte_level()
    sizes = {"n_layer": 1, "n_head": 2, "n_embd": 32}
    module = transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=len(tokenizer), **sizes))
    decoder = Decoder(loaded("causal", module, tokenizer, context_tokens=1024))
    questions = (Question(f"{sentence(number, 10)} ", ".") for number in range(n))
    start = time.process_time()
    assert sum(len(answers) for answers in decoder.stream(questions)) == n
    status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    print(f"{int(status['VmHWM'].split()[0]) / 1024:.0f} {time.process_time() - start:.1f}")


# The other sides.


def released_loop(model: LoadedModel, questions: list[Question]) -> list[float]:
    """For each number of masks, 100 copies of the text in one batch, all positions, all of them taken to the CPU."""
    found = []
    for question in questions:
        before, behind = _around(model, question)
        for m in range(1, MASKS + 1):
            n = 1 if m == 1 else SAMPLES
            ids = torch.tensor([[*before, *[model.tokenizer.mask_token_id] * m, *behind]] * n)
            drawn, totals = draws(question, m), np.zeros(n)
            for step in range(m):
                with torch.no_grad():
                    logits = model.module(ids).logits.detach().cpu()
                top = logits[:, len(before) + step].topk(TOP_K)
                chances = torch.softmax(top.values.double(), -1).cumsum(-1).numpy()
                numbers = (chances <= drawn[step, :n, None]).sum(-1).clip(max=TOP_K - 1)
                ids[:, len(before) + step] = top.indices[np.arange(n), numbers]
                totals += top.values[np.arange(n), numbers].numpy()
            found.append(float(totals.max()) / m)
    return found


def beam_loop(model: LoadedModel, questions: list[Question]) -> list[float]:
    """The definition of `masked.beam10`: a pass a row, all positions, nothing shared."""
    found = []
    for question in questions:
        before, behind = _around(model, question)
        for m in range(1, MASKS + 1):
            beams: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
            for step in range(m):
                longer = []
                for total, tokens in beams:
                    masks = [model.tokenizer.mask_token_id] * (m - step)
                    with torch.no_grad():
                        logits = model.module(torch.tensor([[*before, *tokens, *masks, *behind]])).logits
                    top = logits[0, len(before) + step].log_softmax(-1).topk(10)
                    pairs = zip(top.values.tolist(), top.indices.tolist(), strict=True)
                    longer += [(total + value, (*tokens, token)) for value, token in pairs]
                beams = sorted(longer, key=lambda one: (-one[0], one[1]))[:10]
            found.append(beams[0][0] / m)
    return found


def generate_loop(model: LoadedModel, questions: list[Question], n_beams: int) -> list[float]:
    """Beam search of transformers, one item at a time; the score of each item's best beam."""
    found = []
    for question in questions:
        given = model.module.generate(
            **model.tokenizer(f"{question.left}<extra_id_0>{question.right}", return_tensors="pt"),
            num_beams=n_beams,
            num_return_sequences=n_beams,
            early_stopping=True,
            max_new_tokens=NEW_TOKENS,
            do_sample=False,
            return_dict_in_generate=True,
        )
        # It tells scores only where it keeps those of all tokens; the best beam is asked for its own.
        beam = given.sequences[0, 1:]
        source = model.tokenizer(f"{question.left}<extra_id_0>{question.right}", return_tensors="pt")
        with torch.inference_mode():
            lines = model.module(**source, decoder_input_ids=given.sequences[:1, :-1]).logits[0].log_softmax(-1)
        found.append(lines.gather(1, beam[:, None]).mean().item())
    return found


def _around(model: LoadedModel, question: Question) -> tuple[list[int], list[int]]:
    """The tokens around the gap; the tokenizer splits at blanks and marks, so that parts have the tokens of the whole."""
    assert GAP not in question.left
    tokenizer = model.tokenizer
    left = tokenizer(question.left.rstrip(), add_special_tokens=False).input_ids
    right = tokenizer(question.right, add_special_tokens=False).input_ids
    return [tokenizer.cls_token_id, *left], [*right, tokenizer.sep_token_id]


# Models and questions.


def roberta() -> LoadedModel:
    """A masked model."""
    tokenizer = byte_level("<s>", "<pad>", "</s>", "<unk>")
    tokenizer.backend_tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    tokenizer.add_special_tokens({"mask_token": AddedToken("<mask>", lstrip=True), "pad_token": "<pad>"})
    tokenizer.add_special_tokens({"cls_token": "<s>", "sep_token": "</s>", "bos_token": "<s>", "eos_token": "</s>"})
    sizes = {"hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS}
    config = transformers.RobertaConfig(
        vocab_size=VOCABULARY, intermediate_size=4 * WIDTH, max_position_embeddings=514, pad_token_id=1, **sizes
    )
    torch.manual_seed(5)
    return loaded("masked", transformers.RobertaForMaskedLM(config), tokenizer, context_tokens=512)


def t5() -> LoadedModel:
    """A sequence-to-sequence model with sentinels."""
    sizes = {"d_model": WIDTH, "d_kv": WIDTH // HEADS, "d_ff": 4 * WIDTH, "num_layers": LAYERS, "num_heads": HEADS}
    config = transformers.T5Config(vocab_size=VOCABULARY, decoder_start_token_id=0, **sizes)
    torch.manual_seed(5)
    return loaded("seq2seq", transformers.T5ForConditionalGeneration(config), unigram(), context_tokens=512)


def cloze(n: int) -> list[Question]:
    """Questions of about 12 tokens, as in DynamicTempLAMA."""
    return [Question(f"{sentence(number, 5)} ", f" {sentence(number + 10**7, 1)}.") for number in range(n)]


def spans(n: int) -> list[Question]:
    """Questions of about 40 tokens, as in ECBD."""
    return [Question(f"{sentence(number, 14)} ", f" {sentence(number + 10**6, 6)}.") for number in range(n)]


def main() -> None:
    """Measure what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stream", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.stream:
        _stream(options.stream)
    else:
        measure_all()


if __name__ == "__main__":
    main()
