"""Every check of the room passes on what was built, and can fail."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tempkb.store.drafts import Provenance
from tempkb.store.promises import Subject
from tempkb.wiki.wikidata.steps import PROMISES
from tempkb.wiki.wikidata.tables import FACTS, LATE_EDITS, WIKIDATA_ENTITIES
from tempkb_tests.wiki.wikidata.items import read_home
from tempkb_tests.wiki.wikidata.test_building import DAY, WORLD


@pytest.fixture
def store(tmp_path, monkeypatch):
    return read_home(tmp_path, monkeypatch, {DAY: WORLD})


def test_all_pass(store):
    assert [promise.broken(store, Subject()) for promise in PROMISES] == [[], [], []]


@pytest.mark.parametrize(
    ("check", "table", "column", "value"),
    [
        ("subjects_are_known", FACTS, "subject_id", "Q77"),
        ("statements_are_counted", WIKIDATA_ENTITIES, "n_statements", 1),
        ("late_edits_add_up", LATE_EDITS, "n_added", 99),
    ],
)
def test_each_can_fail(store, check, table, column, value):
    (version,) = store.lake.versions(table.name)
    rows = pq.read_table(version.paths()[0])
    at = rows.schema.get_field_index(column)
    values = [value, *rows[column].to_pylist()[1:]]
    rows = rows.set_column(at, rows.schema.field(at), pa.array(values, rows.schema.field(at).type))
    store.write(table, version.partition, [rows], Provenance())
    (promise,) = (one for one in PROMISES if one.name == check)
    assert promise.broken(store, Subject())
    assert promise.broken(store, Subject([version.partition]))
    assert not promise.broken(store, Subject(["another dump"])), "what is wrong with one dump is no affair of another"
