"""Tells Dagster what commands did, each as a run of the job that does the same, so that its timeline and jobs show it.

Dagster's storage is told of runs that have ended, and no event that starts anything: nothing follows from them, none is
tried again, and nothing waits for them.
"""

import math
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime

import dagster as dg
from dagster._core.errors import DagsterRunAlreadyExists
from dagster._core.events import DagsterEvent, DagsterEventType
from dagster._core.remote_origin import RemoteRepositoryOrigin

from tempkb.core.files import replace_whole
from tempkb.core.journal import Entry, read_journal
from tempkb.core.settings import Home

COMMAND = "tempkb/command"
"""The tag of a run that was a command: as it was typed."""
_TOLD = "told.journal"


def tell_runs(
    instance: dg.DagsterInstance,
    home: Home,
    origin: RemoteRepositoryOrigin | None,
    job_of: Callable[[Entry], str],
    until: float = math.inf,
) -> int:
    """Tell Dagster of the commands that have ended since it was told last; return how many.

    Args:
        origin: of the definitions that have the jobs; None where nobody shows them.
        job_of: returns the job that does what a command did.
        until: when to stop, by the clock `time.monotonic`; the next call goes on.
    """
    path = home.dagster / _TOLD
    start, n = int(path.read_text()) if path.is_file() else 0, 0
    for entry, end in read_journal(home, start):
        # If the last look was killed it may have told of it already.
        with suppress(DagsterRunAlreadyExists):
            _tell(instance, entry, job_of(entry), origin)
        replace_whole(path, str(end).encode())
        n += 1
        if time.monotonic() > until:
            break
    return n


def _tell(instance: dg.DagsterInstance, entry: Entry, job: str, origin: RemoteRepositoryOrigin | None) -> None:
    tags = {COMMAND: entry.command}
    if len(entry.keys) == 1:
        tags["dagster/partition"] = entry.keys[0]
    run = dg.DagsterRun(job, entry.run_id, tags=tags, remote_job_origin=origin.get_job_origin(job) if origin else None)
    ended = DagsterEventType.PIPELINE_FAILURE if entry.failures else DagsterEventType.PIPELINE_SUCCESS
    runs = instance.run_storage
    runs.add_historical_run(run, _utc(entry.began))
    for kind, when in (DagsterEventType.PIPELINE_START, entry.began), (ended, entry.ended):
        runs.handle_run_event(run.run_id, DagsterEvent(kind.value, job), _utc(when))
    of = f", of {', '.join(entry.keys)}" if entry.keys else ""
    instance.report_engine_event("\n".join([f"{entry.command}: {entry.table}{of}", *entry.failures]), run)


def _utc(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
