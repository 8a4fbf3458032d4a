"""The table `pages`: pages as of the dump's day, from its SQL tables or from page headers and the available tables."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

from tempkb.dumps.catalogue import Dump, DumpFile, horizon_day
from tempkb.dumps.looking import TABLE_COLUMNS
from tempkb.dumps.offers import HISTORY
from tempkb.dumps.sql import Value, read_rows
from tempkb.dumps.tables import PAGE_PROPS, PAGES
from tempkb.errors import SourceError
from tempkb.store.drafts import Provenance
from tempkb.store.lake import Version
from tempkb.store.store import Store
from tempkb.store.tables import MANIFEST

_ROWS = 1 << 16


@dataclass(frozen=True)
class _Props:
    entity_ids: dict[int, str]
    disambiguations: set[int]


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
    props_file, redirect_file = dump.table("page_props"), dump.table("redirect")
    props = _read_props(props_file.path) if props_file else None
    targets = _read_redirects(redirect_file.path) if redirect_file else {}
    empty = True
    for rows in _in_order(page.path):
        empty = False
        yield _rows_of(dump, rows, props, targets)
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
    props_file, redirect_file = beside.table("page_props"), beside.table("redirect")
    props = _read_props(props_file.path) if props_file else None
    targets = _read_redirects(redirect_file.path) if redirect_file else {}
    for rows in headers:
        ids = rows["page_id"].to_pylist()
        columns: dict[str, list[object]] = {
            "redirect_namespace": [targets[one][0] if one in targets else None for one in ids],
            "redirect_title": [targets[one][1] if one in targets else None for one in ids],
        }
        if props is not None:
            columns["entity_id"] = [props.entity_ids.get(one) for one in ids]
            columns["entity_id_source"] = [PAGE_PROPS if one in props.entity_ids else None for one in ids]
            columns["is_disambiguation"] = [one in props.disambiguations for one in ids]
        for name, values in columns.items():
            at = PAGES.schema.get_field_index(name)
            rows = rows.set_column(at, name, pa.array(values, PAGES.schema.field(at).type))
        yield rows


def pages_provenance(dump: Dump, files: Iterable[DumpFile], dump_id: str) -> Provenance:
    """Return the provenance of `pages`: its inputs, and what the join with site links needs to know.

    Args:
        dump: the dump whose day the titles are of.
        files: the files that were read.
        dump_id: partition of `pages`.
    """
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
    manifest = version.side_rows(MANIFEST.name)
    # Inputs that are tables of the lake have a blank in their names.
    used = {row["name"]: row["sha256"] for row in manifest if row["role"] == "input" and " " not in row["name"]}
    ours = {file.path.name: file.sha256 for file in dump.files if file.kind != HISTORY}
    is_of_code = all(row["code_version"].endswith(f"{PAGES.name} {PAGES.code_version}") for row in manifest)
    return version if used == ours and is_of_code else None


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
                "entity_id_source": PAGE_PROPS if props and page_id in props.entity_ids else None,
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
    for page_id, name, value in read_rows(path, TABLE_COLUMNS["page_props"]):
        if name == b"wikibase_item":
            row = path.name, page_id
            props.entity_ids[_number(page_id, row)] = _text(value, row)
        elif name == b"disambiguation":
            props.disambiguations.add(_number(page_id, (path.name, page_id)))
    return props


def _read_redirects(path: Path) -> dict[int, tuple[int, str]]:
    targets = {}
    for page_id, namespace, title, interwiki in read_rows(path, TABLE_COLUMNS["redirect"]):
        if not interwiki:
            row = path.name, page_id
            targets[_number(page_id, row)] = (_namespace(namespace, row), _text(title, row))
    return targets


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
