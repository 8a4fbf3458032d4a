"""Types of columns as plain data, each with its name in Arrow and in DuckDB.

Arrow itself is imported only where one of its types is made: commands that only
read need none, and its import takes longer than their answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from tempkb.store.quoting import identifier

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Scalar:
    """A type without parts.

    Attributes:
        name: as Arrow prints it. Fingerprints of tables are made of these names.
        sql: DuckDB's name.
        factory: the function of `pyarrow` that makes it.
        arguments: of that function.
    """

    name: str
    sql: str
    factory: str
    arguments: tuple[str, ...] = ()

    def __str__(self) -> str:
        """As Arrow prints it."""
        return self.name

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type."""
        import pyarrow as pa

        made: pa.DataType = getattr(pa, self.factory)(*self.arguments)
        return made


@dataclass(frozen=True)
class ListOf:
    """A list of values of one type."""

    item: ColumnType

    def __str__(self) -> str:
        """As Arrow prints it."""
        return f"list<item: {self.item}>"

    @property
    def sql(self) -> str:
        """DuckDB's name."""
        return f"{self.item.sql}[]"

    @property
    def arrow(self) -> pa.ListType:
        """The Arrow type."""
        import pyarrow as pa

        return pa.list_(self.item.arrow)


@dataclass(frozen=True)
class StructOf:
    """Fields of several types under one name, in order."""

    fields: tuple[tuple[str, ColumnType], ...]

    def __str__(self) -> str:
        """As Arrow prints it."""
        return "struct<" + ", ".join(f"{name}: {kind}" for name, kind in self.fields) + ">"

    @property
    def sql(self) -> str:
        """DuckDB's name."""
        return "STRUCT(" + ", ".join(f"{identifier(name)} {kind.sql}" for name, kind in self.fields) + ")"

    @property
    def arrow(self) -> pa.StructType:
        """The Arrow type."""
        import pyarrow as pa

        return pa.struct([(name, kind.arrow) for name, kind in self.fields])


ColumnType: TypeAlias = Scalar | ListOf | StructOf

INT8 = Scalar("int8", "TINYINT", "int8")
INT16 = Scalar("int16", "SMALLINT", "int16")
INT32 = Scalar("int32", "INTEGER", "int32")
INT64 = Scalar("int64", "BIGINT", "int64")
FLOAT64 = Scalar("double", "DOUBLE", "float64")
BOOL = Scalar("bool", "BOOLEAN", "bool_")
STRING = Scalar("string", "VARCHAR", "string")
BINARY = Scalar("binary", "BLOB", "binary")
DATE = Scalar("date32[day]", "DATE", "date32")
INSTANT = Scalar("timestamp[us, tz=UTC]", "TIMESTAMPTZ", "timestamp", ("us", "UTC"))
"""An instant to the microsecond, in UTC."""


def list_of(item: ColumnType) -> ListOf:
    """Return the type of lists of `item`."""
    return ListOf(item)


def struct_of(*fields: tuple[str, ColumnType]) -> StructOf:
    """Return the type of structs with these fields: name and type of each, in order."""
    return StructOf(fields)
