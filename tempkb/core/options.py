"""What people may give, declared once: a field of a frozen dataclass for each setting and part of a request or design.

A field has a name, a type with its limits, a default and a meaning. Readers of words and of TOML, options of commands,
Dagster's configuration, tables of the documentation, the words that are kept of a request and those of a refusal
follow from it. `msgspec` reads most types; a `Form` reads what people write in a way of its own.
"""

import difflib
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields, replace
from datetime import date
from enum import EnumType
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Self, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from tempkb.core.errors import SettingsError

Words = Mapping[str, str]
"""A request as people type it, by the names of its options; parts of one word have commas between them."""

_KINDS = {bool: "true or false", int: "a whole number", float: "a number", date: "a day, YYYY-MM-DD", str: "text"}
ODD = (ValueError, TypeError, LookupError, OverflowError, msgspec.ValidationError)
"""The errors by which readers refuse a value."""
_TRUTHS = {
    **dict.fromkeys(("1", "true", "t", "yes", "y", "on"), True),
    **dict.fromkeys(("0", "false", "f", "no", "n", "off"), False),
}


class OddValueError(ValueError):
    """A value is not allowed, for the reason that is its message."""


@dataclass(frozen=True)
class Form:
    """How people write a value that `msgspec` does not read; it annotates the type of the value.

    Attributes:
        read: returns the value of a word, or of what TOML has; it raises ValueError or TypeError for others.
        allowed: which values are allowed, in words.
    """

    read: Callable[[Any], Any]
    allowed: str


def one_of(*words: str) -> Form:
    """Return the form of values that are some words; where these are written out, `Literal` does."""
    return Form(lambda word: words[words.index(word)], listed(words))


def in_order(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return values sorted, each once. It annotates types whose values are kept so."""
    return tuple(sorted(set(values)))


_Part = TypeVar("_Part")
InOrder = Annotated[tuple[_Part, ...], in_order]
NotNegative = Annotated[int, Meta(ge=0)]
AtLeastOne = Annotated[int, Meta(ge=1)]
Count = Annotated[int, Meta(ge=1, le=10**12 - 1)]
Share = Annotated[float, Meta(ge=0, le=1)]


def as_word(value: Any) -> str:
    """Return a value as people type it; nothing for one that is not there.

    >>> as_word(("a", 2, True)), as_word(None), as_word(0)
    ('a,2,true', '', '0')
    """
    if value is None or value is False:
        return ""
    if isinstance(value, (tuple, list)):
        return ",".join(map(as_word, value))
    return "true" if value is True else str(value)


def listed(words: Sequence[str]) -> str:
    """Words in a list with commas and "or".

    >>> listed(("tempkb", "paper", "small"))
    'tempkb, paper or small'
    """
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def read_as(kind: Any, value: Any) -> Any:
    """Return the value of a type that a word means, or that TOML has; of several types the first that has it.

    Callables that annotate a type make the value of what was read.

    Raises:
        ODD: the type has no such value.

    >>> read_as(tuple[Count, ...], "3, 1,3"), read_as(InOrder[str] | None, "b,a"), read_as(bool, "yes")
    ((3, 1), ('a', 'b'), True)
    """
    value = value.strip() if isinstance(value, str) else value
    base, notes = annotated(kind)
    if forms := [one for one in notes if isinstance(one, Form)]:
        return forms[0].read(value)
    if get_origin(base) in (Union, UnionType):
        return _read_one_of(get_args(base), value)
    if get_origin(base) is tuple:
        read: Any = _read_parts(get_args(base), value)
    else:
        read = msgspec.convert(_TRUTHS.get(str(value).lower(), value) if base is bool else value, kind, strict=False)
    for made in filter(callable, notes):
        read = made(read)
    return read


def allowed(kind: Any) -> str:
    """Say which values a type has.

    >>> allowed(Count), allowed(Share), allowed(date | None)
    ('a whole number from 1 to 999,999,999,999', 'a number from 0 to 1', 'a day, YYYY-MM-DD')
    """
    base, notes = annotated(kind)
    if said := [one.allowed for one in notes if isinstance(one, Form)]:
        return said[0]
    parts = [one for one in get_args(base) if one is not NoneType]
    if get_origin(base) in (Union, UnionType):
        return listed([allowed(one) for one in parts])
    if get_origin(base) is tuple:
        return allowed(parts[0])
    if parts or isinstance(base, EnumType):
        return listed(parts or list(base))
    limits = next((one for one in notes if isinstance(one, Meta)), Meta())
    least = "" if limits.ge is None else f" from {limits.ge:,}"
    most = " on" if limits.le is None and least else "" if limits.le is None else f" to {limits.le:,}"
    return _KINDS[base] + least + most


@dataclass(frozen=True)
class Option:
    """A value that people give: a setting, an option or argument of a command, a field of a run's configuration.

    Attributes:
        name: its name with underscores.
        kind: type of its values.
        allowed: which values are allowed, in words.
        metavar: the placeholder of the value in `--help`; empty for the name.
        is_file: whether it is the path of a file, which must exist.
        default_in_words: the default as people are shown it, if the value itself does not explain it.
        called: how people call it, if not by its name.
        write: makes of a value the word that is read as that value.
        click_type: click's type of its values; None for text.
    """

    name: str
    meaning: str = ""
    default: Any = ""
    many: bool = False
    metavar: str = ""
    is_file: bool = False
    kind: Any = str
    allowed: str = ""
    default_in_words: str = ""
    called: str = ""
    write: Callable[[Any], str] = as_word
    click_type: Any = None

    @property
    def typed_as(self) -> str:
        """How the command's option is called."""
        return f"--{(self.called or self.name).replace('_', '-')}"


def option(default: Any, meaning: str, **further: Any) -> Any:
    """Declare a field of a dataclass as an option of that name; one with a tuple may be given several times.

    Args:
        default: the value if none is given; `dataclasses.MISSING` if one must be.
    """
    declared = Option("", meaning, default, many=isinstance(default, tuple), **further)
    return field(default=default, metadata={Option.__name__: declared})


def options_of(declared: type) -> Mapping[str, Option]:
    """Return the options of a dataclass by name, in the order of its fields."""
    kinds = get_type_hints(declared, include_extras=True)
    found = {one.name: one.metadata.get(Option.__name__) for one in fields(declared)}
    return {
        name: replace(
            one, name=name, called=one.called or name, kind=kinds[name], allowed=one.allowed or allowed(kinds[name])
        )
        for name, one in found.items()
        if one is not None
    }


def read_all(
    what: str, options: Mapping[str, Option], words: Mapping[str, Any], noun: str = "option"
) -> dict[str, Any]:
    """Return values by name.

    Args:
        what: is asked, as messages begin.
        words: words of people, or values of TOML, by name.
        noun: what an option is called.

    Raises:
        SettingsError: names each value that is not allowed with what is, and each name that is no option's.
    """
    read, odd = {}, []
    for name, word in words.items():
        if name not in options:
            odd.append(f"{name}: no such {noun}{nearest(name, [one.called for one in options.values()])}")
            continue
        try:
            read[name] = read_as(options[name].kind, word)
        except ODD as error:
            why = f" ({error})" if isinstance(error, OddValueError) else ""
            odd.append(f"{options[name].called}: found {word!r}{why}; expected {options[name].allowed}")
    if odd:
        raise SettingsError(what + "; ".join(odd))
    return read


def nearest(name: str, known: list[str], otherwise: str = "") -> str:
    """Return a half of a sentence with the known name that is most like another, or with all, or what else is told."""
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else f"; {otherwise or 'known: ' + ', '.join(known)}"


@dataclass(frozen=True)
class Request:
    """What a person asks of a command; its fields are the options."""

    command: ClassVar[str]
    """What follows `tempkb`; messages begin with it."""

    @classmethod
    def of(cls, words: Words, what: str = "", **given: Any) -> Self:
        """Return the request that words make; empty words count as not given.

        Args:
            words: by option.
            what: is asked, as messages begin; by default the command.
            given: fields that are no options.

        Raises:
            SettingsError: a word is not allowed, or one is missing that must be given.
        """
        said, declared = {name: word for name, word in words.items() if word.strip()}, options_of(cls)
        read = read_all(f"{what or cls.command}: ", declared, said)
        if absent := [one for name, one in declared.items() if one.default is MISSING and name not in said]:
            lacking = " and no ".join(f"{one.typed_as} {one.metavar}".strip() for one in absent)
            raise SettingsError(f"{what or cls.command}: found no {lacking}; what that is: tempkb {cls.command} --help")
        return cls(**given, **read)

    @property
    def words(self) -> Words:
        """The words that make the request; what is as by default is left out."""
        values = ((one, getattr(self, one.name)) for one in options_of(type(self)).values())
        return {one.name: one.write(value) for one, value in values if value != one.default}

    @classmethod
    def typed(cls, words: Words, *arguments: str) -> str:
        """Return the command that words of a request ask for, in a shell's words.

        Args:
            arguments: those of the command that are no options.
        """
        parts = [*cls.command.split(), *arguments]
        for one in (one for name, one in options_of(cls).items() if name in words):
            given = words[one.name].split(",") if one.many else [words[one.name]]
            for word in given:
                parts += [one.typed_as] if isinstance(one.default, bool) else [one.typed_as, word.strip()]
        return f"tempkb {shlex.join(parts)}"


def annotated(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a type without its annotations, and these."""
    return (kind.__origin__, kind.__metadata__) if get_origin(kind) is Annotated else (kind, ())


def _read_one_of(kinds: Sequence[Any], value: Any) -> Any:
    *others, last = [one for one in kinds if one is not NoneType]
    if value is None and NoneType in kinds:
        return None
    for one in others:
        with suppress(*ODD):
            return read_as(one, value)
    return read_as(last, value)


def _read_parts(kinds: Sequence[Any], value: Any) -> tuple[Any, ...]:
    """Read what has commas between it: each once, or so many as there are types."""
    words = value.split(",") if isinstance(value, str) else value if isinstance(value, (tuple, list)) else [value]
    if kinds[-1] is ...:
        return tuple(dict.fromkeys(read_as(kinds[0], word) for word in words if str(word).strip()))
    return tuple(read_as(kind, word) for kind, word in zip(kinds, words, strict=True))
