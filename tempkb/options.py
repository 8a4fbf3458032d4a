"""What people may give, declared once: settings, requests, and options of the benchmarks.

Commands, Dagster's configuration, the words that are kept of a request and the documentation loop over the
declarations. A request is a frozen dataclass whose fields are options; the code that does what is asked gets it.
"""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from tempkb.errors import SettingsError
from tempkb.values import OddValueError, text

Words = Mapping[str, str]
"""A request as people type it, by the names of its options; parts of one word have commas between them."""

Request = TypeVar("Request")


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


@dataclass(frozen=True)
class Option:
    """A value that people give: a setting, an option or argument of a command, a field of a run's configuration.

    Attributes:
        name: its name with underscores.
        metavar: the placeholder of the value in `--help`; empty for the name.
        is_file: whether it is the path of a file, which must exist.
        read: the reader of its values, one of `tempkb.values` or another that raises the same errors.
        allowed: which values are allowed, in words, unless the reader's own error says it.
        default_in_words: the default as people are shown it, if the value itself does not explain it.
        flag: how the command's option is called; empty for its name with hyphens.
        help: what the command's help says, if it is not the meaning.
        write: makes of a value the word that is read as that value.
        click_type: click's type of its values; None for text.
    """

    name: str
    meaning: str = ""
    default: Any = ""
    many: bool = False
    metavar: str = ""
    is_file: bool = False
    read: Callable[[Any], Any] = text
    allowed: str = ""
    default_in_words: str = ""
    flag: str = ""
    help: str = ""
    write: Callable[[Any], str] = as_word
    click_type: Any = None

    @property
    def typed_as(self) -> str:
        """How the command's option is called."""
        return self.flag or f"--{self.name.replace('_', '-')}"


def option(default: Any, read: Callable[[Any], Any], meaning: str, **further: Any) -> Any:
    """Declare a field of a dataclass as an option of that name; one with a tuple may be given several times.

    Args:
        default: the value if none is given; `dataclasses.MISSING` if one must be.
    """
    declared = Option("", meaning, default, many=isinstance(default, tuple), read=read, **further)
    return field(default=default, metadata={Option.__name__: declared})


def options_of(request: type) -> dict[str, Option]:
    """Return the options of a dataclass by name, in the order of its fields."""
    declared = {one.name: one.metadata.get(Option.__name__) for one in fields(request)}
    return {name: replace(one, name=name) for name, one in declared.items() if one is not None}


@dataclass(frozen=True)
class Problem:
    """A value that is not allowed.

    Attributes:
        why: the reason, if the option's `allowed` does not give it.
    """

    name: str
    found: Any
    why: str = ""
    is_unknown: bool = False


def read_all(options: Mapping[str, Option], values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Problem]]:
    """Read values by name, in the order of the options; return the allowed ones and the problems of the others."""
    read, problems = {}, {}
    for name in (*(name for name in options if name in values), *(name for name in values if name not in options)):
        if name not in options:
            problems[name] = Problem(name, values[name], is_unknown=True)
            continue
        try:
            read[name] = options[name].read(values[name])
        except (ValueError, TypeError, OverflowError) as error:
            why = str(error) if isinstance(error, OddValueError) else ""
            problems[name] = Problem(name, values[name], why)
    return read, problems


def refuse_unknown(what: str, options: Mapping[str, Option], words: Words) -> None:
    """Refuse words that are none of the options.

    Raises:
        SettingsError: names them, and the options.
    """
    if odd := sorted(set(words) - set(options)):
        raise SettingsError(f"{what}: found {', '.join(odd)}; expected only {', '.join(options)}")


def read_request(request: type[Request], what: str, words: Words, **given: Any) -> Request:
    """Return the request that words make; empty words count as not given.

    Args:
        request: a dataclass of options.
        what: is asked, as messages begin.
        words: by option.
        given: fields that are no options.

    Raises:
        SettingsError: a word is not allowed.
    """
    said, options = {name: word for name, word in words.items() if word.strip()}, options_of(request)
    refuse_unknown(what, options, said)
    read, problems = read_all(options, said)
    for name, one in problems.items():
        raise SettingsError(f"{what}: {one.why or f'{name} is {one.found!r}; expected {options[name].allowed}'}")
    return request(**given, **read)


def words_of(request: Any) -> dict[str, str]:
    """Return the words that make a request; what is as by default is left out."""
    values = {one: getattr(request, one.name) for one in options_of(type(request)).values()}
    return {one.name: one.write(value) for one, value in values.items() if value != one.default}


def typed(command: str, request: type, words: Words) -> str:
    """Return a command with the options that say what words of a request say."""
    parts = []
    for name, one in options_of(request).items():
        if name in words:
            given = words[name].split(",") if one.many else [words[name]]
            is_flag = isinstance(one.default, bool)
            parts += [one.typed_as] if is_flag else [part for word in given for part in (one.typed_as, word.strip())]
    return " ".join([command, shlex.join(parts)]) if parts else command
