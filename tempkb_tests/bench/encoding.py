"""Speed of encoders: `python -m tempkb_tests.bench.encoding [--texts 400]`.

Encoders have the sizes of the demo's linker, of MiniLM (6 layers of 384) and of BERT-base, random weights, and read
made-up entities. Descriptions have the lengths of English articles (every second is cut at 128 tokens, the others have
any length below) or are short, of 5 to 20 words. Ours is beside two loops: one text at a time as it is, and one at a
time padded to 128 tokens, as in the code that was released with TempEL. Sides run in turn, three times, on one CPU
thread, and CPU seconds are compared pair by pair: from texts to vectors, and of the network alone, without making
strings and tokens, which takes as long for a text in a batch.
"""

import argparse
import random
import time
from collections.abc import Sequence

import numpy as np
import torch
import transformers

from tempkb.linking.encoders import Encoder, LoadedTower, _padded
from tempkb.linking.inputs import EntityText, Tower
from tempkb_tests.bench.measuring import row, spread
from tempkb_tests.linking.tiny import tokenizer_of

REPEATS, MAX_TOKENS = 3, 128
SIZES = {
    "demo (1 layer of 64)": (1, 64, 128),
    "MiniLM (6 of 384)": (6, 384, 1_536),
    "BERT-base (12 of 768)": (12, 768, 3_072),
}
LENGTHS = {"articles": (10, MAX_TOKENS, 0.5), "short": (5, 20, 0.0)}
"""The fewest and the most words of descriptions, and the share of those with as many as are read."""


def measure_all(n_texts: int = 400) -> None:
    """Print the table of encoders."""
    torch.set_num_threads(1)
    row(
        "random weights of the size of",
        "texts",
        "texts/s",
        "beside one at a time",
        "beside one at a time, padded",
        "network alone, beside one at a time",
        "network alone, padded",
    )
    row(*["---"] * 7)
    for name, (layers, hidden, between) in SIZES.items():
        encoder = encoder_of(layers, hidden, between)
        for kind in LENGTHS:
            # As many as take about as long.
            n = n_texts if hidden <= 64 else max(24, n_texts * 64 // (layers * hidden) * 4)
            measure(f"{name}, {kind}", encoder, entities(n, *LENGTHS[kind]))


def measure(name: str, encoder: Encoder, texts: list[EntityText]) -> None:
    """Print the row of an encoder and texts of a kind."""
    works = {"ours": 0, "alone": 1, "padded": MAX_TOKENS}
    whole: dict[str, list[float]] = {side: [] for side in works}
    network: dict[str, list[float]] = {side: [] for side in works}
    for _ in range(REPEATS):
        found = {side: encoded(encoder, texts, width, whole[side], network[side]) for side, width in works.items()}
        for other in ("alone", "padded"):
            np.testing.assert_allclose(found["ours"], found[other], atol=1e-4)
    row(
        name,
        str(len(texts)),
        spread([len(texts) / seconds for seconds in whole["ours"]], "{:.0f}"),
        *(ratio(times[other], times["ours"]) for times in (whole, network) for other in ("alone", "padded")),
    )


def ratio(slow: Sequence[float], fast: Sequence[float]) -> str:
    """Ratios of pairs of times."""
    return spread([one / other for one, other in zip(slow, fast, strict=True)], "{:.1f}")


def encoded(
    encoder: Encoder, texts: list[EntityText], width: int, whole: list[float], network: list[float]
) -> np.ndarray:
    """Encode texts and note CPU seconds: all together if `width` is 0, else one at a time, padded to it."""
    tower = encoder._entities
    began = time.process_time()
    if not width:
        rows = [one.ids for one in encoder.inputs.entities(texts)]
    else:
        rows = [encoder.inputs.entities([text])[0].ids for text in texts]
    between = time.process_time()
    vectors = encoder._vectors(tower, rows) if not width else one_at_a_time(tower, rows, width)
    ended = time.process_time()
    whole.append(ended - began)
    network.append(ended - between)
    return vectors


def one_at_a_time(tower: LoadedTower, rows: Sequence[Sequence[int]], width: int) -> np.ndarray:
    """The vector of each row alone, padded to a width."""
    found = []
    for tokens in rows:
        ids, mask = _padded([tokens], tower.pad_id)
        short = max(0, width - ids.shape[1])
        ids, mask = (torch.nn.functional.pad(part, (0, short)) for part in (ids, mask))
        with torch.inference_mode():
            found.append(tower.encode(ids, mask)[0].numpy())
    return np.stack(found)


def entities(n: int, fewest: int, most: int, share_of_longest: float) -> list[EntityText]:
    """Entities with descriptions of so many words."""
    chance = random.Random(1)
    words = ["Ada", "Paris", "works", "capital", "London", "tea", "France", "moved", "large", "society"]
    lengths = [most if chance.random() < share_of_longest else chance.randint(fewest, most) for _ in range(n)]
    return [EntityText(chance.choice(words), " ".join(chance.choices(words, k=length))) for length in lengths]


def encoder_of(layers: int, hidden: int, between: int) -> Encoder:
    """An encoder of random weights."""
    tokenizer = tokenizer_of("bert", MAX_TOKENS, markers=True)
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        num_hidden_layers=layers,
        hidden_size=hidden,
        intermediate_size=between,
        num_attention_heads=hidden // 32,
        max_position_embeddings=MAX_TOKENS,
    )
    module = transformers.BertModel(config).eval().requires_grad_(False)
    tower = LoadedTower(module, ("cls",), (), Tower(tokenizer.backend_tokenizer, MAX_TOKENS), 0, hidden)
    return Encoder(tower, tower, torch.device("cpu"))


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--texts", type=int, default=400)
    measure_all(options.parse_args().texts)
