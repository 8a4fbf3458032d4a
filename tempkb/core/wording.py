"""Words and numbers that messages and files share: counts with their nouns, rounded numbers, p-values."""

from collections.abc import Sequence
from functools import partial


def counted(n: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, with commas between thousands.

    Args:
        plural: for none or several, where it is not the noun with an s.

    >>> counted(1, "row"), counted(70_000, "row"), counted(0, "query", "queries")
    ('1 row', '70,000 rows', '0 queries')
    """
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


def rounded(number: float | None, digits: int, sign: str = "") -> str:
    """Return a number in decimals; what rounds to zero has no minus. Empty if there is none.

    Args:
        sign: + to write it before positive numbers and zero, too.

    >>> rounded(-0.04, 1), rounded(-0.04, 1, "+"), rounded(-0.06, 1, "+"), rounded(99.6, 0)
    ('0.0', '+0.0', '-0.1', '100')
    """
    return "" if number is None else f"{number:{sign}z.{digits}f}"


def percent(share: float, digits: int = 0, sign: str = "") -> str:
    """Return a share in per cent, or a difference in percentage points.

    >>> percent(-0.002, sign="+"), percent(-0.334, sign="+"), percent(0.72)
    ('+0', '-33', '72')
    """
    return rounded(100 * share, digits, sign)


in_points = partial(percent, digits=1, sign="+")


def rounded_p_value(p_value: float | None) -> str:
    """Return a p-value with three digits after the point; it is never zero. Empty if there is none.

    >>> rounded_p_value(0.0312), rounded_p_value(0.0004), rounded_p_value(None)
    ('0.031', '<0.001', '')
    """
    text = rounded(p_value, 3)
    return "<0.001" if text == "0.000" else text


def shortened(text: str, n: int) -> str:
    """Return a text, cut with an ellipsis to at most n letters.

    >>> shortened("Every revision of every page", 20), shortened("Every page", 20)
    ('Every revision of e…', 'Every page')
    """
    return text if len(text) <= n else f"{text[: n - 1].rstrip()}…"


def spanned(names: Sequence[str]) -> str:
    """Return the first and the last of names in their order.

    >>> spanned(["2021-Q1", "2021-Q2", "2021-Q3"]), spanned(["2021-Q1"])
    ('2021-Q1 to 2021-Q3', '2021-Q1')
    """
    return " to ".join(dict.fromkeys((*names[:1], *names[-1:])))


def sized(n_bytes: float) -> str:
    """Return a number of bytes with a unit.

    >>> sized(1_500_000)
    '1.5 MB'
    """
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.1f} {name}"
    return f"{n_bytes:.0f} B"
