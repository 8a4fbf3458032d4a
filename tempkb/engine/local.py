"""Runs a function over items on this machine, one process per item.

An item that fails, or whose worker dies, is named in its outcome and the others
continue. There is no queue of data: the parent hands out items and receives small
receipts; everything large is written to files.
"""

import multiprocessing
import os
import signal
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerContext, ForkServerProcess, SpawnContext, SpawnProcess
from pathlib import Path
from typing import Any, Generic

from tempkb.engine.items import ItemT, Outcome, Report, ResultT, Work, attempt, item_folder


def map_items(
    work: Work[ItemT, ResultT],
    items: Sequence[ItemT],
    folder: Path,
    workers: int,
    report: Report = lambda _done: None,
    preload: Sequence[str] = (),
) -> Iterator[Outcome[ItemT, ResultT]]:
    """Yield one outcome per item, in the order in which items end.

    Args:
        work: a function of a module, since it is sent to other processes.
        workers: processes at a time. With 1 the work is done in this process, where
            a failure is reported in the same way but a crash ends the run. With more,
            even a single item gets a process, so that its memory and a crash do not
            affect this one.
        report: called with the number of bytes done, summed over all items.
        preload: modules that the fork server imports once for all workers.
    """
    if workers == 1:
        yield from _one_by_one(work, items, folder, report)
        return
    context = _context(preload)
    pool = _Pool(context, work, items, folder, report)
    try:
        yield from pool.outcomes(workers)
    finally:
        pool.end()


# A socket's path may have 108 bytes; the fork server appends some thirty to the folder for temporary files.
_LONGEST_FOLDER = 75


def _context(preload: Sequence[str]) -> ForkServerContext | SpawnContext:
    if len(tempfile.gettempdir()) > _LONGEST_FOLDER:
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(preload))
    return context


def _one_by_one(
    work: Work[ItemT, ResultT], items: Sequence[ItemT], folder: Path, report: Report
) -> Iterator[Outcome[ItemT, ResultT]]:
    before = 0.0
    for number, item in enumerate(items):
        latest = [0.0]

        def report_sum(done: float, base: float = before, latest: list[float] = latest) -> None:
            latest[0] = done
            report(base + done)

        yield attempt(work, item, item_folder(folder, number), report_sum)
        before += latest[0]


class _Pool(Generic[ItemT, ResultT]):
    def __init__(
        self,
        context: ForkServerContext | SpawnContext,
        work: Work[ItemT, ResultT],
        items: Sequence[ItemT],
        folder: Path,
        report: Report,
    ) -> None:
        self._context, self._work, self._folder, self._report = context, work, folder, report
        self._waiting = list(enumerate(items))[::-1]
        self._running: dict[Connection, tuple[int, ItemT, ForkServerProcess | SpawnProcess]] = {}
        self._done = [0.0] * len(items)

    def outcomes(self, workers: int) -> Iterator[Outcome[ItemT, ResultT]]:
        while self._waiting or self._running:
            while self._waiting and len(self._running) < workers:
                self._start(*self._waiting.pop())
            for ready in wait(list(self._running)):
                outcome = self._hear(ready)  # type: ignore[arg-type]  # wait() returns what it was given
                if outcome is not None:
                    yield outcome

    def end(self) -> None:
        """End all workers that still run, after the work was cancelled or has failed."""
        for _, _, process in self._running.values():
            process.terminate()
        for _, _, process in self._running.values():
            process.join(5)
            if process.is_alive():
                process.kill()
                process.join()

    def _start(self, number: int, item: ItemT) -> None:
        ours, theirs = self._context.Pipe(duplex=False)
        own = item_folder(self._folder, number)
        process = self._context.Process(target=_serve, args=(self._work, item, own, theirs), daemon=True)
        process.start()
        theirs.close()
        self._running[ours] = (number, item, process)

    def _hear(self, ready: Connection) -> Outcome[ItemT, ResultT] | None:
        number, item, process = self._running[ready]
        try:
            kind, value = ready.recv()
        except (EOFError, OSError):  # it ended before a message, or in the middle of one
            process.join()
            del self._running[ready]
            return Outcome(item, None, f"its worker died ({_exit_in_words(process.exitcode)})")
        if kind == "done":
            self._done[number] = value
            self._report(sum(self._done))
            return None
        del self._running[ready]
        process.join()
        return Outcome(item, *value)


def _serve(work: Work[Any, Any], item: Any, folder: Path, pipe: Connection) -> None:
    """Run in the worker: do the item and send back its result, or its failure in words."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends the worker, also on Ctrl-C
    threading.Thread(target=_die_with_parent, daemon=True).start()

    def report(done: float) -> None:
        with suppress(BrokenPipeError):
            pipe.send(("done", done))

    outcome = attempt(work, item, folder, report)
    pipe.send(("ended", (outcome.result, outcome.failure)))


def _die_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _exit_in_words(code: int | None) -> str:
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        return f"killed by {name}" + (", perhaps for memory" if name == "SIGKILL" else "")
    return f"exit code {code}"
