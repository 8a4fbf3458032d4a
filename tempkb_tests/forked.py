"""Runs `tempkb`, a module or a script for tests: each time in a process of its own, with its own environment and folder.

The process is forked from one that has imported all libraries already, which takes
longer than most commands do. What depends on the settings of a home (`tempkb.platform.definitions`)
is imported by each command itself. All workers of a run of the tests share that one process.

    python -m tempkb_tests.forked SOCKET PID

serves orders at a socket, a JSON object each, and answers each with an exit code, until the process PID has ended.
"""

import atexit
import gc
import importlib
import json
import os
import pkgutil
import runpy
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import traceback
import weakref
from contextlib import suppress
from functools import cache
from pathlib import Path
from unittest import mock

from tempkb.core.locks import locked

# The run of the tests: its workers are children of one process.
_RUN = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()

# After how many new objects Python looks for garbage, as in a command of tempkb.
RARELY = (50_000, 10, 10)
# A process of a gigabyte is forked, and its child ended, in half the time if its memory is in large pages.
_LARGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1", "PYTHONMALLOC": "malloc"}
# Modules that read the settings of a home when they are imported.
_LATE = ("tempkb.platform.definitions",)
# What builds and releases import when they come to need it, beside the modules of tempkb.
_LIBRARIES = (
    "_strptime",
    "ahocorasick_rs",
    "bm25s",
    "faiss",
    "pyarrow.dataset",
    "sentencex",
    "spacy",
    "spacy_legacy",
    "spacy_loggers",
    "statsmodels.regression.linear_model",
    "statsmodels.stats.proportion",
    "statsmodels.stats.sandwich_covariance",
    "transformers.models.auto.modeling_auto",
    "transformers.models.bart.modeling_bart",
    "transformers.models.bert.modeling_bert",
    "transformers.models.gpt2.modeling_gpt2",
    "transformers.models.gpt_neox.modeling_gpt_neox",
    "transformers.models.roberta.modeling_roberta",
    "transformers.models.t5.modeling_t5",
    "upath",
)


def run_command(arguments, environment, cwd=None, module="tempkb.commands.cli", script=None, tree=None):
    """Run the command and return what it printed and how it ended, as `subprocess.run` does.

    Args:
        arguments: of the command.
        environment: its variables, all of them.
        cwd: its folder; None: the one of this process.
        module: another one to run, as `python -m` does.
        script: Python to run instead, as `python -c` does.
        tree: folder with another copy of the package, which is imported in place of this one.
    """
    with tempfile.TemporaryDirectory() as folder:
        order = {
            "module": module,
            "script": script,
            "tree": tree and str(tree),
            "arguments": arguments,
            "environment": environment,
            "cwd": str(cwd or Path.cwd()),
            "stdout": f"{folder}/stdout",
            "stderr": f"{folder}/stderr",
        }
        code = _ask(order)
        said = [Path(order[name]).read_text("utf-8") for name in ("stdout", "stderr")]
    return subprocess.CompletedProcess(arguments, code, *said)


def run_alone(arguments, environment, cwd):
    """Run the command as `run_command` does, but in a process that imports everything by itself."""
    command = [sys.executable, "-m", "tempkb.commands.cli", *arguments]
    return subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True, check=False)


def _ask(order):
    """Have an order done, and return its exit code."""
    with socket.socket(socket.AF_UNIX) as asked:
        asked.connect(str(_served()))
        asked.sendall(json.dumps(order).encode() + b"\n")
        with asked.makefile() as answer:
            return int(answer.readline())


@cache
def _served():
    """Return the socket at which commands of this run are served; who comes first begins to serve them."""
    folder = Path(tempfile.gettempdir()) / f"commands-of-tests-{_RUN}"
    path = folder / "socket"
    with locked(folder.with_suffix(".lock")):
        if not path.exists():
            _serve_at(path)
    return path


def _serve_at(path):
    """Begin a process that serves commands, and wait until it does."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TEMPKB_")}
    server = subprocess.Popen(
        [sys.executable, "-m", __name__, str(path), str(_RUN)],
        stdout=subprocess.PIPE,
        text=True,
        env={**environment, **_LARGE_PAGES, "PYTHONPATH": str(Path(__file__).parents[1])},
    )
    if not server.stdout.readline():
        raise AssertionError(f"the process that runs commands ended with {server.wait()}")


def _serve(listener, run):
    """Have orders done, each in a process forked from this one, until the run of the tests has ended."""
    with selectors.DefaultSelector() as waiting:
        waiting.register(listener, selectors.EVENT_READ)
        waiting.register(os.pidfd_open(run), selectors.EVENT_READ, "run")
        while True:
            for key, _ in waiting.select():
                if key.data == "run":
                    return
                if key.data:
                    waiting.unregister(key.fd)
                    _answer(key.fd, *key.data)
                else:
                    asked, _ = listener.accept()
                    child = _begin(asked)
                    waiting.register(os.pidfd_open(child), selectors.EVENT_READ, (child, asked))


def _begin(asked):
    """Read an order and fork the process that does it."""
    with asked.makefile() as words:
        order = json.loads(words.readline())
    child = os.fork()
    if not child:
        _become(order)
        _run(order["module"], order["script"])
    return child


def _answer(watch, child, asked):
    """Say with which code a process ended."""
    _, status = os.waitpid(child, 0)
    os.close(watch)
    # Who asked may have been killed; others go on.
    with asked, suppress(BrokenPipeError):
        asked.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


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
    if order["tree"]:
        for name in [one for one in sys.modules if one.split(".")[0] in ("tempkb", "tempkb_tests")]:
            del sys.modules[name]
        sys.path.insert(0, order["tree"])


def _run(module, script):
    """Run a script or a module and end the process, as a command of tempkb ends."""
    if module == "tempkb.commands.cli" and not script:
        importlib.import_module(module).run()
    code = 1
    try:
        if script:
            exec(compile(script, "<script>", "exec"), {"__name__": "__main__"})
        else:
            runpy.run_module(module, run_name="__main__")
        code = 0
    except SystemExit as end:
        code = end.code
    finally:
        if sys.exc_info()[0] is not None:
            traceback.print_exc()
        leave(code)


def import_libraries(aside):
    """Import what commands import, but for what depends on the settings of a home.

    Args:
        aside: folder for the fonts that Matplotlib finds.
    """
    with mock.patch.dict(os.environ, MPLCONFIGDIR=str(aside)):
        _draw()
    import tempkb
    from tempkb.benchmarks.chunking import TextBlobChunker

    for module in pkgutil.walk_packages(tempkb.__path__, "tempkb."):
        if module.name not in _LATE:
            importlib.import_module(module.name)
    for name in _LIBRARIES:
        importlib.import_module(name)
    # Reads the tagger's dictionary.
    list(TextBlobChunker().chunks(["A tall mill turns."]))
    early = [name for name in _LATE if name in sys.modules]
    if early:
        raise SystemExit(f"{early} read the settings of a home and must be imported for each command")


def _draw():
    """Draw a picture, so that Matplotlib has found its fonts and loaded its formats."""
    from tempkb.benchmarks.card import plot_bars

    plot_bars("x", ["2021-01-01"], {"unchanged": [1]})


def _leave_alone():
    """Let children not go through what is here, which would copy its memory: it stays as long as this process."""
    gc.freeze()
    gc.set_threshold(*RARELY)
    gc.enable()
    for finalizer in list(weakref.finalize._registry):
        finalizer.atexit = False
    # Reports, at the end of each process, what was compiled, or that nothing was.
    atexit.unregister(importlib.import_module("torch._dynamo.utils").dump_compile_times)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    try:
        path.parent.mkdir()
        # To look through what is imported, all of which stays, takes a fifth of the time.
        gc.disable()
        import_libraries(path.parent)
        from tempkb.commands.screens.failure import leave

        _leave_alone()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            listener.listen()
            print("serving", flush=True)
            _serve(listener, int(sys.argv[2]))
    finally:
        shutil.rmtree(path.parent, ignore_errors=True)
        path.parent.with_suffix(".lock").unlink(missing_ok=True)
