"""The DuckDB file that people open, in a client with DuckDB 1.4, which has long-term support."""

import subprocess
import sys

import pytest

from tempkb.platform.api import open_store
from tempkb.platform.rooms import VIEWS
from tempkb.store.drafts import Provenance

# Reads all rows of all tables and views, and prints the version and how many these are.
_READ_ALL = """
import duckdb, sys
connection = duckdb.connect(sys.argv[1], read_only=True)
names = connection.execute("SELECT table_name FROM information_schema.tables").fetchall()
for (name,) in names:
    connection.execute(f'FROM "{name}"').fetchall()
print(duckdb.__version__[:4], len(names))
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A Python of its own with the older DuckDB, which hands instants over with pytz."""
    place = tmp_path_factory.mktemp("client")
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    python = place / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "duckdb==1.4.*", "pytz"], check=True)
    return python


def read_all(client, path):
    """The version of DuckDB by which all rows of a file were read, and how many tables and views they are in."""
    done = subprocess.run([client, "-c", _READ_ALL, path], check=True, capture_output=True, text=True)
    return done.stdout.split()


@pytest.mark.slow
def test_a_client_with_duckdb_1_4_reads_a_home(client, demo_home):
    version, n_relations = read_all(client, demo_home / "tempkb.duckdb")
    assert (version, int(n_relations) > 40) == ("1.4.", True)


@pytest.mark.slow
def test_a_client_with_duckdb_1_4_knows_what_every_view_needs(client, home_folder):
    """A home in which every declared table has a partition without rows has all views."""
    store = open_store()
    for table in store.tables.values():
        store.write(table, "all", [table.schema.empty_table()], Provenance({}, {}))
    assert store.publish().left == 0
    _, n_relations = read_all(client, store.database.path)
    assert int(n_relations) >= len(store.tables) + len(VIEWS)
