"""Commands as children of a process that has imported everything: starting one costs a tenth of a second.

The home lies at the same path in every trial, since DuckDB's views name absolute
paths, and Dagster's definitions are made for one home.
"""

import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tempkb_tests.forked import import_libraries
from tempkb_tests.soak.deaths import Deaths

KILLED = -signal.SIGKILL


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    Attributes:
        code: exit status; below zero the signal that killed it.
        said: what it wrote to both its outputs.
        changes: labels of the changes that it made to the home, in order.
        seconds: how long it took.
        cpu_seconds: what it took of the machine.
    """

    code: int
    said: str
    changes: list[str]
    seconds: float
    cpu_seconds: float


class Commands:
    """Runs commands of `tempkb` in one home.

    Args:
        home: at a path that stays; `tempkb.toml` is there already.
        notes: folder for outputs.
    """

    def __init__(self, home: Path, notes: Path) -> None:
        self.home, self._notes = home, notes
        os.environ["TEMPKB_HOME"] = str(home)
        os.environ["TEMPKB_WORKERS"] = "1"
        # Imported once for all children.
        import tempkb.commands.cli  # noqa: F401

        with tempfile.TemporaryDirectory() as folder:
            import_libraries(folder)
        # The settings of the home stay as they are, so what depends on them is put together once as well.
        from tempkb.platform.definitions import defs

        defs.resolve_all_job_defs()

    def run(
        self, *arguments: str, die_before: int | None = None, kill_after: float | None = None, **more: str
    ) -> Ended:
        """Run `tempkb` with arguments, and wait for its end.

        Args:
            arguments: of the command.
            die_before: number of the change before which it dies.
            kill_after: seconds after which it and its children are killed.
            more: environment variables.
        """

        def work() -> None:
            from tempkb.commands.cli import main

            os.environ.update(more)
            Deaths(self.home, self._notes / "changes", die_before).begin()
            sys.argv = ["tempkb", *arguments]
            main()

        code, seconds, cpu_seconds = self._in_child(work, kill_after)
        changes = (
            (self._notes / "changes").read_text("utf-8").splitlines() if (self._notes / "changes").exists() else []
        )
        said = (self._notes / "output").read_text("utf-8", "replace")
        return Ended(code, said, changes, seconds, cpu_seconds)

    def ask(self, work: Callable[[], None]) -> None:
        """Run a function in a child of its own, for what leaves threads behind.

        Raises:
            RuntimeError: it fails.
        """
        code, *_ = self._in_child(work, None)
        if code:
            raise RuntimeError((self._notes / "output").read_text("utf-8", "replace"))

    def _in_child(self, work: Callable[[], None], kill_after: float | None) -> tuple[int, float, float]:
        began = time.monotonic()
        (self._notes / "changes").unlink(missing_ok=True)
        child = os.fork()
        if not child:
            self._live(work)
        while True:
            done, status, used = os.wait4(child, os.WNOHANG)
            if done:
                seconds = time.monotonic() - began
                return os.waitstatus_to_exitcode(status), seconds, used.ru_utime + used.ru_stime
            if kill_after is not None and time.monotonic() - began >= kill_after:
                os.killpg(child, signal.SIGKILL)
                kill_after = None
            time.sleep(0.005)

    def _live(self, work: Callable[[], None]) -> None:
        code = 1
        try:
            os.setsid()
            output = os.open(self._notes / "output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for stream in (1, 2):
                os.dup2(output, stream)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            work()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        finally:
            if sys.exc_info()[0] is not None:
                traceback.print_exc()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
