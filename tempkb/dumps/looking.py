"""A first look at a dump's file, before anything is written down of it: does it hold what its name says?

A server may send an HTML page in place of a file that it does not have, and a transfer may end early. Such a
file would give empty tables; it is refused instead, and leaves nothing behind that would stand in the way of a
good file of the same name. Only the beginning is read here; what breaks later is found by the pass.
"""

import contextlib
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

from tempkb.dumps.elements import BrokenPageError
from tempkb.dumps.files import DamageError, open_dump, place_of
from tempkb.dumps.offers import ENTITIES, HISTORY
from tempkb.dumps.sql import read_rows
from tempkb.dumps.xml import Damage, PageStream
from tempkb.errors import SourceError
from tempkb.titles import Site

_LOOK = 1 << 24  # plain bytes
_HTML = (b"<!doctype html", b"<html")
# The columns that are read of each table.
TABLE_COLUMNS = {
    "page": ("page_id", "page_namespace", "page_title", "page_is_redirect"),
    "page_props": ("pp_page", "pp_propname", "pp_value"),
    "redirect": ("rd_from", "rd_namespace", "rd_title", "rd_interwiki"),
}


def look_at(path: Path, kind: str) -> Site | None:
    """Refuse a file whose beginning shows that nothing can be read from it.

    Args:
        path: the file, which is there.
        kind: `history`, `entities`, or the name of an SQL table.

    Returns:
        what the head of a history says of its wiki; None for other files.

    Raises:
        SourceError: it holds no whole page, no table of that kind, or no entity.
    """
    if kind == HISTORY:
        return _look_for_a_page(path)
    if kind == ENTITIES:
        _look_for_an_entity(path)
    else:
        _look_for_a_table(path, kind)
    return None


def no_page_in(path: Path, damages: Sequence[Damage]) -> SourceError:
    """The error of an export in which there is not one whole page.

    Args:
        path: the file.
        damages: what was found in it.
    """
    first = damages[0] if damages else None
    why = what_it_is(path)
    if not why and first is not None:
        why = place_of(first.position, first.of, first.reason)
    return SourceError(
        f"{path.name}: holds not one whole page ({why or 'there is no <page> from byte 0 to its end'}); expected a "
        "MediaWiki XML export. Fetch the file again, or name another"
    )


def what_it_is(path: Path) -> str:
    """Say what a file is that gave nothing, if its first bytes tell; empty if they do not."""
    with path.open("rb") as handle:
        first = handle.read(1024)
    if not first:
        return "the file is empty"
    plain, _ = _beginning(path, len(first))
    for text in (first, plain):
        if text.lstrip()[:20].lower().startswith(_HTML):
            return "it is an HTML page from byte 0 on, as servers send in place of a missing file"
    return ""


def _look_for_a_page(path: Path) -> Site:
    pieces = _Beginning(open_dump(path), _LOOK)
    with contextlib.closing(pieces):
        try:
            stream = PageStream(pieces, path.name)
        except SourceError:
            if what_it_is(path):
                raise no_page_in(path, ()) from None
            raise
        while stream.next_page() is not None:
            with contextlib.suppress(BrokenPageError):
                for _ in stream.revisions():
                    pass
                return stream.site
    # The first page may be longer than the look; then the pass decides.
    if not pieces.is_cut_short:
        raise no_page_in(path, stream.damages)
    return stream.site


def _look_for_a_table(path: Path, kind: str) -> None:
    said = what_it_is(path)
    if said:
        raise SourceError(
            f"{path.name}: holds no table ({said}); expected `{kind}` as mysqldump writes it. Fetch the file again"
        )
    rows = read_rows(path, TABLE_COLUMNS[kind])
    with contextlib.closing(rows):
        # A small wiki may have no redirects and no items; one without pages does not exist.
        if next(rows, None) is None and kind == "page":
            raise SourceError(f"{path.name}: the table has no row, and every wiki has pages; fetch the file again")


def _look_for_an_entity(path: Path) -> None:
    begin, damage = _beginning(path, _LOOK)
    text = begin.strip()
    why = what_it_is(path)
    if not why and damage and not text:
        why = damage
    elif not why and not text.strip(b"[], \r\n\t"):
        why = "an empty list, there is no entity in it" if text else "nothing is packed in it"
    elif not why and not text.startswith((b"[", b"{")):
        why = f"line 1 begins with {text[:30]!r}"
    elif not why and b'"id"' not in text and b'"entities"' not in text:
        why = f"nothing in it from byte 0 on has an id, as in {text[:30]!r}"
    if why:
        raise no_entity_in(path, why)


def no_entity_in(path: Path, why: str) -> SourceError:
    """The error of a file of Wikidata's in which there is not one entity."""
    return SourceError(
        f"{path.name}: holds not one entity ({why}); expected Wikidata's JSON: a list with an entity a line, or an "
        "entity. Fetch the file again, or name another"
    )


class _Beginning(Iterator[bytes]):
    """The first pieces of a file, as many bytes as the look takes.

    Attributes:
        is_cut_short: is there more of the file?
    """

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
        """Let go of the file."""
        self._pieces.close()


def _beginning(path: Path, most: int) -> tuple[bytes, str]:
    """The first plain bytes of a file, and where it is damaged, if it is before their end."""
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
