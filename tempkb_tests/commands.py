"""Runs `tempkb`, a module or a script for tests: each time in a process of its own, with its own environment and folder.

The process is forked from one that has imported all libraries already, which takes
longer than most commands do. What depends on the settings of a home (`tempkb.definitions`)
is imported by each command itself.

    python -m tempkb_tests.commands FOLDER

reads orders from standard input, a JSON object a line, and answers each with an exit code.
"""

import gc
import importlib
import json
import os
import pkgutil
import runpy
import shutil
import subprocess
import sys
import tempfile
import traceback
from functools import cache
from pathlib import Path
from unittest import mock

# Modules that read the settings of a home when they are imported.
_LATE = ("tempkb.definitions",)
# What builds and releases import when they come to need it, beside the modules of tempkb.
_LIBRARIES = (
    "_strptime",
    "ahocorasick_rs",
    "bm25s",
    "dagster._core.definitions.antlr_asset_selection.antlr_asset_selection",
    "dagster._core.definitions.external_asset",
    "dagster._core.definitions.repository_definition.repository_data_builder",
    "dagster._core.execution.execute_in_process",
    "dagster._core.execution.plan.active",
    "dagster._core.executor.in_process",
    "dagster._core.instance.factory",
    "dagster._core.instance.runs.run_domain",
    "dagster._core.secrets.env_file",
    "dagster._core.storage.local_compute_log_manager",
    "dagster._core.storage.migration.utils",
    "dagster._core.storage.root",
    "dagster._core.system_config.composite_descent",
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


def run_command(arguments, environment, cwd=None, module="tempkb.cli", script=None):
    """Run the command and return what it printed and how it ended, as `subprocess.run` does.

    Args:
        arguments: of the command.
        environment: its variables, all of them.
        cwd: its folder; None: the one of this process.
        module: another one to run, as `python -m` does.
        script: Python to run instead, as `python -c` does.
    """
    server = _server()
    with tempfile.TemporaryDirectory() as folder:
        order = {
            "module": module,
            "script": script,
            "arguments": arguments,
            "environment": environment,
            "cwd": str(cwd or Path.cwd()),
            "stdout": f"{folder}/stdout",
            "stderr": f"{folder}/stderr",
        }
        server.stdin.write(json.dumps(order) + "\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        said = [Path(order[name]).read_text("utf-8") for name in ("stdout", "stderr")]
    return subprocess.CompletedProcess(arguments, code, *said)


def run_alone(arguments, environment, cwd):
    """Run the command as `run_command` does, but in a process that imports everything by itself."""
    command = [sys.executable, "-m", "tempkb.cli", *arguments]
    return subprocess.run(command, env=environment, cwd=cwd, capture_output=True, text=True, check=False)


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


def _do(order):
    """Run a command in a process forked from this one, and return its code."""
    child = os.fork()
    if not child:
        _become(order)
        _run(order["module"], order["script"])
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


def _run(module, script):
    """Run a script or a module and end the process, as a command of tempkb ends."""
    if module == "tempkb.cli" and not script:
        run()
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
    from tempkb.benchmarks.ecbd.chunking import TextBlobChunker

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
    from tempkb.benchmarks.plots import plot_bars

    plot_bars("x", ["2021-01-01"], {"unchanged": [1]})


def _share_storage(made):
    """Let new homes copy the storage of Dagster's that the first of them makes.

    Args:
        made: folder where it is kept.
    """
    make = instance._make

    def make_or_copy(home, folder):
        # Of a home that holds something, Dagster is to be told what.
        if home.lake.exists():
            make(home, folder)
        elif made.exists():
            shutil.copytree(made, folder)
        else:
            make(home, folder)
            shutil.copytree(folder, made.with_name("draft"))
            made.with_name("draft").rename(made)

    instance._make = make_or_copy


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    import_libraries(folder)
    from tempkb import instance
    from tempkb.cli import run
    from tempkb.screens.failure import leave

    _share_storage(folder / "made")
    # What is here stays as long as the process; children need not go through it, which would copy its memory.
    gc.freeze()
    for line in sys.stdin:
        print(_do(json.loads(line)), flush=True)
    os._exit(0)
