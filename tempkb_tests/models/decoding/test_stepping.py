"""The best of many numbers, in an order that everyone gets."""

import random

import torch
from hypothesis import given
from hypothesis import strategies as st

from tempkb.models.decoding.stepping import best


@given(st.lists(st.lists(st.integers(-2, 2), min_size=7, max_size=7), min_size=1, max_size=4), st.integers(1, 9))
def test_the_largest_come_first_and_of_equal_ones_the_first(lines, k):
    require_best(lines, k)


@given(st.integers(0, 1000), st.sampled_from([1, 3, 6]), st.sampled_from([30, 300, 10**6]))
def test_so_they_do_among_very_many(seed, k, n_different):
    chance = random.Random(seed)
    require_best([[chance.randrange(n_different) for _ in range(64 * 32)] for _ in range(2)], k)


def require_best(lines, k):
    numbers, places = best(torch.tensor(lines, dtype=torch.float32), k)
    expected = [sorted(range(len(line)), key=lambda at, line=line: (-line[at], at))[:k] for line in lines]
    assert places.tolist() == expected
    assert numbers.tolist() == [[line[at] for at in order] for line, order in zip(lines, expected, strict=True)]
