"""Titles: the only place where they change. Pure.

A title here has spaces instead of underscores, no namespace prefix (that is the
namespace number) and a first letter as the wiki's case rule wants it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

# Whitespace and underscores count as one space; direction marks are invisible and dropped, as MediaWiki does.
_SPACES = re.compile(r"[\s_\u00a0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_MARKS = re.compile("[\u200e\u200f\u202a-\u202e]")

# Names that work on every wiki whatever its language.
CANONICAL_NAMESPACES: Mapping[int, str] = {
    -2: "Media", -1: "Special", 1: "Talk", 2: "User", 3: "User talk", 4: "Project", 5: "Project talk",
    6: "File", 7: "File talk", 8: "MediaWiki", 9: "MediaWiki talk", 10: "Template", 11: "Template talk",
    12: "Help", 13: "Help talk", 14: "Category", 15: "Category talk",
}  # fmt: skip
_OLD_NAMES = {"image": 6, "image talk": 7}


@dataclass(frozen=True)
class Title:
    """A page's name on one wiki: namespace number and normalised title."""

    namespace: int
    title: str


@dataclass(frozen=True)
class Site:
    """What `<siteinfo>` says of a wiki: its name, its namespaces and how it treats first letters."""

    dbname: str | None = None
    namespaces: Mapping[int, str] = field(default_factory=lambda: {0: "", **CANONICAL_NAMESPACES})
    case_sensitive: frozenset[int] = frozenset()

    @cached_property
    def _numbers(self) -> dict[str, int]:
        names = {name.casefold(): number for number, name in CANONICAL_NAMESPACES.items()} | _OLD_NAMES
        return names | {_spaced(name).casefold(): number for number, name in self.namespaces.items() if name}

    def normalize(self, text: str) -> Title:
        """Split the namespace off `text` and normalise the rest.

        >>> Site().normalize("user talk:some_one")
        Title(namespace=3, title='Some one')
        >>> Site().normalize("2001: A Space Odyssey")
        Title(namespace=0, title='2001: A Space Odyssey')
        """
        text = _spaced(text).removeprefix(":").strip()
        prefix, colon, rest = text.partition(":")
        number = self._numbers.get(prefix.strip().casefold()) if colon else None
        if number is None:
            return Title(0, self._first_letter(text, 0))
        return Title(number, self._first_letter(rest.strip(), number))

    def within(self, text: str, namespace: int) -> str:
        """Return the title in `text`, a full page name known to lie in `namespace`."""
        title = self.normalize(text)
        if title.namespace == namespace:
            return title.title
        # A wiki may have gained or lost a namespace since its header was written: the page's own number decides.
        return self._first_letter(_spaced(text), namespace)

    def _first_letter(self, title: str, namespace: int) -> str:
        if namespace in self.case_sensitive or not title:
            return title
        upper = title[0].upper()
        return upper + title[1:] if len(upper) == 1 else title


def _spaced(text: str) -> str:
    return _SPACES.sub(" ", _MARKS.sub("", text)).strip()
