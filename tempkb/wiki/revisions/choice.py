"""Which pages of a wiki a home holds: all of them, a sample by a hash, or those of a list."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from tempkb.core.errors import SettingsError
from tempkb.core.files import own, replace_whole
from tempkb.core.settings import Home
from tempkb.core.titles import Site, may_be_title

ALL_PAGES = "all"
# Quotation marks around anything but digits belong to the title.
_QUOTED_DIGITS = re.compile(r'"(\d+)"')


@dataclass(frozen=True)
class PageChoice:
    """A part of a wiki's pages.

    Attributes:
        name: the value of the setting `pages`: `all`, `1/<n>` or `list-<hash>`.
        one_in: n of a sample: one page in n is held, chosen by a hash of its number.
        numbers, titles: of a list; a page with either is held.
    """

    name: str = ALL_PAGES
    one_in: int = 1
    numbers: frozenset[int] = field(default=frozenset(), repr=False)
    titles: frozenset[str] = field(default=frozenset(), repr=False)

    def on(self, site: Site) -> "PageChoice":
        """Return the choice with the titles of a list also in the form that a wiki gives to its titles."""
        return replace(self, titles=self.titles | {site.within(title, 0) for title in self.titles})

    def takes(self, page_id: int, title: str) -> bool:
        """Does the home hold a page?

        Args:
            title: its title on the dump's day, without the namespace's name.
        """
        if self.name.startswith("list-"):
            return page_id in self.numbers or title in self.titles
        if self.one_in == 1:
            return True
        return int.from_bytes(hashlib.sha256(b"page %d" % page_id).digest()[:8]) % self.one_in == 0

    @property
    def n_listed(self) -> int:
        """Number of pages in the list; 0 if there is no list."""
        return len(self.numbers) + len(self.titles)

    def may_take_from(self, page_range: tuple[int, int] | None) -> bool:
        """Can a file with pages of these numbers hold a page of the home?"""
        if page_range is None or self.titles or not self.name.startswith("list-"):
            return True
        return any(page_range[0] <= number <= page_range[1] for number in self.numbers)


def choice_of(home: Home) -> PageChoice:
    """Return the choice of pages that a home holds.

    Raises:
        SettingsError: the list with which the home was made is gone.
    """
    name = home.settings.pages
    if name.startswith("1/"):
        return PageChoice(name, int(name[2:]))
    if name == ALL_PAGES:
        return PageChoice()
    path = _list_path(home.path, name)
    if not path.is_file():
        raise SettingsError(f"pages: the home's list {path} is missing; name it again: tempkb build --pages FILE")
    return _read(name, path.read_text("utf-8").removesuffix("\n").split("\n"))


def read_list(file: Path) -> tuple[str, str]:
    """Read a list of pages that a user wrote.

    Args:
        file: one page per line, by number or title; a title of digits only is in double quotes. Blank lines and
            lines that begin with `#` are ignored.

    Returns:
        the value of the setting `pages` for this list, and its lines as a home keeps them.

    Raises:
        SettingsError: there is no such file, it is not text, a line cannot be a title, or it names no page.
    """
    try:
        # Not `splitlines`: titles may hold U+0085, which is the end of a line to Unicode.
        lines = file.read_text("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"--pages {file}: cannot be read ({error}); expected a text file with one page per line"
        ) from None
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.startswith("#") and not may_be_title(_unquoted(line.strip())):
            raise SettingsError(
                f"--pages {file}, line {number}: found {line.strip()[:60]!r}, which cannot be the title of a page; "
                "expected the number or title of one page per line"
            )
    wanted = sorted({line.strip() for line in lines if line.strip() and not line.startswith("#")})
    if not wanted:
        raise SettingsError(f"--pages {file}: names no page; expected the number or title of one page per line")
    text = "\n".join(wanted) + "\n"
    return f"list-{hashlib.sha256(text.encode()).hexdigest()[:16]}", text


def keep_list(home: Path, name: str, text: str) -> None:
    """Keep a list in its home."""
    replace_whole(own(home, _list_path(home, name)), text.encode())


def _read(name: str, lines: Iterable[str]) -> PageChoice:
    numbers, titles = set(), set()
    for line in lines:
        if line.isdecimal():
            numbers.add(int(line))
        else:
            titles.add(_unquoted(line).replace("_", " "))
    return PageChoice(name, numbers=frozenset(numbers), titles=frozenset(titles))


def _unquoted(line: str) -> str:
    digits = _QUOTED_DIGITS.fullmatch(line)
    return digits[1] if digits else line


def _list_path(home: Path, name: str) -> Path:
    return home / "page_lists" / f"{name}.txt"
