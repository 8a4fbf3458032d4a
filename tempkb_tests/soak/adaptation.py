"""Bringing models up to date at low cost, as in TempLAMA's Figure 5: does few steps of a mixture do what all of them do?

    python -m tempkb_tests.soak.adaptation [FOLDER] [--worlds SEED ...] [--pages N]

builds a demo world of each seed in FOLDER (by default a temporary one; homes that are
there are taken as they are, with the models and answers that they have), and writes
news of its facts. Of each regime a tiny T5 is trained on 2021 and 2022, brought up to
date with 2023 by some shares of new text and numbers of steps, and trained anew on
all three years. It prints the item figure-5 over all worlds, with 95 % intervals of
Student's t over worlds, each of which has its own subjects, news and seed of training.
What becomes of the claims is printed, and not required: that share .5 and few steps
come near the model that is trained anew, and lose nothing of the old years.
"""

import argparse
import math
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from unittest import mock

from scipy.stats import t

from tempkb.core.options import as_word
from tempkb.demo.world import make_world, write_time
from tempkb.models.training.lessons import DatedLesson
from tempkb.models.training.making import Training
from tempkb.models.training.requests import train_request
from tempkb.models.training.teaching import school
from tempkb.platform.api import open_store
from tempkb.results.papers.items import find, rows_of
from tempkb_tests.conftest import run_tempkb

WHOLE_STEPS = 800
UPDATES = ((0.1, 150), (0.5, 50), (0.5, 150), (0.5, 300), (0.9, 150))
"""Shares of new text, and steps."""
OLD, ALL = "2021-01-01..2023-01-01", "2021-01-01..2024-01-01"
_RELEASE = "years"
_RECIPE = {"learning_rate": 0.002}
Values = Mapping[tuple[str, str, str, int, str], float]
"""Values of a world by aggregate, regime, alpha, steps and years."""


def main() -> None:
    """Build, train, ask, and print."""
    reader = argparse.ArgumentParser(prog="tempkb_tests.soak.adaptation", description=__doc__)
    reader.add_argument("folder", nargs="?", type=Path, help="keep the homes here")
    reader.add_argument("--worlds", type=int, nargs="+", default=[101, 102, 103, 104, 105], help="seeds of demo worlds")
    reader.add_argument("--pages", type=int, default=507, help="of each world")
    asked = reader.parse_args()
    with tempfile.TemporaryDirectory(prefix="adaptation-") as temporary:
        homes = [(asked.folder or Path(temporary)).resolve() / f"world-{world}" for world in asked.worlds]
        for home, world in zip(homes, asked.worlds, strict=True):
            fill(home, world, asked.pages)
        worlds = [values_of(home) for home in homes]
        for aggregate in ("f1", "prefers_right"):
            lines = (aggregate, *table(worlds, aggregate), "", *kept(worlds, aggregate), "")
            sys.stdout.write("\n".join(lines) + "\n")


def fill(home: Path, world: int, pages: int) -> None:
    """Build a demo world with its models and their answers, or what is missing of it."""
    if not (home / "dumps").exists():
        run_tempkb(home, "demo", "--seed", str(world), "--pages", str(pages))
    run_tempkb(home, "build")
    run_tempkb(home, "release", "templama", ALL, "--name", _RELEASE)
    if not (home / "time").exists():
        write_time(make_world(world, pages), home / "time")
        run_tempkb(home, "corpus", "add", "news", str(home / "time" / "news.jsonl"), "--chunker", "none")
    with mock.patch.dict(os.environ, {"TEMPKB_HOME": str(home)}), school(DatedLesson.learning, is_needed=True):
        train_all(home, world, lambda _: None)
    for variant, regime in (("dated", "temporal"), ("undated", "uniform")):
        names = [name for name, *_ in models(world) if name.startswith(regime)]
        run_tempkb(home, "generate", *names, "--release", _RELEASE, "--variant", variant)
        run_tempkb(home, "score", *names, "--release", _RELEASE, "--variant", variant)
    run_tempkb(home, "results")


def values_of(home: Path) -> Values:
    """Return the values of the item figure-5 of a home."""
    with mock.patch.dict(os.environ, {"TEMPKB_HOME": str(home)}):
        rows = rows_of(open_store(), find("templama", "figure-5"), [_RELEASE])
    return {
        tuple(row[name] for name in ("aggregate", "regime", "alpha", "steps", "years")): row["value"] for row in rows
    }


def table(worlds: Sequence[Values], aggregate: str) -> Iterator[str]:
    """Yield lines of Markdown: means over worlds with their intervals, and differences to the other models."""

    def compared(key: tuple[str, ...], years: str, alpha: str) -> str:
        if alpha == key[2]:
            return ""
        other = (*key[:2], alpha, WHOLE_STEPS, years)
        return interval([one[*key, years] - one[other] for one in worlds], least=-100)

    heads = ("regime", "alpha", "steps", "old", "old - before", "old - anew", "new", "new - anew")
    yield f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}"
    for key in dict.fromkeys(key[:-1] for key in worlds[0] if key[0] == aggregate):
        old, new = (interval([one[*key, years] for one in worlds]) for years in ("old", "new"))
        differences = [compared(key, "old", "before"), compared(key, "old", "anew")]
        yield f"| {' | '.join([*map(str, key[1:]), old, *differences, new, compared(key, 'new', 'anew')])} |"


def kept(worlds: Sequence[Values], aggregate: str) -> Iterator[str]:
    """Yield lines of Markdown: how much more of the old years temporal models keep than uniform ones."""
    heads = ("alpha", "steps", "old - before: temporal - uniform", "new: temporal - uniform")
    yield f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}"

    def apart(years: str, *key: object) -> list[float]:
        return [one[aggregate, "temporal", *key, years] - one[aggregate, "uniform", *key, years] for one in worlds]

    for share, steps in UPDATES:
        update, before = apart("old", f"{share}", steps), apart("old", "before", WHOLE_STEPS)
        lost = [now - then for now, then in zip(update, before, strict=True)]
        yield f"| {share} | {steps} | {interval(lost, -100)} | {interval(apart('new', f'{share}', steps), -100)} |"


def interval(values: Sequence[float], least: float = 0) -> str:
    """Return a mean with its 95 % interval, in percent, as far as it is possible."""
    mean, n = round(100 * statistics.fmean(values), 1) + 0.0, len(values)
    if n == 1:
        return f"{mean:.1f}"
    half = 100 * float(t.ppf(0.975, n - 1)) * statistics.stdev(values) / math.sqrt(n)
    return f"{mean:.1f} [{max(least, mean - half):.1f}, {min(100.0, mean + half):.1f}]"


def models(seed: int) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield names of models and the words with which they are trained, bases before those that begin with them."""
    for regime in ("temporal", "uniform"):
        new = {"random_weights": True, "steps": WHOLE_STEPS}
        old = {"windows": OLD, "base": "bare"}, new
        whole = {"windows": ALL, "base": "bare"}, new
        parts = {
            f"{regime}-{share:g}-{steps}": ({"windows": ALL, "base": regime}, {"newest_share": share, "steps": steps})
            for share, steps in UPDATES
        }
        for name, (words, numbers) in {regime: old, f"{regime}-whole": whole, **parts}.items():
            said = ",".join(f"{number}={as_word(value)}" for number, value in {**_RECIPE, **numbers}.items())
            same = {"regime": regime, "corpus": "news", "preset": "small", "device": "cpu", "seed": f"{seed}"}
            yield name, same | words | {"settings": said}


def train_all(home: Path, seed: int, log: Callable[[str], None]) -> None:
    """Train the models of a home, or those that are missing."""
    store = open_store()
    for name, words in models(seed):
        base = str(home / "time" / "seq2seq") if words["base"] == "bare" else words["base"]
        Training(store, train_request(name, words | {"base": base})).trained(log)


if __name__ == "__main__":
    main()
