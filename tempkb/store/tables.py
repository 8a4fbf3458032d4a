"""Declarations of tables: name, columns, key, rules. Pure.

Rooms declare their tables with these classes in their own `tables.py`. Reading,
writing and the tables of rooms are elsewhere.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal, TypeVar

from tempkb.core.errors import ContractError
from tempkb.store.columns import Column, Rule, columns
from tempkb.store.quoting import identifier

if TYPE_CHECKING:
    import pyarrow as pa

Persist = Literal["table", "view"]
SEPARATOR = "--"
"""Stands in the key of a partition between a model or linker, and what was done with it."""
_CUT = re.compile(r"\.(?:\d{4}-\d\d-\d\d|future)$")


class Family(Enum):
    """What a table's partitions are made for; this decides which job builds it and which commands may select it."""

    DUMP = "dump"
    """A dump: its files, and the pages of its day."""
    ENTITIES = "entities"
    """The content of a dump of Wikidata's entities."""
    WINDOW = "window"
    """A window of the home, read from a history or derived from such tables."""
    RELEASE = "release"
    """A release of a benchmark."""
    CORPUS = "corpus"
    """A corpus of dated text."""
    MODEL = "model"
    """A language model."""
    LINKER = "linker"
    """A linker of mentions to entities."""
    RESULT = "result"
    """What scores mean, of all models at once; its one partition is `all`."""
    SIDE = "side"
    """Written beside each version of any table; never built by itself."""


@dataclass(frozen=True)
class Table:
    """A declared table.

    Attributes:
        name: plural noun; also the Dagster asset key and the DuckDB name.
        columns: in file order.
        key: columns that identify a row; files are in this order and no value repeats.
        partitioned_by: what one partition holds, in words (`window`, `dump`, `quarter of the revision`).
        partition_columns: columns with one value in all rows of a partition, which differs between partitions.
        persist: `table` copies rows into DuckDB, `view` lets DuckDB read the lake's files.
        row_group_rows: rows of one Parquet row group; small for bulk text.
        code_version: raised when the same input would give other rows; partitions with another version are stale.
        tells_of_a_run: its rows describe one run, so a lost partition cannot be built again.
    """

    name: str
    meaning: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    family: Family
    partitioned_by: str
    partition_columns: tuple[str, ...]
    persist: Persist = "table"
    rules: tuple[Rule, ...] = ()
    row_group_rows: int = 122_880
    code_version: str = "1"
    tells_of_a_run: bool = False

    @cached_property
    def schema(self) -> "pa.Schema":
        """The Arrow schema of every file of this table."""
        import pyarrow as pa

        return pa.schema([(column.name, column.arrow) for column in self.columns])

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything that a published table shows: names, types, meanings, persistence."""
        parts = [self.meaning, self.persist, *(f"{c.name}:{c.type}:{c.meaning}" for c in self.columns)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    def form(self, n_rows: int, max_rows: int) -> Persist:
        """Is the table with so many rows a `table` or a `view` in DuckDB, which takes at most `max_rows` of one?"""
        return "view" if self.persist == "view" or n_rows > max_rows else "table"

    @property
    def empty_query(self) -> str:
        """SQL that returns no rows, with the table's columns."""
        columns = ", ".join(f"CAST(NULL AS {one.sql_type}) AS {identifier(one.name)}" for one in self.columns)
        return f"SELECT {columns} LIMIT 0"

    def owner_of(self, key: str) -> str | None:
        """Return the window, dump, release, corpus, model or linker to which a partition belongs.

        Returns:
            None for that of all results, and for a quarter, which belongs to several windows.
        """
        if self.family is Family.WINDOW:
            return key if self.partitioned_by == "window" else None
        if self.family in (Family.MODEL, Family.LINKER):
            return key.partition(SEPARATOR)[0]
        if self.family is Family.CORPUS or (self.family is Family.RELEASE and self.partitioned_by != "release"):
            return _CUT.sub("", key)
        return None if self.family is Family.RESULT else key

    def column_names(self) -> list[str]:
        """Names of the columns in file order."""
        return [column.name for column in self.columns]

    def conform(self, data: "pa.Table | pa.RecordBatch") -> "pa.Table":
        """Return `data` with exactly this schema.

        Raises:
            ContractError: a column is missing, superfluous or of another type.
        """
        import pyarrow as pa

        table = pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else data
        wanted, found = set(self.schema.names), set(table.schema.names)
        if wanted != found:
            raise ContractError(
                f"table {self.name!r}: missing columns {sorted(wanted - found)}, unknown columns "
                f"{sorted(found - wanted)}. Nothing was written."
            )
        table = table.select(self.schema.names)
        if table.schema.equals(self.schema):
            return table
        try:
            return table.cast(self.schema)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
            raise ContractError(f"table {self.name!r}: {error}. Nothing was written.") from None


# What the tables of a family have in common, where several rooms have such tables.
table_of_dumps = partial(Table, family=Family.DUMP, partitioned_by="dump", partition_columns=("dump_id",))
table_of_windows = partial(Table, family=Family.WINDOW, partitioned_by="window", partition_columns=("window_start",))
table_of_quarters = partial(
    Table, family=Family.WINDOW, partitioned_by="quarter of the revision", partition_columns=("quarter",)
)
table_of_releases = partial(Table, family=Family.RELEASE, partitioned_by="release", partition_columns=("release",))
table_of_results = partial(Table, family=Family.RESULT, partitioned_by="nothing", partition_columns=())
_side_table = partial(
    Table, family=Family.SIDE, partitioned_by="side file of each version", partition_columns=("table_name", "partition")
)


@dataclass(frozen=True)
class View:
    """A named query over declared tables, which DuckDB evaluates whenever it is used.

    Attributes:
        name: plural noun, unlike that of any table.
        meaning: one sentence for people.
        query: SQL over the tables by their names.
        needs: those tables; the view exists once all of them do.
        optional: further tables and views, which count as empty while they do not exist.
    """

    name: str
    meaning: str
    query: str
    needs: tuple[str, ...]
    optional: tuple[str, ...] = ()


EXCLUSIONS = _side_table(
    name="exclusions",
    meaning="Rows that were seen but not kept, counted by reason.",
    columns=columns("""
        table_name VARCHAR: table to which the rows would have been written
        partition VARCHAR: partition of that table
        reason VARCHAR: short name of the reason why they were left out
        n BIGINT: number of rows
        example VARCHAR: an example, in words
        recorded_in VARCHAR: table with whose partition the count was recorded
    """),
    key=("table_name", "partition", "reason", "recorded_in"),
)

MANIFEST = _side_table(
    name="manifest",
    meaning="Inputs, settings and outputs of each partition: one row per input or output file.",
    columns=columns("""
        table_name VARCHAR: table to which the partition belongs
        partition VARCHAR: partition key
        version VARCHAR: content hash that names the version folder
        role VARCHAR: input (a file or table that was read) or output (a file in the lake)
        name VARCHAR: name of the file or table
        sha256 VARCHAR: SHA-256 of the file; for an input table its version
        settings VARCHAR: settings of the build, as JSON
        code_version VARCHAR: version of tempkb and code version of the table
    """),
    key=("table_name", "partition", "role", "name"),
)

SIDE_TABLES = (EXCLUSIONS, MANIFEST)


_Declared = TypeVar("_Declared", Table, View)


def by_name(tables: Sequence[_Declared]) -> dict[str, _Declared]:
    """Index declarations by name; two with one name are a defect of tempkb."""
    index: dict[str, _Declared] = {}
    for table in tables:
        if table.name in index:
            raise ContractError(f"table {table.name!r} is declared twice")
        index[table.name] = table
    return index
