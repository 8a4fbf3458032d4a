"""Speed of the estimators of results: `python -m tempkb_tests.bench statistics`. CPU seconds of one thread, arrays in memory."""

import time
from collections.abc import Callable
from datetime import date

import numpy as np

from tempkb.core.statistics import cluster_bootstrap, clustered_mean, crossed_bootstrap, knowledge_date
from tempkb_tests.bench.measuring import row, spread

REPEATS = 3


def measure_all() -> None:
    """Print the tables of estimators."""
    random = np.random.default_rng(1)
    clustered_mean(range(20), range(20))  # imports SciPy
    row("estimator", "CPU s")
    row("---", "---")
    for n in (10_000, 100_000, 1_000_000, 10_000_000):
        values, clusters = _items(random, n, n // 3)
        _timed(
            f"clustered_mean of {n:,} items in {n // 3:,} clusters", lambda v=values, c=clusters: clustered_mean(v, c)
        )
    values, clusters = _items(random, 8_500, 3_000)
    matrix = random.normal(size=(200, 5))
    for statistic in ("mean", "macro_mean", "median"):
        _timed(
            f"10,000 bootstrap replicates of the {statistic} of 8,500 items in 3,000 clusters",
            lambda s=statistic: cluster_bootstrap(values, clusters, s, seed=1),
        )
    _timed(
        "10,000 crossed replicates of 200 subjects and 5 seeds",
        lambda: crossed_bootstrap(matrix, seed=1),
    )
    months = [date(2018 + month // 12, month % 12 + 1, 1) for month in range(60)]
    starts = [months[one] for one in random.integers(0, 60, 5_000)]
    preferences, controls = (random.random(5_000) < share for share in (0.6, 0.5))
    subjects = random.integers(0, 3_000, 5_000)
    _timed(
        "knowledge_date of 5,000 changes over 60 months, 1,000 permutations",
        lambda: knowledge_date(starts, preferences, controls, subjects, seed=1),
    )
    print()


def _items(random: np.random.Generator, n: int, n_clusters: int) -> tuple[np.ndarray, np.ndarray]:
    return random.normal(size=n), random.integers(0, n_clusters, n)


def _timed(name: str, run: Callable[[], object]) -> None:
    seconds = []
    for _ in range(REPEATS):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    row(name, spread(seconds, "{:.3f}"))
