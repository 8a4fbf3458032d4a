"""Speed of encoders: `python -m tempkb_tests.bench.encoding [--texts 200]`.

Encoders have the sizes of the demo's linker, of MiniLM (6 layers of 384) and of BERT-base, random weights, and read
made-up entities. Lengths are those of English articles: every second description is cut at 128 tokens, and the others
have any length below. Ours is beside two loops: one text at a time as it is, and one at a time padded to 128 tokens, as
in the code that was released with TempEL. Sides run in turn, three times, on one CPU thread; ratios are taken pair by pair.
"""

import argparse
import random
import time
from collections.abc import Callable
from functools import partial

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


def measure_all(n_texts: int = 200) -> None:
    """Print the table of encoders."""
    torch.set_num_threads(1)
    texts = entities(n_texts)
    row("random weights of the size of", "texts", "texts/s", "beside one at a time", "beside one at a time, padded")
    row("---", "---", "---", "---", "---")
    for name, (layers, hidden, between) in SIZES.items():
        encoder = encoder_of(layers, hidden, between)
        part = texts[: max(20, n_texts * 64 * 64 // (layers * hidden * hidden) * 8)] if hidden > 64 else texts
        sides: dict[str, list[float]] = {"ours": [], "alone": [], "padded": []}
        work = {
            "ours": encoder.entities,
            "alone": partial(one_at_a_time, encoder, width=0),
            "padded": partial(one_at_a_time, encoder, width=MAX_TOKENS),
        }
        for _ in range(REPEATS):
            found = {side: timed(partial(does, part), sides[side]) for side, does in work.items()}
            for other in ("alone", "padded"):
                np.testing.assert_allclose(found["ours"], found[other], atol=1e-4)
        speeds = [len(part) / seconds for seconds in sides["ours"]]
        ratios = {
            other: [slow / fast for slow, fast in zip(sides[other], sides["ours"], strict=True)]
            for other in ("alone", "padded")
        }
        row(
            name,
            str(len(part)),
            spread(speeds, "{:.0f}"),
            spread(ratios["alone"], "{:.1f}"),
            spread(ratios["padded"], "{:.1f}"),
        )


def entities(n: int) -> list[EntityText]:
    """Entities with descriptions of the lengths of articles."""
    chance = random.Random(1)
    words = ["Ada", "Paris", "works", "capital", "London", "tea", "France", "moved", "large", "society"]
    lengths = [chance.choice([MAX_TOKENS, chance.randrange(10, MAX_TOKENS)]) for _ in range(n)]
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


def one_at_a_time(encoder: Encoder, texts: list[EntityText], width: int) -> np.ndarray:
    """Each text alone, at its own length or padded to a width."""
    tower = encoder._entities
    found = []
    for text in texts:
        (one,) = tower.reads.encode([encoder.inputs.entity(text)])
        ids, mask = _padded([one.ids], tower.pad_id)
        short = max(0, width - ids.shape[1])
        ids, mask = (torch.nn.functional.pad(part, (0, short)) for part in (ids, mask))
        with torch.inference_mode():
            found.append(tower.encode(ids, mask)[0].numpy())
    return np.stack(found)


def timed(work: Callable[[], np.ndarray], seconds: list[float]) -> np.ndarray:
    """Do something, and note the CPU seconds that it took."""
    began = time.process_time()
    found = work()
    seconds.append(time.process_time() - began)
    return found


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--texts", type=int, default=200)
    measure_all(options.parse_args().texts)
