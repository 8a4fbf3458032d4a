import random
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tempkb.store import merge
from tempkb.store.merge import SortedRun, merge_sorted, union_by_key

KEY = ["number", "letter"]
keys = st.tuples(st.integers(0, 30), st.sampled_from(["a", "b", "é", "aa"]))
rows = st.lists(keys, max_size=30, unique=True).map(sorted)
# Within a run, too, a key may come more than once.
repeating = st.lists(st.tuples(st.integers(0, 4), st.sampled_from("ab")), max_size=12).map(sorted)
lumps = st.builds(
    lambda start, length: [(number, "a") for number in range(start, start + length)],
    st.integers(0, 200),
    st.sampled_from([0, 1, 2, 40]),
)


def pieces(some, size=4, tag=0):
    """Tables of a few rows each, in key order; the tag tells the run and the place of a row in it."""
    for at in range(0, len(some), size):
        part = some[at : at + size]
        yield pa.table(
            {
                "number": pa.array([number for number, _ in part], pa.int64()),
                "letter": pa.array([letter for _, letter in part], pa.string()),
                "tag": pa.array([1000 * tag + at + n for n in range(len(part))], pa.int64()),
            }
        )


def listed(tables):
    return [tuple(row.values()) for table in tables for row in table.to_pylist()]


def runs_of(lists, size=4):
    firsts = [some[0] if some else (15, "a") for some in lists]
    return [SortedRun(first, lambda n=number: pieces(lists[n], size, tag=n)) for number, first in enumerate(firsts)]


def sorted_plainly(lists):
    """The oracle: all rows in one list, sorted by key, run and place."""
    return sorted((*key, 1000 * number + at) for number, some in enumerate(lists) for at, key in enumerate(some))


@given(st.lists(st.one_of(rows, repeating, lumps), max_size=8), st.sampled_from([1, 3, 4, 100]))
def test_merging_is_sorting_and_equal_keys_come_in_the_order_of_their_runs(lists, size):
    """Runs apart, overlapping, one inside another, of one row and of none."""
    assert listed(merge_sorted(runs_of(lists, size), KEY)) == sorted_plainly(lists)


@given(st.lists(st.one_of(rows, lumps), max_size=6))
def test_pieces_are_passed_on_together_and_whole(lists):
    with mock.patch.object(merge, "_ROWS", 5):
        tables = list(merge_sorted(runs_of(lists), KEY))
    assert listed(tables) == sorted_plainly(lists)
    assert all(table.num_rows >= 5 for table in tables[:-1])
    assert all(column.num_chunks == 1 for table in tables for column in table.columns)


def watched(lists, size):
    """Runs that note which of them are open; the most that were open at once."""
    is_open, most = set(), [0]

    def reading(number):
        is_open.add(number)
        most[0] = max(most[0], len(is_open))
        yield from pieces(lists[number], size, tag=number)
        is_open.discard(number)

    return [SortedRun(some[0], lambda n=number: reading(n)) for number, some in enumerate(lists)], is_open, most


@given(st.lists(lumps.filter(bool), min_size=1, max_size=40), st.sampled_from([1, 3, 100]))
def test_a_run_is_opened_when_it_is_due_and_closed_when_it_is_used_up(lists, size):
    runs, is_open, most = watched(lists, size)
    assert listed(merge_sorted(runs, KEY)) == sorted_plainly(lists)
    assert not is_open
    edges = {key for some in lists for key in some}
    assert most[0] <= max(sum(some[0] <= key <= some[-1] for some in lists) for key in edges)


def test_nothing_is_opened_before_it_is_asked_for():
    runs, is_open, most = watched([[(n, "a")] for n in range(5000)], 1)
    merged = merge_sorted(runs, KEY)
    assert most == [0]
    assert next(merged).num_rows == 4096
    assert most == [1]
    assert len(is_open) <= 1


@pytest.mark.parametrize("kind", ["apart", "interleaved", "nested"])
def test_the_work_grows_with_the_runs_and_not_with_their_square(kind):
    """Reading a key is what a merge does all the time; 2,000 runs of five rows."""
    n = 2000
    shapes = {
        "apart": [[(5 * run + at, "a") for at in range(5)] for run in range(n)],
        "interleaved": [[(run + n * at, "a") for at in range(5)] for run in range(n)],
        "nested": [[(run + at if at < 4 else 2 * n - run + 4, "a") for at in range(5)] for run in range(n)],
    }
    lists = [sorted(set(some)) for some in shapes[kind]]
    random.Random(7).shuffle(lists)
    with mock.patch.object(merge, "_key_at", wraps=merge._key_at) as reads:
        merged = listed(merge_sorted(runs_of(lists, 100), KEY))
    assert merged == sorted_plainly(lists)
    assert reads.call_count < 12 * 5 * n


@given(rows, rows, st.sampled_from(["old", "new"]), st.sampled_from([1, 2, 50]))
def test_a_union_by_key_keeps_each_key_once(old, new, prefer, size):
    merged = listed(union_by_key(pieces(old, tag=1), pieces(new, size, tag=2), KEY, prefer))
    tags = {row: 1000 + at for at, row in enumerate(old)}
    for at, row in enumerate(new):
        if prefer == "new" or row not in tags:
            tags[row] = 2000 + at
    assert merged == [(*row, tags[row]) for row in sorted(tags)]


def test_a_few_new_rows_cost_no_more_than_passing_through_many_old_ones():
    """Of old tables without a new row in them nothing is looked at but their ends."""
    old = [(n, "a") for n in range(20_000)]
    new = [(n, "b") for n in range(19_000, 19_003)]
    with mock.patch.object(merge, "_key_at", wraps=merge._key_at) as reads:
        merged = listed(union_by_key(pieces(old, 100, tag=1), pieces(new, 1, tag=2), KEY, "old"))
    assert [row[:2] for row in merged] == sorted([*old, *new])
    assert reads.call_count < 2 * 200 + 100
