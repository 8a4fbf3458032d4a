"""The real web server and daemon: what arrives is built with no further hand, what a person asks for stands."""

import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tempkb.platform.api import open_store
from tempkb.platform.rooms import ROOMS
from tempkb.platform.timeline import COMMAND
from tempkb.store.tables import Family
from tempkb_tests.conftest import run_tempkb

_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


@contextmanager
def ui_over(home, log_path, folder, **variables):
    """`tempkb ui` over a home, run in a folder by a script for the length of the block: its process and its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TEMPKB_")}
    log = log_path.open("w")
    process = subprocess.Popen(
        # -P is what the installed command has: the folder of a script is first on its path, not the working directory.
        [sys.executable, "-P", "-m", "tempkb.commands.cli", "ui", "--port", str(port)],
        cwd=folder,
        env={**environment, "TEMPKB_HOME": str(home), **variables},
        stdout=log,
        stderr=log,
        start_new_session=True,
        preexec_fn=_as_in_the_background,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(lambda: is_up(address), 120, log_path.read_text)
        yield process, address
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        log.close()


def _as_in_the_background():
    """What the shell of a script does with a command that ends with &: SIGINT does not reach it.

    It ends when the process of the tests is killed.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGQUIT, signal.SIG_IGN)
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def is_up(address):
    try:
        with urllib.request.urlopen(f"{address}/server_info", timeout=5) as answer:
            return answer.status == 200
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def wait_for(condition, seconds, explain=lambda: ""):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s in vain\n{explain()}"
        # Each look costs the web server more than a wait costs the test.
        time.sleep(1)


def ask(address, query, **variables):
    body = json.dumps({"query": query, "variables": variables}).encode()
    request = urllib.request.Request(f"{address}/graphql", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        said = json.load(answer)
    assert "errors" not in said, said
    return said["data"]


def materialise(address, assets, partitions):
    """Launch a backfill of partitions, as the UI's button does, and wait for the daemon to finish it."""
    launched = ask(
        address,
        """mutation($p: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $p) {
             __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }""",
        p={
            "assetSelection": [{"path": [name]} for name in assets],
            "partitionNames": partitions,
            "fromFailure": False,
        },
    )["launchPartitionBackfill"]
    assert launched["__typename"] == "LaunchBackfillSuccess", launched
    query = """query($id: String!) { partitionBackfillOrError(backfillId: $id) {
                 ... on PartitionBackfill { status error { message } } } }"""
    state = {}

    def ended():
        state.update(ask(address, query, id=launched["backfillId"])["partitionBackfillOrError"])
        return state["status"] in {"COMPLETED", "COMPLETED_SUCCESS", "COMPLETED_FAILED", "FAILED"}

    wait_for(ended, 180, lambda: state)
    assert state["status"] in {"COMPLETED", "COMPLETED_SUCCESS"}, state


def stop_sensor(address, name):
    """Switch a sensor off, as the UI's switch does."""
    nodes = """query { repositoriesOrError { ... on RepositoryConnection { nodes { sensors { name id } } } } }"""
    (node,) = ask(address, nodes)["repositoriesOrError"]["nodes"]
    (sensor_id,) = [one["id"] for one in node["sensors"] if one["name"] == name]
    stopped = ask(
        address,
        """mutation($id: String!) { stopSensor(id: $id) {
             __typename ... on StopSensorMutationResult { instigationState { status } } } }""",
        id=sensor_id,
    )["stopSensor"]
    assert stopped == {"__typename": "StopSensorMutationResult", "instigationState": {"status": "STOPPED"}}, stopped


def listening_on(port):
    """Local IPv4 addresses on which something listens at a port, and `ipv6` if anything does there."""
    found = set()
    for family in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{family}").read_text().splitlines()[1:]:
            local, state = line.split()[1], line.split()[3]
            host, _, number = local.partition(":")
            if state == "0A" and int(number, 16) == port:
                found.add(socket.inet_ntoa(bytes.fromhex(host)[::-1]) if family == "tcp" else "ipv6")
    return found


@pytest.fixture(scope="module")
def dropped(demo_home, tmp_path_factory):
    """The demo's home with all windows built, over which the platform runs while its second dump drops into the mirror.

    Gives (home, its process, address, the lake's snapshots as they were before).
    """
    folder = tmp_path_factory.mktemp("dropped")
    home, mirror = folder / "home", folder / "mirror"
    shutil.copytree(demo_home, home)
    mirror.mkdir()
    built = {path: path.read_bytes() for path in home.glob("lake/stable_snapshots/*/*/*.parquet")}
    run_tempkb(folder / "publisher", "demo", "--second")
    variables = {"TEMPKB_AUTOMATION": "true", "TEMPKB_MIRROR": str(mirror), "TEMPKB_NAMESPACES": "all"}
    for name in SHADOWS:
        (folder / "hostile" / name).parent.mkdir(parents=True, exist_ok=True)
        said = f"open({str(folder / 'imported')!r}, 'a').write({name!r} + chr(10)); raise ImportError({name!r})"
        (folder / "hostile" / name).write_text(said)
    with ui_over(home, folder / "ui.log", folder / "hostile", **variables) as (process, address):
        for place in sorted((folder / "publisher/dumps").iterdir()):
            place.rename(mirror / place.name)
        for run in ("build_windows", "SUCCESS", WINDOW), ("read_wikidata", "SUCCESS", "wikidatawiki-20240401"):
            wait_for(
                lambda run=run: run in runs_of(address),
                400,
                lambda: (runs_of(address), (folder / "ui.log").read_text()[-4000:]),
            )
        yield home, process, address, built


WINDOW = "2024-01-01..2024-01-01"
# What may lie in a folder in which somebody types `tempkb ui`, under names that Python would take for its own.
SHADOWS = ("dagster.py", "dagster_webserver.py", "duckdb.py", "json.py", "tempkb/__init__.py")


@pytest.mark.slow
def test_nothing_is_imported_from_the_working_directory(dropped):
    """Server, daemon, the process that loads the definitions and those of runs have all been at work there."""
    home, *_ = dropped
    assert not (home.parent / "imported").exists()


@pytest.mark.slow
def test_a_dump_dropped_into_the_mirror_is_built_with_no_further_hand(dropped):
    """The daemon registers what has arrived, each once, builds the one window it newly serves, and reads its entities."""
    home, _, address, built = dropped
    runs = runs_of(address)
    assert sorted(runs) == [
        ("build_windows", "SUCCESS", WINDOW),
        ("read_wikidata", "SUCCESS", "wikidatawiki-20240401"),
        ("register_dump", "SUCCESS", "demowiki-20240401"),
        ("register_dump", "SUCCESS", "wikidatawiki-20240401"),
    ]
    assert all(path.read_bytes() == data for path, data in built.items()), "what was built stays as it was"
    query = (
        "SELECT min(dump_id) AS first, max(dump_id) AS last FROM entity_popularity WHERE window_start = '2024-01-01'"
    )
    (row,) = run_tempkb(home, "sql", query, "--json").stdout.splitlines()
    assert json.loads(row) == {"first": "demowiki-20240401", "last": "demowiki-20240401"}
    query = "SELECT count(DISTINCT dump_id) AS n FROM facts"
    assert json.loads(run_tempkb(home, "sql", query, "--json").stdout) == {"n": 2}
    # Within seconds after the runs: they are told again behind what the reporter says of the tables.
    wait_for(lambda: verdicts(address) == VERDICTS, 90, lambda: verdicts(address))


VERDICTS = {
    "every_revision_element_is_accounted_for": "SUCCEEDED",
    "winners_are_in_the_log": "SUCCEEDED",
    "redirects_are_recognised": "SUCCEEDED",
    # A warning: the newest window was built just now, and ended on 1 April 2024.
    "newest_window_is_recent": "FAILED",
    "priors_of_a_surface_add_up": "SUCCEEDED",
    "the_index_counts_every_mention": "SUCCEEDED",
    "no_empty_window_between_others": "SUCCEEDED",
    "subjects_are_known": "SUCCEEDED",
    "statements_are_counted": "SUCCEEDED",
    "late_edits_add_up": "SUCCEEDED",
}


def verdicts(address):
    """What the UI shows of the checks of what is made of dumps, as of the newest rows of their tables."""
    checks = ask(
        address,
        """query { assetNodes { assetKey { path } assetChecksOrError { ... on AssetChecks { checks { name
             executionForLatestMaterialization { status } } } } } }""",
    )["assetNodes"]
    families = {table.name: table.family for room in ROOMS for table in room.tables}
    return {
        check["name"]: (check["executionForLatestMaterialization"] or {}).get("status")
        for node in checks
        for check in node["assetChecksOrError"].get("checks", [])
        if families[node["assetKey"]["path"][-1]] in (Family.DUMP, Family.ENTITIES, Family.WINDOW)
    }


def shown(address):
    """(asset, partition) -> rows and whether it is fresh, of all partitions that the UI shows as made."""
    nodes = ask(address, "query { assetNodes { assetKey { path } isPartitioned } }")["assetNodes"]
    told = ask(
        address,
        """query($keys: [AssetKeyInput!]) { assetNodes(assetKeys: $keys) {
             assetKey { path } partitionKeys staleStatusByPartition
             latestMaterializationByPartition { metadataEntries { label ... on IntMetadataEntry { intValue } } } } }""",
        keys=[{"path": node["assetKey"]["path"]} for node in nodes if node["isPartitioned"]],
    )["assetNodes"]
    found = {}
    for node in told:
        parts = node["partitionKeys"], node["latestMaterializationByPartition"], node["staleStatusByPartition"]
        for key, made, status in zip(*parts, strict=True):
            if made is not None:
                rows = {one["label"]: one.get("intValue") for one in made["metadataEntries"]}.get("dagster/row_count")
                found["/".join(node["assetKey"]["path"]), key] = rows, status
    return found


def standing(home, monkeypatch):
    """The same of what stands in the lake: tables of windows and dumps."""
    monkeypatch.setenv("TEMPKB_HOME", str(home))
    families = (Family.WINDOW, Family.DUMP, Family.ENTITIES)
    store = open_store()
    return {
        (table.name, version.partition): (version.rows, "FRESH")
        for table in store.tables.values()
        if table.family in families and table.partitioned_by in ("window", "dump")
        for version in store.lake.versions(table.name)
    }


def told_all(home, address, monkeypatch):
    """Does the UI show exactly what stands?"""
    wanted = standing(home, monkeypatch)
    names = {name for name, _ in wanted}
    return {place: said for place, said in shown(address).items() if place[0] in names} == wanted


@pytest.mark.slow
def test_the_ui_shows_what_commands_made_and_removed_and_a_backfill_beside_one_loses_nothing(dropped, monkeypatch):
    """The home was made by commands while no UI was running; see the fixture."""
    home, _, address, _ = dropped
    wait_for(lambda: told_all(home, address, monkeypatch), 90, lambda: shown(address))
    # It would build again by itself what is removed below: sooner than that is seen, on a slow machine.
    stop_sensor(address, "new_dumps")
    before = standing(home, monkeypatch)
    removed = ("2021-04-01", "2021-07-01")
    versions = {path: path.read_text() for one in removed for path in home.glob(f"lake/*/{one}/CURRENT")}
    run_tempkb(home, "rm", "--window", "2021-04-01..2021-10-01", "--yes")
    wait_for(lambda: told_all(home, address, monkeypatch), 90, lambda: shown(address))
    assert not {("mentions", one) for one in removed} & shown(address).keys()
    of_one = {"args": (home, "build", "--window", "2021-04-01..2021-07-01"), "kwargs": {"check": False}}
    command = threading.Thread(target=run_tempkb, **of_one)
    command.start()
    materialise(address, ["revision_log", "stable_snapshots", "page_wikitexts"], removed)
    command.join()
    # What the backfill alone has made stands in DuckDB.
    query = "SELECT count(*) AS n, count(entity_id) AS items FROM stable_snapshots WHERE cut = '2021-10-01'"
    row = json.loads(run_tempkb(home, "sql", query, "--json").stdout)
    assert row["n"] > 50
    # Pages of talk have none.
    assert row["items"] > 0.9 * row["n"]
    run_tempkb(home, "build")
    assert standing(home, monkeypatch) == before
    assert {path: path.read_text() for path in versions} == versions
    wait_for(lambda: told_all(home, address, monkeypatch), 90, lambda: shown(address))


@pytest.mark.slow
def test_the_server_listens_on_this_machine_alone(dropped):
    _, _, address, _ = dropped
    assert listening_on(int(address.rpartition(":")[2])) == {"127.0.0.1"}


@pytest.mark.slow
def test_what_commands_did_is_in_the_timeline_with_its_jobs(dropped):
    _, _, address, _ = dropped
    asked = "jobName status startTime endTime tags { key value } repositoryOrigin { repositoryLocationName }"
    told = ask(address, f"query {{ runsOrError {{ ... on Runs {{ results {{ {asked} }} }} }} }}")
    commands = [run for run in told["runsOrError"]["results"] if COMMAND in {tag["key"] for tag in run["tags"]}]
    made = {"register_dump", "build_windows", "read_wikidata", "build_dynamic_templama", "build_ecbd"}
    assert {run["jobName"] for run in commands} >= made
    assert {run["repositoryOrigin"]["repositoryLocationName"] for run in commands} == {"tempkb.platform.definitions"}
    assert all(run["startTime"] < run["endTime"] for run in commands)


def runs_of(address):
    """(job, status, partition or range) of the runs that automation has launched, oldest first."""
    told = ask(address, "query { runsOrError { ... on Runs { results { jobName status tags { key value } } } } }")
    runs = []
    for run in reversed(told["runsOrError"]["results"]):
        tags = {tag["key"]: tag["value"] for tag in run["tags"]}
        # Tags of our own are hidden from people, but that of commands; Dagster's tell which sensor has asked.
        is_asked = "dagster/sensor_name" in tags or "dagster/schedule_name" in tags
        assert [key for key in tags if "tempkb" in key] == [COMMAND] * (COMMAND in tags and not is_asked)
        if is_asked:
            ends = [tags.get(f"dagster/asset_partition_range_{end}", "") for end in ("start", "end")]
            runs.append((run["jobName"], run["status"], tags.get("dagster/partition") or "..".join(ends)))
    return runs


def in_session(session):
    """Names of the processes of a session that live."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            name, _, rest = path.read_text().partition("(")[2].rpartition(")")
            state, _, _, own = rest.split()[:4]
            if int(own) == session and state != "Z":
                found.append(name)
    return found


@pytest.mark.slow
def test_the_ui_that_a_script_starts_in_the_background_ends_when_it_is_told_to(dropped):
    """The server, the daemon and what loads the definitions with it, by the signal that the shell of a script ignores."""
    home, process, _, _ = dropped
    log = home.parent / "ui.log"
    assert len(in_session(process.pid)) > 3
    process.send_signal(signal.SIGINT)
    wait_for(lambda: process.poll() is not None, 60, log.read_text)
    wait_for(lambda: in_session(process.pid) == [], 30, lambda: in_session(process.pid))
