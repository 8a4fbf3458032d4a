"""A template call: its name and arguments. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple


class Argument(NamedTuple):
    """What is between two pipes, with what the templates inside show.

    Attributes:
        value: behind the first equals sign that is written there, or all of it.
        name: before this sign; None if there is none. One that a template inside shows names nothing.
    """

    value: str
    name: str | None = None

    @property
    def text(self) -> str:
        """All of it."""
        return self.value if self.name is None else f"{self.name}={self.value}"


@dataclass(frozen=True)
class Call:
    """A template call whose arguments are wikitext without braces.

    Attributes:
        name: as in the tables: lower case, spaces for underscores.
        unnamed: arguments by position, as written.
        named: arguments by name; `1=` counts as a name. Trimmed.
        day: when the revision was saved, for ages; None if unknown.
        language: of the words that may be added: the wiki's, or `en` on wikis of many languages.
        aside: is it alone between brackets, commas or semicolons of a parenthesis, as pronunciations in leads are?
    """

    name: str
    unnamed: tuple[str, ...]
    named: dict[str, str]
    day: date | None = None
    language: str = "en"
    aside: bool = False

    def get(self, *names: str) -> str:
        """Return the first of these arguments that is given and not empty; a number means a position, from 1."""
        for name in names:
            value = self.named.get(name, "")
            if not value and name.isdigit() and 0 < int(name) <= len(self.unnamed):
                value = self.unnamed[int(name) - 1].strip()
            if value:
                return value
        return ""

    def positional(self) -> list[str]:
        """Return the arguments without a name, trimmed, in order; numbered names are put in their places."""
        values = [value.strip() for value in self.unnamed]
        while self.named.get(str(len(values) + 1)):
            values.append(self.named[str(len(values) + 1)])
        return values


def read_call(
    arguments: Iterable[Argument], name: str, day: date | None, *, language: str, aside: bool = False
) -> Call:
    """Make a call from its name and arguments."""
    unnamed: list[str] = []
    named: dict[str, str] = {}
    for one in arguments:
        # An equals sign inside a tag or link does not name an argument.
        if one.name is not None and not any(sign in one.name for sign in "<["):
            named[one.name.strip()] = one.value.strip()
        else:
            unnamed.append(one.text)
    return Call(name, tuple(unnamed), named, day, language, aside)


_LONGEST_ASIDE = 300
# The braces are those of other templates beside it.
_BEFORE_ASIDE = ("(", "（", ",", ";", "，", "；", "、", "}")
_BEHIND_ASIDE = (")", "）", ",", ";", "，", "；", "、", "{")


def is_aside(text: str, start: int, end: int) -> bool:
    """Is text[start:end] alone between two brackets, commas or semicolons of a parenthesis in its line?

    >>> text = "Ada (English: {{a}}; {{b}}) or (see {{c}})"
    >>> [is_aside(text, at, at + 5) for at in (14, 21, 36)]
    [False, True, False]
    """
    before = text[max(start - _LONGEST_ASIDE, 0) : start].rpartition("\n")[2]
    opened = max(before.rfind("("), before.rfind("（"))
    if opened < 0 or opened < max(before.rfind(")"), before.rfind("）")):
        return False
    return before.rstrip(" '").endswith(_BEFORE_ASIDE) and text[end : end + 20].lstrip(" '").startswith(_BEHIND_ASIDE)
