"""Compares an entity's origin with the end of a model's knowledge. Pure.

A model's knowledge ends somewhere in an interval: its training data is complete
until one day (`certainly_until`), and contains nothing from another day on
(`possibly_until`).
"""

from datetime import date
from typing import Literal

Seen = Literal["before", "after", "straddling"]


def seen(origin_from: date | None, origin_to: date | None, certainly_until: date, possibly_until: date) -> Seen | None:
    """Return whether an entity originated before or after the end of a model's knowledge.

    Args:
        origin_from: first day on which it may have begun; None if no origin is known.
        origin_to: the day after the last such day.
        certainly_until: the first day whose news the model may not have seen.
        possibly_until: the first day whose news it cannot have seen.

    Returns:
        `before` or `after`; `straddling` if the dates do not decide it; None without an origin.

    >>> seen(date(2020, 1, 1), date(2021, 1, 1), date(2020, 3, 1), date(2020, 3, 1))
    'straddling'
    """
    if origin_from is None or origin_to is None:
        return None
    if origin_to <= certainly_until:
        return "before"
    return "after" if origin_from >= possibly_until else "straddling"


def seen_sql(certainly_until: str, possibly_until: str) -> str:
    """Return the same as an SQL expression over `origin_from` and `origin_to`; the arguments are SQL as well."""
    return (
        f"CASE WHEN origin_from IS NULL OR origin_to IS NULL THEN NULL WHEN origin_to <= {certainly_until} "
        f"THEN 'before' WHEN origin_from >= {possibly_until} THEN 'after' ELSE 'straddling' END"
    )
