"""Every check of the room passes on what was built, and can fail."""

from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tempkb.revisions.checking import PROMISES
from tempkb.revisions.tables import REVISION_LOG, STABLE_SNAPSHOTS
from tempkb.store.drafts import Provenance
from tempkb.store.promises import Subject
from tempkb_tests.revisions.builds import build_files, export, page, revision

(IN_TIME, LOGGED) = PROMISES
FIRST, SECOND = "2021-01-01", "2021-04-01"


@pytest.fixture
def store(home_folder, tmp_path):
    """Two quarters; the winner of page 1 is of the first quarter in both."""
    path = tmp_path / "testwiki-20210701-pages-meta-history.xml"
    path.write_bytes(
        export(page(1, revision(11, "2021-02-03T00:00:00Z")), page(2, revision(21, "2021-05-01T00:00:00Z")))
    )
    built, _, windows = build_files(path, first_window=FIRST)
    assert [window.key for window in windows] == [FIRST, SECOND]
    return built


def spoil(store, key, **values):
    """Write the snapshot of a window again with other values in its first row, as if its step had."""
    rows = pq.read_table(store.lake.current(STABLE_SNAPSHOTS.name, key).paths()[0])
    for column, value in values.items():
        at = rows.schema.get_field_index(column)
        field = rows.schema.field(at)
        rows = rows.set_column(at, field, pa.array([value, *rows[column].to_pylist()[1:]], field.type))
    # A rule of the table refuses some of this at once; the check is for what has come past it.
    store.write(replace(STABLE_SNAPSHOTS, rules=()), key, [rows], Provenance())


def test_all_pass(store):
    assert [promise.broken(store, Subject()) for promise in PROMISES] == [[], []]
    # The log of the first quarter is looked at for the second as well.
    assert LOGGED.broken(store, Subject([SECOND])) == []


def test_a_winner_at_its_cut_is_found(store):
    spoil(store, FIRST, revision_timestamp=datetime(2021, 4, 1, tzinfo=UTC))
    (row,) = IN_TIME.broken(store, Subject([FIRST]))
    assert IN_TIME.shown(row) == "window 2021-01-01, page 1, revision 11"
    assert IN_TIME.broken(store, Subject([SECOND])) == []


def test_tempels_rule_includes_the_cut(store):
    spoil(store, FIRST, revision_timestamp=datetime(2021, 4, 1, tzinfo=UTC), stability_rule="tempel")
    assert IN_TIME.broken(store, Subject()) == []
    spoil(store, FIRST, revision_timestamp=datetime(2021, 4, 1, 0, 0, 1, tzinfo=UTC), stability_rule="tempel")
    assert len(IN_TIME.broken(store, Subject())) == 1


def test_a_winner_that_is_not_in_the_log_is_found(store):
    spoil(store, SECOND, revision_id=12)
    (row,) = LOGGED.broken(store, Subject([SECOND]))
    assert LOGGED.shown(row) == "window 2021-04-01, page 1, revision 12"
    assert LOGGED.broken(store, Subject([FIRST])) == []
    # Of a window without a log nothing can be said.
    store.lake.remove(REVISION_LOG.name, FIRST)
    assert LOGGED.broken(store, Subject()) == []


def test_without_a_log_there_is_nothing_to_compare(store):
    for key in (FIRST, SECOND):
        store.lake.remove(REVISION_LOG.name, key)
    assert LOGGED.broken(store, Subject()) is None
