"""Sensors and schedules with a clock and a mirror of the test's own: who asks for what, and when for nothing."""

import json
import os
import re
import shutil
import sys
from datetime import UTC, date, datetime

import dagster as dg
import pytest

from tempkb.core.errors import SettingsError, SourceError
from tempkb.core.locks import at_work, name_of_run
from tempkb.core.settings import load_home
from tempkb.core.windows import Granularity, windows_until
from tempkb.engine.tasks import works_on
from tempkb.platform.assets import CHAINED
from tempkb.store.tables import Family
from tempkb.wiki.dumps import download
from tempkb.wiki.dumps.http import Manners
from tempkb_tests.conftest import run_tempkb
from tempkb_tests.wiki.dumps.server import serving

IN_2024 = datetime(2024, 2, 10, tzinfo=UTC)
DUMP, WIKIDATA = "demowiki-20240101", "wikidatawiki-20240101"
SERVED = {"contact": "me@example.org", "wiki": "demowiki"}


@pytest.fixture
def automation(monkeypatch):
    """The module, with its clock set to a day after the demo's first dump."""
    from tempkb.platform import automation

    monkeypatch.setattr(automation, "now", lambda: IN_2024)
    return automation


@pytest.fixture
def instance():
    with dg.DagsterInstance.ephemeral() as one:
        yield one


@pytest.fixture
def stored_instance(tmp_path_factory):
    """An instance that lies in files: a schedule opens it by itself. To make one takes longer than most tests."""
    with dg.DagsterInstance.local_temp(str(tmp_path_factory.mktemp("dagster"))) as one:
        yield one


@pytest.fixture
def arrived(demo_dumps, home_folder, automation):
    """A home into which the demo's first dumps were dropped, nothing built: (home, a store)."""
    shutil.copytree(demo_dumps, home_folder)
    return home_folder, open_store()


@pytest.fixture(scope="module")
def registered_home(demo_dumps, tmp_path_factory):
    """Such a home with what the job `register_dump` makes. Read only."""
    home = tmp_path_factory.mktemp("registered") / "home"
    shutil.copytree(demo_dumps, home)
    register(home)
    return home


@pytest.fixture
def registered(registered_home, home_folder, automation):
    """A copy of that home: (home, a store)."""
    shutil.copytree(registered_home, home_folder)
    return home_folder, open_store()


def register(home):
    run_tempkb(home, "build", "--select", "dump_files", "--select", "pages", "--select", "namespaces")


def open_store():
    from tempkb.platform.api import open_store

    return open_store()


def asked(result):
    """What a tick asks for: (job, partition or range)."""
    if isinstance(result, dg.SkipReason):
        return []
    requests = result.run_requests if isinstance(result, dg.SensorResult) else result
    return [
        (
            one.job_name,
            one.partition_key
            or f"{one.tags['dagster/asset_partition_range_start']}..{one.tags['dagster/asset_partition_range_end']}",
        )
        for one in requests
    ]


def tick(automation, instance, store):
    return automation.new_dumps(dg.build_sensor_context(instance=instance), store)


@pytest.mark.slow
def test_a_dump_that_arrives_is_registered_once_and_its_windows_follow(arrived, automation, instance):
    home, store = arrived
    first = tick(automation, instance, store)
    assert sorted(asked(first)) == [("register_dump", DUMP), ("register_dump", WIKIDATA)]
    assert sorted(first.dynamic_partitions_requests[0].partition_keys) == [DUMP, WIKIDATA]
    assert {one.run_key for one in first.run_requests} == {
        f"register_dump {DUMP} 2024-02-10",
        f"register_dump {WIKIDATA} 2024-02-10",
    }
    register(home)
    second = tick(automation, instance, open_store())
    assert asked(second) == [("build_windows", "2021-01-01..2023-10-01"), ("read_wikidata", WIKIDATA)]
    run_tempkb(home, "build", "--window", "2021-01-01..2022-01-01")
    third = tick(automation, instance, open_store())
    assert asked(third)[0] == ("build_windows", "2022-01-01..2023-10-01")


def test_a_dump_that_is_not_complete_is_waited_for(arrived, automation, instance):
    home, _ = arrived
    status = home / "dumps/demowiki/20240101/dumpstatus.json"
    said = json.loads(status.read_text())
    said["jobs"]["metahistorybz2dump"] = {"status": "in-progress", "updated": "", "files": {}}
    status.write_text(json.dumps(said))
    assert asked(tick(automation, instance, open_store())) == [("register_dump", WIKIDATA)]
    status.unlink()
    assert asked(tick(automation, instance, open_store())) == [("register_dump", WIKIDATA)], "nobody says it is whole"
    shutil.rmtree(home / "dumps/wikidatawiki")
    assert f"Not taken: {DUMP}: lies here, but no list of its publisher says what belongs to it" in (
        tick(automation, instance, open_store()).skip_message
    )
    said = run_tempkb(home, "status").stdout
    assert f"not taken: {DUMP}: lies here, but no list of its publisher says what belongs to it" in said


@pytest.mark.slow
def test_nothing_is_asked_for_while_it_is_under_way_or_when_all_is_built(
    demo_home, home_folder, monkeypatch, automation, instance
):
    home = shutil.copytree(demo_home, home_folder)
    result = tick(automation, instance, open_store())
    assert isinstance(result, dg.SkipReason)
    assert result.skip_message == "Every window that a complete dump serves is built."
    run_tempkb(home, "demo", "--second")
    monkeypatch.setattr(automation, "now", lambda: datetime(2024, 5, 1, tzinfo=UTC))
    assert sorted(asked(tick(automation, instance, open_store()))) == [
        ("register_dump", "demowiki-20240401"),
        ("register_dump", "wikidatawiki-20240401"),
    ]
    tags = {"dagster/partition": "demowiki-20240401"}
    instance.add_run(dg.DagsterRun(job_name="register_dump", status=dg.DagsterRunStatus.STARTED, tags=tags))
    assert asked(tick(automation, instance, open_store())) == [("register_dump", "wikidatawiki-20240401")]


def scheduled(automation, instance, store):
    return automation.after_windows_end(dg.build_schedule_context(instance=instance), store)


@pytest.mark.slow
def test_the_schedule_takes_up_what_was_missed_and_rests_when_all_is_built(
    demo_home, arrived, automation, stored_instance, monkeypatch, tmp_path
):
    home, store = arrived
    missed = scheduled(automation, stored_instance, store)
    assert sorted(one.partition_key for one in missed) == [DUMP, WIKIDATA]
    assert set(stored_instance.get_dynamic_partitions("dumps")) == {DUMP, WIKIDATA}
    register(home)
    again = scheduled(automation, stored_instance, open_store())
    assert sorted(one.partition_key for one in again) == [DUMP, WIKIDATA], "registered, but its windows are not built"
    shutil.copytree(demo_home, tmp_path / "built")
    monkeypatch.setenv("TEMPKB_HOME", str(tmp_path / "built"))
    assert isinstance(scheduled(automation, stored_instance, open_store()), dg.SkipReason)


def after(sensor, instance, store, job, tags):
    run = dg.DagsterRun(job_name=job, tags=tags)
    event = dg.DagsterEvent(event_type_value="PIPELINE_SUCCESS", job_name=job)
    context = dg.build_run_status_sensor_context(
        sensor_name="x", dagster_instance=instance, dagster_run=run, dagster_event=event
    )
    return sensor(context, store)


def test_jobs_are_chained_but_not_behind_a_persons_back(registered, automation, instance):
    _, store = registered
    by_hand = after(automation.after_registration, instance, store, "register_dump", {})
    assert isinstance(by_hand, dg.SkipReason)
    chained = after(automation.after_registration, instance, store, "register_dump", {automation.CHAINED: "yes"})
    assert asked(chained) == [("build_windows", "2021-01-01..2023-10-01"), ("read_wikidata", WIKIDATA)]
    kept = after(automation.after_building, instance, store, "build_windows", {automation.CHAINED: "yes"})
    assert isinstance(kept, dg.SkipReason)


def test_a_failed_run_is_told_to_the_hook(home_folder, tmp_path, monkeypatch, automation, instance):
    heard = tmp_path / "heard.json"
    program = tmp_path / "hook.py"
    program.write_text(f"import sys; open({str(heard)!r}, 'w').write(sys.stdin.read())")
    monkeypatch.setenv("TEMPKB_FAILURE_HOOK", f"{sys.executable} {program}")

    @dg.op
    def fails():

        raise SourceError("dump x: its sum is wrong")

    @dg.job
    def broken():
        fails()

    result = broken.execute_in_process(
        instance=instance, raise_on_error=False, tags={"dagster/partition": "x-20240101"}
    )
    context = dg.build_run_status_sensor_context(
        sensor_name="failed_runs",
        dagster_instance=instance,
        dagster_run=result.dagster_run,
        dagster_event=result.get_run_failure_event(),
    ).for_run_failure()
    automation.failed_runs(context, open_store())
    told = json.loads(heard.read_text())
    assert (told["job"], told["partition"], told["message"]) == ("broken", "x-20240101", "dump x: its sum is wrong")
    monkeypatch.setenv("TEMPKB_FAILURE_HOOK", "/nowhere/to/be/found")
    with pytest.raises(SettingsError, match="failure_hook: '/nowhere/to/be/found' could not be run"):
        automation.failed_runs(context, open_store())


KILLED = "Run execution process for x was terminated by signal 9 (SIGKILL). This usually indicates that"


@pytest.mark.parametrize(
    ("events", "said", "told"),
    [
        (["begun", KILLED, "later"], None, KILLED),
        (["begun"], None, "the run's process ended (killed, or out of memory); the log of run {run_id} has more"),
        (["begun"], "The command that began this run was killed.", "The command that began this run was killed."),
    ],
    ids=["told by Dagster", "told by nobody", "told by tempkb"],
)
def test_of_a_killed_run_the_hook_hears_how_it_ended(automation, instance, events, said, told):
    run = instance.create_run_for_job(dg.GraphDefinition("killed").to_job())
    for message in events:
        instance.report_engine_event(message, run)
    instance.report_run_failed(run, said)
    # What Dagster adds when it tries the run again.
    instance.report_engine_event("Retrying the run", run)
    assert automation.failure_in_words(instance, run) == told.format(run_id=run.run_id)


@pytest.mark.slow
def test_a_dump_on_a_server_is_fetched_by_the_run_that_registers_it(
    home_folder, demo_dumps, monkeypatch, configure, automation, instance
):
    from tempkb.platform.definitions import assets_of
    from tempkb.wiki.dumps.tables import ROOM

    with serving() as server:
        for path in (demo_dumps / "dumps").rglob("*"):
            if path.is_file():
                server.files[path.relative_to(demo_dumps / "dumps").as_posix()] = path.read_bytes()
        configure(**SERVED, mirror=server.root, first_window="2021-01-01")
        first = tick(automation, instance, open_store())
        assert sorted(asked(first)) == [("register_dump", DUMP), ("register_dump", WIKIDATA)]
        instance.add_dynamic_partitions("dumps", [DUMP])
        result = dg.materialize(
            assets_of(ROOM, load_home()),
            selection=["dump_files"],
            partition_key=DUMP,
            instance=instance,
            resources={"store": open_store()},
        )
        assert result.success
        assert open_store().read("dump_files", dump_id=DUMP).num_rows == 5
        second = tick(automation, instance, open_store())
        # Its tables `pages` and `namespaces` are made by the rest of the job.
        assert sorted(asked(second)) == [("register_dump", DUMP), ("register_dump", WIKIDATA)]
        monkeypatch.setattr(automation, "now", lambda: datetime(2024, 2, 11, tzinfo=UTC))
        third = tick(automation, instance, open_store())
        assert asked(third) == asked(second), "what was not done is asked for again the next day"
        assert {one.run_key for one in third.run_requests}.isdisjoint(one.run_key for one in second.run_requests)


def test_a_dump_that_vanishes_before_its_run_is_told_and_turns_nothing_red(
    home_folder, configure, automation, instance
):
    from tempkb.platform.definitions import assets_of
    from tempkb.wiki.dumps.tables import ROOM

    with serving() as server:
        files = {"pages-meta-history.xml.bz2": b"x", "page.sql.gz": b"x", "page_props.sql.gz": b"x"}
        folder = server.put_legacy("demowiki", "20240101", files)
        configure(**SERVED, mirror=server.root, first_window="2023-01-01", wikidata_days="0")
        (request,) = tick(automation, instance, open_store()).run_requests
        instance.add_dynamic_partitions("dumps", [DUMP])

        def run(tags):
            return dg.materialize(
                assets_of(ROOM, load_home()),
                partition_key=DUMP,
                instance=instance,
                tags=tags,
                resources={"store": open_store()},
                raise_on_error=False,
            )

        status = json.loads(server.files[f"{folder}/dumpstatus.json"])
        status["jobs"]["pagetable"]["status"] = "in-progress"
        server.files[f"{folder}/dumpstatus.json"] = json.dumps(status).encode()
        assert run(request.tags).success, "it is incomplete again; the partition stays missing"
        message = tick(automation, instance, open_store()).skip_message
        assert f"Not taken: {DUMP}: job pagetable is in-progress." in message
        server.files.clear()
        server.files["demowiki/20230101/readme.txt"] = b""
        assert run(request.tags).success
        assert instance.get_materialized_partitions(dg.AssetKey("dump_files")) == set()
        by_hand = run({})
        assert not by_hand.success
        (failure,) = (event for event in by_hand.all_events if event.is_step_failure)
        assert f"not below {home_folder}/dumps, and no longer in the mirror {server.root}; there: none" in str(
            failure.step_failure_data.error
        )
        message = tick(automation, instance, open_store()).skip_message
        assert f"Asked for, but neither here nor in the mirror any more: {DUMP}." in message
    assert all(tag.startswith((".dagster/", "dagster/")) for tag in request.tags), "hidden from people"


def test_a_mirror_that_is_down_is_named_and_what_is_here_goes_on(arrived, monkeypatch, configure, automation, instance):
    home, _ = arrived
    with serving() as server:
        root = server.root
    configure(**SERVED, mirror=root)
    monkeypatch.setattr(download, "HURRIED", Manners(tries=1))
    assert sorted(asked(tick(automation, instance, open_store()))) == [
        ("register_dump", DUMP),
        ("register_dump", WIKIDATA),
    ]
    shutil.rmtree(home / "dumps")
    result = tick(automation, instance, open_store())
    assert re.search(rf"The mirror cannot be asked: {root}/demowiki/: no answer", result.skip_message)


@pytest.mark.parametrize("last", ["2020-10-01", "2022-01-01"])
def test_while_windows_are_being_built_none_is_asked_for(registered, automation, instance, last):
    """Some of them stand already; the rest would be another range, and another reading of the dump."""
    _, store = registered
    tags = {"dagster/asset_partition_range_start": "2020-10-01", "dagster/asset_partition_range_end": last}
    instance.add_run(dg.DagsterRun(job_name="build_windows", status=dg.DagsterRunStatus.STARTED, tags=tags))
    result = tick(automation, instance, store)
    assert asked(result) == [("read_wikidata", WIKIDATA)]


def failed(instance, request, why):
    """A run of a request that has failed, for a reason."""
    run = dg.DagsterRun(job_name=request.job_name, tags=dict(request.tags), status=dg.DagsterRunStatus.STARTED)
    instance.report_run_failed(instance.run_storage.add_run(run), f"{why}; its id is {run.run_id}")


def test_what_fails_is_asked_for_at_each_tick_five_times_a_day_for_the_same_reason(
    registered, automation, instance, monkeypatch
):
    home, store = registered
    monkeypatch.setattr(automation, "_PAUSE", 0)
    reasons = ["killed"] * 3 + ["the disk is full"] + ["killed"] * 2
    keys = set()
    for n, why in enumerate(reasons):
        requests = {one.job_name: one for one in tick(automation, instance, store).run_requests}
        assert asked(list(requests.values())) == [
            ("build_windows", "2021-01-01..2023-10-01"),
            ("read_wikidata", WIKIDATA),
        ]
        keys |= {one.run_key for one in requests.values()}
        assert len(keys) == 2 * (n + 1), "or Dagster would start no second run"
        for request in requests.values():
            failed(instance, request, why)
    # Five times "killed", and something else between.
    said = tick(automation, instance, store).skip_message
    name = f"build_windows 2021-01-01..2023-10-01 of {DUMP} 2024-02-10"
    assert f"{name}: failed 5 of 5 times: killed; its id is ; at once: tempkb build" in said
    assert f"read_wikidata {WIKIDATA} 2024-02-10: failed 5 of 5 times: killed" in said
    monkeypatch.setattr(automation, "now", lambda: datetime(2024, 2, 11, tzinfo=UTC))
    assert len(asked(tick(automation, instance, store))) == 2, "the next day"


def test_a_run_bears_how_those_before_it_failed_and_dagster_itself_comes_first(
    registered, automation, instance, monkeypatch
):
    _, store = registered
    first = tick(automation, instance, store).run_requests[0]
    failed(instance, first, "killed")
    said = tick(automation, instance, store)
    assert asked(said) == [("read_wikidata", WIKIDATA)], "Dagster tries what has died again within seconds"
    monkeypatch.setattr(automation, "_PAUSE", 0)
    again = tick(automation, instance, store).run_requests[0]
    assert again.run_key != first.run_key
    assert again.tags["tempkb/failed_before"].startswith(f"{first.run_key}: failed 1 of 5 times: killed")


@pytest.mark.parametrize("status", ["SUCCESS", "CANCELED"])
def test_what_ended_otherwise_is_not_asked_for_again_that_day(registered, automation, instance, status):
    """A run may find that there is nothing to do, and a person may have ended it."""
    _, store = registered
    for request in tick(automation, instance, store).run_requests:
        run = dg.DagsterRun(job_name=request.job_name, tags=dict(request.tags), status=dg.DagsterRunStatus(status))
        instance.run_storage.add_run(run)
    assert "asked for today: build_windows" in tick(automation, instance, store).skip_message


@pytest.mark.parametrize("table", ["dump_files", "pages", "namespaces"])
def test_a_dump_of_which_something_is_not_written_down_is_not_registered(registered, automation, instance, table):
    """A kill falls between any two of them; windows cannot be built without."""
    _, store = registered
    store.lake.remove(table, DUMP)
    assert asked(tick(automation, instance, open_store())) == [("register_dump", DUMP), ("read_wikidata", WIKIDATA)]


def test_status_says_what_waits_why_how_often_it_was_tried_and_what_to_type(registered, automation, instance):
    home, store = registered
    assert "waits:" not in run_tempkb(home, "status").stdout
    for request in tick(automation, instance, store).run_requests * 2:
        failed(instance, request, "no room")
    tick(automation, instance, store)
    said = run_tempkb(home, "status").stdout
    day = IN_2024.date()
    assert f"waits: read_wikidata {WIKIDATA} {day}: failed 2 of 5 times: no room" in said
    assert f"waits: build_windows 2021-01-01..2023-10-01 of {DUMP} {day}: failed 2 of 5 times: no room" in said
    assert f"at once: TEMPKB_HOME={home} tempkb build" in said
    os.utime(store.home.waits, (0, 0))
    assert "waits:" not in run_tempkb(home, "status").stdout, "that was another day"


def test_while_a_command_works_nothing_is_asked_for_that_would_wait_for_it(registered, automation, instance):
    _, store = registered
    with at_work(store.home.working, works_on(Family.WINDOW, ["2021-01-01"])):
        assert asked(tick(automation, instance, store)) == [("read_wikidata", WIKIDATA)]
    with at_work(store.home.working, works_on(Family.ENTITIES, [WIKIDATA])):
        assert asked(tick(automation, instance, store)) == [("build_windows", "2021-01-01..2023-10-01")]
    assert len(asked(tick(automation, instance, store))) == 2


@pytest.mark.slow
def test_what_was_put_there_by_hand_is_taken_by_nobody_but_a_person(arrived, automation, instance):
    """An older dump without its publisher's list would serve the windows first, were it told of."""
    from tempkb.wiki.revisions.making import plan_windows

    home, _ = arrived
    told = home / "dumps/demowiki/20240101"
    by_hand = home / "dumps/demowiki/20231001"
    by_hand.mkdir()
    for path in told.glob("*history1*"):
        shutil.copy(path, by_hand / path.name.replace("20240101", "20231001"))
    register(home)
    store = open_store()
    result = tick(automation, instance, store)
    (request,) = [one for one in result.run_requests if one.job_name == "build_windows"]
    assert asked([request]) == [("build_windows", "2021-01-01..2023-10-01")]
    config = request.run_config["ops"]["revisions"]["config"]
    windows = windows_until(date(2021, 1, 1), date(2024, 1, 1), Granularity.QUARTER)
    plans, _, _ = plan_windows(store.home, windows, **config)
    assert [plan.dump.dump_id for plan in plans] == [DUMP]
    by_person, _, _ = plan_windows(store.home, windows)
    assert [plan.dump.dump_id for plan in by_person] == ["demowiki-20231001", DUMP]


def test_a_new_cleaner_asks_for_mentions_but_for_no_dump(demo_home, home_folder, monkeypatch, automation, instance):
    from tempkb.wiki.mentions import steps

    shutil.copytree(demo_home, home_folder, ignore=shutil.ignore_patterns("dumps"))
    monkeypatch.setattr(steps, "CLEANER_VERSION", steps.CLEANER_VERSION + 1)
    (request,) = tick(automation, instance, open_store()).run_requests
    assert asked([request]) == [("build_windows", "2021-01-01..2023-10-01")]
    assert {key.to_user_string() for key in request.asset_selection} == {
        "page_texts",
        "page_links",
        "mentions",
        "inverted_index",
        "mention_priors",
        "entity_popularity",
    }


def test_a_dead_run_keeps_nobody_waiting_from_the_next_tick_on(registered, automation, instance):
    _, store = registered
    window = {"dagster/asset_partition_range_start": "2021-01-01", "dagster/asset_partition_range_end": "2023-10-01"}
    run = dg.DagsterRun(automation.WINDOWS_JOB, status=dg.DagsterRunStatus.STARTED, tags=window)
    instance.run_storage.add_run(run)
    with at_work(store.home.working, [name_of_run(run.run_id)]):
        automation.tell_what_stands(dg.build_sensor_context(instance=instance), store)
        assert asked(tick(automation, instance, store)) == [("read_wikidata", WIKIDATA)]
    automation.tell_what_stands(dg.build_sensor_context(instance=instance), store)
    assert ("build_windows", "2021-01-01..2023-10-01") in asked(tick(automation, instance, store))
    assert instance.get_run_by_id(run.run_id).status == dg.DagsterRunStatus.FAILURE


@pytest.mark.parametrize(
    ("today", "passed", "days", "since"),
    [
        # The last window of the demo is 2023-Q4; the next ends on 1 April, and its dump may take a month.
        (datetime(2024, 2, 10, tzinfo=UTC), True, 40, 0),
        (datetime(2024, 5, 2, tzinfo=UTC), True, 122, 1),
        (datetime(2024, 5, 3, tzinfo=UTC), False, 123, 1),
        (datetime(2024, 9, 3, tzinfo=UTC), False, 246, 2),
    ],
)
def test_the_age_of_the_newest_window_counts_and_not_that_of_the_build(
    demo_home, monkeypatch, automation, instance, today, passed, days, since
):
    """The demo's windows have been built just now; eight months later their tables are late all the same."""
    monkeypatch.setattr(automation, "now", lambda: today)
    monkeypatch.setenv("TEMPKB_HOME", str(demo_home))
    context = dg.build_sensor_context(instance=instance)
    told = automation.tell_age(context, open_store())
    (one,) = told.asset_events
    assert (one.asset_key, one.check_name) == (dg.AssetKey("stable_snapshots"), "newest_window_is_recent")
    assert (one.passed, one.severity) == (passed, dg.AssetCheckSeverity.WARN)
    facts = {name: value.value for name, value in one.metadata.items()}
    assert facts == {
        "newest window": "2023-Q4",
        "ended": "2024-01-01",
        "days since": days,
        "late after days": 122,
        "windows ended since": since,
    }
    # Once a day.
    again = dg.build_sensor_context(instance=instance, cursor=told.cursor)
    assert isinstance(automation.tell_age(again, open_store()), dg.SkipReason)


def test_without_a_window_there_is_no_age(home_folder, automation, instance):
    told = automation.tell_age(dg.build_sensor_context(instance=instance), open_store())
    assert told.skip_message == "No window is built."


SENSORS = (
    "age_of_windows",
    "what_stands",
    "new_dumps",
    "after_registration",
    "after_building",
    "failed_runs",
    "auto_score",
)


def test_definitions_are_those_of_the_home_they_are_built_for(tmp_path, monkeypatch):
    """Two homes in one process: other windows, another clock, and sensors that run unasked or look at a server."""
    from tempkb.platform.definitions import build_definitions

    def built(folder, said):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "tempkb.toml").write_text(said, "utf-8")
        monkeypatch.setenv("TEMPKB_HOME", str(tmp_path / folder))
        defs = build_definitions(load_home())
        sensors = {one.name: one for one in defs.sensors}
        windows = defs.resolve_job_def("build_windows").partitions_def
        (schedule,) = defs.schedules
        return (
            windows.get_partition_keys(current_time=datetime(2024, 1, 16, tzinfo=UTC))[:2],
            schedule.cron_schedule,
            schedule.default_status.value,
            sensors["new_dumps"].default_status.value,
            sensors["new_dumps"].minimum_interval_seconds,
            # It asks for no run, so it always looks.
            sensors["age_of_windows"].default_status.value,
            set(sensors),
        )

    names = {*SENSORS, "after_scoring"}
    quarters = built("quarters", "first_window = 2021-04-01\n")
    assert quarters == (["2021-04-01", "2021-07-01"], "0 6 8 1,4,7,10 *", "STOPPED", "STOPPED", 30, "RUNNING", names)
    weekly = built(
        "weeks",
        'granularity = "week"\nfirst_window = 2024-01-01\nautomation = true\n'
        'mirror = "https://dumps.wikimedia.org"\nwiki = "enwiki"\ncontact = "me@example.org"\n',
    )
    assert weekly == (["2024-01-01", "2024-01-08"], "0 6 * * 4", "RUNNING", "RUNNING", 3600, "RUNNING", names)


def test_settings_that_do_not_fit_the_home_are_one_sentence_of_each_tick(home_folder, instance):
    """They were changed while the daemon runs: no run is asked for until they fit again, and no trace is printed."""
    from tempkb.platform.definitions import build_definitions

    load_home().claim("testwiki")
    defs = build_definitions(load_home())
    (home_folder / "tempkb.toml").write_text('granularity = "month"\n', "utf-8")
    of_run = {
        "dagster_instance": instance,
        "dagster_run": dg.DagsterRun(job_name="x", tags={CHAINED: "yes"}),
        "dagster_event": dg.DagsterEvent(event_type_value="PIPELINE_SUCCESS", job_name="x"),
    }
    told = {}
    for sensor in defs.sensors:
        if isinstance(sensor, dg.RunStatusSensorDefinition):
            context = dg.build_run_status_sensor_context(sensor_name=sensor.name, **of_run)
            told[sensor.name] = sensor(context.for_run_failure() if sensor.name == "failed_runs" else context)
        else:
            told[sensor.name] = sensor(dg.build_sensor_context(instance=instance))
    for schedule in defs.schedules:
        told[schedule.name] = schedule(dg.build_schedule_context(instance=instance))
    # The last asks for results whatever the settings are, and the run says what is wrong with them.
    assert isinstance(told.pop("after_scoring"), dg.RunRequest)
    assert set(told) == {*SENSORS, "after_windows_end"}
    for skipped in told.values():
        assert skipped.skip_message.startswith(f"granularity: home {home_folder} was made with quarter, but ")
