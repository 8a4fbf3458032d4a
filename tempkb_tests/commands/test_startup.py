"""What a command loads before it answers: each runs in a process that has imported nothing before."""

import json
import os
import subprocess
import sys

import pytest

# Modules of libraries that take long to import, and that no command needs which only reads.
HEAVY = {
    "dagster",
    "pydantic",
    "pydantic_settings",
    "spacy",
    "matplotlib",
    "ray",
    "requests",
    "mwparserfromhell",
    "pyarrow",
    "numpy",
    "torch",
    "transformers",
    # Reads dumps that are packed, which nobody does who only looks at what is there.
    "zstandard",
}
# Only what people read in tables needs Rich.
PAINTING = {"rich.console", "rich.table"}
# Help needs no table at all, and the list of tables only the lake.
OF_TABLES = {"duckdb"}
QUERY = "SELECT cut, article_since, title FROM stable_snapshots LIMIT 5"
COMMANDS = {
    "--help": HEAVY | PAINTING | OF_TABLES,
    "build --help": HEAVY | PAINTING | OF_TABLES,
    "release --help": HEAVY | PAINTING | OF_TABLES,
    "release tempel --help": HEAVY | PAINTING | OF_TABLES,
    "model --help": HEAVY | PAINTING | OF_TABLES,
    "model demo --help": HEAVY | PAINTING | OF_TABLES,
    "model list": HEAVY,
    "tables": HEAVY | OF_TABLES,
    "status": HEAVY,
    "show/Harbour Clock/--cut/2021-10-01": HEAVY,
    # With nothing to do.
    "build": HEAVY - {"requests", "zstandard"},
    f"sql/{QUERY}": HEAVY,
    f"sql/{QUERY}/--csv": HEAVY | PAINTING,
    f"sql/{QUERY}/--json": HEAVY | PAINTING,
}
# Forks a bare process for each command, which says at its end how it ended and which modules it has.
RUNNER = """
import json, os, sys
for arguments in json.load(sys.stdin):
    reader, writer = os.pipe()
    if not os.fork():
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = 0
        try:
            from tempkb.commands.cli import main
            main(arguments, standalone_mode=False)
        except SystemExit as end:
            code = end.code
        os.write(writer, json.dumps([code, *sys.modules]).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as told:
        print(told.read(), flush=True)
    os.wait()
"""


@pytest.fixture(scope="module")
def loaded(demo_home):
    """How each command ended, and the modules that it had then."""
    asked = [one.split("/") if "/" in one else one.split() for one in COMMANDS]
    environment = {**os.environ, "TEMPKB_HOME": str(demo_home)}
    done = subprocess.run(
        [sys.executable, "-c", RUNNER],
        input=json.dumps(asked),
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(zip(COMMANDS, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_only_reads_loads_nothing_heavy(loaded, command):
    code, *modules = loaded[command]
    assert code in (0, None)
    assert "tempkb.commands.cli" in modules
    assert COMMANDS[command] & set(modules) == set()
