"""Runs the `tempkb` command for tests: each time in a process of its own, with its own environment and folder.

The process is forked from one that has imported the libraries already, which takes
longer than most commands do. Definitions are put together for the settings of a home
when they are imported, so commands that build are forked from further processes, each
of which has imported these under the settings of its commands.

    python -m tempkb_tests.commands FOLDER

reads orders from standard input, a JSON object a line, and answers each with an exit code.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from unittest import mock

_LATE = ("tempkb.definitions",)
_BUILDING = ("build", "release")
# Settings on which no definition depends.
_READ_LATER = {"workers", "wiki", "namespaces", "pages", "strict", "contact", "bandwidth"}
# So many further processes are kept; the one unused for longest goes.
_MOST = 5


def run_command(arguments, environment, cwd, *, is_fresh=False):
    """Run the command and return what it printed and how it ended, as `subprocess.run` does.

    Args:
        arguments: of the command.
        environment: its variables, all of them.
        cwd: its folder; None: the one of this process.
        is_fresh: let it import definitions and pictures by itself, for stories of what that does.
    """
    server = _server()
    with tempfile.TemporaryDirectory() as folder:
        order = {
            "arguments": arguments,
            "environment": environment,
            "cwd": str(cwd or Path.cwd()),
            "is_fresh": is_fresh,
            "stdout": f"{folder}/stdout",
            "stderr": f"{folder}/stderr",
        }
        server.stdin.write(json.dumps(order) + "\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        said = [Path(order[name]).read_text("utf-8") for name in ("stdout", "stderr")]
    return subprocess.CompletedProcess(arguments, code, *said)


@cache
def _aside():
    return tempfile.TemporaryDirectory()


@cache
def _server():
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TEMPKB_")}
    return subprocess.Popen(
        [sys.executable, "-m", __name__, _aside().name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**environment, "PYTHONPATH": str(Path(__file__).parents[1])},
    )


def _serve(orders, answers, settings_of, aside):
    """Have each order done by a process of its own, and answer with its code, until there are no more.

    Args:
        orders: JSON, one a line.
        answers: descriptor that takes a code a line.
        settings_of: gives for which settings an order wants a prepared process; None: for none.
        aside: folder for what prepared processes make once for all.
    """
    prepared = {}
    for line in orders:
        order = json.loads(line)
        settings = settings_of(order)
        if settings is None:
            code = _do(order)
        else:
            # The last is the one that was used last.
            prepared[settings] = prepared.pop(settings, None) or _Prepared(order, aside)
            if len(prepared) > _MOST:
                prepared.pop(next(iter(prepared))).end()
            code = prepared[settings].do(line)
        os.write(answers, b"%d\n" % code)
    sys.exit()


def _do(order):
    """Run a command in a process forked from this one, and return its code."""
    child = os.fork()
    if not child:
        _become(order)
        main(prog_name="tempkb")
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


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


def _settings_of(order):
    """The settings of an order on which definitions depend; None if it is to import them itself."""
    if order["is_fresh"] or not order["arguments"] or order["arguments"][0] not in _BUILDING:
        return None
    with mock.patch.dict(os.environ, order["environment"], clear=True), contextlib.chdir(order["cwd"]):
        try:
            settings = load_home().settings
            return str([(name, getattr(settings, name)) for name in settings.model_fields if name not in _READ_LATER])
        except TempkbError:
            return None


class _Prepared:
    """A process that has imported what builds import, and serves orders of the same settings as the first one's."""

    def __init__(self, order, aside):
        (orders, self._orders), (self._answers, answers) = os.pipe(), os.pipe()
        self._child = os.fork()
        if not self._child:
            os.close(self._orders)
            _prepare(order, aside)
            _serve(os.fdopen(orders), answers, lambda order: None, aside)
        os.close(orders)
        os.close(answers)

    def do(self, line):
        """Have an order done there, and return its code."""
        os.write(self._orders, line.encode())
        return int(os.read(self._answers, 16))

    def end(self):
        """End the process. Closing its pipe would not do, since those that were forked later hold it open too."""
        os.kill(self._child, signal.SIGKILL)
        os.waitpid(self._child, 0)
        os.close(self._orders)
        os.close(self._answers)


def import_for_builds():
    """Import what builds and releases import, and put the jobs together, for the settings of the environment."""
    import matplotlib.pyplot  # noqa: F401

    import tempkb.dagster_storage
    import tempkb.release_runs  # noqa: F401
    from tempkb.definitions import defs

    defs.resolve_all_job_defs()


def _prepare(order, aside):
    """Import for builds under the settings of an order, and let new homes copy a storage of Dagster's that is made."""
    made, environment = aside / "made", {**order["environment"], "MPLCONFIGDIR": str(aside)}
    # What the home has noted of its settings counts as well as the variables.
    with mock.patch.dict(os.environ, environment, clear=True), contextlib.chdir(order["cwd"]):
        import_for_builds()
    from tempkb import instance

    if not made.exists():
        with mock.patch.dict(os.environ, {"TEMPKB_HOME": str(aside / "home")}, clear=True):
            instance.prepare_dagster(load_home())
        (aside / "home" / "dagster").rename(made)
    make = instance._make

    def copy(home, folder):
        # Of a home that holds something, Dagster is to be told what.
        if home.lake.exists():
            make(home, folder)
        else:
            shutil.copytree(made, folder)

    instance._make = copy


if __name__ == "__main__":
    import duckdb  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    import tempkb.dagster_storage
    import tempkb.planning.building
    import tempkb.release_commands
    import tempkb.screens.query
    import tempkb.screens.status  # noqa: F401
    from tempkb.cli import main
    from tempkb.errors import TempkbError
    from tempkb.settings import load_home

    early = [name for name in _LATE if name in sys.modules]
    if early:
        raise SystemExit(f"{early} read the settings of a home and must be imported for each command")
    _serve(sys.stdin, sys.stdout.fileno(), _settings_of, Path(sys.argv[1]))
