"""Speed and memory of training linkers on a GPU: `python -m tempkb_tests.bench.training`.

Linkers of the sizes of BERT-base and BERT-large, with two towers and random weights, learn made-up mentions and entities
that are cut at 128 tokens, in batches of 64 as in the preset `paper`. Seconds are those of the wall between two steps,
without loading and the first steps. Mini-batches are texts of which activations are in memory at once.
"""

import io
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import TrainerCallback

from tempkb.linking.inputs import EntityText, MentionText
from tempkb.linking.training import learning
from tempkb.linking.training.beginning import write_beginning
from tempkb.linking.training.lessons import Example, Lesson
from tempkb.linking.training.recipe import PRESETS
from tempkb_tests.bench.measuring import row, spread
from tempkb_tests.linking.tiny import tokenizer_of

SIZES = {"BERT-base (12 of 768)": (12, 768), "BERT-large (24 of 1,024)": (24, 1_024)}
MINI_BATCHES = (16, 32, 64)
STEPS, FIRST_STEPS = 24, 6
MENTIONS_OF_THE_PAPER = 136_227 + 1_764
"""To train on one snapshot: of continual and of new entities (table 1)."""


class _Clock(TrainerCallback):  # type: ignore[misc]  # the library is not typed
    """Notes when steps end."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def on_step_end(self, *_: Any, **__: Any) -> None:
        torch.cuda.synchronize()
        self.ends.append(time.perf_counter())


def measure_all() -> None:
    """Print the table of trainings."""
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, transformers {transformers.__version__}\n")
    row(
        "two towers of",
        "texts at once",
        "s a step of 64 mentions",
        "mentions/s",
        "peak GB",
        "hours for the paper's 10 epochs",
    )
    row(*["---"] * 6)
    with tempfile.TemporaryDirectory() as folder:
        for name, (layers, hidden) in SIZES.items():
            base = _save_base(Path(folder) / str(hidden), layers, hidden)
            for mini_batch in MINI_BATCHES:
                seconds, peak = _measured(base, mini_batch, Path(folder))
                a_second = [64 / one for one in seconds]
                hours = [10 * MENTIONS_OF_THE_PAPER / one / 3600 for one in a_second]
                row(
                    name,
                    mini_batch,
                    spread(seconds, "{:.3f}"),
                    spread(a_second, "{:.0f}"),
                    f"{peak:.1f}",
                    spread(hours, "{:.1f}"),
                )


def _measured(base: Path, mini_batch: int, folder: Path) -> tuple[list[float], float]:
    """Seconds of steps, and the most memory of the GPU in gigabytes."""
    recipe = replace(PRESETS["paper"], base=str(base), mini_batch_size=mini_batch, epochs=1)
    lesson = Lesson("bench", "bench", recipe, 1, _examples(recipe.batch_size * STEPS), (), str(base))
    with tempfile.TemporaryDirectory(dir=folder) as name:
        beginning = Path(name) / "beginning"
        write_beginning(lesson, beginning)
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        trainer = learning.new_trainer(learning.new_model(beginning, recipe.towers), lesson, Path(name), 1e9)
        clock = _Clock()
        trainer.add_callback(clock)
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):  # lines and bars of libraries
            trainer.train()
    seconds = [after - before for before, after in zip(clock.ends, clock.ends[1:], strict=False)]
    return seconds[FIRST_STEPS:], torch.cuda.max_memory_allocated() / 1e9


def _examples(n: int) -> tuple[Example, ...]:
    """Mentions and entities that have more than 128 tokens."""
    long = " ".join(["Paris", "works", "London", "moved"] * 40)
    return tuple(
        Example(MentionText(long, f"thing {number}", long), number, EntityText(f"thing {number}", long))
        for number in range(n)
    )


def _save_base(folder: Path, layers: int, hidden: int) -> Path:
    tokenizer = tokenizer_of("bert", 128, markers=False)
    config = transformers.BertConfig(
        vocab_size=30_522,  # BERT's, of which the tokenizer knows a few
        num_hidden_layers=layers,
        hidden_size=hidden,
        intermediate_size=4 * hidden,
        num_attention_heads=hidden // 64,
    )
    transformers.BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


if __name__ == "__main__":
    measure_all()
