"""Jobs, and what starts them: new dumps, the end of a window, or the job before.

There is one job for each set of partitions, since Dagster runs a job over one
set. A new dump is registered, and fetched if the mirror is a server. Then the
windows that it serves are built, or its entities are read. Then dumps that are
no longer needed are removed.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

import dagster as dg
from dagster._core.remote_origin import RemoteRepositoryOrigin

from tempkb.benchmarks.benchmark import Benchmark
from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.register import releases_of
from tempkb.core.errors import SourceError, TempkbError
from tempkb.core.failures import call_hook, innermost
from tempkb.core.files import replace_whole
from tempkb.core.journal import Entry
from tempkb.core.locks import is_at_work
from tempkb.core.settings import Settings
from tempkb.core.windows import Granularity, Window, stretches, windows_until
from tempkb.core.wording import counted
from tempkb.engine.tasks import works_on
from tempkb.models.generations.tables import GENERATIONS
from tempkb.models.known import known_models
from tempkb.models.scores.selecting import prompts_mark
from tempkb.models.scores.tables import PROMPT_SCORES
from tempkb.models.tables import MODELS, READY
from tempkb.platform.api import open_store
from tempkb.platform.assets import CHAINED, DUMPS, check_of
from tempkb.platform.instance import end_dead_runs
from tempkb.platform.planning.built import FOLLOWING, stale_windows
from tempkb.platform.planning.due import Due, is_ready, look_out, retirable, unregistered
from tempkb.platform.reporter import report
from tempkb.platform.timeline import tell_runs
from tempkb.store.promises import Promise, Verdict
from tempkb.store.store import Store
from tempkb.store.tables import Family, Table
from tempkb.wiki.dumps.catalogue import find_dumps
from tempkb.wiki.dumps.tables import DUMP_FILES
from tempkb.wiki.dumps.verification import remove_dump
from tempkb.wiki.revisions.sitelinks import unlinked_windows
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS
from tempkb.wiki.revisions.windows import read_windows

DUMPS_JOB, WINDOWS_JOB, WIKIDATA_JOB, RETIRE_JOB = "register_dump", "build_windows", "read_wikidata", "retire_dumps"
MODELS_JOB, GENERATIONS_JOB = "score_models", "generate_answers"
LINKERS_JOB, RESULTS_JOB, CORPORA_JOB = "link_mentions", "compare_models", "date_texts"
# The jobs of tables but those of releases, by their family.
_JOBS = {
    Family.DUMP: (DUMPS_JOB, "Write down the files of a dump, and the pages its SQL tables know."),
    Family.WINDOW: (
        WINDOWS_JOB,
        "Read the histories that serve a range of windows, each once; write what stood at each cut, and who is "
        "mentioned where.",
    ),
    Family.ENTITIES: (WIKIDATA_JOB, "Read a dump of Wikidata's entities, once; write what was true when."),
    Family.MODEL: (
        MODELS_JOB,
        "Read the checkpoint of a language model, bind its name to the files, and score the prompts of releases.",
    ),
    Family.LINKER: (
        LINKERS_JOB,
        "Train a linker on a snapshot of TempEL, encode entities, and link the mentions of releases.",
    ),
    Family.CORPUS: (
        CORPORA_JOB,
        "Date the sentences of the wiki by the window in which each is first seen, or read a corpus of a user's own.",
    ),
    Family.RESULT: (
        RESULTS_JOB,
        "Compare the scores of all models: what each knows of the last window, and what linkers show of time.",
    ),
}
_FAMILIES = {name: family for family, (name, _) in _JOBS.items()}

_ASKED = ".dagster/tempkb_asked"
# Runs a day that fail for the same reason, and seconds between them; what has died Dagster tries again by itself, at
# once and as often (`max_retries` in `dagster.yaml`).
_TRIES, _PAUSE = 5, 60
# Seconds after which what is left is told in the next tick; Dagster gives up on a tick after 60.
_TICK = 15.0
# Dagster's words, in an event before that of the failure, and in the latter if nothing else is said of it.
_KILLED = "terminated by signal"
_FROM_OUTSIDE = "This run has been marked as failed from outside the execution context."
_FIRST, _LAST = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"


@dg.op(description="Remove the dumps that the setting `keep_dumps` does not keep and that no window waits for.")
def remove_retired(context: dg.OpExecutionContext, store: dg.ResourceParam[Store]) -> None:
    """Remove retired dumps, and log which."""
    for dump in retirable(store):
        context.log.info(f"{dump.dump_id} removed: {remove_dump(store.home.dumps, dump):,} bytes")


@dg.job(name=RETIRE_JOB, description="Remove the files of dumps that nobody needs any more.")
def retire_dumps() -> None:
    """Remove retired dumps."""
    remove_retired()


# Some days after windows end, when the dumps of the first of the month are usually done; UTC.
_CRON = {
    Granularity.WEEK: "0 6 * * 4",
    Granularity.MONTH: "0 6 8 * *",
    Granularity.QUARTER: "0 6 8 1,4,7,10 *",
    Granularity.YEAR: "0 6 8 1 *",
}
_GOING_ON = [dg.DagsterRunStatus(status) for status in ("QUEUED", "NOT_STARTED", "STARTING", "STARTED")]

AGE_CHECK = "newest_window_is_recent"
# Days: a window's length and a month for the dump and the build.
_LATE = {Granularity.WEEK: 14, Granularity.MONTH: 60, Granularity.QUARTER: 122, Granularity.YEAR: 395}
# Dagster wants a day on which a table is red as well. A dump that nobody fetched is no failure, so it is far away.
_NEVER = timedelta(days=3650)


def kept_fresh(spec: dg.AssetSpec, table: Table, granularity: Granularity) -> dg.AssetSpec:
    """Make Dagster warn of a table that is made for every dump and has not grown for long.

    Releases are frozen, models and linkers are bound to their files, so they never become too old, and results only
    with new scores. Tables of windows are as old as their newest window, whenever it was built: `age_check`.
    """
    if table.family not in (Family.DUMP, Family.ENTITIES):
        return spec
    late = timedelta(days=_LATE[granularity])
    policy = dg.FreshnessPolicy.time_window(fail_window=_NEVER, warn_window=late)
    return spec.replace_attributes(freshness_policy=policy)


def age_of_windows(store: Store, today: date) -> Verdict | None:
    """Return how long ago the newest window that is built ended, and whether that is too long; None without windows."""
    granularity = store.home.settings.granularity
    newest = max(read_windows(store), default=None)
    if newest is None:
        return None
    age = (today - newest.cut).days
    facts = {
        "newest window": newest.label,
        "ended": str(newest.cut),
        "days since": age,
        "late after days": _LATE[granularity],
        "windows ended since": len(windows_until(newest.cut, today, granularity)),
    }
    return Verdict(age <= _LATE[granularity], facts, is_warning=True)


def age_check() -> dg.AssetChecksDefinition:
    """Return the asset check of the age of the newest window; a sensor repeats its verdict as time passes."""
    meaning = (
        "The newest window ended not long ago: at most the length of a window and a month for the dump and the build."
    )
    return check_of(
        Promise(AGE_CHECK, meaning, STABLE_SNAPSHOTS),
        None,
        judged=lambda store, _subject: age_of_windows(store, now().date()) or Verdict(True, {}),
    )


def jobs(tables: Sequence[Table], benchmarks: Sequence[Benchmark]) -> list[Any]:
    """One job for each family of tables but releases, of which each benchmark has a job."""
    # What models say costs much more than scores, so it is asked for by itself.
    apart = GENERATIONS.name
    made = [
        _job(name, [(table.name,) for table in tables if table.family is family and table.name != apart], description)
        for family, (name, description) in _JOBS.items()
    ]
    made.append(_job(GENERATIONS_JOB, [(apart,)], "Let a language model answer the questions of releases."))
    for one in benchmarks:
        keys = [one.key_of(table) for table in one.tables]
        made.append(_job(one.job, keys, f"Build a release of {one.title}, or what it lacks."))
        for measured in one.measurements:
            description = f"{measured.table.meaning} For a release that is built."
            made.append(_job(measured.job, [one.key_of(measured.table)], description))
    return [retire_dumps, *made]


def _job(name: str, keys: Sequence[Sequence[str]], description: str) -> Any:
    return dg.define_asset_job(
        name, dg.AssetSelection.assets(*(dg.AssetKey(key) for key in keys)), description=description
    )


def sensors(settings: Settings, jobs: Mapping[str, Any]) -> list[dg.SensorDefinition]:
    """Return the sensors that look for dumps and follow runs."""
    register, build, read = jobs[DUMPS_JOB], jobs[WINDOWS_JOB], jobs[WIKIDATA_JOB]
    after = partial(dg.run_status_sensor, dg.DagsterRunStatus.SUCCESS)
    on, off = dg.DefaultSensorStatus.RUNNING, dg.DefaultSensorStatus.STOPPED

    def sensor(decide: Any, said: str, seconds: int = 10, kind: Any = dg.sensor, **how: Any) -> Any:
        how = {"default_status": on if settings.automation else off, **how}
        return kind(description=said, minimum_interval_seconds=seconds, **how)(_of_store(decide))

    return [
        sensor(
            new_dumps,
            "Looks for complete new dumps in the mirror, registers each once, and builds what they newly serve.",
            # A folder may be looked at often; a server is asked once an hour.
            3600 if "://" in settings.mirror else 30,
            jobs=[register, build, read],
        ),
        sensor(
            after_registration,
            "A dump was registered: builds the windows that it newly serves, or reads its entities.",
            kind=after,
            monitored_jobs=[register],
            request_jobs=[build, read],
        ),
        sensor(
            after_building,
            "Windows were built or entities read: removes dumps that the setting keep_dumps does not keep.",
            kind=after,
            monitored_jobs=[build, read],
            request_jobs=[retire_dumps],
        ),
        sensor(
            failed_runs,
            "Tells the program in the setting failure_hook of every run that fails.",
            kind=dg.run_failure_sensor,
        ),
        # These two ask for no run, so they look whether or not `automation` is set.
        sensor(
            tell_age,
            f"Tells the check {AGE_CHECK} once a day how old the newest window is. Asks for no run.",
            3600,
            name="age_of_windows",
            default_status=on,
        ),
        sensor(
            tell_what_stands,
            "Shows here what commands have made, changed or removed. Ends dead runs. Asks for no run.",
            name="what_stands",
            default_status=on,
        ),
        # Scoring may take days of a GPU, so that a person switches it on; the setting `automation` does not.
        sensor(
            auto_score,
            "A release was built or has grown, or a model was added: scores all prompts of the default variants that "
            "a model has not scored. Off unless it is switched on in the UI, which counts as the first change.",
            60,
            job=jobs[MODELS_JOB],
            default_status=off,
        ),
        after(
            monitored_jobs=[jobs[MODELS_JOB]],
            request_job=jobs[RESULTS_JOB],
            minimum_interval_seconds=10,
            default_status=off,
            description="A model was scored by auto_score: computes the tables of results. Off unless it is switched "
            "on in the UI.",
        )(after_scoring),
    ]


def schedules(settings: Settings, jobs: Mapping[str, Any]) -> list[dg.ScheduleDefinition]:
    """Return the schedules; the arguments are those of `sensors`."""
    status = dg.DefaultScheduleStatus.RUNNING if settings.automation else dg.DefaultScheduleStatus.STOPPED
    described = dg.schedule(
        cron_schedule=_CRON[settings.granularity],
        job=jobs[DUMPS_JOB],
        execution_timezone="UTC",
        default_status=status,
        description="A safety net, some days after windows end: takes up dumps that the sensor has missed, or whose "
        "windows were not built. Does nothing when all is built.",
    )
    return [described(_of_store(after_windows_end))]


def _of_store(decide: Callable[[Any, Store], Any]) -> Callable[[Any], Any]:
    """Return the function of a sensor or schedule that decides with the home's store.

    It opens the store itself: Dagster would open it before its function, and print a trace where that fails. Settings
    may be changed, and the mirror or the home may be gone, while the daemon runs: then the tick says so in a sentence.
    """

    def tick(context):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - each kind has a context of its own
        try:
            return decide(context, open_store())
        except TempkbError as error:
            return dg.SkipReason(str(error))

    # Dagster names the sensor after its function.
    tick.__name__ = decide.__name__
    return tick


def now() -> datetime:
    """Return the time at which sensors and schedules decide what is due."""
    return datetime.now(UTC)


def requests(store: Store, instance: dg.DagsterInstance) -> tuple[list[dg.RunRequest], str]:
    """Return the runs that are due: dumps to register, windows to build, entities to read.

    Each is requested once a day, by whichever sensor, and again while its runs fail.

    Returns:
        the requests; and a message for the case that there is none.
    """
    due, said = _due(store, now().date())
    if vanished := _vanished(store, instance, due):
        said += f" Asked for, but neither here nor in the mirror any more: {', '.join(vanished)}."
    asked = _wanted(store, due)
    tries = [_next_try(store, instance, one) for one in asked]
    new, waits = [one for one, _ in tries if one is not None], [why for _, why in tries if why]
    replace_whole(store.home.waits, "\n".join(waits).encode())
    if asked and not new:
        said = f"Under way, or asked for today: {', '.join(sorted(str(one.run_key) for one in asked))}"
        said = ". ".join([said, *waits])
    return new, said


def _wanted(store: Store, due: Sequence[Due]) -> list[dg.RunRequest]:
    """Return the requests of all that is due, whether or not it was asked for."""
    asked = _registrations(store, [one for one in due if one.offer])
    # Items go first: what follows from them would be made anew by them.
    unlinked = unlinked_windows(store)
    stale = [window for window in stale_windows(store) if window not in unlinked]
    asked += [_of_windows(stretch, "mentions", FOLLOWING) for stretch in stretches(stale)]
    asked += [_of_windows(one, "items", [STABLE_SNAPSHOTS.name], "only_items") for one in stretches(unlinked)]
    for one in (one for one in due if is_ready(store, one)):
        what = f"of {one.dump.dump_id}"
        asked += [_of_windows(stretch, what, option="only_listed") for stretch in stretches(one.windows)]
        if one.dump.entities:
            asked.append(_of_partition(WIKIDATA_JOB, one.dump.dump_id))
    return asked


def _due(store: Store, day: date) -> tuple[list[Due], str]:
    """Return the dumps that are needed, and a message for the case that nothing is to be done."""
    try:
        outlook = look_out(store, day, hurried=True)
        said = outlook.nothing or "Every window that a complete dump serves is built."
        return outlook.due, " ".join([said, *(f"Not taken: {line}." for line in outlook.passed)])
    except SourceError as error:
        # What is in the home can be built although the mirror is down.
        return look_out(store, day, from_mirror=False).due, f"The mirror cannot be asked: {error}"


def _vanished(store: Store, instance: dg.DagsterInstance, due: Sequence[Due]) -> list[str]:
    """Return the dumps that were requested and never registered, and that are no longer available."""
    known = {*store.lake.partitions(DUMP_FILES.name), *(one.dump.dump_id for one in due)}
    asked = set(instance.get_dynamic_partitions(DUMPS.name or "")) - known
    return sorted(asked - {dump.dump_id for dump in find_dumps(store.home.dumps)}) if asked else []


def _registrations(store: Store, due: Sequence[Due]) -> list[dg.RunRequest]:
    """Return requests to register dumps that are needed, and all that are here and are not registered."""
    dumps = [*unregistered(store), *(one.dump for one in due)]
    return [_of_partition(DUMPS_JOB, dump_id) for dump_id in dict.fromkeys(dump.dump_id for dump in dumps)]


def _of_partition(job: str, key: str) -> dg.RunRequest:
    asked = f"{job} {key} {now().date()}"
    return dg.RunRequest(asked, job_name=job, partition_key=key, tags={CHAINED: "yes", _ASKED: asked})


def _of_windows(stretch: Sequence[Window], what: str, tables: Iterable[str] = (), option: str = "") -> dg.RunRequest:
    """Return a request to do something with windows: with some of their tables, by an option of `revisions`."""
    first, last = stretch[0].key, stretch[-1].key
    asked = f"{WINDOWS_JOB} {first}..{last} {what} {now().date()}"
    return dg.RunRequest(
        asked,
        job_name=WINDOWS_JOB,
        tags={_FIRST: first, _LAST: last, CHAINED: "yes", _ASKED: asked},
        asset_selection=[dg.AssetKey(name) for name in tables] or None,
        run_config={"ops": {"revisions": {"config": {option: True}}}} if option else None,
    )


def _is_going_on(store: Store, instance: dg.DagsterInstance, request: dg.RunRequest) -> bool:
    """Does a run for the same dump or model, or for any windows, wait, or anybody work on them?"""
    job, key = str(request.job_name), request.partition_key
    runs = dg.RunsFilter(job_name=job, statuses=_GOING_ON, tags={"dagster/partition": key} if key else {})
    names = works_on(_FAMILIES[job], [str(key)])
    return any(is_at_work(store.home.working, name) for name in names) or instance.get_runs_count(runs) > 0


def _next_try(store: Store, instance: dg.DagsterInstance, request: dg.RunRequest) -> tuple[dg.RunRequest | None, str]:
    """Return a request as it is to be made now, None if it is not; and how its runs of today have failed, if they have.

    They are known by a tag, whichever sensor asked for them: run keys are compared within one sensor only.
    """
    records = instance.get_run_records(dg.RunsFilter(tags={_ASKED: request.tags[_ASKED]}))
    runs = [record.dagster_run for record in records]
    has_ended = any(run.status is not dg.DagsterRunStatus.FAILURE for run in runs)
    if has_ended or _is_going_on(store, instance, request):
        return None, ""
    if not runs:
        return request, ""
    reasons = [failure_in_words(instance, run).replace(run.run_id, "") for run in runs]
    n, fetch = reasons.count(reasons[0]), "tempkb fetch && " if store.home.settings.mirror else ""
    said = f"{request.run_key}: failed {n} of {_TRIES} times: {reasons[0]}; at once: {fetch}tempkb build"
    if n >= _TRIES or time.time() - (records[0].end_time or 0) < _PAUSE:
        return None, said
    tags = {**request.tags, "tempkb/failed_before": said}
    return request.with_replaced_attrs(run_key=f"{request.run_key} {len(runs)}", tags=tags), said


def _result(asked: Sequence[dg.RunRequest], said: str) -> dg.SensorResult | dg.SkipReason:
    if not asked:
        return dg.SkipReason(said)
    dumps = [one.partition_key for one in asked if one.partition_key]
    return dg.SensorResult(run_requests=asked, dynamic_partitions_requests=[DUMPS.build_add_request(dumps)])


def new_dumps(context: dg.SensorEvaluationContext, store: Store) -> dg.SensorResult | dg.SkipReason:
    """Request the runs that new dumps make possible."""
    return _result(*requests(store, context.instance))


def tell_age(context: dg.SensorEvaluationContext, store: Store) -> dg.SensorResult | dg.SkipReason:
    """Report the age of the newest window, once for each day and each window that is the newest."""
    verdict = age_of_windows(store, now().date())
    if verdict is None:
        return dg.SkipReason("No window is built.")
    said = ", ".join(f"{name}: {value}" for name, value in verdict.facts.items())
    if context.cursor == said:
        return dg.SkipReason(f"Told today. {said}")
    return dg.SensorResult(asset_events=[_of_age(verdict)], cursor=said)


def _of_age(verdict: Verdict) -> dg.AssetCheckEvaluation:
    return dg.AssetCheckEvaluation(
        asset_key=dg.AssetKey(STABLE_SNAPSHOTS.name),
        check_name=AGE_CHECK,
        passed=verdict.passed,
        metadata=verdict.facts,
        severity=dg.AssetCheckSeverity.WARN,
    )


def tell_what_stands(context: dg.SensorEvaluationContext, store: Store) -> dg.SensorResult:
    """Tell Dagster what stands in the lake and was not told yet, and which runs are dead."""
    until = time.monotonic() + _TICK
    end_dead_runs(context.instance, store.home)
    n_runs = tell_runs(context.instance, store.home, _origin(context), partial(_job_of, store), until)
    n_told = report(context.instance, store, until)
    verdict = age_of_windows(store, now().date()) if n_told else None
    # Dagster shows only verdicts that are younger than what it was told of the table.
    events = [_of_age(verdict)] if verdict is not None else []
    return dg.SensorResult(asset_events=events, skip_reason=f"Told {counted(n_told + n_runs, 'event')}.")


def _origin(context: dg.SensorEvaluationContext) -> RemoteRepositoryOrigin | None:
    origin, name = context.code_location_origin, context.repository_name
    return RemoteRepositoryOrigin(origin, name) if origin and name else None


def _job_of(store: Store, entry: Entry) -> str:
    """Return the job that does what a command did."""
    table = store.tables.get(entry.table)
    if table is None:  # of another version of tempkb
        return entry.table
    if table.family is not Family.RELEASE:
        return GENERATIONS_JOB if table.name == GENERATIONS.name else _JOBS[table.family][0]
    if measured := [one.job for benchmark in BENCHMARKS for one in benchmark.measurements if one.table == table]:
        return measured[0]
    # Benchmarks share tables; of a release that was removed since, it is the first of them.
    able = [one for one in BENCHMARKS if table in one.tables]
    return max(able, key=lambda one: {*entry.keys} <= {*releases_of(store.home, one.name)}).job


def after_windows_end(context: dg.ScheduleEvaluationContext, store: Store) -> list[dg.RunRequest] | dg.SkipReason:
    """Register each dump that is needed; one that is registered already is only checked, and the next runs follow."""
    due, said = _due(store, now().date())
    asked = _registrations(store, due)
    waiting = [one for one in asked if not _is_going_on(store, context.instance, one)]
    if not waiting:
        return dg.SkipReason("Under way already." if asked else said)
    context.instance.add_dynamic_partitions("dumps", [request.partition_key or "" for request in waiting])
    return waiting


def after_registration(context: dg.RunStatusSensorContext, store: Store) -> dg.SensorResult | dg.SkipReason:
    """Request the runs that a registered dump makes possible, unless a person has started its registration."""
    if CHAINED not in context.dagster_run.tags:
        return dg.SkipReason("A person has started that run.")
    asked, said = requests(store, context.instance)
    return _result([one for one in asked if one.job_name != DUMPS_JOB], said)


def after_building(context: dg.RunStatusSensorContext, store: Store) -> dg.RunRequest | dg.SkipReason:
    """Request the removal of old dumps, if there are any."""
    if CHAINED not in context.dagster_run.tags:
        return dg.SkipReason("A person has started that run.")
    if not retirable(store, now().date()):
        return dg.SkipReason("No dump is to be removed.")
    return dg.RunRequest(f"{RETIRE_JOB} {context.dagster_run.run_id}", job_name=RETIRE_JOB, tags={CHAINED: "yes"})


def auto_score(context: dg.SensorEvaluationContext, store: Store) -> list[dg.RunRequest] | dg.SkipReason:
    """Request that all models be scored, once for each state of the releases' prompts and of the model.

    A run that fails is not requested again: it may fail again after days of a GPU.
    """
    models = [row["model"] for row in known_models(store.lake) if row["status"] == READY]
    mark = prompts_mark(store, BENCHMARKS)
    if not models or not mark:
        return dg.SkipReason("The home has no model that is ready, or no release with prompts.")
    asked = [_of_model(store, name, mark) for name in models]
    said = "\n".join(str(one.run_key) for one in asked)
    if context.cursor == said:
        return dg.SkipReason("No release has grown, and no model was added.")
    busy = [str(one.partition_key) for one in asked if _is_going_on(store, context.instance, one)]
    if busy:
        return dg.SkipReason(f"Under way: {', '.join(busy)}.")
    context.update_cursor(said)
    return asked


def _of_model(store: Store, name: str, mark: str) -> dg.RunRequest:
    """Return a request to score a model; of those with one key, Dagster starts a run for the first only."""
    keys = [dg.AssetKey(PROMPT_SCORES.name)]
    # A model that was removed and added again has no scores any more, though its row may be the same.
    added = store.lake.written_at(MODELS.name, name)
    return dg.RunRequest(
        f"{MODELS_JOB} {name} {mark} {added}",
        job_name=MODELS_JOB,
        partition_key=name,
        tags={CHAINED: "yes"},
        asset_selection=keys,
    )


def after_scoring(context: dg.RunStatusSensorContext) -> dg.RunRequest | dg.SkipReason:
    """Request results once the last model that was asked for is scored."""
    run = context.dagster_run
    if CHAINED not in run.tags:
        return dg.SkipReason("A person has started that run.")
    waiting = context.instance.get_runs_count(
        dg.RunsFilter(job_name=MODELS_JOB, statuses=_GOING_ON, tags={CHAINED: "yes"})
    )
    if waiting:
        return dg.SkipReason(f"Still to be scored: {counted(waiting, 'model')}.")
    return dg.RunRequest(f"{RESULTS_JOB} {run.run_id}", job_name=RESULTS_JOB, tags={CHAINED: "yes"})


def failed_runs(context: dg.RunFailureSensorContext, store: Store) -> dg.SkipReason | None:
    """Call the hook, if one is set, with a description of the failure."""
    hook = store.home.settings.failure_hook
    if not hook:
        return dg.SkipReason("No failure_hook is set.")
    run = context.dagster_run
    failure = {
        "run_id": run.run_id,
        "job": run.job_name,
        "home": str(store.home.path),
        "partition": run.tags.get("dagster/partition") or run.tags.get(_FIRST, ""),
        "message": failure_in_words(context.instance, run),
    }
    context.log.info(call_hook(hook, failure))
    return None


def failure_in_words(instance: dg.DagsterInstance, run: dg.DagsterRun) -> str:
    """Return what went wrong in a run: the innermost error of each step that failed, else how its process ended."""
    kinds = {dg.DagsterEventType.STEP_FAILURE, dg.DagsterEventType.ENGINE_EVENT, dg.DagsterEventType.RUN_FAILURE}
    events = [entry.get_dagster_event() for entry in instance.all_logs(run.run_id, of_type=kinds)]
    steps = [event.step_failure_data.error for event in events if event.is_step_failure]
    if any(steps):
        return "; ".join(innermost(error) for error in steps if error)
    # The event of its failure may not say why Dagster ended it, but one before it.
    ends = [event.message or "" for event in events if event.is_run_failure or _KILLED in (event.message or "")]
    if ends and ends[0] != _FROM_OUTSIDE:
        return ends[0]
    return f"the run's process ended (killed, or out of memory); the log of run {run.run_id} has more"
