"""What tiny models know of the world in which they were trained: changes between two cuts, and controls.

For every subject and relation whose answer at the second cut differs from that at the first, two models (one a cut)
are asked for the new and the old answer. An effect is in nats: by how much more the later model prefers the new answer
to the old one than the earlier model does. Intervals are over subjects, of means over seeds.

Worlds and seeds are those of BENCH_WORLDS (default 7,8) and BENCH_SEEDS (default 3); with BENCH_HOMES homes and models
are kept in that folder, and are not made again.
"""

import math
import os
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from unittest import mock

import duckdb

from tempkb.api import open_store
from tempkb.demo_models.asking import Asked, DemoModel
from tempkb.demo_models.corpus import is_withheld
from tempkb.demo_models.making import make
from tempkb.models.checkpoints import load, read_checkpoint
from tempkb.models.families import FAMILIES, Family
from tempkb.models.loading import LoadedModel
from tempkb.models.scoring import Scorer
from tempkb.prompts import Prompt
from tempkb_tests.bench.measuring import row
from tempkb_tests.conftest import run_tempkb

CUTS = FIRST, SECOND = date(2022, 1, 1), date(2023, 7, 1)
_STUDY = "2021-01-01..2024-01-01"
_RANKING: Mapping[Family, str] = {"causal": "span_end", "masked": "answer_l2r", "seq2seq": "span_end"}
PERIODS = ("before the first cut", "between the cuts", "after the second")


@dataclass(frozen=True)
class Pair:
    """A question with two answers; for a change, that at the second cut, and that at the first.

    Attributes:
        group: changed, withheld (changed, and read by no model), permuted (the answers of another change) or kept (the
            answer at both cuts, and that of another subject).
        subject: with its world, so that worlds can be put together.
        query: with _X_ for the answer.
    """

    group: str
    subject: str
    relation: str
    query: str
    new: str
    old: str


def pairs(home: Path, world: int, release: str = "demo-quarters") -> list[Pair]:
    """Return the pairs of a release of DynamicTempLAMA by quarter."""
    held: dict[date, dict[tuple[str, str], tuple[str, set[str]]]] = {cut: {} for cut in CUTS}
    with duckdb.connect(str(home / "tempkb.duckdb"), read_only=True) as connection:
        for cut, known in held.items():
            start = (cut - timedelta(days=80)).replace(day=1)
            rows = connection.execute(
                "SELECT subject_id, relation, query, list_transform(answers, lambda one: one.label) "
                "FROM dynamic_templama_queries WHERE release = ? AND window_start = ? AND template_no = 1",
                [release, start],
            ).fetchall()
            known.update({(subject, relation): (query, set(answers)) for subject, relation, query, answers in rows})
    by_relation: dict[str, dict[str, list[tuple[str, str, str, str]]]] = defaultdict(lambda: defaultdict(list))
    for (subject, relation), (query, answers) in sorted(held[SECOND].items()):
        _, before = held[FIRST].get((subject, relation), ("", set()))
        if before and answers - before and before - answers:
            kind = "withheld" if is_withheld(subject) else "changed"
            by_relation[relation][kind].append((subject, query, min(answers - before), min(before - answers)))
        elif before == answers and len(answers) == 1 and not is_withheld(subject):
            by_relation[relation]["kept"].append((subject, query, *answers, ""))
    return [
        Pair(group, f"{world}/{subject}", relation, query, new, old)
        for relation, kinds in sorted(by_relation.items())
        for group, subject, query, new, old in _with_controls(kinds)
    ]


def _with_controls(kinds: Mapping[str, list[tuple[str, str, str, str]]]) -> Iterator[tuple[str, str, str, str, str]]:
    for group in ("changed", "withheld"):
        yield from ((group, *one) for one in kinds.get(group, ()))
    changed, kept = kinds.get("changed", []), kinds.get("kept", [])
    for (subject, query, *own), (*_, new, old) in zip(changed, changed[1:] + changed[:1], strict=True):
        if not {new, old} & set(own):
            yield "permuted", subject, query, new, old
    for at, (subject, query, same, _) in enumerate(kept):
        others = [other for _, _, other, _ in kept[at + 1 :] + kept[:at] if other != same]
        if others:
            yield "kept", subject, query, same, others[0]


def scored(model: LoadedModel, found: Sequence[Pair]) -> list[tuple[float, float]]:
    """Return the scores of the new and the old answer of each pair."""
    ways = {False: Scorer(model, _RANKING[model.family])}
    ways[True] = Scorer(model, "sentence") if model.family == "causal" else ways[False]
    prompts = [_prompt(pair.query, answer) for pair in found for answer in (pair.new, pair.old)]
    scores: list[float] = [math.nan] * len(prompts)
    for is_first, scorer in ways.items():
        own = [at for at, prompt in enumerate(prompts) if (not prompt.left.strip()) == is_first]
        for at, score in zip(own, scorer.score([prompts[at] for at in own]), strict=True):
            assert score.log_prob_nats is not None, (prompts[at], score.status)
            scores[at] = score.log_prob_nats
    return list(zip(scores[::2], scores[1::2], strict=True))


def _prompt(query: str, answer: str, mark: str = "_X_") -> Prompt:
    left, right = query.split(mark)
    return Prompt(left, answer, right)


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval, whose clusters are subjects."""

    mean: float
    half: float
    n_clusters: int

    def __str__(self) -> str:
        return f"{self.mean:.2f} [{self.mean - self.half:.2f}, {self.mean + self.half:.2f}]"


def estimate(values: Sequence[tuple[str, float]]) -> Estimate:
    """Return the mean of (cluster, value), with a standard error that allows for equal clusters."""
    sums: dict[str, list[float]] = defaultdict(list)
    for cluster, value in values:
        sums[cluster].append(value)
    n, n_clusters = len(values), len(sums)
    mean = sum(value for _, value in values) / n
    if n_clusters < 2:
        return Estimate(mean, math.inf, n_clusters)
    spread = sum((sum(own) - mean * len(own)) ** 2 for own in sums.values())
    error = math.sqrt(n_clusters / (n_clusters - 1) * spread) / n
    return Estimate(mean, statistics.NormalDist().inv_cdf(0.975) * error, n_clusters)


Scores = Mapping[tuple[int, date, int], list[tuple[float, float]]]
"""World, cut and seed -> scores of the pairs of that world."""


def preference(
    found: Mapping[int, list[Pair]], scores: Scores, group: str, cut: date, seeds: Sequence[int]
) -> Estimate:
    """Share of the pairs of a group in which models of a cut prefer the new answer."""
    return estimate(
        [
            (pair.subject, statistics.mean(new > old for new, old in (scores[world, cut, s][at] for s in seeds)))
            for world, own in found.items()
            for at, pair in enumerate(own)
            if pair.group == group
        ]
    )


def effect(
    found: Mapping[int, list[Pair]],
    scores: Scores,
    group: str,
    seeds: Sequence[int],
    relation: str = "",
    sides: tuple[tuple[date, int], tuple[date, int]] | None = None,
) -> Estimate:
    """(new - old) of the later models minus that of the earlier ones in nats, or of the second of two `sides`."""
    between = [((FIRST, seed), (SECOND, seed)) for seed in seeds] if sides is None else [sides]
    return estimate(
        [
            (
                pair.subject,
                statistics.mean(
                    _lead(scores[world, *late][at]) - _lead(scores[world, *early][at]) for early, late in between
                ),
            )
            for world, own in found.items()
            for at, pair in enumerate(own)
            if pair.group == group and relation in ("", pair.relation)
        ]
    )


def _lead(of_new_and_old: tuple[float, float]) -> float:
    new, old = of_new_and_old
    return new - old


def perplexity(model: LoadedModel, clozes: Sequence[tuple[str, str]]) -> float:
    """Perplexity of the answers of cloze items, each with its masked sentence; those without a score are left out."""
    template = "answer_l2r" if model.family == "masked" else "span"
    scores = Scorer(model, template).score([_prompt(text, answer, "<extra_id_0>") for text, answer in clozes])
    known = [score for score in scores if score.log_prob_nats is not None]
    return math.exp(-math.fsum(score.log_prob_nats for score in known) / sum(score.n_tokens for score in known))


def clozes_by_period(home: Path) -> dict[str, list[tuple[str, str]]]:
    """test items of ECBD by when their entity came into being, as far as that is certain."""
    with duckdb.connect(str(home / "tempkb.duckdb"), read_only=True) as connection:
        rows = connection.execute(
            "SELECT masked_sentence, answer, origin_from, origin_to FROM ecbd_cloze "
            "WHERE release = 'demo-cloze' AND split = 'test' AND origin_from IS NOT NULL ORDER BY cloze_id"
        ).fetchall()
    found: dict[str, list[tuple[str, str]]] = {period: [] for period in PERIODS}
    for text, answer, begin, end in rows:
        within = (end <= FIRST, begin >= FIRST and end <= SECOND, begin >= SECOND)
        for period, is_within in zip(PERIODS, within, strict=True):
            if is_within:
                found[period].append((text, answer))
    return found


def measure_all(folder: Path) -> None:
    """Build the worlds, train the models, and print what they know."""
    folder = Path(os.environ.get("BENCH_HOMES", folder))
    homes = {int(world): folder / f"world-{world}" for world in os.environ.get("BENCH_WORLDS", "7,8").split(",")}
    seeds = range(int(os.environ.get("BENCH_SEEDS", "3")))
    folders = {}
    for world, home in homes.items():
        _build(home, world)
        with mock.patch.dict(os.environ, {"TEMPKB_HOME": str(home)}):
            made = make(open_store(), Asked(FAMILIES, CUTS, len(seeds)), print)
        folders[world] = {name: Path(words["checkpoint"]) for name, words in made.items()}
    found = {world: pairs(home, world) for world, home in homes.items()}
    for family in FAMILIES:
        scores = {
            (world, cut, seed): scored(load(read_checkpoint(str(own[DemoModel(family, cut, seed).name]))), found[world])
            for world, own in folders.items()
            for cut in CUTS
            for seed in seeds
        }
        _print_knowledge(family, found, scores, seeds)
    _print_perplexities(homes, folders, seeds)


def _build(home: Path, world: int) -> None:
    if not home.exists():
        run_tempkb(home, "demo", "--seed", str(world))
        run_tempkb(home, "build")
        run_tempkb(home, "release", "dynamic-templama", _STUDY, "--name", "demo-quarters")
        run_tempkb(home, "release", "ecbd", _STUDY, "--preset", "small", "--name", "demo-cloze")


def _print_knowledge(family: Family, found: Mapping[int, list[Pair]], scores: Scores, seeds: Sequence[int]) -> None:
    row(
        f"{family}, {len(found)} worlds, {len(seeds)} seeds",
        "pairs",
        "earlier prefers",
        "later prefers",
        "effect, nats",
    )
    row(*["---"] * 5)
    for group in ("changed", "permuted", "withheld", "kept"):
        shares = [str(preference(found, scores, group, cut, seeds)) for cut in CUTS]
        n_pairs = sum(pair.group == group for own in found.values() for pair in own)
        row(group, str(n_pairs), *shares, str(effect(found, scores, group, seeds)))
    for relation in sorted({pair.relation for own in found.values() for pair in own}):
        row(f"changed, {relation}", "", "", "", str(effect(found, scores, "changed", seeds, relation)))
    for world, own in found.items():
        for seed in seeds:
            row(
                f"changed, world {world}, seed {seed}", "", "", "", str(effect({world: own}, scores, "changed", [seed]))
            )
    for cut in CUTS:
        sides = ((cut, seeds[0]), (cut, seeds[-1]))
        row(f"two seeds of {cut}", "", "", "", str(effect(found, scores, "changed", seeds, sides=sides)))
    print()


def _print_perplexities(
    homes: Mapping[int, Path], folders: Mapping[int, Mapping[str, Path]], seeds: Sequence[int]
) -> None:
    """Means over worlds and seeds of the perplexity of withheld test sentences of ECBD."""
    row("ECBD, perplexity", *(f"born {period}" for period in PERIODS))
    row(*["---"] * 4)
    for family in FAMILIES:
        for cut in CUTS:
            found: dict[str, list[float]] = {period: [] for period in PERIODS}
            for world, home in homes.items():
                clozes = clozes_by_period(home)
                for seed in seeds:
                    model = load(read_checkpoint(str(folders[world][DemoModel(family, cut, seed).name])))
                    for period, own in found.items():
                        own.append(perplexity(model, clozes[period]))
            row(DemoModel(family, cut).name, *(f"{statistics.mean(own):.0f}" for own in found.values()))
    print()
