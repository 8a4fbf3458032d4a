"""From qualifiers to stretches of days.

Time values of the real files, and others, with their days counted by hand or by Python's calendar.
"""

from datetime import date

import msgspec
import numpy as np
import pytest

from tempkb.wiki.wikidata.decoding import Qualifiers
from tempkb.wiki.wikidata.statements import JULIAN, Precision, Span, TimeError, earliest, intervals_of, read_time
from tempkb_tests.wiki.wikidata.items import time


def told(start=(), end=(), point=()):
    """Stretches as texts: possible from, possible to, certain from, certain to, kinds."""
    given = {"P580": start, "P582": end, "P585": point}
    qualifiers = {name: [time(one) for one in texts] for name, texts in given.items() if texts}
    read = msgspec.json.decode(msgspec.json.encode(qualifiers), type=Qualifiers)
    unreadable: list[str] = []
    return [
        (
            *(
                None if day is None else str(np.datetime64(day, "D"))
                for day in (one.valid_from, one.valid_to, one.certain_from, one.certain_to)
            ),
            one.start.kind,
            one.end.kind,
        )
        for one in intervals_of(read, unreadable)
    ]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        # The last day counts: it ended on some day of 2020, the earliest being 1 January.
        (
            {"start": ["2019-05-03"], "end": ["2020"]},
            [("2019-05-03", "2021-01-01", "2019-05-03", "2020-01-02", "value", "value")],
        ),
        (
            {"start": ["2019"], "end": ["2020-02-29"]},
            [("2019-01-01", "2020-03-01", "2019-12-31", "2020-03-01", "value", "value")],
        ),
        ({"start": ["2019-05"]}, [("2019-05-01", None, "2019-05-31", None, "value", "absent")]),
        ({"end": ["2019-05"]}, [(None, "2019-06-01", None, "2019-05-02", "absent", "value")]),
        ({"start": ["2019"], "end": ["somevalue"]}, [("2019-01-01", None, "2019-12-31", None, "value", "somevalue")]),
        ({"start": ["2019"], "end": ["novalue"]}, [("2019-01-01", None, "2019-12-31", None, "value", "novalue")]),
        ({"start": ["somevalue"], "end": ["2019"]}, [(None, "2020-01-01", None, "2019-01-02", "somevalue", "value")]),
        # A point in time is a day of the stretch, and counts only by itself.
        ({"point": ["2019"]}, [("2019-01-01", "2020-01-01", "2019-12-31", "2019-01-02", "value", "value")]),
        ({"point": ["2019"], "end": ["2020"]}, [(None, "2021-01-01", None, "2020-01-02", "absent", "value")]),
        # Two starts and two ends are two stretches, however they are written down.
        (
            {"start": ["2015", "2010"], "end": ["2012", "2017"]},
            [
                ("2010-01-01", "2013-01-01", "2010-12-31", "2012-01-02", "value", "value"),
                ("2015-01-01", "2018-01-01", "2015-12-31", "2017-01-02", "value", "value"),
            ],
        ),
        # Two starts, one end: the first ended before the second began, nobody knows when.
        (
            {"start": ["2010", "2015"], "end": ["2017"]},
            [
                ("2010-01-01", "2016-01-01", "2010-12-31", None, "value", "somevalue"),
                ("2015-01-01", "2018-01-01", "2015-12-31", "2017-01-02", "value", "value"),
            ],
        ),
        # One start, two ends: of what ended second nobody knows the start.
        (
            {"start": ["2010"], "end": ["2012", "2017"]},
            [
                ("2010-01-01", "2013-01-01", "2010-12-31", "2012-01-02", "value", "value"),
                (None, "2018-01-01", None, "2017-01-02", "absent", "value"),
            ],
        ),
        # The same date twice is one date.
        ({"start": ["2010", "2010"]}, [("2010-01-01", None, "2010-12-31", None, "value", "absent")]),
        # A start after the end is kept as it is said; who uses it decides.
        (
            {"start": ["2012"], "end": ["2010"]},
            [("2012-01-01", "2011-01-01", "2012-12-31", "2010-01-02", "value", "value")],
        ),
    ],
    ids=str,
)
def test_qualifiers_tell_stretches(given, expected):
    assert told(**given) == expected


def test_a_date_that_cannot_be_read_is_no_absent_one():
    bad = {"P580": [time("-13798000000-00-00T00:00:00Z", 3)]}
    read = msgspec.json.decode(msgspec.json.encode(bad), type=Qualifiers)
    unreadable: list[str] = []
    (one,) = intervals_of(read, unreadable)
    assert (one.start.kind, one.end.kind, one.valid_from) == ("unreadable", "absent", None)
    assert unreadable == ["-13798000000-00-00T00:00:00Z of precision 3: coarser than a century"]


def test_the_earliest_date_is_the_finest_of_those_that_may_be_first():
    year, day = read_time("+2020-00-00T00:00:00Z", 9), read_time("+2020-05-03T00:00:00Z", 11)
    month = read_time("+2019-12-00T00:00:00Z", 10)
    assert earliest([(year, "P571"), (day, "P580")]) == (day, "P580")
    assert earliest([(year, "P571"), (day, "P580"), (month, "P575")]) == (month, "P575")
    assert earliest([(day, "P580"), (day, "P571")]) == (day, "P571")
    assert earliest([]) is None
    assert year == Span(18_262, 18_628, Precision.YEAR)


# The first eight stand in real dumps of 2014 and 2017.
CASES = [
    ("+1999-01-01T00:00:00Z", 11, "1999-01-01", "1999-01-02", "DAY"),
    ("+00000001952-03-11T00:00:00Z", 11, "1952-03-11", "1952-03-12", "DAY"),
    ("+2002-07-00T00:00:00Z", 10, "2002-07-01", "2002-08-01", "MONTH"),
    ("+00000002017-05-01T00:00:00Z", 10, "2017-05-01", "2017-06-01", "MONTH"),
    ("+1830-01-01T00:00:00Z", 9, "1830-01-01", "1831-01-01", "YEAR"),
    ("+0730-00-00T00:00:00Z", 8, "0730-01-01", "0740-01-01", "DECADE"),
    ("+0500-00-00T00:00:00Z", 7, "0401-01-01", "0501-01-01", "CENTURY"),
    # 27 BCE is astronomers' year -26.
    ("-0027-00-00T00:00:00Z", 9, "-0026-01-01", "-0025-01-01", "YEAR"),
    ("-0001-00-00T00:00:00Z", 9, "0000-01-01", "0001-01-01", "YEAR"),
    # The 50s BCE are 59 to 50 BCE; the first century BCE 100 to 1 BCE.
    ("-0050-00-00T00:00:00Z", 8, "-0058-01-01", "-0048-01-01", "DECADE"),
    ("-0050-00-00T00:00:00Z", 7, "-0099-01-01", "0001-01-01", "CENTURY"),
    # There is no year 0: the first decade of the common era is the years 1 to 9, and the last before it 9 to 1 BCE.
    ("+0005-00-00T00:00:00Z", 8, "0001-01-01", "0010-01-01", "DECADE"),
    ("-0005-00-00T00:00:00Z", 8, "-0008-01-01", "0001-01-01", "DECADE"),
    ("+2000-00-00T00:00:00Z", 7, "1901-01-01", "2001-01-01", "CENTURY"),
    ("+2001-00-00T00:00:00Z", 7, "2001-01-01", "2101-01-01", "CENTURY"),
    ("+2012-12-00T00:00:00Z", 10, "2012-12-01", "2013-01-01", "MONTH"),
    ("+2020-02-29T00:00:00Z", 11, "2020-02-29", "2020-03-01", "DAY"),
    # A precision that promises more than is given.
    ("+2019-00-00T00:00:00Z", 11, "2019-01-01", "2020-01-01", "YEAR"),
    ("+2019-05-00T00:00:00Z", 11, "2019-05-01", "2019-06-01", "MONTH"),
    ("+2019-05-03T14:30:00Z", 14, "2019-05-03", "2019-05-04", "DAY"),
]


def days(text):
    """Days since 1970-01-01 as NumPy counts them; 1 BCE is the year 0000."""
    return int(np.datetime64(text, "D").astype(int))


@pytest.mark.parametrize(("time", "precision", "first", "end", "level"), CASES)
def test_times_are_stretches_of_days(time, precision, first, end, level):
    span = read_time(time, precision)
    assert (span.first, span.end, span.precision) == (days(first), days(end), Precision[level])


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        # The day after 4 October 1582 was 15 October; the October Revolution began on 7 November.
        ("+1582-10-05T00:00:00Z", "1582-10-15"),
        ("+1917-10-25T00:00:00Z", "1917-11-07"),
        # Leap days that the Gregorian calendar left out.
        ("+1700-02-29T00:00:00Z", "1700-03-11"),
        # The Ides of March of 44 BCE.
        ("-0044-03-15T00:00:00Z", "-0043-03-13"),
    ],
)
def test_days_of_the_julian_calendar_are_converted(time, expected):
    assert read_time(time, 11, f"http://www.wikidata.org/entity/{JULIAN}").first == days(expected)


def test_years_of_the_julian_calendar_stay_years():
    assert read_time("+1500-00-00T00:00:00Z", 9, JULIAN).first == days("1500-01-01")


@pytest.mark.parametrize(
    ("time", "precision", "why"),
    [
        ("-13798000000-00-00T00:00:00Z", 3, "coarser than a century"),
        ("+9000000-00-00T00:00:00Z", 9, "out of range"),
        ("+2019-02-30T00:00:00Z", 11, "2019-02-30 is no date"),
        ("+1900-02-29T00:00:00Z", 11, "1900-02-29 is no date"),
        ("+2019-13-01T00:00:00Z", 11, "is no date"),
        ("2019-01-01T00:00:00Z", 11, "is no time of Wikidata"),
        ("+2019", 9, "is no time of Wikidata"),
        # More digits than Python reads as a number.
        (f"+{'9' * 5_000}-01-01T00:00:00Z", 11, "is no time of Wikidata"),
        (f"+2019-01-{'0' * 5_000}T00:00:00Z", 11, "is no time of Wikidata"),
        ("", 9, "is no time of Wikidata"),
        ("+２０19-01-01T00:00:00Z", 11, "is no time of Wikidata"),
    ],
)
def test_what_names_no_day_is_refused(time, precision, why):
    with pytest.raises(TimeError, match=why):
        read_time(time, precision)


def test_every_day_of_eight_centuries_is_counted_as_python_counts():
    epoch = date(1970, 1, 1).toordinal()
    for ordinal in range(date(1600, 1, 1).toordinal(), date(2400, 1, 1).toordinal(), 13):
        day = date.fromordinal(ordinal)
        assert read_time(f"+{day:%Y-%m-%d}T00:00:00Z", 11).first == ordinal - epoch
