"""What each check costs beside its task.

    python -m tempkb_tests.bench.checks [PAGES]    over a demo world of so many pages
    python -m tempkb_tests.bench.checks facts N    a DynamicTempLAMA release of N synthetic facts over forty quarters

A home is built in this process, with one worker, and four releases of it, as `make demo` does. What a release promises is asked
within its step, before the release stands, and again as a check: both are shown.
"""

import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from typing import Any
from unittest import mock

from tempkb.engine.tasks import Task
from tempkb_tests.bench.measuring import row
from tempkb_tests.bench.sides import FACTS_DUMP, FIRST, LAST, make_facts


class Steps:
    """CPU seconds of tasks, of checks, and of promises within the task that now goes on."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.checks: defaultdict[tuple[str, str, str], float] = defaultdict(float)
        self.within: defaultdict[tuple[str, str], float] = defaultdict(float)
        self._now = ""

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Time tasks, checks and promises inside the block."""
        from tempkb.benchmarks import promises

        run, judge, broken = Task.run, Task.judge_and_keep, promises.broken

        def timed_task(task: Task, *rest: Any) -> Any:
            self._now = task.name
            return self._timed(self.seconds, task.name, run, task, *rest)

        def timed_check(task: Task, promise: Any, *rest: Any) -> Any:
            self._now = ""
            place = task.name, promise.about.name, promise.name
            return self._timed(self.checks, place, judge, task, promise, *rest)

        def timed_promise(store: Any, promise: Any, *rest: Any) -> Any:
            return self._timed(self.within, (self._now, promise.name), broken, store, promise, *rest)

        with (
            mock.patch.object(Task, "run", timed_task),
            mock.patch.object(Task, "judge_and_keep", timed_check),
            mock.patch.object(promises, "broken", timed_promise),
        ):
            yield

    @staticmethod
    def _timed(seconds: Any, place: object, do: Callable[..., Any], *arguments: Any) -> Any:
        began = time.process_time()
        try:
            return do(*arguments)
        finally:
            seconds[place] += time.process_time() - began


def main() -> None:
    """Build, release, and print a row a check."""
    pages = sys.argv[1] if len(sys.argv) > 1 else "280"
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIR")) as home:
        if pages == "facts":
            _of_facts(home, sys.argv[2])
            return
        os.environ |= {"TEMPKB_HOME": home, "TEMPKB_WORKERS": "1"}
        steps = Steps()
        with steps.listening(), redirect_stdout(StringIO()):
            _make_demo(pages)
        _print_costs(steps, pages)


def _of_facts(home: str, n: str) -> None:
    """Write a release's tables by the functions that the steps call, and ask each promise of them once."""
    make_facts(home, n)
    from tempkb.api import open_store
    from tempkb.benchmarks.dynamic_templama.benchmark import DYNAMIC_TEMPLAMA
    from tempkb.benchmarks.fact_queries.design import DYNAMIC, make_design
    from tempkb.benchmarks.promises import broken
    from tempkb.benchmarks.releases import create, keep

    store = open_store()
    design = make_design(DYNAMIC, "tempkb", FACTS_DUMP, f"{FIRST}..{LAST}", "quarter", (), {"max_subjects": n})
    made = create(store.home, DYNAMIC_TEMPLAMA, "tempkb", design, "bench")
    keep(store.home, made)

    def quiet(_line: str) -> None: ...

    row(f"check, {int(n):,} facts", "CPU s", "CPU s of its table", "check / table")
    row("---", "---", "---", "---")
    for step in DYNAMIC_TEMPLAMA.loaded().steps:
        table = _seconds(lambda step=step: step.run(store, made, quiet, {}))
        for promise in step.promises:
            own = _seconds(lambda promise=promise: broken(store, promise, [made.name]))
            row(f"`{promise.about.name}.{promise.name}`", f"{own:.2f}", f"{table:.2f}", f"{own / table:.2f}")


def _seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _make_demo(pages: str) -> None:
    from tempkb.cli import main as tempkb

    span = "2021-01-01..2024-01-01"
    for said in (
        f"demo --pages {pages}",
        "build",
        "release tempel 2022-01-01..2024-01-01/yearly --preset small --name demo",
        f"release templama {span} --name demo-years",
        f"release dynamic-templama {span} --name demo-quarters",
        f"release ecbd {span} --preset small --popular 3 --name demo-cloze",
    ):
        tempkb(said.split(), standalone_mode=False)


def _print_costs(steps: Steps, pages: str) -> None:
    row(f"check, demo world of {pages} pages", "CPU s", "CPU s of its task", "check / task", "within the task")
    row("---", "---", "---", "---", "---")
    told = [(own / steps.seconds[task], task, table, name, own) for (task, table, name), own in steps.checks.items()]
    for share, task, table, name, own in sorted(told, key=lambda one: (-one[0], one[3])):
        within = steps.within[task, name]
        row(
            f"`{table}.{name}`",
            f"{own:.3f}",
            f"{steps.seconds[task]:.2f}",
            f"{share:.3f}",
            f"{within:.3f}" if within else "",
        )
    print(f"\nAll tasks {sum(steps.seconds.values()):.1f} CPU s, all checks {sum(one[4] for one in told):.1f}.\n")


if __name__ == "__main__":
    main()
