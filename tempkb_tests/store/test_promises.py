"""Queries of promises: what was found unbroken is not asked again, and what has changed is."""

import pytest

from tempkb.core.errors import StoredDamageError
from tempkb.store import promises
from tempkb.store.drafts import Provenance
from tempkb.store.promises import broken
from tempkb_tests.store.tables_for_tests import TOWNS, towns

LARGE = "SELECT town_id FROM towns WHERE n_people > 100"


@pytest.fixture
def asked(monkeypatch):
    """The number of times that DuckDB was asked, in a list of one."""
    times = [0]

    def asking():
        times[0] += 1
        return original()

    original = promises.asking
    monkeypatch.setattr(promises, "asking", asking)
    return times


def write(store, people):
    store.write(TOWNS, "north", [towns("north", 2, people)], Provenance({"x": "1"}))


def test_a_query_that_found_nothing_is_not_repeated_for_the_same_files(store, asked):
    write(store, 5)
    assert broken(store, LARGE, [TOWNS]) == []
    assert broken(store, LARGE, [TOWNS]) == []
    assert asked == [1]


def test_rows_that_break_a_promise_are_found_each_time(store, asked):
    write(store, 500)
    assert broken(store, LARGE, [TOWNS]) == [(0,), (1,)]
    assert broken(store, LARGE, [TOWNS]) == [(0,), (1,)]
    assert asked == [2]


def test_another_query_and_other_files_are_asked_for(store, asked):
    write(store, 5)
    assert broken(store, LARGE, [TOWNS]) == []
    small = "SELECT town_id FROM towns WHERE n_people < 10"
    assert broken(store, small, [TOWNS]) == [(0,), (1,)]
    write(store, 101)
    assert broken(store, LARGE, [TOWNS]) == [(0,), (1,)]
    assert asked == [3]


def test_a_file_that_was_changed_is_refused_though_its_query_found_nothing_before(store):
    write(store, 5)
    assert broken(store, LARGE, [TOWNS]) == []
    (path,) = store.lake.files("towns", None)
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-9] + b"\0" * 9)
    with pytest.raises(StoredDamageError, match="sha256"):
        broken(store, LARGE, [TOWNS])
