"""Designs: presets, snapshots as people write them, and what is refused."""

from datetime import date

import pytest

from tempkb.benchmarks.register import default_name
from tempkb.benchmarks.tempel.design import (
    PRESETS,
    Design,
    make_design,
    read_snapshots,
)
from tempkb.core.errors import DesignError, SettingsError

YEARS = read_snapshots("2013-01-01..2022-01-01/yearly")


def test_the_paper_preset_has_the_values_of_table_3():
    design = make_design("paper", YEARS)
    assert len(design.snapshots) == 10
    assert (design.nr_ct_ents_per_cut, design.min_mens_per_ent, design.min_men_prior) == (10_000, 1, 0.0001)
    assert (design.min_men_prior_rank, design.min_ent_prior, design.max_ent_prior) == (2, 0.0, 1.0)
    assert (design.min_nr_inlinks, design.min_len_target_ent, design.max_mens_per_ent) == (10, 10, (500, 10, 10))
    assert (design.ed_men_title, design.ed_men_subsets, design.stable_interval) == (0.2, 0.2, 2_592_000)
    assert design.equal_snapshots is True
    # The code's own: 1.0 where the paper prints 0.5, three surfaces, and new since 2012 at the first snapshot.
    assert (design.max_men_prior, design.min_nr_distinct_mentions_per_entity) == (1.0, 3)
    assert design.new_since(date(2013, 1, 1)) == date(2012, 1, 1)
    assert make_design("tempkb", YEARS).max_men_prior == 0.5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2021-01-01", ["2021-01-01"]),
        ("2022-01-01, 2021-01-01", ["2021-01-01", "2022-01-01"]),
        ("2013-01-01T00:00:00Z,2014-01-01T00:00:00Z", ["2013-01-01", "2014-01-01"]),
        ("2021-01-01..2021-07-01/quarterly", ["2021-01-01", "2021-04-01", "2021-07-01"]),
        ("2021-01-01..2021-03-01/monthly", ["2021-01-01", "2021-02-01", "2021-03-01"]),
        ("2021-01-04..2021-01-18/weekly", ["2021-01-04", "2021-01-11", "2021-01-18"]),
        ("2021-01-01..2021-01-21/864000", ["2021-01-01", "2021-01-11", "2021-01-21"]),
    ],
)
def test_snapshots_are_days_or_a_span(text, expected):
    assert [day.isoformat() for day in read_snapshots(text)] == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("yesterday", "expected days, as 2013-01-01,2014-01-01"),
        ("2021-01-01..2022-01-01/hourly", "the interval is 'hourly'; expected weekly, monthly"),
        ("2021-01-05..2022-01-01/yearly", "no year begins on 2021-01-05"),
        ("2022-01-01..2021-01-01/yearly", "2021-01-01 lies before 2022-01-01; expected the first day, then the last"),
        ("2021-01-01..2021-02-01/1000", "seconds that make whole days"),
        # Spans that cannot be read; the first day alone would be another study.
        ("2013-01-01..2022-01-01", "found '2013-01-01..2022-01-01'; expected days"),
        ("2013-01-01..2022-01-01/half-yearly", "expected days, as 2013-01-01,2014-01-01"),
        ("2013-01-01 .. 2022-01-01/yearly", "expected days, as 2013-01-01,2014-01-01"),
        ("2013-01-01/yearly", "expected days, as 2013-01-01,2014-01-01"),
        ("2013-01-01-2022", "expected days, as 2013-01-01,2014-01-01"),
        ("2013-01-01T12:00:00Z", "expected days, as 2013-01-01,2014-01-01"),
    ],
)
def test_odd_snapshots_are_refused_in_words(text, words):
    with pytest.raises(DesignError, match=words):
        read_snapshots(text)


def test_snapshots_up_to_a_window_that_no_day_ends_are_refused():
    with pytest.raises(SettingsError, match="window 9999-01-01: it ends after 9999-12-31"):
        read_snapshots("2021-01-01..9999-12-31/yearly")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"min_inlinks": "3"}, "min_inlinks: no such part of a design; did you mean min_nr_inlinks"),
        ({"min_nr_inlinks": "many"}, "min_nr_inlinks: found 'many'; expected a whole number"),
        ({"max_mens_per_ent": "5,5"}, "max_mens_per_ent: found '5,5'; expected three numbers from 1 on, as 500,10,10"),
        ({"ed_men_title": "2"}, "ed_men_title: found '2'; expected a number from 0 to 1"),
        ({"nr_ct_ents_per_cut": "0"}, "nr_ct_ents_per_cut: found '0'; expected a whole number from 1 on"),
        ({"rules": "mine"}, "rules: found 'mine'; expected tempkb or paper"),
        ({"first_cut_from": "2014-01-01"}, "expected a day before the first snapshot 2013-01-01"),
    ],
)
def test_odd_values_are_refused_in_words(changes, words):
    with pytest.raises(DesignError, match=words):
        make_design("tempkb", YEARS, changes)


def test_changes_are_read_by_their_kind_and_kept_in_json():
    changes = {
        "min_nr_inlinks": "5",
        "ed_men_title": "0.3",
        "equal_snapshots": "false",
        "max_mens_per_ent": "50/5/5",
        "first_cut_from": "2010-01-01",
        "rules": "paper",
    }
    design = make_design("small", YEARS, changes)
    assert (design.min_nr_inlinks, design.ed_men_title, design.equal_snapshots) == (5, 0.3, False)
    assert (design.max_mens_per_ent, design.first_cut_from, design.rules) == ((50, 5, 5), date(2010, 1, 1), "paper")
    assert Design.from_json(design.to_json()) == design


def test_the_name_tells_the_span_and_changes_with_the_design():
    names = {default_name("tempel", make_design(preset, YEARS)) for preset in PRESETS}
    assert len(names) == 3
    assert all(name.startswith("tempel-20130101-20220101-") for name in names)


def test_new_means_since_the_snapshot_before_or_one_interval_before_the_first():
    design = Design((date(2021, 4, 1), date(2021, 7, 1), date(2022, 7, 1)))
    assert [design.new_since(cut) for cut in design.snapshots] == [date(2021, 1, 1), date(2021, 4, 1), date(2021, 7, 1)]


@pytest.mark.parametrize(
    ("first", "second", "since"),
    [
        # Twenty months before is November, which has 30 days.
        (date(2023, 7, 31), date(2025, 3, 31), date(2021, 11, 30)),
        (date(2023, 3, 29), date(2023, 4, 29), date(2023, 2, 28)),
        # 1900 was no leap year.
        (date(1904, 2, 29), date(1908, 2, 29), date(1900, 2, 28)),
        (date(2023, 12, 25), date(2024, 12, 25), date(2022, 12, 25)),
    ],
)
def test_an_interval_before_the_first_snapshot_ends_with_the_month(first, second, since):
    assert Design((first, second)).new_since(first) == since
