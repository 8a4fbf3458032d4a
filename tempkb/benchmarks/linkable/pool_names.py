"""Names of the pools of entities among which a mention is to be found. Pure."""

import re

OWN_POOL = "own"
"""The pool of candidates that a release has at the mentions' own cut."""
FIXED_POOL = 50_000
"""Candidates of the pool `fixed`."""

_FIXED = "fixed"


def pool_name(text: str) -> str:
    """Return the name of a pool as tables have it.

    Raises:
        ValueError: it is neither `own`, `fixed` nor `fixed-N`.

    >>> pool_name("own"), pool_name("fixed"), pool_name("fixed-1000")
    ('own', 'fixed-50000', 'fixed-1000')
    """
    if text == _FIXED:
        return f"{_FIXED}-{FIXED_POOL}"
    if text == OWN_POOL or re.fullmatch(rf"{_FIXED}-[1-9]\d*", text):
        return text
    raise ValueError(text)


def fixed_size(pool: str) -> int | None:
    """Return the number of entities of a pool of fixed size, by its name in tables; None for another pool.

    >>> fixed_size("fixed-1000"), fixed_size("own")
    (1000, None)
    """
    return int(pool.removeprefix(f"{_FIXED}-")) if pool.startswith(f"{_FIXED}-") else None
