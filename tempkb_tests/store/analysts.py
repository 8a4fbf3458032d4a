"""Somebody who has the DuckDB file open in another process, for as long as a test wants."""

import contextlib
import subprocess
import sys

from tempkb_tests.conftest import run_script

# Answers queries, one a line, in a process of its own.
ANALYST = """
import duckdb, sys
connection = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "reads")
print("open", flush=True)
for line in sys.stdin:
    print(connection.execute(line).fetchall(), flush=True)
"""
GLANCE = "import duckdb, sys; print(duckdb.connect(sys.argv[1], read_only=True).execute(sys.argv[2]).fetchall())"


class Analyst:
    """Somebody who has the file open in another process."""

    def __init__(self, path, does):
        self.process = subprocess.Popen(
            [sys.executable, "-c", ANALYST, str(path), does], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout.readline() == "open\n"

    def ask(self, query):
        self.process.stdin.write(query + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()


@contextlib.contextmanager
def analyst(path, does="reads"):
    one = Analyst(path, does)
    try:
        yield one
    finally:
        one.process.kill()
        one.process.communicate()


def ask(path, query):
    """What somebody sees who opens the file now, in a new process."""
    return run_script(GLANCE, str(path), query).stdout.strip()
