"""The demo effect with many seeds: tiny models are trained and scored in a demo world, and the table is printed.

    python -m tempkb_tests.soak.effect [FOLDER] [--seeds N] [--world SEED]

builds the demo world of a seed in FOLDER (by default a temporary one; a home that
is there is taken as it is, with the models and scores that it has), and ends with
status 1 if the headline is not shown in a family, or a placebo is not zero. All
entities of ECBD are in its test part, so that there are ten of each period.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from tempkb.api import open_store
from tempkb.demo.models.effect_reading import demo_effect
from tempkb_tests.conftest import run_tempkb

_STUDY = "2021-01-01..2024-01-01"
_SHOWN = ("estimate", "low", "high", "p_value", "p_holm", "p_permuted_cuts")


def main() -> None:
    """Build, train, score, compute and print."""
    reader = argparse.ArgumentParser(prog="tempkb_tests.soak.effect", description=__doc__)
    reader.add_argument("folder", nargs="?", type=Path, help="keep the home here")
    reader.add_argument("--seeds", type=int, default=5, help="of each family and cut")
    reader.add_argument("--world", type=int, default=7, help="seed of the demo world")
    asked = reader.parse_args()
    with tempfile.TemporaryDirectory(prefix="effect-") as temporary:
        home = (asked.folder or Path(temporary) / "home").resolve()
        fill(home, asked.world, asked.seeds)
        rows = table_of(home)
    titles = ("family", "contrast", *_SHOWN, "items", "clusters", "seeds", "verdict", "note")
    sys.stdout.write(f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}\n")
    sys.stdout.write("\n".join(map(_line, rows)) + "\n")
    wrong = [
        row
        for row in rows
        if row["verdict"] == "not zero" or (row["contrast"] == "new_minus_removed" and row["verdict"] != "shown")
    ]
    for row in wrong:
        sys.stdout.write(f"{row['family']}: {row['contrast']} is expected to be {row['expected']}: {row['verdict']}\n")
    sys.exit(1 if wrong else 0)


def fill(home: Path, world: int, n_seeds: int) -> None:
    """Build a demo world with the models of a number of seeds and their scores, or what is missing of it."""
    if not (home / "dumps").exists():
        run_tempkb(home, "demo", "--seed", str(world))
    run_tempkb(home, "build")
    run_tempkb(home, "release", "dynamic-templama", _STUDY, "--name", "demo-quarters")
    run_tempkb(home, "release", "ecbd", _STUDY, "--preset", "small", "--set", "dev_share=0", "--name", "demo-cloze")
    run_tempkb(home, "model", "demo", "--seeds", str(n_seeds), "--untrained")
    run_tempkb(home, "score", "--all", "--benchmark", "dynamic-templama")
    run_tempkb(home, "score", "--all", "--benchmark", "ecbd", "--variant", "original")


def table_of(home: Path) -> list[dict[str, Any]]:
    """Compute `demo_effect` of a home, and return its rows."""
    with mock.patch.dict(os.environ, {"TEMPKB_HOME": str(home)}):
        rows: list[dict[str, Any]] = demo_effect(open_store()).to_pylist()
    return rows


def _line(row: Mapping[str, Any]) -> str:
    numbers = " | ".join("" if row[name] is None else f"{row[name]:.3f}" for name in _SHOWN)
    told = " | ".join(str(row[name]) for name in ("n_items", "n_clusters", "n_seeds", "verdict"))
    return f"| `{row['family']}` | {row['contrast']} | {numbers} | {told} | {row['note'] or ''} |"


if __name__ == "__main__":
    main()
