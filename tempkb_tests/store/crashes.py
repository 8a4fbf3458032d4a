"""Writers to be killed: each replaces a partition again and again, and publishes it.

    python -m tempkb_tests.store.crashes

reads orders from standard input, a JSON object a line, and forks a writer for each: to start one costs a hundredth of
what it costs to import what it needs.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tempkb.core.locks import Patience
from tempkb.core.settings import load_home
from tempkb.store import database
from tempkb.store.drafts import Provenance
from tempkb.store.store import Store
from tempkb_tests.store.tables_for_tests import TOWNS, towns

POINTS_OF_PUBLISHING = {
    "the file held": (database.Database, "_shown"),
    "the copy made": (database.Database, "_copy"),
    "in the transaction, a table made": (database.Database, "_make_table"),
    "in the transaction, books kept": (database.Database, "_make_books"),
    "the copy changed": (database.Database, "_change"),
    "the copy made whole": (Path, "rename"),
    "the log of the old file deleted": (Path, "unlink"),
    "the file replaced": (Path, "replace"),
    "the file replaced, and all tidied up": (database.Database, "_publish"),
}
# Functions that are also called before the moment that matters: how to know it by the first argument.
_MOMENTS = {"rename": "duckdb.draft", "unlink": "duckdb.wal", "replace": "duckdb.ready"}


def die_after(owner, name):
    """Let a function do its work, and then kill this process as the kernel would."""
    work = getattr(owner, name)

    def wrapped(*arguments, **named):
        result = work(*arguments, **named)
        if _MOMENTS.get(name, "") in str(arguments[0]):
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, wrapped)


def write(region, rows, rounds, point=None):
    """Replace a partition and publish it.

    Args:
        region: the partition.
        rows: how many it has.
        rounds: how many times; a line is printed before each, so that a killer knows that it has begun.
        point: at which the writer kills itself, with SIGKILL, in its last round.
    """
    store = Store(load_home(), [TOWNS], Patience(60.0))
    for number in range(rounds):
        print(number, flush=True)
        if point and number == rounds - 1:
            die_after(*POINTS_OF_PUBLISHING[point])
        store.write(TOWNS, region, [towns(region, rows, people=number)], Provenance())
        store.publish()


class Writer:
    """A writer at work.

    Args:
        ask: sends an order to the process that has forked it, and returns the answer.
        pid: of its process.
        output: where it prints.
    """

    def __init__(self, ask, pid, output) -> None:
        self._ask, self._pid = ask, pid
        self.lines = output.open(encoding="utf-8")

    def kill(self) -> None:
        """Kill it with SIGKILL."""
        os.kill(self._pid, signal.SIGKILL)

    def wait(self) -> int:
        """Wait for its end, and return its status; below zero the signal that killed it."""
        with self.lines:
            self.lines.read()
        return self._ask({"wait": self._pid})


@contextmanager
def writers(folder: Path) -> Iterator:
    """Give a function that starts a writer: with a home and what `write` takes.

    Args:
        folder: for what they print.
    """
    command = [sys.executable, "-m", __name__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:

        def ask(order):
            server.stdin.write(json.dumps(order) + "\n")
            server.stdin.flush()
            return int(server.stdout.readline())

        def start(home, *arguments):
            output = folder / f"{len(list(folder.iterdir()))}"
            os.mkfifo(output)
            pid = ask({"home": str(home), "output": str(output), "arguments": arguments})
            return Writer(ask, pid, output)

        yield start


def main() -> None:
    """Fork a writer for each order, or wait for one, and answer with its process id or its status."""
    for line in sys.stdin:
        order = json.loads(line)
        if "wait" in order:
            _, status = os.waitpid(order["wait"], 0)
            print(os.waitstatus_to_exitcode(status), flush=True)
            continue
        child = os.fork()
        if not child:
            os.dup2(os.open(order["output"], os.O_WRONLY), sys.stdout.fileno())
            os.environ["TEMPKB_HOME"] = order["home"]
            write(*order["arguments"])
            os._exit(0)
        print(child, flush=True)


if __name__ == "__main__":
    main()
