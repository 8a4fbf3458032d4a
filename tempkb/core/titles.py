"""Normalisation of page titles and link targets; no other module changes titles. Pure.

A title has spaces instead of underscores, no namespace prefix (the namespace is a
number), and a first letter in the case that the wiki prescribes.
"""

import html
import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html.entities import html5
from typing import Literal
from urllib.parse import unquote

# Whitespace and underscores count as one space; direction marks are invisible and dropped, as in MediaWiki.
_SPACES = re.compile(r"[\s_\u00a0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_MARKS = re.compile("[\u200e\u200f\u202a-\u202e]")
# In a target, an entity ends with a semicolon; html.unescape alone would take `&notes` for a sign and letters.
_ENTITY = re.compile(r"&(?:#[0-9]{1,20}|#[xX][0-9a-fA-F]{1,20}|[a-zA-Z][a-zA-Z0-9]{1,31});")

# Namespace names that work on every wiki, whatever its language.
CANONICAL_NAMESPACES: Mapping[int, str] = {
    -2: "Media",
    -1: "Special",
    1: "Talk",
    2: "User",
    3: "User talk",
    4: "Project",
    5: "Project talk",
    6: "File",
    7: "File talk",
    8: "MediaWiki",
    9: "MediaWiki talk",
    10: "Template",
    11: "Template talk",
    12: "Help",
    13: "Help talk",
    14: "Category",
    15: "Category talk",
}
_OLD_NAMES = {"image": 6, "image talk": 7}


@dataclass(frozen=True)
class Title:
    """A page's name on one wiki: namespace number and normalised title."""

    namespace: int
    title: str


@dataclass(frozen=True)
class Target:
    """The target of a link.

    Attributes:
        kind: page; section (a part of a page); interwiki (another wiki); or invalid (not a possible title).
        namespace, title: as in `Title`; an empty title with a section means the page itself.
        section: the fragment behind `#`; None if there is none.
    """

    kind: Literal["page", "section", "interwiki", "invalid"]
    namespace: int
    title: str
    section: str | None = None


# What no title may contain, and the longest title, in bytes.
_NOT_IN_TITLES = re.compile(r"[\[\]{}|<>\x00-\x1f\x7f\ufffd]")
_LONGEST_TITLE = 255
# Unicode pairs the letters of modern Georgian with capitals that begin no word, and Wikimedia leaves them as they are.
_FIRST_MKHEDRULI, _LAST_MKHEDRULI = "\u10d0", "\u10ff"
# Languages that have an i with a dot and one without: Azerbaijani, Karakalpak and Turkish.
_HAVE_TWO_I = frozenset({"az", "kaa", "tr"})


def may_be_title(text: str) -> bool:
    """Can a page have this name? Titles hold no brackets, braces, bars or control characters, and are not too long.

    >>> may_be_title("C♯ (Musik)"), may_be_title("<html>")
    (True, False)
    """
    return bool(text) and not _NOT_IN_TITLES.search(text) and len(text.encode()) <= 2 * _LONGEST_TITLE


def without_direction_marks(text: str) -> str:
    """Return a text without the invisible marks that say where writing from the right begins; no title has one.

    >>> without_direction_marks(chr(0x200F) + "חיפה")
    'חיפה'
    """
    return _MARKS.sub("", text)


def decode_entities(target: str) -> str:
    """Return a target of a link with the signs that its entities stand for.

    >>> decode_entities("Rock&amp;notes"), decode_entities("Rock&notes")
    ('Rock&notes', 'Rock&notes')
    """
    return _ENTITY.sub(_decoded, target)


@dataclass(frozen=True)
class Site:
    """A wiki according to its header: name, namespaces, how it treats first letters, code of its language."""

    dbname: str | None = None
    namespaces: Mapping[int, str] = field(default_factory=lambda: {0: "", **CANONICAL_NAMESPACES})
    case_sensitive: frozenset[int] = frozenset()
    language: str = ""

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

    def read_target(self, text: str, other_wikis: Collection[str] = ()) -> Target:
        """Read the target of a link as written: entities, percent signs, underscores, namespace and section.

        Args:
            other_wikis: prefixes, in lower case, of links to another wiki or language.

        >>> Site().read_target("new_york%20City#Old &amp; new")
        Target(kind='section', namespace=0, title='New york City', section='Old & new')
        >>> Site().read_target("Rain#Caf%C3%A9_life").section
        'Café life'
        >>> Site().read_target("Rain#").kind
        'page'
        >>> Site().read_target(":fr:Paris", {"fr"}).kind
        'interwiki'
        """
        # What entities put beside a letter may be a mark, and MediaWiki composes both to one character.
        if "&" in text:
            text = unicodedata.normalize("NFC", decode_entities(text))
        # As in MediaWiki, percent signs are decoded before the section is split off, so also in the section.
        if "%" in text:
            text = unquote(text, errors="replace")
        page, sharp, section = text.partition("#")
        prefix, colon, _ = _spaced(page).removeprefix(":").partition(":")
        if colon:
            name = prefix.strip().casefold()
            if name not in self._numbers and name in other_wikis:
                return Target("interwiki", 0, _spaced(page).removeprefix(":").strip())
        title = self.normalize(page)
        if _NOT_IN_TITLES.search(title.title) or len(title.title.encode("utf-8", "replace")) > _LONGEST_TITLE:
            return Target("invalid", title.namespace, title.title)
        section = _spaced(section)
        # `[[Foo#]]` names no section, and leads to the page; `[[#]]` leads to the page that it stands on.
        if section or (sharp and not title.title):
            return Target("section", title.namespace, title.title, section)
        return Target("page" if title.title else "invalid", title.namespace, title.title)

    def namespace_number(self, prefix: str) -> int | None:
        """Return the number of a namespace by its name, in lower case with single blanks; None if there is none."""
        return self._numbers.get(prefix)

    def within(self, text: str, namespace: int) -> str:
        """Return the title in `text`, a full page name known to lie in `namespace`."""
        title = self.normalize(text)
        if title.namespace == namespace:
            return title.title
        # A wiki may have gained or lost a namespace since the header was written, so the page's own number decides.
        return self._first_letter(_spaced(text), namespace)

    def _first_letter(self, title: str, namespace: int) -> str:
        if namespace in self.case_sensitive or not title:
            return title
        language, _, _ = (self.dbname or "").partition("wik")
        return in_capital(title[0], language) + title[1:]


def in_capital(letter: str, language: str) -> str:
    """Return a letter as it begins a title or a sentence; one without a capital of its own stays as it is.

    >>> in_capital("i", "en"), in_capital("i", "tr"), in_capital("ß", "de")
    ('I', 'İ', 'ß')
    """
    if letter == "i" and language in _HAVE_TWO_I:
        return "\u0130"
    upper = letter.upper()
    return letter if len(upper) > 1 or is_mkhedruli(letter) else upper


def in_small(letter: str, language: str) -> str:
    """Return the small form of a letter.

    >>> in_small("I", "en"), in_small("I", "tr"), in_small("İ", "tr")
    ('i', 'ı', 'i')
    """
    if letter == "I" and language in _HAVE_TWO_I:
        return "\u0131"
    # The small form of a dotted capital I would be two characters.
    return letter.lower()[0]


def is_mkhedruli(sign: str) -> bool:
    """Return whether a character is a Georgian letter that Unicode calls small, though sentences have no capitals."""
    return _FIRST_MKHEDRULI <= sign <= _LAST_MKHEDRULI


def _spaced(text: str) -> str:
    return _SPACES.sub(" ", without_direction_marks(text)).strip()


def _decoded(entity: re.Match[str]) -> str:
    written = entity[0]
    return html.unescape(written) if written[1] == "#" or written[1:] in html5 else written
