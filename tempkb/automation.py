"""Jobs, and what starts them: dumps that arrive, the end of a window, the job before.

One job per family of partitions, since Dagster runs a job over one; the assets
chosen tell which family. A dump that arrives is registered (and fetched, where
it lies elsewhere); that done, the windows it newly serves are built, or its
entities read; that done, dumps that nobody needs any more are removed.
"""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

import dagster as dg

from tempkb.dumps.catalogue import find_dumps
from tempkb.dumps.retention import remove_dump
from tempkb.dumps.tables import DUMP_FILES
from tempkb.errors import SourceError
from tempkb.failures import call_hook, innermost
from tempkb.instance import GOING_ON, end_dead_runs
from tempkb.mentions.building import WRITERS
from tempkb.mentions.tables import PAGE_LINKS, PAGE_TEXTS
from tempkb.partitions import CHAINED, DUMPS
from tempkb.refresh import Due, due_dumps, is_ready, look_out, retirable, stale_windows, stretches, unregistered
from tempkb.revisions.sitelinks import unlinked_windows
from tempkb.revisions.tables import STABLE_SNAPSHOTS
from tempkb.settings import load_home
from tempkb.store.store import Store
from tempkb.windows import Granularity, Window

DUMPS_JOB = "register_dump"
WINDOWS_JOB = "build_windows"
WIKIDATA_JOB = "read_wikidata"
TEMPEL_JOB = "build_tempel"
TEMPLAMA_JOB = "build_templama"
DYNAMIC_TEMPLAMA_JOB = "build_dynamic_templama"
TOKENS_JOB = "count_answer_tokens"
ECBD_JOB = "build_ecbd"
RETIRE_JOB = "retire_dumps"
_ASKED = ".dagster/tempkb_asked"
_FIRST, _LAST = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"

ONLY_ITEMS = {"ops": {"revisions": {"config": {"only_items": True}}}}
"""Configuration of a run that only brings the Wikidata items of windows up to date."""

_TOKENS = dg.AssetSelection.assets("answer_tokens")


@dg.op(description="Remove the dumps that the setting `keep_dumps` does not keep and that no window waits for.")
def remove_retired(context: dg.OpExecutionContext, store: dg.ResourceParam[Store]) -> None:
    """Remove retired dumps, and say which."""
    for dump in retirable(store):
        context.log.info(f"{dump.dump_id} removed: {remove_dump(store.home.dumps, dump):,} bytes")


@dg.job(name=RETIRE_JOB, description="Remove the files of dumps that nobody needs any more.")
def retire_dumps() -> None:
    """Remove retired dumps."""
    remove_retired()


JOBS = (
    retire_dumps,
    dg.define_asset_job(
        DUMPS_JOB,
        selection=dg.AssetSelection.groups("dumps"),
        description="Write down the files of a dump, and the pages its SQL tables know.",
    ),
    dg.define_asset_job(
        WINDOWS_JOB,
        selection=dg.AssetSelection.groups("revisions", "mentions"),
        description="Read the histories that serve a range of windows, each once; write what stood at each cut, "
        "and who is mentioned where.",
    ),
    dg.define_asset_job(
        WIKIDATA_JOB,
        selection=dg.AssetSelection.groups("wikidata"),
        description="Read a dump of Wikidata's entities, once; write what was true when.",
    ),
    dg.define_asset_job(
        TEMPEL_JOB,
        selection=dg.AssetSelection.groups("tempel"),
        description="Build a TempEL release, or what it lacks.",
    ),
    dg.define_asset_job(
        TEMPLAMA_JOB,
        selection=dg.AssetSelection.groups("fact_queries", "templama"),
        description="Build a TempLAMA release, or what it lacks.",
    ),
    dg.define_asset_job(
        DYNAMIC_TEMPLAMA_JOB,
        selection=dg.AssetSelection.groups("fact_queries", "dynamic_templama") - _TOKENS,
        description="Build a DynamicTempLAMA release, or what it lacks.",
    ),
    dg.define_asset_job(
        ECBD_JOB,
        selection=dg.AssetSelection.groups("ecbd"),
        description="Build an ECBD release, unless it stands.",
    ),
    dg.define_asset_job(
        TOKENS_JOB,
        selection=_TOKENS,
        description="Count the tokens of a release's answers by a tokenizer, so that its losses can be told.",
    ),
)

_JOBS = {job.name: job for job in JOBS}
_STATUS = load_home().settings.automation
# A folder may be looked at often; a server is asked once an hour.
_SECONDS = 3600 if "://" in load_home().settings.mirror else 30
# Some days after windows end, when the dumps of the first of the month are usually done; UTC.
_CRON = {
    Granularity.WEEK: "0 6 * * 4",
    Granularity.MONTH: "0 6 8 * *",
    Granularity.QUARTER: "0 6 8 1,4,7,10 *",
    Granularity.YEAR: "0 6 8 1 *",
}
_REGISTER, _BUILD, _READ = _JOBS[DUMPS_JOB], _JOBS[WINDOWS_JOB], _JOBS[WIKIDATA_JOB]
_TEXTS = (PAGE_TEXTS.name, PAGE_LINKS.name)
_GOING_ON = [dg.DagsterRunStatus(status) for status in GOING_ON]

# Days: a window's length and a month for the dump and the build.
_LATE = {Granularity.WEEK: 14, Granularity.MONTH: 60, Granularity.QUARTER: 122, Granularity.YEAR: 395}
# Dagster wants a day on which a table is red as well. A dump that nobody fetched is no failure, so it is far away.
_NEVER = timedelta(days=3650)
_KEPT_FRESH = {"dumps", "revisions", "mentions", "wikidata"}


def kept_fresh(spec: dg.AssetSpec) -> dg.AssetSpec:
    """Warn of a table that grows with every dump and has not grown for long; releases are frozen, and never go bad.

    The table `rebuild_changes` is written only when a rebuild changes something.
    """
    if spec.group_name not in _KEPT_FRESH or spec.key.to_user_string() == "rebuild_changes":
        return spec
    late = timedelta(days=_LATE[load_home().settings.granularity])
    policy = dg.FreshnessPolicy.time_window(fail_window=_NEVER, warn_window=late)
    return spec.replace_attributes(freshness_policy=policy)


def now() -> datetime:
    """The instant by which sensors and schedules judge what is due."""
    return datetime.now(UTC)


def requests(store: Store, instance: dg.DagsterInstance) -> tuple[list[dg.RunRequest], str]:
    """What is to be run for what there is: dumps to register, windows to build, entities to read.

    Each is asked for at most once a day, whoever asks, so that what fails is tried again tomorrow.

    Returns:
        the requests; and what to say when there is none.
    """
    day = now().date()
    end_dead_runs(instance, store.home)
    due, said = _due(store, day)
    arrived = [*(dump.dump_id for dump in unregistered(store)), *(one.dump.dump_id for one in due if one.offer)]
    asked = [_of_partition(DUMPS_JOB, dump_id, day) for dump_id in dict.fromkeys(arrived)]
    # Items go first: what follows from them would be made anew by them.
    unlinked = unlinked_windows(store)
    stale = [window for window in stale_windows(store) if window not in unlinked]
    asked += [_of_windows(stretch, day, derived=True) for stretch in stretches(stale)]
    asked += [_of_items(stretch, day) for stretch in stretches(unlinked)]
    for one in due:
        if not is_ready(store, one):
            continue
        asked += [_of_windows(stretch, day) for stretch in stretches(one.windows)]
        if one.dump.entities:
            asked.append(_of_partition(WIKIDATA_JOB, one.dump.dump_id, day))
    if vanished := _vanished(store, instance, due):
        said += f" Asked for, but neither here nor in the mirror any more: {', '.join(vanished)}."
    new = [one for one in asked if not _is_going_on(instance, one) and not _was_asked(instance, one)]
    if asked and not new:
        said = f"Under way, or asked for today: {', '.join(sorted(str(one.run_key) for one in asked))}"
    return new, said


def _due(store: Store, day: date) -> tuple[list[Due], str]:
    """The dumps that are worth having, and what to say when nothing is to be done."""
    try:
        outlook = look_out(store, day, hurried=True)
        said = outlook.nothing or "Every window that a complete dump serves stands."
        return outlook.due, " ".join([said, *(f"Not taken: {line}." for line in outlook.passed)])
    except SourceError as error:
        # A mirror that is down must not keep what is here from being built.
        return due_dumps(store, day, from_mirror=False), f"The mirror cannot be asked: {error}"


def _vanished(store: Store, instance: dg.DagsterInstance, due: Sequence[Due]) -> list[str]:
    """Dumps that were asked for and never written down, and that are not to be had any more."""
    known = {*store.lake.partitions(DUMP_FILES.name), *(one.dump.dump_id for one in due)}
    asked = set(instance.get_dynamic_partitions(DUMPS.name or "")) - known
    return sorted(asked - {dump.dump_id for dump in find_dumps(store.home.dumps)}) if asked else []


def _of_partition(job: str, key: str, day: date) -> dg.RunRequest:
    asked = f"{job} {key} {day}"
    return dg.RunRequest(asked, job_name=job, partition_key=key, tags={CHAINED: "yes", _ASKED: asked})


def _of_windows(stretch: Sequence[Window], day: date, *, derived: bool = False) -> dg.RunRequest:
    """Build windows from their dump, or, when that was read, only what follows from its texts."""
    first, last = stretch[0].key, stretch[-1].key
    asked = f"{WINDOWS_JOB} {first}..{last}{' mentions' if derived else ''} {day}"
    tags = {_FIRST: first, _LAST: last, CHAINED: "yes", _ASKED: asked}
    if derived:
        keys = [dg.AssetKey(name) for name in (*_TEXTS, *WRITERS)]
        return dg.RunRequest(asked, job_name=WINDOWS_JOB, tags=tags, asset_selection=keys)
    config = {"ops": {"revisions": {"config": {"only_told": True}}}}
    return dg.RunRequest(asked, job_name=WINDOWS_JOB, tags=tags, run_config=config)


def _of_items(stretch: Sequence[Window], day: date) -> dg.RunRequest:
    """Bring the Wikidata items of windows up to date; what follows from them is stale then, and asked for as such."""
    first, last = stretch[0].key, stretch[-1].key
    asked = f"{WINDOWS_JOB} {first}..{last} items {day}"
    tags = {_FIRST: first, _LAST: last, CHAINED: "yes", _ASKED: asked}
    keys = [dg.AssetKey(STABLE_SNAPSHOTS.name)]
    return dg.RunRequest(asked, job_name=WINDOWS_JOB, tags=tags, run_config=ONLY_ITEMS, asset_selection=keys)


def _is_going_on(instance: dg.DagsterInstance, request: dg.RunRequest) -> bool:
    """Is a run for the same partition, or for some of the same windows, waiting or under way?"""
    if request.partition_key:
        tags = {"dagster/partition": request.partition_key}
        return instance.get_runs_count(dg.RunsFilter(job_name=request.job_name, statuses=_GOING_ON, tags=tags)) > 0
    runs = instance.get_runs(dg.RunsFilter(job_name=request.job_name, statuses=_GOING_ON))
    return any(
        run.tags.get(_FIRST, run.tags.get("dagster/partition", "")) <= request.tags[_LAST]
        and request.tags[_FIRST] <= run.tags.get(_LAST, run.tags.get("dagster/partition", ""))
        for run in runs
    )


def _was_asked(instance: dg.DagsterInstance, request: dg.RunRequest) -> bool:
    """Has another sensor asked for the same today? Run keys hold for one sensor only."""
    return instance.get_runs_count(dg.RunsFilter(tags={_ASKED: request.tags[_ASKED]})) > 0


def _result(asked: Sequence[dg.RunRequest], said: str) -> dg.SensorResult | dg.SkipReason:
    if not asked:
        return dg.SkipReason(said)
    dumps = [one.partition_key for one in asked if one.partition_key]
    return dg.SensorResult(run_requests=asked, dynamic_partitions_requests=[DUMPS.build_add_request(dumps)])


@dg.sensor(
    jobs=[_REGISTER, _BUILD, _READ],
    minimum_interval_seconds=_SECONDS,
    default_status=dg.DefaultSensorStatus.RUNNING if _STATUS else dg.DefaultSensorStatus.STOPPED,
    description="Looks for complete new dumps in the mirror, registers each once, and builds what they newly serve.",
)
def new_dumps(context: dg.SensorEvaluationContext, store: dg.ResourceParam[Store]) -> dg.SensorResult | dg.SkipReason:
    """Ask for what arriving dumps make possible."""
    return _result(*requests(store, context.instance))


@dg.schedule(
    cron_schedule=_CRON[load_home().settings.granularity],
    job=_REGISTER,
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING if _STATUS else dg.DefaultScheduleStatus.STOPPED,
    description="A safety net, some days after windows end: takes up dumps that the sensor has missed, or whose "
    "windows were not built. Does nothing when all is built.",
)
def after_windows_end(
    context: dg.ScheduleEvaluationContext, store: dg.ResourceParam[Store]
) -> list[dg.RunRequest] | dg.SkipReason:
    """Register each dump that something waits for; one that stands is only looked at, and what follows is chained."""
    day = now().date()
    due, said = _due(store, day)
    dumps = [one.dump.dump_id for one in due] + [dump.dump_id for dump in unregistered(store)]
    asked = [_of_partition(DUMPS_JOB, dump_id, day) for dump_id in dict.fromkeys(dumps)]
    waiting = [one for one in asked if not _is_going_on(context.instance, one)]
    if not waiting:
        return dg.SkipReason("Under way already." if asked else said)
    context.instance.add_dynamic_partitions("dumps", [request.partition_key or "" for request in waiting])
    return waiting


@dg.run_status_sensor(
    run_status=dg.DagsterRunStatus.SUCCESS,
    monitored_jobs=[_REGISTER],
    request_jobs=[_BUILD, _READ],
    minimum_interval_seconds=10,
    default_status=dg.DefaultSensorStatus.RUNNING if _STATUS else dg.DefaultSensorStatus.STOPPED,
    description="A dump was registered: builds the windows that it newly serves, or reads its entities.",
)
def after_registration(
    context: dg.RunStatusSensorContext, store: dg.ResourceParam[Store]
) -> dg.SensorResult | dg.SkipReason:
    """Ask for what a registered dump makes possible; runs that a person started are that person's affair."""
    if CHAINED not in context.dagster_run.tags:
        return dg.SkipReason("A person has started that run.")
    asked, said = requests(store, context.instance)
    return _result([one for one in asked if one.job_name != DUMPS_JOB], said)


@dg.run_status_sensor(
    run_status=dg.DagsterRunStatus.SUCCESS,
    monitored_jobs=[_BUILD, _READ],
    request_jobs=[retire_dumps],
    minimum_interval_seconds=10,
    default_status=dg.DefaultSensorStatus.RUNNING if _STATUS else dg.DefaultSensorStatus.STOPPED,
    description="Windows were built or entities read: removes dumps that the setting keep_dumps does not keep.",
)
def after_building(context: dg.RunStatusSensorContext, store: dg.ResourceParam[Store]) -> dg.RunRequest | dg.SkipReason:
    """Ask for old dumps to be removed, if there are any."""
    if CHAINED not in context.dagster_run.tags:
        return dg.SkipReason("A person has started that run.")
    if not retirable(store, now().date()):
        return dg.SkipReason("No dump is to be removed.")
    return dg.RunRequest(f"{RETIRE_JOB} {context.dagster_run.run_id}", job_name=RETIRE_JOB, tags={CHAINED: "yes"})


@dg.run_failure_sensor(
    minimum_interval_seconds=10,
    default_status=dg.DefaultSensorStatus.RUNNING if _STATUS else dg.DefaultSensorStatus.STOPPED,
    description="Tells the program in the setting failure_hook of every run that fails.",
)
def failed_runs(context: dg.RunFailureSensorContext) -> dg.SkipReason | None:
    """Call the hook, if there is one, with what failed."""
    hook = load_home().settings.failure_hook
    if not hook:
        return dg.SkipReason("No failure_hook is set.")
    run = context.dagster_run
    told = {
        "run_id": run.run_id, "job": run.job_name, "home": str(load_home().path),
        "partition": run.tags.get("dagster/partition") or run.tags.get(_FIRST, ""),
        "message": failure_in_words(context),
    }  # fmt: skip
    context.log.info(call_hook(hook, told))
    return None


def failure_in_words(context: dg.RunFailureSensorContext) -> str:
    """What went wrong in a run: the innermost error of each step that failed."""
    steps = [event.step_failure_data.error for event in context.get_step_failure_events()]
    return "; ".join(innermost(error) for error in steps if error) or str(context.failure_event.message)


SENSORS = (new_dumps, after_registration, after_building, failed_runs)
SCHEDULES = (after_windows_end,)
