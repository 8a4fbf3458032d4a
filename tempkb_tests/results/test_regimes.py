"""Results by how models were trained, from rows written by hand, against plain means of means."""

import math
import random
from collections import defaultdict
from datetime import date
from statistics import mean

import pytest

from tempkb_tests.results.papers.laid_out import tables
from tempkb_tests.results.worlds import World

DECODER, SCORER = "seq2seq.greedy-1.f32", "seq2seq.span_end-1.f32"
SUBJECTS = [f"Q{n}" for n in range(12)]
YEARS = (2018, 2019, 2020, 2021)
LATER = {2021}
ONCE, DATED = ("once", "text_undated"), ("dated", "text_dated")
BENCHMARKS = {"templama": "tl", "dated_text": "home"}


class Trained(World):
    """Models that were trained on some years, asked about twelve subjects in four years."""

    def __init__(self):
        super().__init__()
        self.f1, self.nats = {}, {}  # by benchmark, model, wording, year and item

    def trained(self, name, regime, *years, base="t5", n_parameters=100, corpus="home"):
        n = n_parameters * (len(years) if regime == "yearly" else 1)
        self.add("models", model=name, n_parameters=n, status="ready")
        about = {"model": name, "regime": regime, "period": "year", "base": base, "steps": 7}
        for year in years:
            for source, of in (("text", corpus), ("query", "tl")):
                if of:
                    self.add("mixtures", source=source, name=of, window_start=date(year, 1, 1), **about)

    def asked(self, model, wordings, chance):
        """Answers and scores by chance; a subject has one to three items a year."""
        for (benchmark, release), wording in zip(BENCHMARKS.items(), wordings, strict=True):
            for year in YEARS:
                for subject in SUBJECTS:
                    for n in range(1 + (year + int(subject[1:])) % 3):
                        item, f1 = f"{subject}_P{n}_{year}", chance.choice([0, chance.random(), 1.0])
                        self.f1[benchmark, model, wording, year, item] = f1
                        self.add(
                            "judged_answers",
                            benchmark=benchmark,
                            release=release,
                            model=model,
                            decoder=DECODER,
                            item_id=item,
                            wording=wording,
                            window_start=date(year, 1, 1),
                            split="test",
                            cluster_id=subject,
                            exact_match=float(f1 == 1),
                            f1=f1,
                            text="said",
                            accepted=["right"],
                        )

    def of(self, model, wording, years, benchmark="templama"):
        """F1 of the items of some years, by year."""
        found = defaultdict(list)
        for (of, who, how, year, _), f1 in self.f1.items():
            if (of, who, how) == (benchmark, model, wording) and year in years:
                found[year].append(f1)
        return found

    def macro(self, *asked, **more):
        return mean(mean(one) for one in self.of(*asked, **more).values())


@pytest.fixture(scope="module")
def world():
    world, chance = Trained(), random.Random(7)
    world.trained("plain", "uniform", 2018, 2019, 2020)
    world.trained("told", "temporal", 2018, 2019, 2020)
    world.trained("experts", "yearly", 2018, 2019, 2020)
    world.trained("tuned", "uniform", 2018, 2019, 2020, corpus="")
    world.trained("wide", "temporal", 2017, 2018, 2019, 2020)
    for year in (2018, 2019, 2020):
        world.trained(f"of-{year}", "uniform", year)
    world.add("models", model="cbqa", n_parameters=100, status="ready")
    for row in [*world.rows["models"]]:
        for wordings in (ONCE, DATED):
            world.asked(row["model"], wordings, chance)
    # Of another split, or what could not be asked: neither counts.
    usual = {"benchmark": "templama", "release": "tl", "model": "plain", "decoder": DECODER, "wording": "once"}
    usual |= {"window_start": date(2018, 1, 1), "cluster_id": "Q1", "text": "said"}
    world.add("judged_answers", **usual, item_id="a", split="train", f1=1.0, exact_match=1.0)
    world.add("judged_answers", **usual, item_id="b", split="test")
    return world


def test_rows_say_how_models_were_trained(world):
    found = {row["model"]: row for row in world.read("model_trainings")}
    assert found.keys() == {row["model"] for row in world.rows["models"]} - {"cbqa"}
    assert found["told"] == {
        "newest_share": None,
        "model": "told",
        "regime": "temporal",
        "base": "t5",
        "period": "year",
        "steps": 7,
        "corpus": "home",
        "release": "tl",
        "first_period": date(2018, 1, 1),
        "until": date(2021, 1, 1),
        "n_periods": 3,
        "n_texts": 3,
        "n_queries": 3,
        "n_parameters": 100,
    }
    assert found["tuned"]["corpus"] is None
    assert found["experts"]["n_parameters"] == 100  # of one


@pytest.mark.parametrize(
    ("model", "wording"), [("plain", "once"), ("told", "dated"), ("experts", "dated"), ("cbqa", "once")]
)
def test_each_year_weighs_the_same_and_errors_are_by_subject(world, model, wording):
    for years, own in (("training", {2018, 2019, 2020}), ("later", LATER), ("all years", set(YEARS))):
        row = world.one(
            "answers_by_regime",
            model=model,
            span="2018\u20132020",
            years=years,
            aggregate="f1",
            benchmark="templama",
        )
        of = world.of(model, wording, own)
        assert row["wording"] == wording
        assert row["value"] == pytest.approx(mean(map(mean, of.values())))
        assert (row["n_items"], row["n_clusters"]) == (sum(map(len, of.values())), len(SUBJECTS))
        # The error of a ratio, with weights of one over the items of a year.
        off = defaultdict(float)
        for (benchmark, who, how, year, item), f1 in world.f1.items():
            if (benchmark, who, how) == ("templama", model, wording) and year in own:
                off[item.partition("_")[0]] += (f1 - row["value"]) / len(of[year]) / len(own)
        n = len(off)
        assert row["standard_error"] == pytest.approx(math.sqrt(sum(one**2 for one in off.values()) * n / (n - 1)))


def percent(value):
    return f"{100 * value:.1f}"


def test_table_2_has_the_regimes_by_groups_of_years_in_both_sets(world):
    span, later = {2018, 2019, 2020}, LATER
    regimes = (
        ("none", "cbqa", 0),
        ("queries", "tuned", 0),
        ("uniform", "plain", 0),
        ("yearly", "experts", 1),
        ("temporal", "told", 1),
    )
    found = {title: (heads, lines) for title, heads, lines in tables(world, "templama", "table-2")}
    assert found.keys() == {
        f"release {release}, span {span}" for release in ("tl", "home") for span in ("2018\u20132020", "2017\u20132020")
    }
    for place, (benchmark, release) in enumerate(BENCHMARKS.items()):
        heads, lines = found[f"release {release}, span 2018\u20132020"]
        assert heads == ["regime", "model", "parameters", "decoder", "training", "later", "all years"]
        assert lines == [
            [
                regime,
                model,
                "100",
                DECODER,
                *(
                    percent(world.macro(model, (ONCE, DATED)[is_dated][place], own, benchmark=benchmark))
                    for own in (span, later, span | later)
                ),
            ]
            for regime, model, is_dated in regimes
        ]


def test_table_3_compares_regimes_by_size(world):
    ((heads, (line,)),) = [
        (heads, lines)
        for title, heads, lines in tables(world, "templama", "table-3")
        if title == "release tl, span 2018\u20132020"
    ]
    assert heads == ["parameters", "base", "decoder", "uniform", "temporal"]
    own = [world.macro("plain", "once", YEARS), world.macro("told", "dated", YEARS)]
    assert line == ["100", "t5", DECODER, *map(percent, own)]


def test_table_6_has_a_longer_span_by_the_years_of_the_shorter_one(world):
    found = {title: lines for title, _, lines in tables(world, "templama", "table-6")}
    (line,) = found["release tl, beside 2018\u20132020"]
    cells = []
    for years in ({2018, 2019, 2020}, LATER):
        wide, short = world.macro("wide", "dated", years), world.macro("told", "dated", years)
        cells.append(f"{percent(wide)} ({100 * (wide - short):+.1f})")
    assert line == ["temporal", "wide", "2017\u20132020", DECODER, *cells]


def test_figure_2_has_models_of_single_years_by_distance(world):
    trained = (2018, 2019, 2020)
    for benchmark, wording in (("templama", "once"), ("dated_text", "text_undated")):
        rows = {row["years_after"]: row for row in world.read("answers_by_years_apart", benchmark=benchmark)}
        for gap in range(-2, 3):
            pairs = [
                mean(world.of(f"of-{year}", wording, {year + gap}, benchmark=benchmark)[year + gap])
                for year in trained
                if year + gap in trained
            ]
            assert rows.pop(gap)["value"] == pytest.approx(mean(pairs)), gap
        assert not rows
    panels = {title: lines for title, _, lines in tables(world, "templama", "figure-2")}
    assert panels.keys() == {
        "release tl, panel queries, by years from training",
        "release home, panel dated text, by years from training",
    }
    lines = {line[0]: line[2:] for line in panels["release tl, panel queries, by years from training"]}
    assert lines.keys() == {"single years of t5", "plain", "told"}
    assert len(lines["single years of t5"]) == 5
    assert lines["told"] == 5 * [percent(world.macro("told", "dated", trained))]


def test_table_5_begins_with_the_pair_of_the_paper():
    world = Trained()
    world.trained("a", "uniform", 2018, 2019)
    world.trained("b", "temporal", 2018, 2019)
    world.trained("c", "temporal", 2018)
    for model, wording, right in (("a", "once", 0), ("b", "dated", 1), ("b", "once", 0), ("c", "dated", 1)):
        world.add(
            "judged_answers",
            benchmark="templama",
            release="tl",
            model=model,
            decoder=DECODER,
            item_id="Q1_P54_2018",
            wording=wording,
            split="test",
            exact_match=float(right),
            text=f"said by {model}",
        )
    world.add("templama_queries", release="tl", query_id="Q1_P54_2018", query="Ada plays for _X_.", date="2018")
    found = [(title, lines) for title, _, lines in tables(world, "templama", "table-5")]
    assert found[0] == (
        "release tl, model b, beside a",
        [["Ada plays for _X_.", "2018", "said by a", "said by b"]],
    )
    assert [title for title, _ in found[1:]] == ["release tl, model c, beside a"]


def test_table_7_is_exp_of_nats_over_tokens():
    world = Trained()
    world.trained("plain", "uniform", 2018, 2019)
    world.trained("told", "temporal", 2018, 2019)
    world.add("fact_releases", release="tl", benchmark="templama")
    nats = {}
    for year in (2018, 2019, 2020):
        for subject in SUBJECTS[:3]:
            item = f"{subject}_P54_{year}"
            for variant in ("undated", "dated"):
                about = {"release": "tl", "split": "test", "target": "x"}
                world.prompt(
                    "templama", date(year, 1, 1), item, "Q9", f"{item} {variant}", subject, variant=variant, **about
                )
                for model in ("plain", "told"):
                    n = 1 + len(nats) % 4
                    nats[model, variant, year, subject] = value, n = 0.5 + len(nats) % 5, n
                    world.score(f"{item} {variant}", -value, model, SCORER, n)
    ((_, heads, lines),) = tables(world, "templama", "table-7")
    assert heads == ["regime", "model", "parameters", "scorer", "training", "later", "all years"]

    def perplexity(model, variant, years):
        own = [one for (who, how, year, _), one in nats.items() if (who, how) == (model, variant) and year in years]
        return f"{math.exp(sum(value for value, _ in own) / sum(n for _, n in own)):.2f}"

    assert lines == [
        [
            regime,
            model,
            "100",
            SCORER,
            *(perplexity(model, variant, years) for years in ({2018, 2019}, {2020}, {2018, 2019, 2020})),
        ]
        for regime, model, variant in (("uniform", "plain", "undated"), ("temporal", "told", "dated"))
    ]
