"""The tasks of the benchmarks, made of the steps that each benchmark declares. No Dagster here."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from tempkb.benchmarks.benchmark import Benchmark
from tempkb.benchmarks.methods import Step, begin, build_step, measure, versions_of
from tempkb.benchmarks.promises import judged
from tempkb.benchmarks.register import as_listed, create, load, releases_of, unfinished_releases
from tempkb.core.errors import TempkbError
from tempkb.core.options import Option
from tempkb.engine.steps import Source, Standing
from tempkb.engine.tasks import Done, Order, Shows, Task
from tempkb.store.store import Store

_HOW = (
    "A partition is a release, made by `tempkb release`. While there is none, Dagster's graph shows 0 partitions in "
    "green, though nothing was built."
)
_CHANGES = Option("changes", "Hyperparameters and their values, as people type them.", default={})


def tasks_of(benchmark: Benchmark) -> tuple[Task, ...]:
    """Return the tasks of a benchmark: one for each step of building a release, and one for each measurement."""
    methods = benchmark.loaded()
    # The first may request a new release.
    asked = [(*benchmark.all_options, _CHANGES), *[()] * len(methods.steps)]
    building = (_task(benchmark, step, False, options) for step, options in zip(methods.steps, asked, strict=False))
    measuring = (
        _task(benchmark, methods.measures[one.name], True, [replace(word, default=None) for word in one.arguments])
        for one in benchmark.measurements
    )
    return (*building, *measuring)


def _task(benchmark: Benchmark, step: Step, is_measurement: bool, options: Iterable[Option]) -> Task:
    return Task(
        step.name,
        tuple(Standing((made.table,), tuple(map(Source, made.sources))) for made in step.makes),
        partial(_make, benchmark, step, is_measurement),
        shown=partial(_shown, benchmark, step),
        how=_HOW,
        options=tuple(options),
        promises=step.promises,
        judge=partial(judged, benchmark),
        known=lambda store: releases_of(store.home, benchmark.name),
    )


def _make(benchmark: Benchmark, step: Step, is_measurement: bool, order: Order) -> Done:
    """Run a step for some releases, one after the other; it ends with the first that fails."""
    store, done, notes = order.store, Done(), list[str]()
    if order.words.get(benchmark.study.name) and not is_measurement:
        _register(order, benchmark, order.words)
    for name in order.keys:
        # Read before the block that undoes what was written, so that nothing is undone of a release of another
        # benchmark.
        release = load(store.home, benchmark, name)
        with _none_half_built(order, name):
            if is_measurement:
                notes += measure(store, step, release, order.log, order.words)
            else:
                notes += build_step(store, benchmark.loaded(), step, release, order.log)
        done.add(*(version for own in versions_of(store, step, release).values() for version in own))
    done.notes = notes
    return done


def _shown(benchmark: Benchmark, step: Step, store: Store, name: str | None) -> Shows:
    release = load(store.home, benchmark, name or "")
    return step.shows(store, release, versions_of(store, step, release))


def _register(order: Order, benchmark: Benchmark, options: Mapping[str, Any]) -> None:
    """Register the release that a run requests."""
    store, (name,) = order.store, order.keys
    with _none_half_built(order, name):
        changes = {part: str(value) for part, value in options["changes"].items()}
        design = benchmark.loaded().design(store, {**options, "changes": changes})
        begin(store, create(store.home, benchmark, options["preset"], design, name))


@contextmanager
def _none_half_built(order: Order, name: str) -> Iterator[None]:
    """If the block fails, undo what the run has written of its other releases."""
    try:
        yield
    except BaseException as error:
        others = [key for key in unfinished_releases(order.store) if key in order.keys and key != name]
        for key in others:
            as_listed(order.store, key)
        if others and isinstance(error, TempkbError):
            error.args = (f"{error}. Not built either, since the run ended here: {', '.join(others)}",)
        raise
