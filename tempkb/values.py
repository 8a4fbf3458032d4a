"""Readers of the values of settings and requests: from words, from TOML, or from Python.

A reader takes a value as found and returns it in the option's type. It raises
`ValueError` or `TypeError` if the value is not allowed, and `OddValueError` if the
list of allowed values alone would not explain why.
"""

import re
from collections.abc import Callable
from datetime import date
from typing import Any, Literal

_TRUTHS = {
    **dict.fromkeys(("1", "true", "t", "yes", "y", "on"), True),
    **dict.fromkeys(("0", "false", "f", "no", "n", "off"), False),
}
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_WIKI = re.compile(r"[a-z][a-z0-9_]*")


class OddValueError(ValueError):
    """A value is not allowed, for the reason that is its message."""


def text(value: Any) -> str:
    """Read any text."""
    if not isinstance(value, str):
        raise TypeError
    return value


def matching(pattern: str) -> Callable[[Any], str]:
    """Return a reader of text that a regular expression matches as a whole."""

    def read(value: Any) -> str:
        if not re.fullmatch(pattern, text(value)):
            raise ValueError
        return text(value)

    return read


def is_wiki_name(name: str) -> bool:
    """Can a home hold a wiki with this database name? It becomes part of names of files and partitions."""
    return _WIKI.fullmatch(name) is not None


def wiki(value: Any) -> str:
    """Read the database name of a wiki."""
    if not is_wiki_name(text(value)):
        raise ValueError
    return text(value)


def one_of(*allowed: str) -> Callable[[Any], str]:
    """Return a reader of one of some words."""

    def read(value: Any) -> str:
        if value not in allowed:
            raise ValueError
        return text(value)

    return read


def whole(least: int, most: int | None = None) -> Callable[[Any], int]:
    """Return a reader of whole numbers from `least` to `most`, both included."""

    def read(value: Any) -> int:
        read = int(value)
        if isinstance(value, float) and read != value:
            raise ValueError
        if read < least or (most is not None and read > most):
            raise ValueError
        return read

    return read


def digits(least: int, most: int = 10**12 - 1) -> Callable[[Any], int]:
    """Return a reader of whole numbers from `least` to `most` that are written with digits alone."""

    def read(value: Any) -> int:
        if not text(value).isdecimal():
            raise ValueError
        return whole(least, most)(value)

    return read


def not_negative(value: Any) -> float:
    """Read a number that is not below zero."""
    read = float(value)
    if not read >= 0:
        raise ValueError
    return read


def truth(value: Any) -> bool:
    """Read true or false, as people write them."""
    return _TRUTHS[_known(str(value).lower())]


def day(value: Any) -> date:
    """Read a day, YYYY-MM-DD."""
    # In Python a datetime is also a date.
    if type(value) is date:
        return value
    if not _DAY.fullmatch(text(value)):
        raise ValueError
    return date.fromisoformat(value)


def namespaces(value: Any) -> tuple[int, ...] | Literal["all"]:
    """Read numbers of namespaces, sorted, or the word `all`."""
    if isinstance(value, str) and value.strip() == "all":
        return "all"
    parts = value.split(",") if isinstance(value, str) else [value] if isinstance(value, int) else value
    return tuple(sorted({int(part) for part in parts}))


def headings(value: Any) -> tuple[str, ...] | Literal["standard"]:
    """Read headings of sections, sorted, or the word `standard`."""
    if isinstance(value, str) and value.strip() == "standard":
        return "standard"
    if isinstance(value, str):
        return tuple(sorted({part.strip().lower() for part in value.split(",")} - {""}))
    return tuple(sorted({text(part) for part in value}))


def words(pattern: str, why: str) -> Callable[[Any], tuple[str, ...]]:
    """Return a reader of words that match a regular expression, each once, in the given order.

    Args:
        pattern: for a whole word.
        why: the reason to give if a word does not match.
    """

    def read(value: Any) -> tuple[str, ...]:
        parts = value.split(",") if isinstance(value, str) else value
        found = tuple(dict.fromkeys(str(part).strip() for part in parts if str(part).strip()))
        if not all(re.fullmatch(pattern, part) for part in found):
            raise OddValueError(why)
        return found

    return read


def named(noun: str, allowed: str, read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a reader whose error calls the value by a noun and says what is allowed.

    >>> named("day", "YYYY-MM-DD", day)("2022")
    Traceback (most recent call last):
    tempkb.values.OddValueError: found the day '2022'; expected YYYY-MM-DD
    """

    def read_named(value: Any) -> Any:
        try:
            return read(value)
        except ValueError:
            raise OddValueError(f"found the {noun} {value!r}; expected {allowed}") from None

    return read_named


def parts(read: Callable[[Any], Any] = text) -> Callable[[Any], tuple[Any, ...]]:
    """Return a reader of what has commas between it, each once, in the given order."""

    def read_parts(value: Any) -> tuple[Any, ...]:
        return tuple(dict.fromkeys(read(part.strip()) for part in text(value).split(",") if part.strip()))

    return read_parts


def in_order(read: Callable[[Any], Any] = text) -> Callable[[Any], tuple[Any, ...]]:
    """Return a reader of what has commas between it, each once, sorted.

    >>> in_order()("b, a,b")
    ('a', 'b')
    """
    return lambda value: tuple(sorted(parts(read)(value)))


def _known(word: str) -> str:
    if word not in _TRUTHS:
        raise ValueError
    return word
