"""A writer to be killed: replaces a partition again and again, and publishes it.

Arguments: the partition, how many rows, how many rounds, and optionally the
point at which the writer kills itself, with SIGKILL, in its second round.
Prints a line before each round, so that a killer knows it has begun.
"""

import os
import signal
import sys

from tempkb.settings import load_home
from tempkb.store import database, drafts, lake
from tempkb.store.drafts import Provenance
from tempkb.store.locks import Patience
from tempkb.store.store import Store
from tempkb_tests.store.tables_for_tests import TOWNS, towns

POINTS = {
    "in a draft": (drafts.Draft, "_close_file"),
    "a version in place, not pointed to": (lake.Lake, "_move_into_place"),
    "the pointer written, not in place": (lake, "_sync"),
    "in the transaction, rows deleted and inserted": (database, "_replace_rows"),
    "in the transaction, books kept": (database.Database, "_keep_books"),
}


def die_after(owner, name):
    """Let a function do its work, and then kill this process as the kernel would."""
    work = getattr(owner, name)

    def wrapped(*arguments, **named):
        result = work(*arguments, **named)
        # Files are flushed one by one: the moment that matters is after the pointer's own.
        if name != "_sync" or "CURRENT" in str(arguments[0]):
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, wrapped)


def main() -> None:
    region, n, rounds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    point = sys.argv[4] if len(sys.argv) > 4 else None
    store = Store(load_home(), [TOWNS], Patience(60.0))
    for number in range(rounds):
        print(number, flush=True)
        if point and number == 1:
            die_after(*POINTS[point])
        store.write(TOWNS, region, [towns(region, n, people=number)], Provenance())
        store.publish()


if __name__ == "__main__":
    main()
