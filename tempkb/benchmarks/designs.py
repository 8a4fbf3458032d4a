"""Checks values of designs of releases, and reads values that people type. Pure."""

from collections.abc import Mapping, Sequence

from tempkb.errors import DesignError


def refuse_values(design: object, choices: Mapping[str, Sequence[str]], least: Mapping[str, int]) -> None:
    """Refuse a design with a value that is not one of its choices, or is too small.

    Args:
        choices: field -> allowed words.
        least: field -> smallest allowed number.

    Raises:
        DesignError: a value is not allowed; the message names the field, the value and what is expected.
    """
    for name, known in choices.items():
        if getattr(design, name) not in known:
            raise DesignError(f"{name}: found {getattr(design, name)!r}; expected {', '.join(known)}")
    for name, number in least.items():
        if getattr(design, name) < number:
            raise DesignError(f"{name}: found {getattr(design, name)}; expected {number} or more")


def read_value(name: str, text: str, like: object) -> object:
    """Return the value of a design's field from the text that a person typed.

    Args:
        like: a value of the same type: a truth value, numbers with commas, a number or a word.

    Raises:
        DesignError: the text is of another type.
    """
    try:
        if isinstance(like, bool):
            return {"true": True, "false": False}[text.lower()]
        if isinstance(like, tuple):
            return tuple(float(part) for part in text.split(","))
        return type(like)(text)  # type: ignore[call-arg]  # a number or a word
    except (ValueError, KeyError):
        shown = ",".join(map(str, like)) if isinstance(like, tuple) else like
        raise DesignError(f"{name}: found {text!r}; expected a value like {shown}") from None
