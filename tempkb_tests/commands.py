"""Runs the `tempkb` command for tests: each time in a process of its own, with its own environment and folder.

The process is forked from one that has imported the libraries already, which takes
longer than most commands do. What is put together for a home when it is imported
(`tempkb.definitions`) is not among that.

    python -m tempkb_tests.commands

reads orders from standard input, a JSON object a line, and answers each with an exit code.
"""

import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

_LATE = ("tempkb.definitions",)


def run_command(arguments, environment, cwd):
    """Run the command and return what it printed and how it ended, as `subprocess.run` does."""
    server = _server()
    with tempfile.TemporaryDirectory() as folder:
        order = {
            "arguments": arguments, "environment": environment, "cwd": str(cwd or Path.cwd()),
            "stdout": f"{folder}/stdout", "stderr": f"{folder}/stderr",
        }  # fmt: skip
        server.stdin.write(json.dumps(order) + "\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        said = [Path(order[name]).read_text("utf-8") for name in ("stdout", "stderr")]
    return subprocess.CompletedProcess(arguments, code, *said)


@cache
def _server():
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TEMPKB_")}
    return subprocess.Popen(
        [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**environment, "PYTHONPATH": str(Path(__file__).parents[1])},
    )  # fmt: skip


def _serve():
    """Fork a process for each order; only the forked ones return, with their order."""
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if not child:
            return order
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    sys.exit()


def _become(order):
    """Take on the environment, the folder and the output files of an order."""
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["environment"])
    inputs = os.open(os.devnull, os.O_RDONLY)
    outputs = [os.open(order[name], os.O_WRONLY | os.O_CREAT) for name in ("stdout", "stderr")]
    for own, opened in enumerate((inputs, *outputs)):
        os.dup2(opened, own)
        os.close(opened)
    sys.argv = ["tempkb", *order["arguments"]]


if __name__ == "__main__":
    import dagster  # noqa: F401
    import duckdb  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    import tempkb.release_commands
    import tempkb.run
    import tempkb.screens.query
    import tempkb.screens.status  # noqa: F401
    from tempkb.cli import main
    from tempkb.rooms import ROOMS

    for room in ROOMS:
        room.loaded()
    early = [name for name in _LATE if name in sys.modules]
    if early:
        raise SystemExit(f"{early} read the settings of a home and must be imported for each command")
    _become(_serve())
    main(prog_name="tempkb")
