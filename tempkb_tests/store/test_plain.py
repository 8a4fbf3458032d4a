"""Days and instants as Python values, with and without nulls, in slices of arrays."""

from datetime import UTC, date, datetime

import pyarrow as pa
import pytest

from tempkb.store.plain import plain_values

# The day before year 1, and the first day of year 10000, in days since 1970-01-01.
BEFORE, BEHIND = -719_163, 2_932_897
A_DAY = date(2021, 3, 4)


def days(*values):
    return pa.array(values, pa.int32()).cast(pa.date32())


@pytest.mark.parametrize(
    ("array", "values"),
    [
        (pa.array([A_DAY, None], pa.date32()), [A_DAY, None]),
        (pa.array([None, None], pa.date32()), [None, None]),
        (pa.array([], pa.date32()), []),
        (days(None, BEFORE), [None, "0000-12-31"]),
        (days(BEHIND, None, 0), ["10000-01-01", None, "1970-01-01"]),
        (days(BEFORE, None, 0)[1:], [None, date(1970, 1, 1)]),
        (days(BEFORE, *[None] * 9, BEHIND, 0)[9:], [None, "10000-01-01", "1970-01-01"]),
        (days(BEFORE, *[None] * 9, BEHIND, 0)[11:], [date(1970, 1, 1)]),
        (pa.array([datetime(2021, 3, 4, 5, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
         [datetime(2021, 3, 4, 5, tzinfo=UTC), None]),
        (pa.array([None, BEFORE * 86_400_000_000], pa.int64()).cast(pa.timestamp("us")), [None, "0000-12-31 00:00:00"]),
    ],
)  # fmt: skip
def test_a_column_is_text_only_where_a_day_that_is_there_is_beyond_pythons(array, values):
    assert plain_values(array) == values
