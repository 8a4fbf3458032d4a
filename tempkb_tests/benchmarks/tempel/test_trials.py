"""Every preset over a small generated history, where filters pass a surface at one cut and not at another."""

from datetime import date

import pytest

from tempkb_tests.bench.history import write_history
from tempkb_tests.benchmarks.tempel.trials import build_history, trial

CUTS = [date(year, 1, 1) for year in range(2017, 2023)]


@pytest.fixture(scope="module")
def history_home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trials")
    with (folder / "history.xml").open("w", encoding="utf-8") as out:
        write_history(out, pages=220, revisions=30, seed=7)
    build_history(folder / "history.xml", folder / "home", "benchwiki", "2015-01-01")
    return folder / "home"


@pytest.mark.slow
def test_presets_give_equal_cells_or_are_refused_whole(history_home, monkeypatch):
    monkeypatch.setenv("TEMPKB_HOME", str(history_home))
    low = {"min_nr_inlinks": "2", "min_men_prior_rank": "1", "max_men_prior": "1.0"}
    # Three and six cuts.
    tried = [("tempkb", 3, {}), ("small", 6, {}), ("paper", 6, low), ("tempkb", 3, low)]
    told = [(preset, n, trial(preset, CUTS[-n:], 13 + at, **changes)) for at, (preset, n, changes) in enumerate(tried)]
    for preset, n, said in told:
        print(f"{preset}, {n} cuts: {said}")
    assert {preset for preset, _, said in told if said.startswith("equal")} == {"tempkb", "paper", "small"}
    assert any(said.startswith("refused") for _, _, said in told)
