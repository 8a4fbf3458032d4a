"""Sharing surfaces among subsets: stories by hand and the law that near surfaces never part."""

from datetime import date
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tempkb.benchmarks.tempel.design import make_design
from tempkb.benchmarks.tempel.planning import Surface, split_entity
from tempkb.benchmarks.tempel.similarity import normalised_distance
from tempkb.benchmarks.tempel.surfaces import near_groups, split_greedily, split_surfaces

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
