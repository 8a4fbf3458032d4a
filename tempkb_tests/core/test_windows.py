from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tempkb.core.errors import DesignError, SettingsError
from tempkb.core.windows import (
    Granularity,
    parse_day,
    parse_range,
    refuse_future_cuts,
    refuse_unended,
    window_ending,
    window_of,
    window_of_key,
    windows_between,
    windows_until,
)

days = st.dates(date(1999, 1, 1), date(2060, 12, 31))
granularities = st.sampled_from(Granularity)


@pytest.mark.parametrize(
    ("granularity", "key", "cut", "label"),
    [
        (Granularity.WEEK, "2021-11-01", "2021-11-08", "2021-W44"),
        (Granularity.MONTH, "2021-11-01", "2021-12-01", "2021-11"),
        (Granularity.QUARTER, "2021-10-01", "2022-01-01", "2021-Q4"),
        (Granularity.YEAR, "2021-01-01", "2022-01-01", "2021"),
    ],
)
def test_the_window_around_a_day_in_november(granularity, key, cut, label):
    window = window_of(date(2021, 11, 5), granularity)
    assert (window.key, window.cut.isoformat(), window.label) == (key, cut, label)


@given(days, granularities)
def test_windows_tile_time_without_gap_or_overlap(day, granularity):
    window = window_of(day, granularity)
    assert window.start <= day < window.end
    assert window_of(window.end, granularity).start == window.end
    assert window_of(window.start - timedelta(days=1), granularity).end == window.start


@given(days, granularities)
def test_a_cut_belongs_to_exactly_one_window(day, granularity):
    cut = window_of(day, granularity).cut
    nearby = list(windows_between(cut - timedelta(days=800), cut + timedelta(days=800), granularity))
    assert [window.cut for window in nearby].count(cut) == 1
    midnight = datetime(cut.year, cut.month, cut.day, tzinfo=UTC)
    assert [window.start for window in nearby if midnight in window] == [cut]


@given(days, days, granularities)
def test_windows_between_are_those_whose_start_lies_there(one, other, granularity):
    first, last = min(one, other), max(one, other)
    starts = [window.start for window in windows_between(first, min(last, first + timedelta(days=900)), granularity)]
    expected, day = [], first
    while day < min(last, first + timedelta(days=900)):
        if window_of(day, granularity).start == day:
            expected.append(day)
        day += timedelta(days=1)
    assert starts == expected


def test_windows_until_a_horizon_end_by_it():
    keys = [window.key for window in windows_until(date(2021, 1, 1), date(2021, 10, 1), Granularity.QUARTER)]
    assert keys == ["2021-01-01", "2021-04-01", "2021-07-01"]
    assert windows_until(date(2021, 1, 1), date(2021, 3, 31), Granularity.QUARTER) == []


@pytest.mark.parametrize(
    "text", ["2021", "2021-01-01", "2021-01-01..", "2021-01-01..2021-01-01", "2022-01-01..2021-01-01"]
)
def test_a_bad_range_is_refused(text):
    with pytest.raises(SettingsError, match="window '"):
        parse_range(text)


@pytest.mark.parametrize(
    ("granularity", "key"),
    [
        (Granularity.WEEK, "9999-12-27"),
        (Granularity.MONTH, "9999-12-01"),
        (Granularity.QUARTER, "9999-10-01"),
        (Granularity.YEAR, "9999-01-01"),
    ],
)
def test_a_window_that_no_day_ends_is_refused(granularity, key):
    with pytest.raises(SettingsError) as refused:
        list(windows_between(*parse_range("9998-12-01..9999-12-31"), granularity))
    assert str(refused.value) == (
        f"window {key}: it ends after 9999-12-31, the last day that a date can be; expected an earlier window"
    )
    before = window_of(date.fromisoformat(key) - timedelta(days=1), granularity)
    assert before.cut == date.fromisoformat(key)
    assert list(windows_between(before.start, before.cut, granularity)) == [before]


def test_windows_of_the_future_are_refused_with_what_to_type():
    today = date(2026, 11, 22)
    of_2026 = list(windows_between(date(2026, 1, 1), date(2027, 1, 1), Granularity.QUARTER))
    of_2030 = list(windows_between(date(2030, 1, 1), date(2031, 1, 1), Granularity.YEAR))
    refuse_unended("--window", of_2026[:3], today, "")
    with pytest.raises(SettingsError) as refused:
        refuse_unended("--window 2026-01-01..2027-01-01", of_2026, today, "--window {first}..{end}")
    assert str(refused.value) == (
        "--window 2026-01-01..2027-01-01: 2026-Q4 has not ended yet, it ends on 2027-01-01, and today is 2026-11-22. "
        "The newest window that has ended is 2026-Q3; type --window 2026-01-01..2026-10-01"
    )
    with pytest.raises(SettingsError, match=r"2030 has not ended yet.* is 2025; type 2025-01-01\.\.2026-01-01$"):
        refuse_unended("2030", of_2030, today, "{first}..{end}")
    refuse_future_cuts("x", [date(2026, 10, 1)], today, Granularity.QUARTER)
    cuts = [date(2025, 1, 1), date(2026, 1, 1), date(2027, 1, 1)]
    with pytest.raises(
        SettingsError,
        match=r"^snapshots x: 2027-01-01 has not come yet, today is 2026-11-22\. The newest cut that can be built is "
        r"2026-10-01; type 2025-01-01,2026-01-01$",
    ):
        refuse_future_cuts("snapshots x", cuts, today, Granularity.QUARTER)


def test_a_day_that_begins_no_window_is_refused():
    with pytest.raises(SettingsError, match="no quarter begins on that day; .* begins on 2021-01-01"):
        window_of_key("2021-02-01", Granularity.QUARTER)
    with pytest.raises(SettingsError, match="expected YYYY-MM-DD"):
        window_of_key("2021-13-01", Granularity.QUARTER)


def test_a_cut_must_end_a_window_of_the_home():
    assert window_ending(date(2022, 1, 1), Granularity.QUARTER).key == "2021-10-01"
    with pytest.raises(DesignError, match="cut 2022-02-01: no quarter of the home ends there; .* as 2022-04-01"):
        window_ending(date(2022, 2, 1), Granularity.QUARTER)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2021-10-1", "day '2021-10-1': expected YYYY-MM-DD, such as 2021-01-31"),
        ("2021-13-01", "day '2021-13-01': expected YYYY-MM-DD, such as 2021-01-31 (month must be in 1..12)"),
    ],
)
def test_a_day_that_is_none_is_told_in_our_words(text, words):
    with pytest.raises(SettingsError) as refused:
        parse_day(text)
    assert str(refused.value) == words
