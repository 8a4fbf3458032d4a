"""Models that are told the time, in several worlds: do dates move those that were trained with them, and no others?

    python -m tempkb_tests.soak.dated [FOLDER] [--seeds N] [--first SEED] [--family FAMILY]

builds a demo world for each seed in FOLDER (by default a temporary one; homes that are
there are taken as they are), trains tiny models of its news as `tempkb demo --time`
does, with the seed of the world, asks them, prints all contrasts, and ends with status
1 if one is not what is expected. One more model, the placebo, reads the same news with
permuted dates. Worlds are drawn independently, and with them subjects, weights and the
order of texts; so the mean over subjects in a world is one observation, and intervals
are Student's over worlds. Numbers of steps were chosen in a world that is not among them.
"""

import argparse
import json
import os
import random
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Literal
from unittest import mock

from scipy.stats import t

from tempkb.commands.screens.demo import LOG
from tempkb.core.model_words import Family
from tempkb.demo.world import TIME_STEPS, TIME_WORLD, make_world, time_steps, training, write_time
from tempkb.models.training.lessons import DatedLesson
from tempkb.platform.api import open_store
from tempkb_tests.conftest import run_script, run_tempkb

PLACEBO = "placebo"
_MARGIN = 0.1
_RUN = """
import json, pathlib, sys
from tempkb.commands.cli import run_steps
from tempkb.commands.screens.demo import Steps
steps, learning, log = json.loads(sys.argv[1])
run_steps(steps, learning, Steps(pathlib.Path(log), len(steps)))
"""
Level = tuple[str, str, str]
"""Regime, how it is asked, and measure, as in the view `dated_choices`."""
_UNDATED, _DATED = "undated", "dated"


@dataclass(frozen=True)
class Contrast:
    """A share of right choices minus another one, or minus one half, which is that of chance.

    Attributes:
        minus: None for chance.
        expected: positive; equal, with the whole interval within `_MARGIN` of zero; or zero, of what there is nothing to
            know: an interval with zero in it, or within that margin.
    """

    meaning: str
    of: Level
    minus: Level | None = None
    expected: Literal["positive", "equal", "zero"] = "positive"


CONTRASTS = (
    Contrast(
        "Temporal above Uniform, answer changed", ("temporal", _DATED, "previous"), ("uniform", _UNDATED, "previous")
    ),
    Contrast(
        "the same, share of right answers",
        ("temporal", _DATED, "answer_changed"),
        ("uniform", _UNDATED, "answer_changed"),
    ),
    Contrast(
        "Temporal as Uniform, answer unchanged",
        ("temporal", _DATED, "answer_unchanged"),
        ("uniform", _UNDATED, "answer_unchanged"),
        expected="equal",
    ),
    Contrast("a date moves Temporal between two objects", ("temporal", _DATED, "object")),
    Contrast("Temporal has objects at their dates", ("temporal", _DATED, "date")),
    Contrast("a date moves Uniform between two objects", ("uniform", _DATED, "object"), expected="zero"),
    Contrast("Uniform has objects at their dates", ("uniform", _DATED, "date"), expected="zero"),
    Contrast("permuted dates: moved between two objects", (PLACEBO, _DATED, "object"), expected="zero"),
    Contrast("permuted dates: objects at their dates", (PLACEBO, _DATED, "date"), expected="zero"),
    Contrast(
        "permuted dates above Uniform, answer changed",
        (PLACEBO, _DATED, "previous"),
        ("uniform", _UNDATED, "previous"),
        expected="zero",
    ),
)


def main() -> None:
    """Build, train, ask, compute and print."""
    reader = argparse.ArgumentParser(prog="tempkb_tests.soak.dated", description=__doc__)
    reader.add_argument("folder", nargs="?", type=Path, help="keep the homes here")
    reader.add_argument("--seeds", type=int, default=5, help="how many worlds")
    reader.add_argument("--first", type=int, default=21, help="seed of the first world")
    reader.add_argument("--family", action="append", choices=[*TIME_STEPS], help="by default all")
    asked = reader.parse_args()
    families = asked.family or [*TIME_STEPS]
    with tempfile.TemporaryDirectory(prefix="dated-") as temporary:
        homes = [(asked.folder or Path(temporary)).resolve() / f"{asked.first + n}" for n in range(asked.seeds)]
        for home in homes:
            fill(home, int(home.name), families)
        found = [levels(home) for home in homes]
    sys.stdout.write("| family | contrast | worlds | levels | difference | |\n|---|---|---|---|---|---|\n")
    n_wrong = sum(_report(family, one, found) for family in families for one in CONTRASTS)
    sys.stdout.write(f"{n_wrong} contrasts are not what is expected\n")
    sys.exit(1 if n_wrong else 0)


def fill(home: Path, seed: int, families: Sequence[Family]) -> None:
    """Build a world with its models and what they answer, or what is missing of it."""
    folder, (_, pages, n_quarters) = home / "time", TIME_WORLD
    if not folder.exists():
        run_tempkb(home, "demo", "--seed", str(seed), "--pages", str(pages), "--quarters", str(n_quarters))
        write_time(make_world(seed, pages, n_quarters), folder)
    (before,), _, (after,) = time_steps(folder)
    for command in before.values():
        run_tempkb(home, *command)
    told = [json.loads(line) for line in (folder / "news.jsonl").read_text("utf-8").splitlines()]
    days = [one["date"] for one in told]
    random.Random(seed).shuffle(days)  # noqa: S311 - reproducible chance, not secrets
    permuted = [json.dumps({**one, "date": day}) for one, day in zip(told, days, strict=True)]
    (folder / "permuted.jsonl").write_text("\n".join(permuted), "utf-8")
    run_tempkb(home, "corpus", "add", "permuted", str(folder / "permuted.jsonl"), "--chunker", "none")
    trained = {
        f"training {family}-{regime}": training(
            family,
            "temporal" if regime == PLACEBO else regime,
            folder,
            TIME_STEPS[family],
            f"{family}-{regime}",
            *("--seed", f"{seed}", *(("--corpus", "permuted") if regime == PLACEBO else ())),
        )
        for family in families
        for regime in ("uniform", "temporal", PLACEBO)
    }
    with mock.patch.dict(os.environ, {"TEMPKB_HOME": str(home)}):
        run_script(_RUN, json.dumps([trained, DatedLesson.learning, str(home / LOG)]))
    for command in [*after.values()][:-1]:
        run_tempkb(home, *command)


def levels(home: Path) -> dict[tuple[str, Level], float]:
    """Return the share of right choices of each model of a home, by family, each subject with the same weight."""
    with mock.patch.dict(os.environ, {"TEMPKB_HOME": str(home)}):
        rows = open_store().ask(
            """
            SELECT model, asked, measure, avg(own) AS value FROM (
                SELECT model, asked, measure, subject_id, avg(is_right::INTEGER) AS own FROM dated_choices GROUP BY ALL
            ) GROUP BY ALL
            """,
            "dated_choices",
        )
    named = ((*row["model"].split("-"), row["asked"], row["measure"], row["value"]) for row in rows)
    return {(family, (regime, asked, measure)): value for family, regime, asked, measure, value in named}


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean of independent values, and Student's interval of 95 %."""
    mean = fmean(values)
    half = t.ppf(0.975, len(values) - 1) * stdev(values) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return mean, mean - half, mean + half


def _report(family: Family, one: Contrast, found: Sequence[Mapping[tuple[str, Level], float]]) -> bool:
    """Print a contrast; return whether it is not what is expected."""
    sides = [[own[family, one.of], own[family, one.minus] if one.minus else 0.5] for own in found]
    mean, low, high = interval([of - minus for of, minus in sides])
    is_within, has_zero = low > -_MARGIN and high < _MARGIN, low <= 0 <= high
    verdict = (
        f"within {_MARGIN}" if is_within else "zero is included" if has_zero else "positive" if low > 0 else "negative"
    )
    levels_of = " and ".join(f"{fmean(values):.3f}" for values in zip(*sides, strict=True))
    sys.stdout.write(
        f"| `{family}` | {one.meaning} | {len(found)} | {levels_of} | {mean:.3f} [{low:.3f}, {high:.3f}] | {verdict} |\n"
    )
    expected = {"positive": low > 0, "equal": is_within, "zero": is_within or has_zero}
    return not expected[one.expected]


if __name__ == "__main__":
    main()
