"""Speed of encoders: `python -m tempkb_tests.bench.encoding [--texts 400] [--device cuda --dtype bfloat16]`.

Encoders have the sizes of the demo's linker, of MiniLM (6 layers of 384) and of BERT-base, random weights, and read
made-up entities. Descriptions have the lengths of English articles (every second is cut at 128 tokens, the others have
any length below) or are short, of 5 to 20 words. Ours is beside two loops: one text at a time as it is, and one at a
time padded to 128 tokens, as in the code that was released with TempEL. Sides run in turn, three times, on one CPU
thread, and CPU seconds are compared pair by pair: from texts to vectors, and of the network alone, without making
strings and tokens, which takes as long for a text in a batch.

Then mentions are marked in one text, of a hundred to ten thousand of them, which shows how time grows with a text.

On a GPU there is BERT-large as well, there are more texts, seconds are those of the wall, the loops encode some of the
texts and are extrapolated, and a third one encodes 64 at a time, padded to 128 tokens.
"""

import argparse
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
import transformers

from tempkb.models.linking.answering import marked_mentions
from tempkb.models.linking.encoders import Encoder, LoadedTower, _padded
from tempkb.models.linking.inputs import EntityText, Tower
from tempkb_tests.bench.measuring import row, spread
from tempkb_tests.models.linking.tiny import tokenizer_of

REPEATS, MAX_TOKENS = 3, 128
SIZES = {
    "demo (1 layer of 64)": (1, 64, 128),
    "MiniLM (6 of 384)": (6, 384, 1_536),
    "BERT-base (12 of 768)": (12, 768, 3_072),
}
ON_GPU = {**SIZES, "BERT-large (24 of 1,024)": (24, 1_024, 4_096)}
LENGTHS = {"articles": (10, MAX_TOKENS, 0.5), "short": (5, 20, 0.0)}
"""The fewest and the most words of descriptions, and the share of those with as many as are read."""
LOOPED = 128
"""Computations of a loop on a GPU."""
TOLERANCES = {("cpu", "float32"): 1e-4, ("cuda", "float32"): 1e-3, ("cuda", "bfloat16"): 0.2}
"""By which vectors of two sides may differ. Their numbers are around 1, of which bfloat16 has two or three digits."""


@dataclass
class Side:
    """A way to encode: how many texts at a time, 0 for ours; padded to so many tokens; and the seconds it took."""

    name: str
    size: int
    width: int = 0
    whole: list[float] = field(default_factory=list)
    network: list[float] = field(default_factory=list)


def sides_on(device: str) -> list[Side]:
    """Ours first."""
    sides = [Side("ours", 0), Side("one at a time", 1), Side("one at a time, padded", 1, MAX_TOKENS)]
    return sides if device == "cpu" else [*sides, Side("64 at a time, padded", 64, MAX_TOKENS)]


def measure_all(n_texts: int = 400, device: str = "cpu", dtype: str = "float32") -> None:
    """Print the table of encoders."""
    torch.set_num_threads(1)
    others = sides_on(device)[1:]
    if device != "cpu":
        print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {dtype}\n")
    row(
        "random weights of the size of",
        "texts",
        "texts/s",
        *(f"beside {side.name}" for side in others),
        *(f"network alone, beside {side.name}" for side in others),
    )
    row(*["---"] * (3 + 2 * len(others)))
    for name, (layers, hidden, between) in (SIZES if device == "cpu" else ON_GPU).items():
        encoder = encoder_of(layers, hidden, between, device, dtype)
        for kind in LENGTHS:
            # On a CPU, as many as take about as long.
            n = n_texts if hidden <= 64 or device != "cpu" else max(24, n_texts * 64 // (layers * hidden) * 4)
            measure(f"{name}, {kind}", encoder, entities(n, *LENGTHS[kind]), TOLERANCES[device, dtype])
    if device == "cpu":
        print()
        measure_growth()


def measure_growth() -> None:
    """Print the table of mentions in one text, which an encoder of the demo's size reads."""
    encoder = encoder_of(*SIZES["demo (1 layer of 64)"], "cpu", "float32")
    row("mentions in one text", "characters", "CPU s from text to vectors", "per mention, ms", "network alone, CPU s")
    row(*["---"] * 5)
    for n in (100, 1_000, 10_000):
        text = "\n".join(f"{one.description} [[{one.title}]]." for one in entities(n, 10, 20, 0.0))
        whole, network = [], []
        for _ in range(REPEATS):
            began = time.process_time()
            mentions = list(marked_mentions([text], encoder.n_around))
            encoder.mentions(mentions)
            whole.append(time.process_time() - began)
            rows = [one.ids for at in range(0, n, 512) for one in encoder.inputs.mentions(mentions[at : at + 512])]
            began = time.process_time()
            encoder._vectors(encoder._mentions, rows)
            network.append(time.process_time() - began)
        each = spread([1_000 * seconds / n for seconds in whole])
        row(f"{n:,}", f"{len(text):,}", spread(whole), each, spread(network))


def measure(name: str, encoder: Encoder, texts: list[EntityText], tolerance: float) -> None:
    """Print the row of an encoder and texts of a kind."""
    on_cpu = encoder.device.type == "cpu"
    ours, *others = sides_on(encoder.device.type)
    if not on_cpu:
        for side in (ours, *others):  # the first batches of a shape are slow on a GPU
            encoded(encoder, texts if side is ours else texts[: side.size * LOOPED // 4], side, 1.0)
            side.whole.clear()
            side.network.clear()
    for _ in range(REPEATS):
        found = encoded(encoder, texts, ours, 1.0)
        for side in others:
            looped = texts if on_cpu else texts[: side.size * LOOPED]
            vectors = encoded(encoder, looped, side, len(texts) / len(looped))
            np.testing.assert_allclose(found[: len(looped)], vectors, atol=tolerance)
    row(
        name,
        str(len(texts)),
        spread([len(texts) / seconds for seconds in ours.whole], "{:.0f}"),
        *(ratio(side.whole, ours.whole) for side in others),
        *(ratio(side.network, ours.network) for side in others),
    )


def ratio(slow: Sequence[float], fast: Sequence[float]) -> str:
    """Ratios of pairs of times."""
    return spread([one / other for one, other in zip(slow, fast, strict=True)], "{:.1f}")


def encoded(encoder: Encoder, texts: list[EntityText], side: Side, factor: float) -> np.ndarray:
    """Encode texts by a side, and note its seconds times a factor."""
    tower = encoder._entities
    began = seconds_of(encoder.device)
    # As many texts at a time as the side encodes: strings and tokens are made faster for many.
    size = side.size or len(texts)
    parts = [texts[at : at + size] for at in range(0, len(texts), size)]
    rows = [one.ids for part in parts for one in encoder.inputs.entities(part)]
    between = seconds_of(encoder.device)
    vectors = in_batches(tower, rows, side, encoder.device) if side.size else encoder._vectors(tower, rows)
    ended = seconds_of(encoder.device)
    side.whole.append((ended - began) * factor)
    side.network.append((ended - between) * factor)
    return vectors


def seconds_of(device: torch.device) -> float:
    """A clock: of the CPU, or of the wall once a GPU has done what it was asked for."""
    if device.type == "cpu":
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def in_batches(tower: LoadedTower, rows: Sequence[Sequence[int]], side: Side, device: torch.device) -> np.ndarray:
    """The vectors of some rows at a time, in their order, padded to a width."""
    found = []
    for at in range(0, len(rows), side.size):
        ids, mask = _padded(rows[at : at + side.size], tower.pad_id)
        short = max(0, side.width - ids.shape[1])
        ids, mask = (torch.nn.functional.pad(part, (0, short)).to(device) for part in (ids, mask))
        with torch.inference_mode():
            found.append(tower.encode(ids, mask).cpu().numpy())
    return np.concatenate(found)


def entities(n: int, fewest: int, most: int, share_of_longest: float) -> list[EntityText]:
    """Entities with descriptions of so many words."""
    chance = random.Random(1)
    words = ["Ada", "Paris", "works", "capital", "London", "tea", "France", "moved", "large", "society"]
    lengths = [most if chance.random() < share_of_longest else chance.randint(fewest, most) for _ in range(n)]
    return [EntityText(chance.choice(words), " ".join(chance.choices(words, k=length))) for length in lengths]


def encoder_of(layers: int, hidden: int, between: int, device: str, dtype: str) -> Encoder:
    """An encoder of random weights."""
    tokenizer = tokenizer_of("bert", MAX_TOKENS, markers=True)
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        num_hidden_layers=layers,
        hidden_size=hidden,
        intermediate_size=between,
        num_attention_heads=hidden // (32 if hidden < 768 else 64),
        max_position_embeddings=MAX_TOKENS,
    )
    module = transformers.BertModel(config).to(device=device, dtype=getattr(torch, dtype)).eval().requires_grad_(False)
    tower = LoadedTower(module, ("cls",), (), Tower(tokenizer.backend_tokenizer, MAX_TOKENS), 0, hidden)
    return Encoder(tower, tower, torch.device(device))


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--texts", type=int, default=400)
    options.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    options.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    asked = options.parse_args()
    measure_all(asked.texts, asked.device, asked.dtype)
