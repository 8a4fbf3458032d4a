"""Words that messages share: counts with their nouns."""


def counted(n: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, with commas between thousands.

    Args:
        n: how many.
        noun: for one.
        plural: for none or several, where it is not the noun with an s.

    >>> counted(1, "row"), counted(70_000, "row"), counted(0, "query", "queries")
    ('1 row', '70,000 rows', '0 queries')
    """
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"
