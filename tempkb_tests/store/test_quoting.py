"""Names of files with signs that mean something to SQL or to DuckDB's patterns."""

import re
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import tempkb
from tempkb.core.errors import SettingsError
from tempkb.core.settings import load_home
from tempkb.store.drafts import Provenance
from tempkb.store.memory import in_memory, view_files
from tempkb.store.quoting import identifier, literal
from tempkb.store.store import Store
from tempkb_tests.store.tables_for_tests import TOWNS, towns

PACKAGE = Path(tempkb.__file__).parent


def test_a_home_with_brackets_reads_its_own_files_and_not_those_of_a_neighbour(tmp_path, monkeypatch):
    counts = {"[x]": 3, "x": 5}
    stores = {}
    for name, n in counts.items():
        monkeypatch.setenv("TEMPKB_HOME", str(tmp_path / name))
        stores[name] = Store(load_home().claim("testwiki"), [TOWNS])
        stores[name].write(TOWNS, "north", [towns("north", n)], Provenance({"x": "1"}))
        stores[name].publish()
    store = stores["[x]"]
    assert store.read("towns").num_rows == 3
    with in_memory() as memory:
        view_files(memory, "seen", store.lake.files("towns"))
        assert memory.sql("SELECT count(*) FROM seen").fetchall() == [(3,)]
    with duckdb.connect(str(store.home.database), read_only=True) as shell:
        assert shell.sql("SELECT count(*) FROM towns").fetchall() == [(3,)]


@pytest.mark.parametrize("name", ["a*b", "wh?t", "back\\slash", "year=2024", "new\nline"])
def test_a_home_that_duckdb_cannot_name_is_refused_in_one_line(tmp_path, monkeypatch, name):
    monkeypatch.setenv("TEMPKB_HOME", str(tmp_path / name))
    with pytest.raises(SettingsError, match=r"contains \* \? .* use a path without them"):
        load_home()


@pytest.mark.parametrize("text", ["it's", 'say "hi"', "''", '""', "a;b -- c", "é [x] %s {y}", ""])
def test_values_and_names_come_back_as_they_were(text):
    with in_memory() as memory:
        assert memory.sql(f"SELECT {literal(text)}").fetchall() == [(text,)]
        name = text or "empty"
        memory.register("rows", pa.table({name: [1]}))
        assert memory.sql(f"SELECT {identifier(name)} AS found FROM rows").fetchall() == [(1,)]


def test_nobody_puts_quotes_around_names_of_files_by_hand():
    by_hand = re.compile(r"(?:FROM|TO|JOIN|ATTACH|DATABASE|read_\w+\()\s*\[?'\{|(?:VIEW|TABLE|INTO|FROM) \"\{")
    found = [path.name for path in PACKAGE.rglob("*.py") if by_hand.search(path.read_text("utf-8"))]
    assert found == []
