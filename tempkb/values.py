"""Readers of the values of settings: from a variable's text, from TOML, or from Python.

A reader takes a value as found and returns it in the setting's type. It raises
`ValueError` or `TypeError` if the value is not allowed, and `OddValueError` if the
list of allowed values alone would not explain why.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal

_TRUTHS = {
    **dict.fromkeys(("1", "true", "t", "yes", "y", "on"), True),
    **dict.fromkeys(("0", "false", "f", "no", "n", "off"), False),
}
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_WIKI = re.compile(r"[a-z][a-z0-9_]*")


MODEL_LINES: Mapping[str, str] = {
    "checkpoint": "A folder, or an id on the Hugging Face hub.",
    "revision": "Branch, tag or commit on the hub; by default its main branch.",
    "family": "masked, seq2seq or causal; by default what the architecture says.",
    "knows_until": "Day before which its training texts reach, as DATE, or as CERTAIN..POSSIBLE.",
}
"""What may be said of a model, with its meaning: lines of `[models.NAME]`, options of the command, fields of a run."""


class OddValueError(ValueError):
    """A value is not allowed, for the reason that is its message."""


@dataclass(frozen=True)
class Setting:
    """Declaration of a setting.

    Attributes:
        default: the value if none was set.
        read: the reader of its values.
        description: which values are allowed, in words.
        meaning: what the setting is for, as a sentence.
        default_in_words: the default, if the value itself does not explain it.
    """

    default: Any
    read: Callable[[Any], Any]
    description: str
    meaning: str = ""
    default_in_words: str = ""


@dataclass(frozen=True)
class Problem:
    """A value that is not allowed.

    Attributes:
        name: of the setting.
        found: the value.
        why: the reason, if the description of the setting does not give it.
        is_unknown: there is no such setting.
    """

    name: str
    found: Any
    why: str = ""
    is_unknown: bool = False


class InvalidSettingsError(ValueError):
    """Values of settings that are not allowed, or names of settings that do not exist."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(", ".join(one.name for one in problems))
        self.problems = problems


def read_all(settings: Mapping[str, Setting], values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Problem]]:
    """Read values by name, in the order of the settings; return the allowed ones and the problems of the others."""
    read, problems = {}, {}
    for name in (*(name for name in settings if name in values), *(name for name in values if name not in settings)):
        if name not in settings:
            problems[name] = Problem(name, values[name], is_unknown=True)
            continue
        try:
            read[name] = settings[name].read(values[name])
        except (ValueError, TypeError, OverflowError) as error:
            why = str(error) if isinstance(error, OddValueError) else ""
            problems[name] = Problem(name, values[name], why)
    return read, problems


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


def models(value: Any) -> tuple[tuple[str, Mapping[str, str]], ...]:
    """Read the tables `[models.NAME]` of TOML, as pairs of a name and its lines."""
    if not isinstance(value, Mapping):
        raise OddValueError("models are tables of tempkb.toml, not a variable")
    for name, lines in value.items():
        if not isinstance(lines, Mapping) or "checkpoint" not in lines:
            raise OddValueError(f"[models.{name}] has no line checkpoint")
        if odd := sorted(set(lines) - set(MODEL_LINES)):
            raise OddValueError(f"[models.{name}] has a line {odd[0]}")
    return tuple((name, {key: str(word) for key, word in lines.items()}) for name, lines in value.items())


def _known(word: str) -> str:
    if word not in _TRUTHS:
        raise ValueError
    return word
