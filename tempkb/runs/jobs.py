"""Dagster's jobs, run in this process, and what became of them.

Runs are ordinary Dagster runs, kept in the home's own Dagster storage, so that
the web UI shows them afterwards. Dagster takes half a second to import, and
commands such as `tempkb gc` need only words from here: it is imported where a
job runs.
"""

import os
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import click

from tempkb.api import open_store
from tempkb.engine import progress
from tempkb.engine.tasks import NOTES
from tempkb.errors import StoredDamageError
from tempkb.failures import innermost
from tempkb.instance import dagster_at, end_dead_runs, runs_going_on
from tempkb.settings import TYPED_TAG, Home, at_home, load_home
from tempkb.store.locks import LockTimeoutError, bear_mark
from tempkb.store.store import Store
from tempkb.store.versions import Fault
from tempkb.store.visible import visible
from tempkb.wording import shortened

_MOST_TYPED = 200  # letters of a command that a run's tag holds; a pattern of the shell may have named many files


@dataclass
class Summary:
    """What a build did, for the closing screen.

    Attributes:
        failures: what went wrong, in words; empty when all is well.
        notes: what a person should know all the same: damage, windows that were kept, what a rebuild changed.
        run_ids: Dagster's runs, in order.
        entity_dumps: dumps of Wikidata's entities that this build was about.
        is_held: did a run stop because another program does the same?
    """

    windows: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    run_ids: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    entity_dumps: list[str] = field(default_factory=list)
    is_held: bool = False


@dataclass(frozen=True)
class Task:
    """What a job does for each of some keys.

    Attributes:
        step: the step that gets what is asked as its configuration.
        tables: that it makes; none for all of the job's.
        is_kept: is told of a key whose run has ended, and whether it ended well; says whether the home knows the key,
            which Dagster else forgets unless another run needs it. None for keys that the home knows before.
    """

    job: str
    step: str = ""
    tables: tuple[str, ...] = ()
    is_kept: Callable[[str, bool], bool] | None = None

    def run(self, wanted: Mapping[str, Mapping[str, Any]]) -> Summary:
        """Run the job for each key, one after the other; one that fails does not stop the others.

        Args:
            wanted: what is asked, by key; the key of a job without partitions is empty.
        """
        summary = Summary()
        if wanted:
            with dagster_at(open_store().home) as instance:
                for key, asked in wanted.items():
                    self._run(instance, key, asked, summary)
        return summary

    def _run(self, instance: Any, key: str, asked: Mapping[str, Any], summary: Summary) -> None:
        config = {"ops": {self.step: {"config": dict(asked)}}} if self.step else {}
        n_failures, is_whole = len(summary.failures), False
        try:
            run_job(instance, self.job, [key] if key else [], config, list(self.tables), summary)
            is_whole = len(summary.failures) == n_failures
        finally:
            # Also if the run is interrupted, between two of its steps.
            if self.is_kept is not None and not self.is_kept(key, is_whole):
                forget_partition(instance, self.job, key)


def run_job(
    instance: Any, job_name: str, keys: Sequence[str], config: dict[str, Any], selection: list[str], summary: Summary
) -> None:
    """Run a job over a partition, a range of windows or all there is, and add its outcome to a summary.

    Args:
        keys: one partition, or the windows of a range; none if the job's assets have no partitions.
        selection: assets; empty for all of the job's.

    Raises:
        KeyboardInterrupt: the run was interrupted.
    """
    import dagster as dg

    from tempkb.definitions import defs
    from tempkb.planning.jobs import WINDOWS_JOB

    # Whoever typed the command types it again.
    run_id, tags = str(uuid.uuid4()), {"dagster/max_retries": "0"}
    if keys and job_name == WINDOWS_JOB:
        tags |= {"dagster/asset_partition_range_start": keys[0], "dagster/asset_partition_range_end": keys[-1]}
    elif keys:
        instance.add_dynamic_partitions(_partition_set(job_name), list(keys))
    quiet = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    with progress.on_terminal(), _bearing(run_id):
        result = defs.resolve_job_def(job_name).execute_in_process(
            instance=instance,
            run_config={**config, **quiet},
            asset_selection=[dg.AssetKey(name) for name in selection] or None,
            raise_on_error=False,
            partition_key=keys[0] if keys and job_name != WINDOWS_JOB else None,
            run_id=run_id,
            tags={**tags, **_typed()},
        )
    summary.run_ids.append(result.run_id)
    if any(event.is_step_failure and _is_interrupt(event) for event in result.all_events):
        # Dagster ends the run, and goes on; who pressed Ctrl-C meant all that was still to come.
        raise KeyboardInterrupt
    summary.failures += list(_failures(result))
    summary.is_held |= any(event.is_step_failure and _is_held(event) for event in result.all_events)
    summary.notes += list(dict.fromkeys(_notes(result)))


@contextmanager
def _bearing(run_id: str) -> Iterator[None]:
    """Bear the mark of a run; only a kill leaves it."""
    marks = load_home().marks
    with os.fdopen(bear_mark(marks, run_id)):
        try:
            yield
        finally:
            (marks / run_id).unlink(missing_ok=True)


def _typed() -> dict[str, str]:
    """The tag with the arguments that a person typed; settings from the environment are no part of it."""
    context = click.get_current_context(silent=True)
    typed = context.meta.get(TYPED_TAG) if context is not None else None
    return {TYPED_TAG: shortened(visible(typed), _MOST_TYPED)} if typed else {}


def past_damage(work: Callable[[], Summary]) -> Summary:
    """Do some work; do it again where reading has found damage. The summary, or standard error, names what is damaged.

    What is damaged counts as absent, so that work which needs it makes it again. What this run has written is
    whole, so that the rounds end. However it ends, it is published then.
    """
    store = open_store()
    if any(store.home.marks.glob("[!.]*")):
        # A run that was killed is reported as failed, also where nothing is left to be done in another one.
        with dagster_at(store.home):
            pass
    found = {str(fault): fault for fault in store.faults()}
    try:
        summary = _rounds(work, store, found)
    except BaseException:
        for line in found:
            _tell(f"damaged: {line}")
        raise
    finally:
        publication = store.publish()
        if publication.reason:
            _tell(f"note: {publication.reason}")
    said = [
        f"damaged{'' if store.lake.current(one.table, one.partition) is None else ', and made again'}: {line}"
        for line, one in found.items()
    ]
    summary.notes[:0] = [*said, *filter(None, (publication.set_aside, *publication.damaged))]
    return summary


def _tell(said: str) -> None:
    sys.stderr.write(visible(at_home(said)) + "\n")


def _rounds(work: Callable[[], Summary], store: Store, found: dict[str, Fault]) -> Summary:
    while True:
        summary, error = Summary(), None
        try:
            summary = work()
        except StoredDamageError as met:
            # Met while it was worked out what there is to do.
            error = met
        more = {str(fault): fault for fault in store.faults()}
        is_new = not more.keys() <= found.keys()
        found |= more
        if is_new and (error or summary.failures):
            continue
        if error:
            raise error
        return summary


def forget_partition(instance: Any, job_name: str, key: str) -> None:
    """Take a key out of the set of partitions that a job runs over, in Dagster alone, unless another run needs it."""
    if not _is_used(instance, load_home(), key):
        instance.delete_dynamic_partition(_partition_set(job_name), key)


def forget_partitions(home: Home, keys: Mapping[str, Sequence[str]]) -> None:
    """Let Dagster forget partitions that are about to be removed: their keys by the name of their set.

    Raises:
        LockTimeoutError: a run works on it.
    """
    if not any(keys.values()):
        return
    with dagster_at(home) as instance:
        for name, own in keys.items():
            for key in own:
                if _is_used(instance, home, key):
                    raise LockTimeoutError(
                        f"{key!r} is in use: a run works on it at this moment. It was not removed; wait until that has "
                        "ended, or end it in the UI, then type the same again"
                    )
                instance.delete_dynamic_partition(name, key)


def _is_used(instance: Any, home: Home, key: str) -> bool:
    """Is a run of a partition under way? Without its key in Dagster it would end without what it has done."""
    end_dead_runs(instance, home)
    return any(one.dagster_run.tags.get("dagster/partition") == key for one in runs_going_on(instance))


def _partition_set(job_name: str) -> str:
    """Name of the set of partitions that come as they appear over which a job runs."""
    import dagster as dg

    from tempkb.definitions import defs

    partitions = defs.resolve_job_def(job_name).partitions_def
    if not isinstance(partitions, dg.DynamicPartitionsDefinition):
        raise TypeError(f"job {job_name}: runs over {partitions}; expected partitions that come as they appear")
    return str(partitions.name)


def _is_interrupt(event: Any) -> bool:
    source = event.step_failure_data.error_source
    return source is not None and str(source.value) == "INTERRUPT"


def _is_held(event: Any) -> bool:
    error = event.step_failure_data.error
    while error is not None and error.cls_name != LockTimeoutError.__name__:
        error = error.cause
    return error is not None


def _failures(result: Any) -> Iterator[str]:
    for event in result.all_events:
        if event.is_step_failure:
            failed = event.step_failure_data
            said = innermost(failed.error)
            # A step that says itself what failed has a line for each thing; other errors are one thing each.
            yield from said.split("\n") if failed.user_failure_data is not None else [said]
    for evaluation in result.get_asset_check_evaluations():
        # A warning is for people to know, and no failure.
        if not evaluation.passed and evaluation.severity.value == "ERROR":
            name = f"{evaluation.asset_key.path[-1]}.{evaluation.check_name}"
            facts = ", ".join(f"{key}: {value.value}" for key, value in evaluation.metadata.items())
            yield f"check {name} failed ({facts})"


def _notes(result: Any) -> Iterator[str]:
    """What a person should know of the run."""
    for event in result.all_events:
        if event.is_step_materialization:
            made = event.step_materialization_data.materialization
            yield from made.metadata[NOTES].value if NOTES in made.metadata else ()
