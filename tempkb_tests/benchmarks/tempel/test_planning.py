"""Equal snapshots: stories by hand and laws.

Sharing surfaces among subsets: stories by hand and the law that near surfaces never part.
"""

from datetime import date
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tempkb.benchmarks.tempel.design import make_design
from tempkb.benchmarks.tempel.planning import (
    Surface,
    equalise,
    fill_to,
    lower_to,
    near_groups,
    ranked,
    split_entity,
    split_greedily,
    split_surfaces,
)
from tempkb.benchmarks.tempel.similarity import normalised_distance

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


A, B = date(2021, 1, 1), date(2022, 1, 1)
BOTH = frozenset((A, B))


def test_groups_are_linked_through_others():
    # host-hosts 1/5, hosts-hostes 1/6; host-hostes 2/6 only through hosts.
    assert near_groups(["host", "hostes", "hosts", "wafer"], 0.21) == [["host", "hostes", "hosts"], ["wafer"]]
    assert near_groups(["host", "hosts"], 0.2) == [["host"], ["hosts"]]


def test_each_subset_gets_a_surface_at_every_cut_or_there_is_no_split():
    surfaces = {"the old port": BOTH, "a forest of masts": BOTH, "sailors' rest": BOTH}
    split = split_surfaces(surfaces, BOTH, 0.2, 1, 7)
    assert sorted(split.values()) == ["test", "train", "validation"]
    assert split_surfaces({**surfaces, "sailors' rest": frozenset((A,))}, BOTH, 0.2, 1, 7) is None
    # Two surfaces that stand at one cut each do together.
    patched = {**surfaces, "sailors' rest": frozenset((A,)), "where herring lands": frozenset((B,))}
    split = split_surfaces(patched, BOTH, 0.2, 1, 7)
    assert split["sailors' rest"] == split["where herring lands"]


def test_the_greedy_rule_goes_by_the_nearest_subset_and_drops_bridges():
    rows = [
        (A, "abcdefghij"),
        (A, "klmnopqrst"),
        (A, "uvwxyzuvwx"),
        (A, "abcdefghix"),
        (A, "abcdenopqr"),
        (B, "abcdefghij"),
        (B, "klmnopqrst"),
        (B, "uvwxyzuvwx"),
    ]
    split = split_greedily(rows, BOTH, 0.2)
    assert split["abcdefghij"] == split["abcdefghix"] == "train"
    assert (split["klmnopqrst"], split["uvwxyzuvwx"]) == ("validation", "test")
    # One letter from a surface of train, one from one of validation.
    bridged = [(A, "aaaaaaaaaa"), (A, "aaaaabbbbb"), (A, "cccccccccc"), (A, "aaaaaaabbb")]
    assert "aaaaaaabbb" not in (split_greedily(bridged, [A], 0.4) or {})


@pytest.mark.parametrize("preset", ["small", "paper"])
def test_near_surfaces_of_an_entity_part_only_below_the_threshold_of_the_design(preset):
    names = ("the old port", "the old fort", "a forest of masts", "sailors' rest")
    parted = {}
    for threshold in ("0.2", "0.01"):
        designs = [make_design(preset, BOTH, {"ed_men_subsets": threshold, "seed": str(seed)}) for seed in range(12)]
        splits = [split_entity(one, 7, [Surface(A, name, 5, 5) for name in names], [A]) or {} for one in designs]
        parted[threshold] = any(split[names[0]] != split[names[1]] for split in splits if {*names} <= {*split})
    assert parted == {"0.2": False, "0.01": True}


@given(
    st.dictionaries(st.text("abc ", min_size=3, max_size=9), st.sets(st.sampled_from([A, B]), min_size=1), max_size=9),
    st.integers(0, 5),
)
def test_surfaces_in_different_subsets_are_far_apart(surfaces, seed):
    spread = {surface: frozenset(cuts) for surface, cuts in surfaces.items()}
    split = split_surfaces(spread, BOTH, 0.2, seed, 1) or {}
    for one, other in combinations(split, 2):
        if split[one] != split[other]:
            assert normalised_distance(one, other) >= 0.2
    for cut in BOTH:
        assert not split or {split[one] for one, cuts in spread.items() if cut in cuts} == {
            "train",
            "validation",
            "test",
        }
