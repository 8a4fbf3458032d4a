import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tempkb.store.merge import merge_sorted, union_by_key

rows = st.lists(st.tuples(st.integers(0, 30), st.sampled_from("ab")), max_size=30, unique=True).map(sorted)


def pieces(some, size=4, tag=0):
    """A run: tables of a few rows each, in key order."""
    for at in range(0, len(some), size):
        part = some[at : at + size]
        yield pa.table(
            {
                "number": pa.array([number for number, _ in part], pa.int64()),
                "letter": pa.array([letter for _, letter in part], pa.string()),
                "tag": pa.array([tag] * len(part), pa.int64()),
            }
        )


def listed(tables):
    return [tuple(row.values()) for table in tables for row in table.to_pylist()]


@given(st.lists(rows, max_size=5))
def test_merging_sorted_runs_is_sorting(runs):
    merged = merge_sorted([pieces(run) for run in runs], ["number", "letter"])
    assert [row[:2] for row in listed(merged)] == sorted(row for run in runs for row in run)


@given(rows, rows, st.sampled_from(["old", "new"]))
def test_a_union_by_key_keeps_each_key_once(old, new, prefer):
    merged = listed(union_by_key(pieces(old, tag=1), pieces(new, 3, tag=2), ["number", "letter"], prefer))
    tags = dict.fromkeys(old, 1) | {row: 2 for row in new if prefer == "new" or row not in old}
    assert merged == [(*row, tags[row]) for row in sorted(tags)]
