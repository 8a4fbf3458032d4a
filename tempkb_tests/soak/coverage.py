"""How often 95 % intervals hold the truth: `python -m tempkb_tests.soak.coverage [--replicates N]`.

Draws data of known processes, many times, and prints the share of intervals that hold the true value, beside what is
demanded. Ends with status 1 if a demand is missed. `make test` does the same with few replicates and a wide margin.

- **equal normal**: clusters of 5 items; effects of clusters and noise of items are standard normal.
- **log-normal**: sizes are exp(N(1, s)) rounded up, effects exp(N(0, s)), independent of one another, with noise of
  items like that of the effects; s = 0.5. The same with s = 1 is printed without a demand: it is as far from normal as
  the usual textbook case, and shows where intervals become too short.
- **shares**: clusters of 1 to 5 items; a cluster's share is of a beta distribution, whose mean is the truth.
- **scores of two sides**: clusters of 1 to 5 items as in equal normal, those of one side higher by one.
- **both sides**: a change between sets of items of which every second cluster has items in both.
"""

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from tempkb.core.statistics import Estimate, change, clustered_mean, macro_change, macro_mean, proportion
from tempkb.core.statistics.calibration import clustered_auc

Draw = Callable[[np.random.Generator, int], tuple[Estimate, float]]
SPREAD, WIDE_SPREAD = 0.5, 1.0


@dataclass(frozen=True)
class Case:
    """A process, an estimator, a number of clusters, and the coverage that is demanded (None: only printed)."""

    process: str
    estimator: str
    n_clusters: int
    demand: float | None
    draw: Draw

    def coverage(self, n_replicates: int) -> float:
        """Return the share of intervals that hold the truth."""
        random = np.random.default_rng([self.n_clusters, *self.process.encode(), *self.estimator.encode()])
        held = 0
        for _ in range(n_replicates):
            found, truth = self.draw(random, self.n_clusters)
            if found.low is None or found.high is None:
                raise ValueError(f"{self}: no interval: {found.reason}")
            held += found.low <= truth <= found.high
        return held / n_replicates


def cases() -> Iterator[Case]:
    """Give all cases, those with a demand of the specification first."""
    for n in (10, 30, 100, 300):
        demand = 0.93 if n >= 30 else None
        for name, estimator in (("clustered_mean", clustered_mean), ("macro_mean", macro_mean)):
            yield Case("equal normal", name, n, demand, _normal(estimator))
    for spread in (SPREAD, WIDE_SPREAD):
        for n in (30, 100, 300, 1000):
            demand = None if spread == WIDE_SPREAD else 0.90 if n < 100 else 0.93
            for name, estimator in (("clustered_mean", clustered_mean), ("macro_mean", macro_mean)):
                yield Case(f"log-normal, s = {spread:g}", name, n, demand, _log_normal(estimator, spread))
    for share in (0.5, 0.9, 0.98):
        for n in (30, 100, 300):
            yield Case(f"shares around {share}", "proportion", n, None, _shares(share))
    for n in (30, 100):
        yield Case("scores of two sides", "clustered_auc", n, 0.93, _two_sides)
        for name, estimator in (("change", change), ("macro_change", macro_change)):
            yield Case("both sides", name, n, None, _both_sides(estimator))


def _two_sides(random: np.random.Generator, n: int) -> tuple[Estimate, float]:
    sides = []
    for shift in (1, 0):
        clusters = np.repeat(np.arange(n), random.integers(1, 6, n))
        values = shift + random.normal(size=n)[clusters] + random.normal(size=len(clusters))
        sides.append((values, clusters))
    (high, of_high), (low, of_low) = sides
    # Each value has variance 2, so a difference has 4.
    return clustered_auc(high, low, of_high, of_low + n), NormalDist().cdf(0.5)


def _normal(estimator: Callable[..., Estimate]) -> Draw:
    def draw(random: np.random.Generator, n: int) -> tuple[Estimate, float]:
        clusters = np.repeat(np.arange(n), 5)
        return estimator(random.normal(size=n)[clusters] + random.normal(size=5 * n), clusters), 0.0

    return draw


def _log_normal(estimator: Callable[..., Estimate], spread: float) -> Draw:
    mean = math.exp(spread**2 / 2)
    deviation = mean * math.sqrt(math.exp(spread**2) - 1)

    def draw(random: np.random.Generator, n: int) -> tuple[Estimate, float]:
        clusters = np.repeat(np.arange(n), np.ceil(random.lognormal(1, spread, n)).astype(int))
        noise = random.normal(0, deviation, len(clusters))
        return estimator(random.lognormal(0, spread, n)[clusters] + noise, clusters), mean

    return draw


def _shares(share: float) -> Draw:
    def draw(random: np.random.Generator, n: int) -> tuple[Estimate, float]:
        clusters = np.repeat(np.arange(n), random.integers(1, 6, n))
        return proportion(
            random.random(len(clusters)) < random.beta(2 * share, 2 - 2 * share, n)[clusters], clusters
        ), (share)

    return draw


def _both_sides(estimator: Callable[..., Estimate]) -> Draw:
    def draw(random: np.random.Generator, n: int) -> tuple[Estimate, float]:
        effects = random.normal(size=n + n // 2)
        before, after = (np.repeat(np.arange(n) + shift, random.integers(1, 6, n)) for shift in (0, n // 2))
        sides = [effects[side] + random.normal(size=len(side)) for side in (before, after)]
        return estimator(sides[0], before, sides[1], after), 0.0

    return draw


def main() -> None:
    """Print a table of coverages."""
    reader = argparse.ArgumentParser(prog="tempkb_tests.soak.coverage", description=__doc__)
    reader.add_argument("--replicates", type=int, default=10_000)
    n_replicates = reader.parse_args().replicates
    sys.stdout.write("| process | estimator | clusters | coverage | demand |\n| --- | --- | --- | --- | --- |\n")
    is_met = True
    for case in cases():
        found = case.coverage(n_replicates)
        is_met &= case.demand is None or found >= case.demand
        demand = "" if case.demand is None else f"{case.demand:.0%}"
        sys.stdout.write(f"| {case.process} | {case.estimator} | {case.n_clusters} | {found:.1%} | {demand} |\n")
        sys.stdout.flush()
    sys.exit(0 if is_met else 1)


if __name__ == "__main__":
    main()
