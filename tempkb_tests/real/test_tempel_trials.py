"""All presets over large generated worlds, several seeds: `TEMPKB_REAL_DATA=folder make real`.

The worlds are invented; they stand here because they take minutes. A generator of
histories beside the real data (`bench/gen_history.py`) is used if there is one, else our own.
"""

import subprocess
import sys
from datetime import date

import pytest

from tempkb_tests.bench.history import write_history
from tempkb_tests.benchmarks.tempel.trials import build_history, trial
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.real.data import DATA, REAL

pytestmark = REAL
GENERATOR = DATA.parent / "bench" / "gen_history.py"
PRESETS = ("tempkb", "paper", "small")


@pytest.mark.parametrize("seed", [7, 8, 9])
def test_generated_histories(tmp_path, monkeypatch, seed):
    history = tmp_path / "history.xml"
    wiki = "benchwiki"
    if GENERATOR.exists():
        wiki = "enwiki"
        asked = [str(history), "--pages", "500", "--revs", "100", "--seed", str(seed)]
        subprocess.run([sys.executable, str(GENERATOR), *asked], check=True, capture_output=True)
    else:
        with history.open("w", encoding="utf-8") as out:
            write_history(out, pages=500, revisions=100, seed=seed)
    build_history(history, tmp_path / "home", wiki, "2012-01-01")
    monkeypatch.setenv("TEMPKB_HOME", str(tmp_path / "home"))
    cuts = [date(year, 1, 1) for year in range(2014, 2023)]
    for preset in PRESETS:
        for n in (3, 6, 9):
            print(f"\nhistory {seed}, {preset}, {n} cuts: {trial(preset, cuts[-n:], seed)}", end="")


def test_a_demo_world_of_ten_times_the_size(tmp_path, monkeypatch):
    run_tempkb(tmp_path, "demo", "--pages", "3600")
    run_tempkb(tmp_path, "build")
    monkeypatch.setenv("TEMPKB_HOME", str(tmp_path))
    cuts = [date(year, 1, 1) for year in (2022, 2023, 2024)]
    for preset in PRESETS:
        for seed in (13, 14, 15):
            print(f"\ndemo, {preset}, 3 cuts, seed {seed}: {trial(preset, cuts, seed)}", end="")
