"""`tempkb publish` and `tempkb gc` on a home of which something was damaged: they say what builds it again."""

import pytest
from click.testing import CliRunner

from tempkb.api import open_store
from tempkb.cli import main
from tempkb.store.drafts import Provenance


@pytest.fixture
def damaged(home_folder):
    """A home with two partitions, the files of which were cut."""
    store = open_store()
    for table, partition in (("mentions", "2021-01-01"), ("ecbd_cloze", "mine")):
        store.write(store.tables[table], partition, [store.tables[table].schema.empty_table()], Provenance())
        (path,) = store.lake.current(table, partition).paths()
        path.write_bytes(path.read_bytes()[:-9])
    return home_folder


@pytest.mark.parametrize("command", ["publish", "gc"])
def test_what_is_missing_is_named_with_what_builds_it_again_each_time(damaged, command):
    typed = f"TEMPKB_HOME={damaged} tempkb"
    told = [
        f"missing, since it was damaged: mentions 2021-01-01; build it again: {typed} build",
        f"missing, since it was damaged: ecbd_cloze mine; build it again: {typed} release finish mine",
    ]
    first = CliRunner().invoke(main, [command])
    assert first.exit_code == 0
    lines = first.stderr.splitlines()
    assert [line for line in lines if line.startswith("missing")] == told
    assert CliRunner().invoke(main, [command]).stderr.splitlines() == told
