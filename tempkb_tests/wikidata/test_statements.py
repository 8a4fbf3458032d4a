"""From qualifiers to stretches of days."""

import msgspec
import numpy as np
import pytest

from tempkb.wikidata.decoding import Qualifiers
from tempkb.wikidata.statements import earliest, intervals_of
from tempkb.wikidata.times import Precision, Span, read_time
from tempkb_tests.wikidata.items import time


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
