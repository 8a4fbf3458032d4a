"""Types of columns that are declared without Arrow are the same types in Arrow and in DuckDB."""

import dataclasses

import duckdb
import pyarrow as pa
import pytest

from tempkb.platform.rooms import TABLES
from tempkb.store.columns import Column
from tempkb.store.tables import SIDE_TABLES
from tempkb.store.types import (
    BINARY,
    BOOL,
    DATE,
    FLOAT64,
    INSTANT,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    list_of,
    struct_of,
)
from tempkb_tests.store.tables_for_tests import TOWNS

EXAMPLES = {
    INT8: pa.int8(),
    INT16: pa.int16(),
    INT32: pa.int32(),
    INT64: pa.int64(),
    FLOAT64: pa.float64(),
    BOOL: pa.bool_(),
    STRING: pa.string(),
    BINARY: pa.binary(),
    DATE: pa.date32(),
    INSTANT: pa.timestamp("us", tz="UTC"),
    list_of(STRING): pa.list_(pa.string()),
    struct_of(("from", DATE), ("n", INT32)): pa.struct([("from", pa.date32()), ("n", pa.int32())]),
    list_of(struct_of(("names", list_of(STRING)))): pa.list_(pa.struct([("names", pa.list_(pa.string()))])),
}


@pytest.mark.parametrize("kind", EXAMPLES, ids=str)
def test_a_type_is_the_arrow_type_of_the_same_name(kind):
    assert kind.arrow == EXAMPLES[kind]
    assert str(kind) == str(EXAMPLES[kind])


@pytest.mark.parametrize("kind", EXAMPLES, ids=str)
def test_duckdb_knows_the_type_by_its_name_there(kind):
    column = duckdb.sql(f"SELECT NULL::{kind.sql} AS value").to_arrow_table().schema.field("value").type
    if kind is INSTANT:
        # DuckDB gives instants in the zone of the session.
        assert (column.unit, column.tz is None) == ("us", False)
    else:
        assert column == EXAMPLES[kind]


def test_every_declared_column_is_named_as_arrow_names_it():
    # Fingerprints of published tables are made of these names.
    for table in (*TABLES, *SIDE_TABLES):
        assert [(one.name, str(one.type)) for one in table.columns] == [(f.name, str(f.type)) for f in table.schema]


def test_the_fingerprint_of_a_table_stays():
    # Taken when columns were still declared with Arrow's types. Another one would publish every home again.
    mayors = list_of(struct_of(("name", STRING), ("since", DATE)))
    more = (Column("mayors", mayors, "who led it"), Column("seen_at", INSTANT, "when"))
    assert dataclasses.replace(TOWNS, columns=(*TOWNS.columns, *more)).fingerprint == "a14a022763599b6f"
