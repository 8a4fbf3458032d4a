"""What each check costs beside its asset.

    python -m tempkb_tests.bench.checks [PAGES]    over a demo world of so many pages
    python -m tempkb_tests.bench.checks facts N    a DynamicTempLAMA release of N synthetic facts over forty quarters

A home is built in this process, with one worker, and four releases of it, as `make demo` does. Dagster's own events tell
when a step begins and ends; the CPU seconds of the process in between are the step's. What a release promises is asked
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
from unittest import mock

from tempkb_tests.bench.measuring import row
from tempkb_tests.bench.sides import FACTS_DUMP, FIRST, LAST, make_facts

_BEGUN, _ENDED = "STEP_START", ("STEP_SUCCESS", "STEP_FAILURE")


class Steps:
    """CPU seconds by step, and by promise within the step that now goes on."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.within: defaultdict[tuple[str, str], float] = defaultdict(float)
        self._now, self._began = "", 0.0

    def hear(self, event: object) -> None:
        """Take note of the begin or the end of a step."""
        said = getattr(event, "dagster_event", None)
        if said is None:
            return
        if said.event_type_value == _BEGUN:
            self._now, self._began = said.step_key, time.process_time()
        elif said.event_type_value in _ENDED:
            self.seconds[said.step_key] += time.process_time() - self._began

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear what Dagster tells, and time the promises, inside the block."""
        import dagster as dg

        from tempkb.benchmarks import promises

        handle, broken = dg.DagsterInstance.handle_new_event, promises.broken

        def heard(instance: dg.DagsterInstance, event: object, **more: object) -> object:
            self.hear(event)
            return handle(instance, event, **more)  # type: ignore[arg-type]

        def timed(store: object, promise: promises.Promise, *rest: object) -> object:
            began = time.process_time()
            try:
                return broken(store, promise, *rest)  # type: ignore[arg-type]
            finally:
                self.within[self._now, promise.name] += time.process_time() - began

        with (
            mock.patch.object(dg.DagsterInstance, "handle_new_event", heard),
            mock.patch.object(promises, "broken", timed),
        ):
            yield


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
    from tempkb.definitions import defs

    made_by = {key: one.node_def.name for one in defs.assets or () for key in one.keys}
    row(
        f"check, demo world of {pages} pages", "CPU s", "CPU s of its asset", "check / asset", "within the asset's step"
    )
    row("---", "---", "---", "---", "---")
    told = []
    for check in defs.asset_checks or ():
        (key,) = check.check_keys
        step = made_by[key.asset_key]
        own, asset = steps.seconds[check.node_def.name], steps.seconds[step]
        if asset:
            told.append((own / asset, key, own, asset, steps.within[step, key.name]))
    for share, key, own, asset, within in sorted(told, key=lambda one: (-one[0], one[1].name)):
        row(
            f"`{key.asset_key.to_user_string()}.{key.name}`",
            f"{own:.3f}",
            f"{asset:.2f}",
            f"{share:.3f}",
            f"{within:.3f}" if within else "",
        )
    print(
        f"\nAll assets {sum(steps.seconds[name] for name in {*made_by.values()}):.1f} CPU s, all checks {sum(one[2] for one in told):.1f}.\n"
    )


if __name__ == "__main__":
    main()
