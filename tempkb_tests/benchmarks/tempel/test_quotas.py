"""Equal snapshots: stories by hand and laws."""

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from tempkb.benchmarks.tempel.quotas import equalise, fill_to, lower_to, ranked

CUTS = [date(2021 + year, 1, 1) for year in range(3)]


def test_the_poorest_snapshot_is_left_alone_and_the_others_come_down_to_it():
    counts = {CUTS[0]: {1: 5, 2: 3}, CUTS[1]: {1: 2, 2: 2}, CUTS[2]: {1: 2, 2: 9}}
    level = equalise(counts, 1, "train")
    assert level[CUTS[1]] == {1: 2, 2: 2}
    assert [sum(own.values()) for own in level.values()] == [4, 4, 4]
    # By rank: the entity with most may lose down to 2, the other down to 2, so both end there.
    assert level[CUTS[0]] == {1: 2, 2: 2}
    assert level[CUTS[2]] == {1: 2, 2: 2}


def test_ranks_are_compared_not_entities():
    assert lower_to({1: 1, 2: 9}, [6, 1], 1, "test", CUTS[0]) == {1: 1, 2: 6}


def test_an_extension_gives_to_others_what_one_lacks():
    filled = fill_to({1: 3, 2: 9}, [6, 5], 1, "train", CUTS[0])
    # Two is first by rank and gets six; one has but three of five, so two gets the other two.
    assert filled == {1: 3, 2: 8}
    assert fill_to({1: 1}, [6, 5], 1, "train", CUTS[0]) == {1: 1}


counts = st.integers(1, 6).flatmap(
    lambda n: st.lists(
        st.lists(st.integers(1, 12), min_size=n, max_size=n).map(lambda values: dict(enumerate(values))),
        min_size=1,
        max_size=3,
    )
)


@given(counts, st.integers(0, 3))
def test_sums_are_equal_and_nobody_falls_below_the_smaller_of_the_two_ranks(rows, seed):
    by_cut = dict(zip(CUTS, rows, strict=False))
    level = equalise(by_cut, seed, "train")
    least = min(sum(own.values()) for own in rows)
    poorest = min(by_cut, key=lambda cut: (sum(by_cut[cut].values()), cut))
    curve = sorted(by_cut[poorest].values(), reverse=True)
    for cut, own in by_cut.items():
        assert sum(level[cut].values()) == least
        for rank, page in enumerate(ranked(own, seed)):
            assert min(own[page], curve[rank]) <= level[cut][page] <= own[page]
