"""Reads the beginning of a dump's file, before it is registered, to check that it holds what its name says.

A server may send an HTML page in place of a file that it does not have, and a transfer may end early. Such a
file would give empty tables. It is refused, and leaves no rows or notes that could be mistaken for those of a
good file of the same name. Damage further on is found by the pass that reads the whole file.
"""

import contextlib
import re
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

from tempkb.core.errors import SourceError
from tempkb.core.titles import Site
from tempkb.core.wording import counted
from tempkb.wiki.dumps.elements import BrokenPageError, TextState
from tempkb.wiki.dumps.files import DamageError, open_dump, place_of
from tempkb.wiki.dumps.offers import ENTITIES, HISTORY
from tempkb.wiki.dumps.sql import read_rows
from tempkb.wiki.dumps.xml import Damage, PageStream

_LOOK = 1 << 24  # plain bytes
_HTML = (b"<!doctype html", b"<html")
# In a history hardly a page begins with a revision that has a parent; of current revisions more than a third do.
_SHARE_OF_CURRENT, _MANY_PAGES = 1 / 3, 100
_CALLED_CURRENT = re.compile(r"-pages-(articles|meta-current)")
_WIKI_AND_DAY = re.compile(r"([a-z]\w*-)(latest|\d{4}-?\d\d-?\d\d)-")
# The columns that are read from each table.
TABLE_COLUMNS = {
    "page": ("page_id", "page_namespace", "page_title", "page_is_redirect"),
    "page_props": ("pp_page", "pp_propname", "pp_value"),
    "redirect": ("rd_from", "rd_namespace", "rd_title", "rd_interwiki"),
}


def look_at(path: Path, kind: str, seen: Counter[str] | None = None) -> Site | None:
    """Refuse a file if its beginning shows that nothing can be read from it.

    Args:
        kind: `history`, `entities`, or the name of an SQL table.
        seen: counts, for `refuse_no_history`, what a history begins with; of several files together.

    Returns:
        the wiki as the header of a history describes it; None for other files.

    Raises:
        SourceError: it holds no whole page, no table of that kind, or no entity.
    """
    if kind == HISTORY:
        return _look_for_a_page(path, Counter() if seen is None else seen)
    if kind == ENTITIES:
        _look_for_an_entity(path)
    else:
        _look_for_a_table(path, kind)
    return None


def refuse_no_history(paths: Sequence[Path], seen: Counter[str]) -> None:
    """Refuse current revisions, of which every page would begin with its last edit, and stubs, which have no texts.

    Args:
        paths: of a dump's files of history.
        seen: what `look_at` saw of them all.

    Raises:
        SourceError: no page has a second revision, and more begin with one that has a parent than in a young wiki, or
            the files are called current; or no revision has its text.
    """
    n_pages, n_later, n_bare = (seen[one] for one in ("pages", "pages that begin with a parent", "without text"))
    is_many = n_later >= _MANY_PAGES or n_later > n_pages * _SHARE_OF_CURRENT
    is_called_current = any(_CALLED_CURRENT.search(path.name) for path in paths)
    if not seen["second revisions"] and (is_many or (is_called_current and (n_later or n_pages >= _MANY_PAGES))):
        found = (
            f"holds current revisions only: none of {counted(n_pages, 'page')} has a second one, and {n_later:,} begin "
            "with one that has a parent"
        )
    elif n_bare and not seen["texts"]:
        found = f"is a stub: none of {counted(n_bare, 'revision')} has its text"
    else:
        return
    match = _WIKI_AND_DAY.match(paths[0].name)
    wanted = f"{match[1]}{match[2].replace('-', '')}-pages-meta-history*.xml*" if match else "FILE"
    raise SourceError(
        f"{paths[0].name}: {found}; expected the history of every page with its texts, which Wikimedia calls "
        f"pages-meta-history. Take that: tempkb build --dump {wanted}"
    )


def no_page_in(path: Path, damages: Sequence[Damage]) -> SourceError:
    """Return the error for an export without a single whole page."""
    first = damages[0] if damages else None
    why = what_it_is(path)
    if not why and first is not None:
        why = place_of(first.position, first.of, first.reason)
    return SourceError(
        f"{path.name}: holds no whole page ({why or 'there is no <page> from byte 0 to its end'}); expected a "
        "MediaWiki XML export. Fetch the file again, or name another"
    )


def what_it_is(path: Path) -> str:
    """Return in words what a useless file is, if its first bytes show it; empty if they do not."""
    with path.open("rb") as handle:
        first = handle.read(1024)
    if not first:
        return "the file is empty"
    plain, _ = _beginning(path, len(first))
    for text in (first, plain):
        if text.lstrip()[:20].lower().startswith(_HTML):
            return "it is an HTML page from byte 0 on, as servers send in place of a missing file"
    return ""


def _look_for_a_page(path: Path, seen: Counter[str]) -> Site:
    pieces, n_whole = _Beginning(open_dump(path), _LOOK), 0
    with contextlib.closing(pieces):
        try:
            stream = PageStream(pieces, path.name)
        except SourceError:
            if what_it_is(path):
                raise no_page_in(path, ()) from None
            raise
        while not (n_whole and seen["second revisions"] and seen["texts"]) and stream.next_page() is not None:
            with contextlib.suppress(BrokenPageError):
                _count_revisions(stream, seen)
                n_whole += 1
    # The first page may be longer than what is read here; then the pass over the whole file decides.
    if not n_whole and not pieces.is_cut_short:
        raise no_page_in(path, stream.damages)
    return stream.site


def _count_revisions(stream: PageStream, seen: Counter[str]) -> None:
    for number, revision in enumerate(stream.revisions()):
        seen["second revisions" if number else "pages"] += 1
        seen["pages that begin with a parent"] += not number and bool(revision.parent_id)
        seen["without text"] += revision.state is TextState.ABSENT
        seen["texts"] += revision.state is TextState.PRESENT


def _look_for_a_table(path: Path, kind: str) -> None:
    what = what_it_is(path)
    if what:
        raise SourceError(
            f"{path.name}: holds no table ({what}); expected `{kind}` as mysqldump writes it. Fetch the file again"
        )
    rows = read_rows(path, TABLE_COLUMNS[kind])
    with contextlib.closing(rows):
        # A small wiki may have no redirects and no items, but every wiki has pages.
        if next(rows, None) is None and kind == "page":
            raise SourceError(f"{path.name}: the table has no rows, but every wiki has pages; fetch the file again")


def _look_for_an_entity(path: Path) -> None:
    begin, damage = _beginning(path, _LOOK)
    text = begin.strip()
    why = what_it_is(path)
    if not why and damage and not text:
        why = damage
    elif not why and not text.strip(b"[], \r\n\t"):
        why = "it is an empty list" if text else "nothing is packed in it"
    elif not why and not text.startswith((b"[", b"{")):
        why = f"line 1 begins with {text[:30]!r}"
    elif not why and b'"id"' not in text and b'"entities"' not in text:
        why = f"no element from byte 0 on has an id, as in {text[:30]!r}"
    if why:
        raise no_entity_in(path, why)


def no_entity_in(path: Path, why: str) -> SourceError:
    """Return the error for a file of Wikidata's JSON without a single entity."""
    return SourceError(
        f"{path.name}: holds no entity ({why}); expected Wikidata's JSON: a list with one entity per line, or a single "
        "entity. Fetch the file again, or name another"
    )


class _Beginning(Iterator[bytes]):
    """The first pieces of a file, up to a number of bytes."""

    def __init__(self, pieces: Generator[bytes, None, None], most: int) -> None:
        self._pieces, self._left = pieces, most
        self.is_cut_short = False

    def __next__(self) -> bytes:
        if self._left <= 0:
            self.is_cut_short = True
            raise StopIteration
        piece = next(self._pieces)
        self._left -= len(piece)
        return piece

    def close(self) -> None:
        """Close the file."""
        self._pieces.close()


def _beginning(path: Path, most: int) -> tuple[bytes, str]:
    """Return the first plain bytes of a file and, if it is damaged within them, where."""
    found: list[bytes] = []
    pieces = _Beginning(open_dump(path), most)
    with contextlib.closing(pieces):
        try:
            found.extend(pieces)
        except DamageError as error:
            return b"".join(found), place_of(error.position, error.of, error.reason)
        except SourceError as error:
            return b"".join(found), str(error)
    return b"".join(found), ""
