"""What models know of a window, from scores written by hand: levels, differences, verdicts, notes, ranks."""

import csv
import math
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from scipy.stats import t

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.results.answering import ModelScores, Question, Scored
from tempkb.results.knowing import known_of
from tempkb.results.plots import levels_figure
from tempkb.results.tabling import known_csv, known_latex, listings_of

AGGREGATES = {
    one.reading.aggregate.name: one.reading.aggregate for one in BENCHMARKS if one.reading and one.reading.aggregate
}
WINDOW, EARLIER = (date(2023, 1, 1), date(2024, 1, 1)), (date(2020, 1, 1), date(2021, 1, 1))


def cells_of(known):
    """The line of the table for people."""
    ((listing, rows),) = listings_of([known])
    (line,) = listing.sheet(rows).lines
    return line


def scored(values, clusters=None, first_item=0):
    n = len(values)
    return Scored(
        np.array(values, float),
        np.array(range(n) if clusters is None else clusters, np.uint64),
        np.arange(first_item, first_item + n).astype(np.uint64),
    )


def shares(n_true, n, first_item=0, n_controls=None):
    """Subjects with one change each; of the first ones the new object is preferred, or of their controls."""
    found = scored([1] * n_true + [0] * (n - n_true), first_item=first_item)
    controls = None if n_controls is None else np.array([1.0] * n_controls + [0.0] * (n - n_controls))
    return replace(found, controls=controls)


def model(name, window, earlier, *, scorer="causal.span_end-1.f32", tokenizer="t", n_unclean=0, certainly=None):
    about = {
        "model": name,
        "family": "causal",
        "tokenizer_sha256": tokenizer,
        "knows_certainly_until": certainly,
        "knows_possibly_until": certainly,
    }
    return ModelScores(about, scorer, window, earlier, 0, n_unclean)


def ask(*models, aggregate="prefers_new", first_day=date(2015, 1, 1), n_asked=60, n_earlier=60):
    asked = Question(AGGREGATES[aggregate], "r", WINDOW, EARLIER, False, n_asked, 0, n_earlier, first_day, models)
    return known_of([asked])


def test_a_difference_and_what_could_be_detected_are_those_of_the_formulas():
    # Forty subjects of each period with one change each: variances of the two shares add up.
    (found,) = ask(model("m", shares(10, 40, 100), scored([1] * 30 + [0] * 10, range(50, 90))))
    row = found.row()
    assert (row["value"], row["earlier_value"], row["difference"]) == (0.25, 0.75, -0.5)
    # psi of a subject: (value - share) / 40; eighty subjects in all, half of them on either side.
    error = math.sqrt(80 / 79 * (2 * (10 * 0.75**2 + 30 * 0.25**2) / 40**2))
    half = t.ppf(0.975, 39) * error
    assert (row["difference_low"], row["difference_high"]) == pytest.approx((-0.5 - half, -0.5 + half))
    assert row["detectable"] == pytest.approx((t.ppf(0.975, 39) + t.ppf(0.8, 39)) * error)
    assert (row["verdict"], row["note"], row["rank_from"]) == ("lower", None, None)


def test_intervals_end_where_no_more_is_possible():
    """Of 12 subjects 11 prefer the new object before and one does after: the difference is -10/12, and -1 the least."""
    (found,) = ask(model("m", shares(1, 12, 100), scored([1] * 11 + [0], range(50, 62))))
    error = math.sqrt(24 / 23 * 2 * (11 * (1 / 12) ** 2 + (11 / 12) ** 2)) / 12
    half = t.ppf(0.975, 11) * error
    assert -10 / 12 - half < -1
    row = found.row()
    assert (row["difference_low"], row["difference_high"]) == (-1, pytest.approx(-10 / 12 + half))
    # A perplexity is 1 at least: the mean of nats over entities is .5, of which one has all.
    window, earlier = scored([6.0] + [0.0] * 11), scored([1.0] * 6 + [2.0] * 6, range(50, 62))
    (found,) = ask(model("m", window, earlier), aggregate="ppl_entity_macro")
    half = t.ppf(0.975, 11) * math.sqrt(12 / 11 * (5.5**2 + 11 * 0.5**2)) / 12
    assert half > 0.5
    assert (found.row()["low"], found.row()["high"]) == (1, pytest.approx(math.exp(0.5 + half)))


def test_below_what_is_detectable_nothing_is_claimed_even_if_the_interval_is_beyond_zero():
    verdicts = {}
    for n_true in (10, 15, 18, 20, 22, 27, 35):
        (found,) = ask(model("m", shares(n_true, 40, 100), scored([1, 0] * 20, range(50, 90))))
        row = found.row()
        verdicts[n_true] = row["verdict"], not row["difference_low"] <= 0 <= row["difference_high"]
    assert verdicts == {
        10: ("inconclusive", True),
        15: ("inconclusive", False),
        18: ("inconclusive", False),
        20: ("inconclusive", False),
        22: ("inconclusive", False),
        27: ("inconclusive", False),
        35: ("higher", True),
    }


def test_a_perplexity_is_a_mean_over_entities_and_a_higher_one_is_less():
    # Two entities' items weigh as much as twenty others' single ones.
    window = scored([2.0, 4.0] + [3.0, 3.5] * 10, [0, 0, *range(1, 21)])
    earlier = scored([1.0, 1.5] * 10, range(100, 120), first_item=500)
    (found,) = ask(model("m", window, earlier), aggregate="ppl_entity_macro")
    row = found.row()
    level, before = (3 + 10 * 3 + 10 * 3.5) / 21, 1.25
    assert (row["n_items"], row["n_clusters"]) == (22, 21)
    assert row["value"] == pytest.approx(math.exp(level))
    assert row["earlier_value"] == pytest.approx(math.exp(before))
    assert row["difference"] == pytest.approx(math.exp(level - before))
    assert row["difference_low"] < row["difference"] < row["difference_high"]
    assert row["detectable"] > 1
    assert row["verdict"] == "lower"


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        (9.874, "9.87"),
        (99.96, "100"),
        (999.4, "999"),
        (999.7, "1000"),
        (1234.4, "1234"),
        (999_999.4, "999999"),
        (999_999.6, "1e+06"),
        (1.234e300, "1.23e+300"),
    ],
)
def test_perplexities_are_written_with_three_digits_and_below_a_million_without_powers(level, shown):
    (found,) = ask(model("m", scored([math.log(level)] * 9), scored([])), aggregate="ppl_entity_macro")
    assert cells_of(found)[4] == shown


def lost(nats):
    """A model that gives the texts of the window next to no probability, beside one that has learnt them."""
    earlier = scored([1.0, 1.5] * 10, range(100, 120), first_item=500)
    return ask(
        model("lost", scored(nats * 10), earlier),
        model("m", scored([1.0, 2.0] * 10), earlier),
        aggregate="ppl_entity_macro",
    )


def test_a_perplexity_that_no_number_holds_is_infinite_and_leaves_the_other_models_their_rows():
    odd, usual = lost([800.0, 3000.0])
    row = odd.row()
    assert [row[name] for name in ("value", "low", "high", "difference", "detectable")] == [math.inf] * 5
    assert (row["earlier_value"], row["verdict"]) == (pytest.approx(math.exp(1.25)), "lower")
    # Twenty entities, half with 1 and half with 1.5 nats.
    half = t.ppf(0.975, 19) * math.sqrt(20 / 19 * 20 * 0.25**2) / 20
    assert (row["earlier_low"], row["earlier_high"]) == pytest.approx((math.exp(1.25 - half), math.exp(1.25 + half)))
    assert cells_of(odd)[4:8] == ["inf [inf, inf]", "3.49 [3.1, 3.94]", "inf [inf, inf]", "inf"]
    assert usual.row()["value"] == pytest.approx(math.exp(1.5))
    assert [one.rank for one in (odd, usual)] == [(2, 2), (1, 1)]


def test_a_picture_of_levels_leaves_out_what_is_infinite():
    # The lower end of 750 ± 144 nats can be drawn, but not an interval without an upper one.
    known = lost([450.0, 1050.0])
    assert known[0].row()["low"] < known[0].row()["value"] == math.inf
    with levels_figure(known) as figure:
        (axis,) = figure.axes
        drawn = [(x, y) for line in axis.lines for x, y in line.get_xydata().tolist()]
        names = [label.get_text() for label in axis.get_yticklabels()]
        explained = [text.get_text() for text in axis.get_legend().get_texts()]
    assert names == ["lost", "m"]
    assert explained == ["lower", "inconclusive"]
    assert {y for _, y in drawn} == {0, 1}
    assert [x for x, y in drawn if y == 0] == [pytest.approx(math.exp(1.25))]
    assert all(math.isfinite(x) for x, _ in drawn)


@pytest.mark.parametrize(
    ("window", "earlier", "more", "note"),
    [
        (shares(3, 9), shares(20, 40), {}, "the items are about 9 subjects; an interval needs at least 10"),
        (shares(0, 0), shares(20, 40), {"n_unclean": 7}, "no item of the window is left"),
        (shares(0, 0), shares(20, 40), {}, "no item of the window has a score"),
        (
            shares(5, 20),
            shares(1, 4),
            {},
            "the items of the baseline window are about 4 subjects; an interval needs 10",
        ),
        (shares(5, 20), shares(0, 0), {}, "no item of the baseline window has a score"),
        (
            shares(5, 20),
            shares(0, 0),
            {"certainly": date(2020, 6, 1)},
            "its stated training cutoff is 2020-06-01, and the baseline window ends later",
        ),
    ],
)
def test_where_nothing_can_be_compared_a_sentence_says_why(window, earlier, more, note):
    (found,) = ask(model("m", window, earlier, **more))
    assert (found.verdict, found.note) == ("not compared", note)
    assert found.row()["detectable"] is None


def test_a_release_that_begins_too_late_is_named_as_the_reason():
    (found,) = ask(model("m", shares(5, 20), shares(0, 0)), first_day=date(2021, 1, 1), n_earlier=0)
    assert found.note == "the release begins on 2021-01-01, so that it has no item of the baseline window"
    assert found.row()["value"] == 0.25


def test_periods_without_items_are_told_apart_from_items_without_scores():
    (found,) = ask(model("m", shares(5, 20), shares(0, 0)), n_earlier=0)
    assert found.note == "the release has no item that lies wholly in the baseline window"
    (found,) = ask(model("m", shares(0, 0), shares(5, 20)), n_asked=0)
    assert found.note == "the release has no item that lies wholly in the window"


def test_a_model_with_two_scorers_has_rows_that_can_be_told_apart():
    half, full, other = (
        model(name, shares(5, 20), shares(9, 20), scorer=f"causal.span_end-1.{numbers}")
        for name, numbers in (("m", "bf16"), ("m", "f32"), ("n", "f32"))
    )
    assert [cells_of(one)[0] for one in ask(half, full, other)] == [
        "m causal.span_end-1.bf16",
        "m causal.span_end-1.f32",
        "n",
    ]


def test_models_are_ranked_by_their_differences_on_items_that_two_share():
    # By levels low would be last; of what it knew earlier it has lost nothing, and high has lost all that it had more.
    earlier_low, earlier_high = scored([0, 0, 0, 1] * 15, range(60), 900), scored([1, 1, 1, 1] * 15, range(60), 900)
    window = [0, 0, 0, 1] * 15
    low = model("low", scored(window, range(60)), earlier_low)
    high = model("high", scored(window, range(60)), earlier_high)
    ranks = {one.scores.model["model"]: one.rank for one in ask(low, high)}
    assert ranks == {"low": (1, 1), "high": (2, 2)}


def three(n_controls, aggregate="prefers_new"):
    """Two trained models, which lose a little and much of what they knew, and one that knew nothing and loses nothing."""
    window = [shares(n, 60, 100) for n in (50, 10, 30)]
    earlier = [shares(58, 60, 900, 31), shares(56, 60, 900, 28), shares(30, 60, 900, n_controls)]
    names = ("loses little", "loses much", "untrained")
    models = (model(name, now, before) for name, now, before in zip(names, window, earlier, strict=True))
    return {one.scores.model["model"]: one for one in ask(*models, aggregate=aggregate)}


def test_a_model_that_knew_no_more_than_its_controls_has_no_rank_and_the_others_are_ranked_among_themselves():
    known = three(n_controls=27)
    assert {name: (one.rank, one.n_ranked) for name, one in known.items()} == {
        "loses little": ((1, 1), 2),
        "loses much": ((2, 2), 2),
        "untrained": (None, 0),
    }
    # 30 of 60: the error is the root of 60/59 * 60 * 0.5^2 / 60^2 = 0.0651, and t with 59 degrees is 2.001.
    row = known["untrained"].row()
    assert (row["earlier_value"], row["earlier_control"]) == (0.5, 0.45)
    assert (row["earlier_low"], row["earlier_high"]) == pytest.approx((0.3698, 0.6302), abs=1e-4)
    note = "its baseline, 50 % [37, 63], is not clearly above that of the controls, 45 %"
    assert row["rank_note"] == note
    assert (row["rank_from"], row["rank_to"]) == (None, None)
    assert {one.row()["rank_note"] for name, one in known.items() if name != "untrained"} == {None}
    assert [cells_of(one)[8] for one in known.values()] == ["1 of 2", "2 of 2", "not ranked"]
    assert cells_of(known["untrained"])[5] == "50 [37, 63]"
    assert "& 50 [37, 63] &" in known_latex(list(known.values()))
    assert "& not ranked &" in known_latex(list(known.values()))
    written = list(csv.DictReader(known_csv(list(known.values())).splitlines()))
    assert [(one["rank_from"], one["rank_note"]) for one in written] == [("1", ""), ("2", ""), ("", note)]


@pytest.mark.parametrize(("n_controls", "is_ranked"), [(20, True), (22, True), (23, False), (37, False), (40, False)])
def test_a_model_is_ranked_if_its_interval_lies_above_its_controls(n_controls, is_ranked):
    # [37.0, 63.0] is above 33.3 and 36.7 %, contains 38.3 and 61.7 %, and is below 66.7 %.
    known = three(n_controls)
    assert (known["untrained"].rank is not None) == is_ranked
    assert known["loses much"].n_ranked == 2 + is_ranked


def test_without_controls_or_an_interval_or_of_perplexities_nothing_is_said_against_a_rank():
    assert {one.rank_note for one in three(None).values()} == {""}
    assert {one.control for one in three(None).values()} == {31 / 60, 28 / 60, None}
    no_control = replace(shares(30, 60, 900), controls=np.full(60, np.nan))
    (found,) = ask(model("m", shares(30, 60, 100), no_control))
    assert (found.control, found.rank_note) == (None, "")
    (few,) = ask(model("m", shares(30, 60, 100), shares(4, 8, 900, 4)))
    assert (few.control, few.rank_note, few.row()["earlier_low"]) == (0.5, "", None)
    (perplexity,) = ask(model("m", scored([1.0, 2.0] * 10), scored([1.0, 1.5] * 10)), aggregate="ppl_entity_macro")
    assert (perplexity.control, perplexity.rank_note) == (None, "")


def test_controls_count_only_where_there_are_some():
    earlier = replace(shares(30, 60, 900), controls=np.array([1.0, 0.0, 0.0, np.nan] * 15))
    (found,) = ask(model("m", shares(30, 60, 100), earlier))
    assert found.control == pytest.approx(1 / 3)


def test_without_an_earlier_level_models_are_ranked_by_levels_and_near_ones_tie():
    good, near, bad = (
        model(name, scored(values, range(60)), shares(0, 0))
        for name, values in (
            ("good", [1] * 60),
            ("near", [0] + [1] * 59),
            ("bad", [0, 1] * 30),
        )
    )
    ranks = {one.scores.model["model"]: (one.rank, one.n_ranked) for one in ask(good, near, bad)}
    assert ranks == {"good": ((1, 2), 3), "near": ((1, 2), 3), "bad": ((3, 3), 3)}


def test_only_models_with_one_scorer_are_ranked_and_of_perplexities_with_one_tokenizer():
    def two(**more):
        return (
            model("a", scored([1.0, 2.0] * 10), shares(0, 0)),
            model("b", scored([2.0, 4.0] * 10), shares(0, 0), **more),
        )

    assert [one.rank for one in ask(*two(scorer="masked.answer_l2r-1.f32"), aggregate="ppl_entity_macro")] == [
        None,
        None,
    ]
    assert [one.rank for one in ask(*two(tokenizer="other"), aggregate="ppl_entity_macro")] == [None, None]
    assert [one.rank for one in ask(*two(), aggregate="ppl_entity_macro")] == [(1, 1), (2, 2)]


def test_where_all_subjects_agree_there_is_no_interval_and_a_sentence_says_so():
    (found,) = ask(model("m", shares(20, 20, 100), scored([1] * 20, range(50, 70))))
    assert found.verdict == "not compared"
    assert found.note.startswith("all 20 clusters agree exactly")
