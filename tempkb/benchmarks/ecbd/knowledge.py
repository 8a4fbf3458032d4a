"""Did an entity come into the world before a model's knowledge ends, or after? Pure.

A model's knowledge ends somewhere in an interval: until `seen_certainly_until`
its training data holds the world's news, from `seen_possibly_until` on nothing.
"""

from datetime import date
from typing import Literal

Seen = Literal["before", "after", "straddling"]


def seen(origin_from: date | None, origin_to: date | None, certainly_until: date, possibly_until: date) -> Seen | None:
    """Tell whether an entity came before or after the end of a model's knowledge, or nobody can say.

    Args:
        origin_from: first day on which it may have begun; None: no origin is known.
        origin_to: the day after the last such day.
        certainly_until: the first day whose news the model may not have seen.
        possibly_until: the first day whose news it cannot have seen.

    Returns:
        `before`, `after`, `straddling`; None without an origin.

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
