"""The pages of a dump's own day, put together from its SQL tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

from tempkb.dumps.catalogue import Dump
from tempkb.dumps.sql import Value, read_rows
from tempkb.dumps.tables import PAGES
from tempkb.errors import SourceError

_ROWS = 1 << 16


@dataclass(frozen=True)
class _Props:
    entity_ids: dict[int, str]
    disambiguations: set[int]


def pages_from_sql(dump: Dump) -> Iterator[pa.Table]:
    """Yield the rows of `pages` of a dump, in the order of page numbers.

    `page` must be there. Without `page_props` items and disambiguations are
    unknown (null), without `redirect` the targets.

    Raises:
        SourceError: the dump has no `page` table, or a table is not as expected.
    """
    page = dump.table("page")
    if page is None:
        raise SourceError(f"dump {dump.dump_id}: has no page table; expected a file like {dump.dump_id}-page.sql.gz")
    props_file, redirect_file = dump.table("page_props"), dump.table("redirect")
    props = _read_props(props_file.path) if props_file else None
    targets = _read_redirects(redirect_file.path) if redirect_file else {}
    for rows in _in_order(page.path):
        yield _rows_of(dump, rows, props, targets)


_PageRow = tuple[int, int, str, bool]


def _in_order(path: Path) -> Iterator[list[_PageRow]]:
    """Yield the page table in order of page numbers, in lists; mysqldump writes it in that order already."""
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
    for page_id, namespace, title, is_redirect in read_rows(
        path, ("page_id", "page_namespace", "page_title", "page_is_redirect")
    ):
        row = path.name, page_id
        rows.append((_number(page_id, row), _number(namespace, row), _text(title, row), bool(is_redirect)))
        if len(rows) == _ROWS:
            yield rows
            rows = []
    if rows:
        yield rows


def _rows_of(dump: Dump, rows: list[_PageRow], props: _Props | None, targets: dict[int, tuple[int, str]]) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "wiki": dump.wiki,
                "dump_id": dump.dump_id,
                "page_id": page_id,
                "namespace": namespace,
                "title": title,
                "entity_id": props.entity_ids.get(page_id) if props else None,
                "is_redirect": is_redirect,
                "redirect_namespace": targets[page_id][0] if page_id in targets else None,
                "redirect_title": targets[page_id][1] if page_id in targets else None,
                "is_disambiguation": page_id in props.disambiguations if props else None,
            }
            for page_id, namespace, title, is_redirect in rows
        ],
        PAGES.schema,
    )


def _read_props(path: Path) -> _Props:
    props = _Props({}, set())
    for page_id, name, value in read_rows(path, ("pp_page", "pp_propname", "pp_value")):
        if name == b"wikibase_item":
            row = path.name, page_id
            props.entity_ids[_number(page_id, row)] = _text(value, row)
        elif name == b"disambiguation":
            props.disambiguations.add(_number(page_id, (path.name, page_id)))
    return props


def _read_redirects(path: Path) -> dict[int, tuple[int, str]]:
    targets = {}
    columns = ("rd_from", "rd_namespace", "rd_title", "rd_interwiki")
    for page_id, namespace, title, interwiki in read_rows(path, columns):
        if not interwiki:
            row = path.name, page_id
            targets[_number(page_id, row)] = (_number(namespace, row), _text(title, row))
    return targets


_Row = tuple[str, Value]  # name of the file, and the row's page as the file has it


def _number(value: Value, row: _Row) -> int:
    if not isinstance(value, int) or not -(1 << 31) <= value < 1 << 63:
        raise _odd(value, row, "a number")
    return value


def _text(value: Value, row: _Row) -> str:
    if not isinstance(value, bytes):
        raise _odd(value, row, "a text")
    # Old rows hold bytes that were cut inside a character.
    return value.decode("utf-8", "replace").replace("_", " ")


def _odd(value: Value, row: _Row, expected: str) -> SourceError:
    file, page_id = row
    return SourceError(
        f"{file}: the row of page {page_id!r} has {value!r} where MediaWiki has {expected}; fetch the file again"
    )
