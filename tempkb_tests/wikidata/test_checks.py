"""Every check of the room passes on what was built, and can fail."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tempkb.store.drafts import Provenance
from tempkb.store.promises import broken
from tempkb.wikidata.checks import NOT_COUNTED, RIVALS_THAT_ARE_NONE, STRANGERS, WINDOWS_BEYOND_THE_DUMP
from tempkb.wikidata.tables import FACTS, LATE_EDITS, TABLES, UNDATED_STATEMENTS, WIKIDATA_ENTITIES
from tempkb_tests.wikidata.items import read_home
from tempkb_tests.wikidata.test_building import DAY, WORLD

NAMES = {table.name: table for table in TABLES}
QUERIES = {
    "strangers": STRANGERS,
    "counts": NOT_COUNTED,
    "rivals": RIVALS_THAT_ARE_NONE,
    "windows": WINDOWS_BEYOND_THE_DUMP,
}


@pytest.fixture
def store(tmp_path, monkeypatch):
    return read_home(tmp_path, monkeypatch, {DAY: WORLD})


def test_all_pass(store):
    assert {name: broken(store, query, NAMES) for name, query in QUERIES.items()} == dict.fromkeys(QUERIES, [])


@pytest.mark.parametrize(
    ("check", "table", "column", "value"),
    [
        ("strangers", FACTS, "subject_id", "Q77"),
        ("counts", WIKIDATA_ENTITIES, "n_statements", 1),
        ("rivals", UNDATED_STATEMENTS, "contradicts", False),
        ("windows", LATE_EDITS, "n_facts_now", 99),
    ],
)
def test_each_can_fail(store, check, table, column, value):
    (version,) = store.lake.versions(table.name)
    rows = pq.read_table(version.paths()[0])
    at = rows.schema.get_field_index(column)
    values = [value, *rows[column].to_pylist()[1:]]
    rows = rows.set_column(at, rows.schema.field(at), pa.array(values, rows.schema.field(at).type))
    store.write(table, version.partition, [rows], Provenance())
    assert broken(store, QUERIES[check], NAMES)
