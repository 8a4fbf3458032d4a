"""What linkers show of time in a large demo world: tiny linkers are trained and scored, and the table is printed.

    python -m tempkb_tests.soak.linking [FOLDER] [--seeds N] [--world SEED] [--pages N]

builds the demo world of a seed in FOLDER (by default a temporary one; a home that is
there is taken as it is, with the linkers and scores that it has), trains a linker for
each snapshot and seed, and links all test mentions with them, with the mention prior
and with BM25. The release has at least 1,000 test mentions; with fewer pages it ends
with status 1. So it does if trained linkers do not beat the prior where several
entities share a surface. What the other contrasts are is printed, and not required:
nothing in the recipe was chosen for them.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

from tempkb.benchmarks.tempel.tables import TEMPEL_MENTIONS
from tempkb.models.linking.tables import LINKING_SCORES
from tempkb.platform.api import open_store
from tempkb.results.linking_effects import LINKER_MINUS_PRIOR
from tempkb.results.tables import LINKING_EFFECTS
from tempkb_tests.conftest import run_tempkb

_RELEASE, _CUTS = "demo", "2022-01-01..2024-01-01/yearly"
_FEWEST = 1_000
_SHOWN = ("estimate", "low", "high", "p_value")
_ACCURACIES = f"""
    SELECT if(starts_with(linker, '{_RELEASE}-'), if(model_cut = s.cut, 'in snapshot', 'out of snapshot'), linker) AS who,
           s.category, men_prior < 1 AS is_shared, count(*) AS n,
           {", ".join(f"avg(coalesce(rank <= {k}, false)::INTEGER) AS at_{k}" for k in (1, 4, 16, 64))}
    FROM {LINKING_SCORES.name} AS s JOIN {TEMPEL_MENTIONS.name} AS m
    USING (release, cut, target_page_id, anchor_page_id, start_char)
    WHERE s.subset = 'test' AND pool = 'own' GROUP BY ALL ORDER BY ALL
"""


def main() -> None:
    """Build, train, link, compute and print."""
    reader = argparse.ArgumentParser(prog="tempkb_tests.soak.linking", description=__doc__)
    reader.add_argument("folder", nargs="?", type=Path, help="keep the home here")
    reader.add_argument("--seeds", type=int, default=5, help="of the linkers of each snapshot")
    reader.add_argument("--world", type=int, default=7, help="seed of the demo world")
    reader.add_argument("--pages", type=int, default=1_600, help="of the demo world")
    asked = reader.parse_args()
    with tempfile.TemporaryDirectory(prefix="linking-") as temporary:
        home = (asked.folder or Path(temporary) / "home").resolve()
        fill(home, asked.world, asked.pages, asked.seeds)
        with mock.patch.dict(os.environ, {"TEMPKB_HOME": str(home)}):
            wrong = report()
    sys.exit(1 if wrong else 0)


def fill(home: Path, world: int, pages: int, n_seeds: int) -> None:
    """Build a demo world with the linkers of a number of seeds and their scores, or what is missing of it."""
    if not (home / "dumps").exists():
        run_tempkb(home, "demo", "--seed", str(world), "--pages", str(pages))
    run_tempkb(home, "build")
    # All continual entities of the world, and not 20 of them.
    design = ("--preset", "small", "--set", "nr_ct_ents_per_cut=1000", "--name", _RELEASE)
    run_tempkb(home, "release", "tempel", _CUTS, *design)
    seeds = [word for seed in range(1, n_seeds + 1) for word in ("--seed", str(seed))]
    # There are six times as many mentions as in the default world, so fewer epochs are enough.
    run_tempkb(home, "linker", "train", _RELEASE, "--preset", "demo", "--set", "epochs=6", *seeds)
    run_tempkb(home, "linker", "score", "--all", "--release", _RELEASE)


def report() -> list[str]:
    """Print accuracies and `linking_effects` of the home, and return what is wrong."""
    store = open_store()
    found = store.ask(_ACCURACIES, LINKING_SCORES.name, TEMPEL_MENTIONS.name)
    _print_table(found, ("who", "category", "is_shared", "n", "at_1", "at_4", "at_16", "at_64"))
    rows = store.read(LINKING_EFFECTS.name).to_pylist()
    _print_table(rows, ("setup", "contrast", "k", *_SHOWN, "n_items", "n_clusters", "n_seeds", "verdict", "note"))
    n_tests = sum(row["n"] for row in found if row["who"] == "prior")
    wrong = [] if n_tests >= _FEWEST else [f"{n_tests} test mentions; expected at least {_FEWEST}"]
    wrong += [
        f"{row['setup']}: {row['contrast']} is expected to be {row['expected']}: {row['verdict']}"
        for row in rows
        if row["contrast"] == LINKER_MINUS_PRIOR.name and row["k"] == 1 and row["verdict"] != "shown"
    ]
    sys.stdout.write("\n".join((f"{n_tests} test mentions", *wrong)) + "\n")
    return wrong


def _print_table(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> None:
    sys.stdout.write(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}\n")
    for row in rows:
        sys.stdout.write(f"| {' | '.join(_shown(row[name]) for name in columns)} |\n")
    sys.stdout.write("\n")


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
