"""Runs a function over items on the machines of a Ray cluster that share a file system.

It has the interface of the local engine. Ray carries items to the machines and
small receipts back; everything large is written to files. An item whose worker or
machine dies is tried again elsewhere in a new folder, so nothing of an unfinished
try is ever used. An item that fails by itself is not tried again, since it would
fail again.
"""

import contextlib
import functools
import importlib
import logging
import os
import secrets
import signal
import socket
import tempfile
import threading
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic

import tempkb
from tempkb.core.errors import SettingsError
from tempkb.core.files import remove_tree
from tempkb.core.locks import locked, try_lock
from tempkb.engine.items import ItemT, Outcome, Report, ResultT, Work, attempt, item_folder

_TRIES = 3
_GLANCE_SECONDS = 0.5  # how often progress is read
_KNOCK_SECONDS = 10.0  # in which a cluster must answer
_GRACE_SECONDS = 5.0  # in which cancelled work must end before its files are removed
# Items are files and receipts are small, so Ray's shared memory, a third of the machine by default, may be small, too.
_SHARED_MEMORY_BYTES = 100 << 20
# A socket's path may have 107 bytes, and Ray appends some eighty to the folder for temporary files.
_LONGEST_FOLDER = 24
_LOCKS_ADVICE = (
    "runs on two machines would not notice each other. Mount the home with locks that hold between machines "
    "(NFS 4 without local_lock and nolock, Lustre with flock), or use the engine local"
)
_TOKEN_VARIABLES = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")


@dataclass(frozen=True)
class Terms:
    """What a node must satisfy to take items.

    Attributes:
        version: of tempkb.
        probe: a file beside the items, on which the driver holds a lock.
    """

    version: str
    probe: Path


def map_items(
    work: Work[ItemT, ResultT],
    items: Sequence[ItemT],
    folder: Path,
    workers: int | None,
    report: Report = lambda _done: None,
    address: str = "",
) -> Iterator[Outcome[ItemT, ResultT]]:
    """Yield one outcome per item, in the order in which items end.

    Args:
        work: a function of a module that is installed on every node.
        folder: each try of an item gets a folder of its own below it; all nodes must see it at this path.
        report: called with the number of bytes done, summed over all items.
        address: of a Ray cluster: auto, host:port or ray://host:port; empty starts Ray on this machine and
            ends it afterwards. An existing connection of this process is used and kept.

    Raises:
        SettingsError: Ray is missing or does not answer; or a node has another tempkb, does not see the folder, or
            can take a lock that is held here.
    """
    ray = _import_ray()
    with _connected(ray, address, workers), _terms(folder) as terms:
        _check_nodes(ray, terms)
        pool = _Pool(ray, terms, work, items, folder, workers, report)
        try:
            yield from pool.outcomes()
        finally:
            pool.end()


def misfit(terms: Terms) -> str:
    """Return why the machine that runs this cannot take items; empty if it can."""
    host = socket.gethostname()
    if tempkb.__version__ != terms.version:
        return (
            f"node {host} has tempkb {tempkb.__version__}, but this run has {terms.version}; "
            f"install tempkb=={terms.version} on every node"
        )
    folder = terms.probe.parent
    try:
        with terms.probe.open("r+") as handle:
            holds = not try_lock(handle.fileno())
    except FileNotFoundError:
        return (
            f"node {host} does not see {folder}; the home must be on a file system that all nodes share, "
            "under the same path"
        )
    except OSError as error:
        return f"node {host} cannot lock a file in {folder} ({error}); {_LOCKS_ADVICE}"
    return "" if holds else f"node {host} was given a lock in {folder} that another machine holds; {_LOCKS_ADVICE}"


@dataclass
class _Try:
    """A try of the item at place `number`; `losses` gives the reasons why earlier tries were lost."""

    number: int
    losses: list[str] = field(default_factory=list)


class _Pool(Generic[ItemT, ResultT]):
    def __init__(
        self,
        ray: Any,
        terms: Terms,
        work: Work[ItemT, ResultT],
        items: Sequence[ItemT],
        folder: Path,
        workers: int | None,
        report: Report,
    ) -> None:
        self._ray, self._terms, self._work, self._items = ray, terms, work, items
        self._folder, self._workers, self._report = folder, workers, report
        self._waiting = [_Try(number) for number in range(len(items))][::-1]
        self._running: dict[Any, _Try] = {}
        self._done = [0.0] * len(items)
        # If its node is lost, the board is empty on the next one; workers soon report again how far they are.
        self._board = ray.remote(num_cpus=0, max_restarts=-1)(_Board).remote()
        self._answer: Any = None
        # Ray's own retries would use the same folder again.
        self._serve = ray.remote(num_cpus=1, max_retries=0, scheduling_strategy="SPREAD")(_serve)

    def outcomes(self) -> Iterator[Outcome[ItemT, ResultT]]:
        while self._waiting or self._running:
            while self._waiting and len(self._running) < self._limit():
                self._start(self._waiting.pop())
            ready, _ = self._ray.wait(list(self._running), timeout=_GLANCE_SECONDS)
            self._look_at_board()
            for ref in ready:
                outcome = self._take(ref)
                if outcome is not None:
                    yield outcome

    def end(self) -> None:
        """End everything that still runs, after the work was cancelled or has failed."""
        running = list(self._running)
        with contextlib.suppress(self._ray.exceptions.RayError, ConnectionError):
            for ref in running:
                self._ray.cancel(ref, force=True)
            if running:
                self._ray.wait(running, num_returns=len(running), timeout=_GRACE_SECONDS)
            self._ray.kill(self._board)

    def _limit(self) -> int:
        if self._workers is not None:
            return self._workers
        return max(1, int(self._ray.cluster_resources().get("CPU", 0)))

    def _start(self, one: _Try) -> None:
        own = item_folder(self._folder, one.number, len(one.losses))
        key = (one.number, len(one.losses))
        ref = self._serve.remote(self._terms, self._board, key, self._work, self._items[one.number], own)
        self._running[ref] = one

    def _take(self, ref: Any) -> Outcome[ItemT, ResultT] | None:
        one = self._running.pop(ref)
        item = self._items[one.number]
        try:
            result, failure, done = self._ray.get(ref)
        except self._ray.exceptions.RayTaskError as error:
            return Outcome(item, None, _not_run(error, self._terms))
        except self._ray.exceptions.RayError as error:
            return self._again(one, _loss(self._ray, error))
        self._note_done(one.number, done)
        return Outcome(item, result, failure)

    def _again(self, one: _Try, loss: str) -> Outcome[ItemT, ResultT] | None:
        """Put a lost try back in the queue; give up an item that was lost too often."""
        remove_tree(self._folder, item_folder(self._folder, one.number, len(one.losses)), may_fail=True)
        self._note_done(one.number, 0.0)
        losses = [*one.losses, loss]
        if len(losses) < _TRIES:
            self._waiting.append(_Try(one.number, losses))
            return None
        why = f": {', then '.join(losses)}" if len(set(losses)) > 1 else f", and each time {losses[0]}"
        return Outcome(self._items[one.number], None, f"tried {len(losses)} times{why}")

    def _look_at_board(self) -> None:
        """Take over the board's last answer if it has arrived, without waiting for it."""
        if self._answer is not None:
            if not self._ray.wait([self._answer], timeout=0)[0]:
                return
            with contextlib.suppress(self._ray.exceptions.RayError):
                done_by_try = self._ray.get(self._answer)
                for one in self._running.values():
                    done = done_by_try.get((one.number, len(one.losses)), 0.0)
                    self._done[one.number] = max(self._done[one.number], done)
                self._report(sum(self._done))
        self._answer = self._board.read.remote()

    def _note_done(self, number: int, done: float) -> None:
        self._done[number] = done
        self._report(sum(self._done))


class _Board:
    """An actor in the cluster that knows the bytes done of each try of an item."""

    def __init__(self) -> None:
        self._done: dict[tuple[int, int], float] = {}

    def note(self, key: tuple[int, int], done: float) -> None:
        self._done[key] = done

    def read(self) -> dict[tuple[int, int], float]:
        return self._done


def _serve(
    terms: Terms, board: Any, key: tuple[int, int], work: Work[Any, Any], item: Any, folder: Path
) -> tuple[Any, str, float]:
    """Run in the worker: do the item and return its result, its failure in words, and the bytes done."""
    # Checked for each item, since nodes may join during the run.
    problem = misfit(terms)
    if problem:
        return None, problem, 0.0
    latest = 0.0

    def report(done: float) -> None:
        nonlocal latest
        latest = done
        board.note.remote(key, done)

    outcome = attempt(work, item, folder, report)
    return outcome.result, outcome.failure, latest


def _check_nodes(ray: Any, terms: Terms) -> None:
    """Check on every node that can take items whether it fits, before hours are spent."""
    pinned = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
    ask = ray.remote(num_cpus=0, max_retries=0)(misfit)
    nodes = [node["NodeID"] for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
    for answer in [ask.options(scheduling_strategy=pinned(node, soft=False)).remote(terms) for node in nodes]:
        try:
            problem = ray.get(answer)
        except ray.exceptions.RayTaskError as error:
            problem = _not_run(error, terms)
        except ray.exceptions.RayError:
            continue  # the node was lost in the meantime, so it gets no item
        if problem:
            raise SettingsError(f"engine ray: {problem}")


def _not_run(error: Any, terms: Terms) -> str:
    """Return in words that a worker could not begin, which cannot be caused by the function itself."""
    cause = error.cause
    return (
        f"a worker could not begin ({type(cause).__name__}: {str(cause).strip().splitlines()[-1]}); "
        f"is tempkb=={terms.version} installed on every node?"
    )


def _loss(ray: Any, error: Exception) -> str:
    kinds = ray.exceptions
    if isinstance(error, kinds.OutOfMemoryError):
        return "its worker was ended because memory ran out"
    if isinstance(error, kinds.NodeDiedError | kinds.ObjectLostError):
        return "its node was lost"
    if isinstance(error, kinds.WorkerCrashedError):
        return "its worker died (perhaps for memory)"
    return f"Ray lost it ({type(error).__name__})"


@contextlib.contextmanager
def _terms(folder: Path) -> Iterator[Terms]:
    """Hold a lock in the folder that no other machine must be able to take."""
    probe = folder / f"probe-{uuid.uuid4().hex}"
    with locked(probe):
        yield Terms(tempkb.__version__, probe)


def _import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        return importlib.import_module("ray")
    except ModuleNotFoundError:
        raise SettingsError(
            'engine: "ray" needs the package ray; install the extra ray: pip install "tempkb[ray]"'
        ) from None


@contextlib.contextmanager
def _connected(ray: Any, address: str, workers: int | None) -> Iterator[None]:
    """Be connected to Ray inside the block; a connection that existed before is kept."""
    if ray.is_initialized():
        yield
        return
    with contextlib.ExitStack() as after:
        if address:
            options = {"address": address}
        else:
            after.enter_context(_own_token())
            options = {"address": "local", **_own_instance(after.enter_context(_short_folder()), workers)}
        handler = signal.getsignal(signal.SIGTERM)
        # Also after a partial failure: nothing that was started may remain.
        after.callback(ray.shutdown)
        try:
            _knock(address)
            ray.init(**options, logging_level=logging.ERROR, log_to_driver=False)
        except (OSError, RuntimeError, ValueError) as error:
            raise SettingsError(_no_ray(address, error)) from None
        _give_back(handler)
        yield


def _no_ray(address: str, error: Exception) -> str:
    if not address:
        return f"engine ray: Ray did not start on this machine ({error}); use the engine local"
    return (
        f"ray_address: no usable Ray cluster answers at {address!r} ({error}). Start one (tempkb docs scaling "
        "has the steps), or leave ray_address empty for Ray on this machine alone."
    )


def _knock(address: str) -> None:
    """Raise OSError if nothing listens at the address; Ray itself would try for minutes, then end the process."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host:
        socket.create_connection((host, int(port)), _KNOCK_SECONDS).close()


def _own_instance(folder: str, workers: int | None) -> dict[str, Any]:
    return {
        "num_cpus": workers or os.cpu_count(),
        "include_dashboard": False,
        "object_store_memory": _SHARED_MEMORY_BYTES,
        "_temp_dir": folder,
        "_node_ip_address": "127.0.0.1",
    }


@contextlib.contextmanager
def _own_token() -> Iterator[None]:
    """Protect our own Ray, which listens on all of the machine's addresses, with a token of this process.

    By default Ray asks for a token and would keep it in a file of the user.
    """
    chosen = [name for name in _TOKEN_VARIABLES if name in os.environ]
    if not chosen:
        os.environ["RAY_AUTH_TOKEN"] = _secret()
    try:
        yield
    finally:
        for name in _TOKEN_VARIABLES:
            if name not in chosen:
                os.environ.pop(name, None)


@functools.cache
def _secret() -> str:
    # The same for the whole life of the process, since Ray remembers the first one.
    return secrets.token_hex(32)


@contextlib.contextmanager
def _short_folder() -> Iterator[str]:
    usual = tempfile.gettempdir()
    short = usual if len(usual) <= _LONGEST_FOLDER else "/tmp"  # noqa: S108 - the folder made there is private
    folder = tempfile.mkdtemp(prefix="tempkb-", dir=short)
    try:
        yield folder
    finally:
        remove_tree(Path(folder), Path(folder), may_fail=True)


def _give_back(handler: Any) -> None:
    """Restore the handler of SIGTERM that Ray replaced, such as Dagster's."""
    if handler not in (signal.SIG_DFL, None) and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)
