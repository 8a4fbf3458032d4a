"""What designs of releases have in common: values that are refused, and changes typed by people. Pure."""

from collections.abc import Mapping, Sequence

from tempkb.errors import DesignError


def refuse_values(design: object, choices: Mapping[str, Sequence[str]], least: Mapping[str, int]) -> None:
    """Refuse parts of a design that are none of their choices, or too small.

    Args:
        design: a dataclass.
        choices: part -> words it may be.
        least: part -> the smallest number it may be.

    Raises:
        DesignError: names the part, what was found and what is expected.
    """
    for name, known in choices.items():
        if getattr(design, name) not in known:
            raise DesignError(f"{name}: found {getattr(design, name)!r}; expected {', '.join(known)}")
    for name, number in least.items():
        if getattr(design, name) < number:
            raise DesignError(f"{name}: found {getattr(design, name)}; expected {number} or more")


def read_value(name: str, text: str, like: object) -> object:
    """Read a value of a design as people type it.

    Args:
        name: of the part, for the message.
        text: as typed.
        like: a value of the same kind: true or false, numbers with commas, a number, a word.

    Raises:
        DesignError: it is of another kind.
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
