"""Chance without a state: what is drawn depends on a seed and the thing's own name, never on order. Pure."""

import hashlib

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]


def draw(seed: int, *key: object) -> int:
    """Return a number of 64 bits that a seed and a key name; equal on every machine and in every run.

    >>> draw(1, "a", 2) == draw(1, "a", 2), draw(1, "a", 2) == draw(2, "a", 2)
    (True, False)
    """
    said = "\x1f".join(str(part) for part in (seed, *key))
    return int.from_bytes(hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def rendezvous(items: Hashes, candidates: Hashes) -> Hashes:
    """Return a score for each item and candidate; the lowest of a row says which candidate meets the item.

    A candidate that is added changes the choice only of the items that it wins
    (highest random weight hashing, Thaler and Ravishankar 1998). Scores are mixed
    by the last steps of splitmix64.

    Args:
        items: numbers that `draw` gave, of shape [n].
        candidates: the same, of shape [m].

    Returns:
        scores of shape [n, m].
    """
    mixed = items[:, None] ^ _mix(candidates)[None, :]
    return _mix(mixed)


def _mix(numbers: Hashes) -> Hashes:
    mixed = numbers ^ (numbers >> np.uint64(30))
    mixed = mixed * np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed = mixed * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)), np.uint64)
