"""Drafts: partitions that are being written, and validated before they become visible.

Rows arrive in key order and are written in row groups of a fixed size, so that equal rows give equal bytes.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tempkb
from tempkb.core.errors import ContractError
from tempkb.core.files import parquet_writer
from tempkb.store.lake import Lake
from tempkb.store.memory import asking
from tempkb.store.quoting import file_names
from tempkb.store.tables import EXCLUSIONS, Table
from tempkb.store.versions import Version, content_hash, describe_file

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_ROWS_PER_FILE = 1 << 22


@dataclass(frozen=True)
class Provenance:
    """What a partition was made from and with, which becomes its manifest; see the attributes of `Version`."""

    inputs: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    fills: Mapping[str, Collection[str]] = field(default_factory=dict)
    filled_by: Sequence[str] = ()
    stamp: str = ""
    day: str = ""


@dataclass(frozen=True)
class Exclusion:
    """Rows that were seen but not kept, for one reason; of `table_name`, if they were not for the table written."""

    reason: str
    n: int
    example: str
    table_name: str = ""


class Draft:
    """Writes one partition; nothing is visible until `commit`.

    Args:
        partition: slug key.
        folder: an empty folder on the lake's file system.
    """

    def __init__(self, lake: Lake, table: Table, partition: str, folder: Path) -> None:
        self._lake, self.table, self.partition, self._folder = lake, table, partition, folder
        self._folder.mkdir(parents=True)
        self._waiting: list[pa.Table] = []
        self._n_waiting = 0
        self._writer: pq.ParquetWriter | None = None
        self._files: dict[Path, int] = {}  # with their rows
        self._last_key: pa.Table | None = None
        self.rows = 0

    def write(self, data: "pa.Table | pa.RecordBatch") -> None:
        """Append rows that follow the previous ones in key order.

        Raises:
            ContractError: wrong columns, a null or repeated key, or rows out of key order.
        """
        table = self.table.conform(data)
        if not table.num_rows:
            return
        self._check_keys(table)
        self._waiting.append(table)
        self._n_waiting += table.num_rows
        self.rows += table.num_rows
        while self._n_waiting >= self.table.row_group_rows:
            self._flush(self.table.row_group_rows)

    def commit(self, provenance: Provenance, exclusions: Iterable[Exclusion] = ()) -> Version:
        """Validate everything that was written and make it the partition's current version.

        Raises:
            ContractError: a rule of the table is broken; the old version is kept.
        """
        self._flush(self._n_waiting)
        self._open_writer()
        self._close_file()
        self._check_rules()
        files = tuple(describe_file(path, rows) for path, rows in self._files.items())
        left_out = self._rows_of(exclusions)
        version = Version(
            table=self.table.name,
            partition=self.partition,
            version=content_hash(self.table, files, left_out),
            serial=0,
            rows=self.rows,
            schema=self.table.fingerprint,
            files=files,
            code=f"tempkb {tempkb.__version__}, {self.table.name} {self.table.code_version}",
            inputs=dict(provenance.inputs),
            # As they will be read again.
            settings=json.loads(json.dumps(dict(provenance.settings), default=str)),
            exclusions=left_out,
            fills={table: sorted(keys) for table, keys in provenance.fills.items()},
            filled_by=tuple(sorted(provenance.filled_by)),
            stamp=provenance.stamp,
            day=provenance.day,
        )
        return self._lake.commit(version, self._folder)

    def _flush(self, rows: int) -> None:
        import pyarrow as pa

        if not rows:
            return
        waiting = pa.concat_tables(self._waiting)
        self._open_writer().write_table(waiting.slice(0, rows), row_group_size=rows)
        rest = waiting.slice(rows)
        self._waiting, self._n_waiting = ([rest] if rest.num_rows else []), rest.num_rows
        path = list(self._files)[-1]
        self._files[path] += rows
        if self._files[path] >= _ROWS_PER_FILE:
            self._close_file()

    def _open_writer(self) -> "pq.ParquetWriter":
        if self._writer is None and (not self._files or self._n_waiting):
            path = self._folder / f"part-{len(self._files):05}.parquet"
            self._files[path] = 0
            slim = [column.name for column in self.table.columns if not column.is_bulk]
            packed: dict[str, Any] = {"compression": "zstd", "compression_level": 3}
            self._writer = parquet_writer(path, self.table.schema, use_dictionary=slim, write_statistics=slim, **packed)
        return self._writer

    def _close_file(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _check_keys(self, table: "pa.Table") -> None:
        import pyarrow as pa

        keys = table.select(list(self.table.key)).combine_chunks()
        for name in self.table.key:
            if keys[name].null_count:
                raise self._broken(f"{keys[name].null_count} of {keys.num_rows} rows have no {name!r}")
        if self._last_key is not None:
            keys = pa.concat_tables([self._last_key, keys]).combine_chunks()
        at = _first_descent(keys)
        if at >= 0:
            pair = keys.slice(at, 2).to_pylist()
            found = "repeat the key" if pair[0] == pair[1] else "are not in key order:"
            raise self._broken(f"rows {found} {pair[0]} and {pair[1]} (key {self.table.key})")
        self._last_key = keys.slice(keys.num_rows - 1)

    def _check_rules(self) -> None:
        rules, paths = self.table.rules if self.rows else (), file_names(self._files)
        if not rules:
            return
        counts = ", ".join(f"count(*) FILTER (WHERE {rule.broken_when})" for rule in rules)
        with asking() as memory:
            found = memory.execute(f"SELECT {counts} FROM read_parquet(?)", [paths]).fetchall()[0]
            for rule, n in zip(rules, found, strict=True):
                if n:
                    query = f"SELECT {', '.join(self.table.key)} FROM read_parquet(?) WHERE {rule.broken_when} LIMIT 1"
                    example = memory.execute(query, [paths]).fetchall()[0]
                    named = ", ".join(f"{key} {value}" for key, value in zip(self.table.key, example, strict=True))
                    raise self._broken(
                        f"{n} of {self.rows} rows break the rule {rule.name!r} ({rule.meaning}), as {named}"
                    )

    def _rows_of(self, exclusions: Iterable[Exclusion]) -> tuple[dict[str, Any], ...]:
        rows = (
            asdict(one)
            | {"table_name": one.table_name or self.table.name, "partition": self.partition}
            | {"recorded_in": self.table.name}
            for one in sorted(exclusions, key=lambda one: one.reason)
            if one.n
        )
        return tuple({name: row[name] for name in EXCLUSIONS.column_names()} for row in rows)

    def _broken(self, what: str) -> ContractError:
        return ContractError(f"table {self.table.name!r}, partition {self.partition}: {what}. Nothing was written.")


def _first_descent(keys: "pa.Table") -> int:
    """Return the number of the first row whose key is not below that of the next, column by column; -1 if none is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    n = keys.num_rows - 1
    ascends = pa.chunked_array([pa.array([False]).take(pa.array([0] * n, pa.int64()))])
    for name in reversed(keys.column_names):
        left, right = keys[name].slice(0, n), keys[name].slice(1, n)
        ascends = pc.or_(pc.greater(right, left), pc.and_(pc.equal(right, left), ascends))
    return int(pc.index(ascends, False).as_py())
