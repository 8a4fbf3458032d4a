"""Random choices as hashes: a draw depends on a seed and on the thing's own name, not on any order. Pure."""

import hashlib

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]


def draw(seed: int, *key: object) -> int:
    """Return a number of 64 bits for a seed and a key, the same on every machine and in every run.

    >>> draw(1, "a", 2) == draw(1, "a", 2), draw(1, "a", 2) == draw(2, "a", 2)
    (True, False)
    """
    text = "\x1f".join(str(part) for part in (seed, *key))
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def rendezvous(items: Hashes, candidates: Hashes) -> Hashes:
    """Return a score for each item and candidate; an item goes to the candidate with the lowest score in its row.

    An added candidate changes the choice only of the items that it wins (highest
    random weight hashing, Thaler and Ravishankar 1998). Scores are mixed by the last
    steps of splitmix64.

    Args:
        items: results of `draw`, of shape [n].
        candidates: results of `draw`, of shape [m].

    Returns:
        Scores of shape [n, m].
    """
    mixed = items[:, None] ^ _mix(candidates)[None, :]
    return _mix(mixed)


def _mix(numbers: Hashes) -> Hashes:
    mixed = numbers ^ (numbers >> np.uint64(30))
    mixed = mixed * np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed = mixed * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)), np.uint64)
