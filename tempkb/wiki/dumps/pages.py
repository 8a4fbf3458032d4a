"""The rows of `pages`, `namespaces` and `dump_files`, each written once for a dump, and texts of many pages in memory.

Pages are those of the dump's day, from its SQL tables or from page headers and the available tables. All that
normalises titles reads the namespaces.
"""

import contextlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tempkb.core.errors import SourceError
from tempkb.core.titles import Site
from tempkb.store.drafts import Provenance
from tempkb.store.store import Store
from tempkb.store.versions import Version
from tempkb.wiki.dumps.catalogue import Dump, DumpFile, horizon_day
from tempkb.wiki.dumps.files import open_dump
from tempkb.wiki.dumps.looking import TABLE_COLUMNS
from tempkb.wiki.dumps.offers import HISTORY
from tempkb.wiki.dumps.sql import Value, read_rows
from tempkb.wiki.dumps.tables import NAMESPACES, PAGE_PROPS, PAGES
from tempkb.wiki.dumps.xml import PageStream


class TextsByPage:
    """A number and a text for each page. As in a dict, a later one of a page takes the place of an earlier one.

    A dict of sixty million pages would take 9 GB; these are a few arrays, in which pages are found by bisection.
    """

    def __init__(self) -> None:
        self._pages, self._numbers, self._ends = array("q"), array("i"), array("q")
        self._bytes = bytearray()
        self._sorted: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        # Places of the sorted pages in the order in which they came; None if they came sorted.
        self._order: npt.NDArray[np.int64] | None = None

    def add(self, page_id: int, text: str, number: int = 0) -> None:
        """Add the text of a page, and a number of 32 bits, such as that of a namespace."""
        self._pages.append(page_id)
        self._numbers.append(number)
        self._bytes += text.encode()
        self._ends.append(len(self._bytes))

    def settle(self) -> "TextsByPage":
        """Sort the pages, and return self; call it when all are added, before `find`."""
        pages = np.array(self._pages, np.int64)
        self._order = None if (pages[1:] > pages[:-1]).all() else np.argsort(pages, kind="stable")
        self._sorted = pages if self._order is None else pages[self._order]
        # The pages are held sorted from now on.
        self._pages = array("q")
        return self

    def find(self, page_ids: Sequence[int]) -> list[tuple[int, str] | None]:
        """Return the number and the text of each page; None if it has none."""
        wanted = np.array(page_ids, np.int64)
        # Of equal pages the last, which came last.
        places = np.searchsorted(self._sorted, wanted, "right") - 1
        found = places >= 0
        found[found] = self._sorted[places[found]] == wanted[found]
        if self._order is not None:
            places = self._order[places]
        return [self._at(at) if has else None for at, has in zip(places.tolist(), found.tolist(), strict=True)]

    def _at(self, place: int) -> tuple[int, str]:
        begin = self._ends[place - 1] if place else 0
        return self._numbers[place], self._bytes[begin : self._ends[place]].decode()


_ROWS = 1 << 16


@dataclass(frozen=True)
class _Props:
    entity_ids: TextsByPage
    disambiguations: set[int]


@dataclass(frozen=True)
class _Beside:
    """What the tables beside `page` say; `props` is None without `page_props`."""

    props: _Props | None
    targets: TextsByPage

    def columns(self, page_ids: Sequence[int]) -> dict[str, list[Any]]:
        """Return the columns of `pages` that rest on these tables."""
        targets = self.targets.find(page_ids)
        items = self.props.entity_ids.find(page_ids) if self.props else [None] * len(page_ids)
        marked = self.props.disambiguations if self.props else None
        return {
            "entity_id": [None if one is None else one[1] for one in items],
            "entity_id_source": [None if one is None else PAGE_PROPS for one in items],
            "redirect_namespace": [None if one is None else one[0] for one in targets],
            "redirect_title": [None if one is None else one[1] for one in targets],
            "is_disambiguation": [None if marked is None else one in marked for one in page_ids],
        }


def pages_from_sql(dump: Dump) -> Iterator[pa.Table]:
    """Yield the rows of `pages` of a dump, ordered by page number.

    The table `page` is required. Without `page_props`, items and disambiguations are
    unknown (null); without `redirect`, the targets are.

    Raises:
        SourceError: the dump has no `page` table, or a table is malformed.
    """
    page = dump.table("page")
    if page is None:
        raise SourceError(f"dump {dump.dump_id}: has no page table; expected a file like {dump.dump_id}-page.sql.gz")
    beside = _read_beside(dump)
    empty = True
    for rows in _in_order(page.path):
        empty = False
        page_ids, namespaces, titles, redirects = (list(values) for values in zip(*rows, strict=True))
        columns = {
            "wiki": [dump.wiki] * len(rows),
            "dump_id": [dump.dump_id] * len(rows),
            "page_id": page_ids,
            "namespace": namespaces,
            "title": titles,
            "is_redirect": redirects,
        }
        yield pa.table(columns | beside.columns(page_ids), PAGES.schema)
    if empty:
        raise SourceError(f"{page.path.name}: the table has no rows, but every wiki has pages; fetch the file again")


def complete_headers(headers: Iterable[pa.Table], beside: Dump) -> Iterator[pa.Table]:
    """Add the columns from `page_props` and `redirect` to pages that were read from the headers of an export.

    Args:
        headers: rows of `pages` whose other columns are null.
        beside: the dump that has these tables, or one of them.

    Raises:
        SourceError: a table is malformed.
    """
    found = _read_beside(beside)
    for rows in headers:
        for name, values in found.columns(rows["page_id"].to_pylist()).items():
            at = PAGES.schema.get_field_index(name)
            rows = rows.set_column(at, name, pa.array(values, PAGES.schema.field(at).type))
        yield rows


def pages_provenance(dump: Dump, files: Iterable[DumpFile], dump_id: str) -> Provenance:
    """Return the provenance of `pages`: its inputs, and what the join with site links needs to know."""
    used = list(files)
    has_props = any(file.kind == PAGE_PROPS for file in used)
    settings = {"dump_id": dump_id, "day": horizon_day(dump).isoformat(), "has_page_props": has_props}
    return Provenance({file.path.name: file.sha256 for file in used}, settings)


def pages_made_from(store: Store, dump: Dump) -> Version | None:
    """Return the current version of `pages` if the present code made it from the dump's tables as they are now.

    That version may already hold items from site links, which a new version from the same tables would lose.
    """
    version = store.lake.current(PAGES.name, dump.dump_id)
    if version is None or not version.fits(PAGES):
        return None
    # Inputs that are tables of the lake have a blank in their names.
    used = {name: digest for name, digest in version.inputs.items() if " " not in name}
    ours = {file.path.name: file.sha256 for file in dump.files if file.kind != HISTORY}
    return version if used == ours and version.is_of_present_code(PAGES) else None


_PageRow = tuple[int, int, str, bool]


def _in_order(path: Path) -> Iterator[list[_PageRow]]:
    """Yield the page table ordered by page number, in lists; mysqldump usually writes it in that order."""
    last = -1
    for rows in _lists(path):
        if rows != sorted(rows) or rows[0][0] <= last:
            break
        _refuse_repeats(rows, path)
        last = rows[-1][0]
    else:
        yield from _lists(path)
        return
    everything = sorted(row for rows in _lists(path) for row in rows)
    _refuse_repeats(everything, path)
    for start in range(0, len(everything), _ROWS):
        yield everything[start : start + _ROWS]


def _refuse_repeats(rows: Sequence[_PageRow], path: Path) -> None:
    for row, following in pairwise(rows):
        if row[0] == following[0]:
            raise SourceError(
                f"{path.name}: page {row[0]} has two rows ({row[2]!r}, {following[2]!r}); expected one. Fetch it again"
            )


def _lists(path: Path) -> Iterator[list[_PageRow]]:
    rows: list[_PageRow] = []
    for page_id, namespace, title, is_redirect in read_rows(path, TABLE_COLUMNS["page"]):
        row = path.name, page_id
        rows.append((_number(page_id, row), _namespace(namespace, row), _text(title, row), bool(is_redirect)))
        if len(rows) == _ROWS:
            yield rows
            rows = []
    if rows:
        yield rows


def _read_beside(dump: Dump) -> _Beside:
    props, redirect = dump.table("page_props"), dump.table("redirect")
    return _Beside(
        _read_props(props.path) if props else None,
        _read_redirects(redirect.path) if redirect else TextsByPage().settle(),
    )


def _read_props(path: Path) -> _Props:
    props = _Props(TextsByPage(), set())
    for page_id, name, value in read_rows(path, TABLE_COLUMNS["page_props"]):
        if name == b"wikibase_item":
            row = path.name, page_id
            props.entity_ids.add(_number(page_id, row), _text(value, row))
        elif name == b"disambiguation":
            props.disambiguations.add(_number(page_id, (path.name, page_id)))
    props.entity_ids.settle()
    return props


def _read_redirects(path: Path) -> TextsByPage:
    targets = TextsByPage()
    for page_id, namespace, title, interwiki in read_rows(path, TABLE_COLUMNS["redirect"]):
        if not interwiki:
            row = path.name, page_id
            targets.add(_number(page_id, row), _text(title, row), _namespace(namespace, row))
    return targets.settle()


_Row = tuple[str, Value]  # name of the file, and the row's page number as it is in the file


def _number(value: Value, row: _Row) -> int:
    if not isinstance(value, int) or not -(1 << 31) <= value < 1 << 63:
        raise _odd(value, row, "a number")
    return value


def _namespace(value: Value, row: _Row) -> int:
    number = _number(value, row)
    if number >= 1 << 31:
        raise _odd(value, row, "the number of a namespace")
    return number


def _text(value: Value, row: _Row) -> str:
    if not isinstance(value, bytes):
        raise _odd(value, row, "a text")
    # Old rows hold text that was cut in the middle of a character.
    return value.decode("utf-8", "replace").replace("_", " ")


def _odd(value: Value, row: _Row, expected: str) -> SourceError:
    file, page_id = row
    return SourceError(
        f"{file}: the row of page {page_id!r} has {value!r} where MediaWiki has {expected}; fetch the file again"
    )


def write_namespaces(store: Store, dump: Dump) -> Version:
    """Write the namespaces from the header of the dump's first history file."""
    import pyarrow as pa

    first = dump.history[0]
    pieces = open_dump(first.path)
    with contextlib.closing(pieces):
        site = PageStream(pieces, first.path.name).site
    rows = [
        {
            "wiki": dump.wiki,
            "dump_id": dump.dump_id,
            "namespace": number,
            "name": name,
            "is_case_sensitive": number in site.case_sensitive,
        }
        for number, name in sorted(site.namespaces.items())
    ]
    provenance = Provenance({first.path.name: first.sha256}, {"dump_id": dump.dump_id})
    return store.write(NAMESPACES, dump.dump_id, [pa.Table.from_pylist(rows, NAMESPACES.schema)], provenance)


def read_site(store: Store, dump_id: str) -> Site:
    """Return the wiki as the header of a dump describes it; if that dump was not registered, the newest dump's.

    Raises:
        SourceError: no namespaces have been written.
    """
    known = store.lake.partitions(NAMESPACES.name)
    if not known:
        raise SourceError(
            "the wiki's namespaces have not been built yet; build them first: tempkb build --select namespaces"
        )
    rows = store.read(NAMESPACES.name, dump_id=dump_id if dump_id in known else known[-1]).to_pylist()
    sensitive = frozenset(row["namespace"] for row in rows if row["is_case_sensitive"])
    return Site(store.home.wiki, {row["namespace"]: row["name"] for row in rows}, sensitive)


def describe_files(dump: Dump) -> list[dict[str, Any]]:
    """Return the rows of `dump_files` for a dump as its files are on disk, sorted by file name."""
    return [
        {
            "wiki": dump.wiki,
            "dump_id": dump.dump_id,
            "file_name": file.path.name,
            "kind": file.kind,
            "dump_date": dump.date,
            "horizon": dump.horizon * 1_000_000,
            "size_bytes": file.path.stat().st_size,
            "checksum": file.sha256,
            "status": "complete",
            "reason": None,
            "n_pages": None,
            "n_revision_elements": None,
        }
        for file in sorted(dump.files, key=lambda file: file.path.name)
    ]
