"""Checks that are made of promises: which partitions each looks at, and what Dagster writes down of it."""

import warnings
from dataclasses import replace
from datetime import date
from typing import Literal

import dagster as dg
import pyarrow as pa
import pytest
from dagster._config import validate_config
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus

from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.core.options import AtLeastOne, InOrder, Share
from tempkb.core.settings import load_home
from tempkb.core.windows import Granularity
from tempkb.engine.steps import Standing
from tempkb.engine.tasks import Done, Order, Picture, Task
from tempkb.platform.api import open_store
from tempkb.platform.assets import DUMPS, asset_of, check_of, kind_in_dagster, partitions_of
from tempkb.platform.definitions import _checks, benchmark_assets, benchmark_checks, build_definitions
from tempkb.platform.rooms import ROOMS, tasks
from tempkb.store.columns import Column
from tempkb.store.drafts import Provenance
from tempkb.store.promises import Promise
from tempkb.store.store import Store
from tempkb.store.tables import Family, Table
from tempkb.store.types import INT64, STRING

OF_WINDOWS = Table(
    name="harvests",
    meaning="Apples of a quarter.",
    columns=(
        Column("quarter", STRING, "first day of the window"),
        Column("n_picked", INT64, "apples that were picked"),
        Column("n_sold", INT64, "apples that were sold"),
    ),
    key=("quarter",),
    family=Family.WINDOW,
    partitioned_by="window",
    partition_columns=("quarter",),
)
OF_DUMPS = replace(OF_WINDOWS, name="deliveries", family=Family.DUMP, partitioned_by="dump")
LIMITS = replace(OF_WINDOWS, name="limits", partitioned_by="quarter of the limit")
QUARTERS = ("2020-01-01", "2020-04-01", "2020-07-01", "2020-10-01", "2021-01-01")
NAMES = ("a-20200101", "b-20200101", "c-20200101")


def oversold(about):
    query = f"SELECT quarter, n_sold FROM {about.name} WHERE n_sold > n_picked"
    return Promise("nothing_is_oversold", "No more is sold than was picked.", about, query)


@pytest.fixture
def store(home_folder):
    return Store(load_home(), [OF_WINDOWS, OF_DUMPS, LIMITS])


def write(store, table, **sold):
    """Write a partition of ten apples for each key, of which so many are sold."""
    for key, n_sold in sold.items():
        rows = pa.table({"quarter": [key], "n_picked": [10], "n_sold": [n_sold]})
        store.write(table, key, [rows], Provenance())


@pytest.fixture
def five_windows(store):
    """In the second of five windows, and in the fourth, more was sold than picked."""
    write(store, OF_WINDOWS, **dict(zip(QUARTERS, (3, 11, 10, 12, 0), strict=True)))
    return store


@pytest.fixture
def instance():
    with dg.DagsterInstance.ephemeral() as one:
        yield one


def run(instance, store, promise, *, facts=None, only_check=False, key=None, span=None):
    """Run the asset of a promise's table and its check, or the check by itself; return the evaluations."""
    partitions = partitions_of(store.home.settings)[promise.about.family]

    @dg.asset(name=promise.about.name, partitions_def=partitions, backfill_policy=dg.BackfillPolicy.single_run())
    def made() -> dg.MaterializeResult:
        return dg.MaterializeResult(metadata=facts or {})

    check = check_of(promise, partitions)
    chosen = dg.AssetSelection.checks(check) if only_check else dg.AssetSelection.assets(made)
    definitions = dg.Definitions(
        assets=[made],
        asset_checks=[check],
        jobs=[dg.define_asset_job("job", chosen)],
        resources={"store": dg.ResourceDefinition.hardcoded_resource(store)},
    )
    tags = (
        {"dagster/asset_partition_range_start": span[0], "dagster/asset_partition_range_end": span[1]} if span else {}
    )
    result = definitions.resolve_job_def("job").execute_in_process(instance=instance, partition_key=key, tags=tags)
    return list(result.get_asset_check_evaluations())


def found(evaluations):
    return [(one.partition, one.passed, one.metadata["broken"].value) for one in evaluations]


def written_down(instance, promise):
    """What Dagster keeps of a check: (partition, status), also of what was planned and never came."""
    key = dg.AssetCheckKey(dg.AssetKey(promise.about.name), promise.name)
    kept = instance.event_log_storage.get_asset_check_partition_info([key])
    return sorted((one.partition_key or "", one.latest_execution_status) for one in kept)


def test_a_run_over_two_of_five_windows_judges_two(five_windows, instance):
    promise = oversold(OF_WINDOWS)
    assert found(run(instance, five_windows, promise, span=("2020-04-01", "2020-07-01"))) == [(None, False, 1)]
    (one,) = run(instance, five_windows, promise, span=("2020-04-01", "2020-07-01"))
    assert one.metadata["examples"].value == ["('2020-04-01', 11)"]


def test_the_verdict_of_a_run_is_kept_beside_the_windows_that_it_is_about(five_windows, instance):
    task = Task("harvests", (Standing((OF_WINDOWS,)),), promises=(oversold(OF_WINDOWS),))
    (check,) = _checks([task], [], partitions_of(five_windows.home.settings))
    definitions = dg.Definitions(
        asset_checks=[check],
        jobs=[dg.define_asset_job("job", dg.AssetSelection.checks(check))],
        resources={"store": dg.ResourceDefinition.hardcoded_resource(five_windows)},
    )
    span = {"dagster/asset_partition_range_start": QUARTERS[1], "dagster/asset_partition_range_end": QUARTERS[1]}
    job = definitions.resolve_job_def("job")
    for tags in ({}, span):
        assert job.execute_in_process(instance=instance, tags=tags).get_asset_check_evaluations()
    kept = {one.partition: one.verdicts for one in five_windows.lake.versions(OF_WINDOWS.name)}
    assert {key: said["nothing_is_oversold"]["passed"] for key, said in kept.items() if said} == {QUARTERS[1]: False}


def test_a_fault_in_another_window_is_no_affair_of_a_run(five_windows, instance):
    promise = oversold(OF_WINDOWS)
    assert found(run(instance, five_windows, promise, span=("2020-07-01", "2020-07-01"))) == [(None, True, 0)]
    assert found(run(instance, five_windows, promise, key="2021-01-01")) == [(None, True, 0)]
    assert found(run(instance, five_windows, promise, key="2020-10-01")) == [(None, False, 1)]


def test_a_check_that_is_run_by_itself_looks_at_all(five_windows, instance):
    (one,) = run(instance, five_windows, oversold(OF_WINDOWS), only_check=True)
    assert (one.passed, one.metadata["examples"].value) == (False, ["('2020-04-01', 11)", "('2020-10-01', 12)"])


def test_the_result_of_a_range_of_windows_is_the_one_that_the_ui_shows(five_windows, instance):
    """Dagster plans one for each window of a range as well, and never closes those."""
    promise = oversold(OF_WINDOWS)
    run(instance, five_windows, promise, span=("2020-04-01", "2020-10-01"))
    key = dg.AssetCheckKey(dg.AssetKey(promise.about.name), promise.name)
    shown = instance.event_log_storage.get_latest_asset_check_execution_by_key([key])[key]
    assert (shown.partition, shown.status) == (None, AssetCheckExecutionRecordStatus.FAILED)


@pytest.fixture
def three_dumps(store, instance):
    """In the second of three dumps more was sold than picked."""
    write(store, OF_DUMPS, **dict(zip(NAMES, (3, 11, 10), strict=True)))
    instance.add_dynamic_partitions(DUMPS.name, list(NAMES))
    return store


def test_dagster_keeps_a_result_for_each_dump(three_dumps, instance):
    promise = oversold(OF_DUMPS)
    assert found(run(instance, three_dumps, promise, key="a-20200101")) == [("a-20200101", True, 0)]
    assert found(run(instance, three_dumps, promise, key="b-20200101")) == [("b-20200101", False, 1)]
    assert written_down(instance, promise) == [
        ("a-20200101", AssetCheckExecutionRecordStatus.SUCCEEDED),
        ("b-20200101", AssetCheckExecutionRecordStatus.FAILED),
    ]


def test_a_check_of_dumps_that_is_run_by_itself_looks_at_all(three_dumps, instance):
    promise = oversold(OF_DUMPS)
    assert found(run(instance, three_dumps, promise, only_check=True)) == [(None, False, 1)]
    assert written_down(instance, promise) == [("", AssetCheckExecutionRecordStatus.FAILED)]


def test_a_run_over_a_range_of_dumps_has_a_result_for_each(three_dumps, instance):
    promise = oversold(OF_DUMPS)
    evaluations = run(instance, three_dumps, promise, span=("b-20200101", "c-20200101"))
    assert found(evaluations) == [("b-20200101", False, 1), ("c-20200101", False, 1)]
    assert [status for _, status in written_down(instance, promise)] == [AssetCheckExecutionRecordStatus.FAILED] * 2


def test_tables_that_are_partitioned_otherwise_are_looked_at_whole(five_windows, instance):
    """The first quarter's limit binds all windows."""
    write(five_windows, LIMITS, **{"2020-01-01": 9})
    query = "SELECT h.quarter FROM harvests AS h JOIN limits AS l ON h.n_sold > l.n_sold"
    promise = Promise("limits", "Sold within limits.", OF_WINDOWS, query, (LIMITS,))
    assert found(run(instance, five_windows, promise, key="2020-07-01")) == [(None, False, 1)]
    assert found(run(instance, five_windows, promise, key="2020-01-01")) == [(None, True, 0)]


def test_a_warning_is_no_failure(five_windows, instance):
    promise = oversold(OF_WINDOWS)
    (failure,) = run(instance, five_windows, promise, key="2020-04-01")
    (warning,) = run(instance, five_windows, replace(promise, is_warning=True), key="2020-04-01")
    assert (failure.severity, warning.severity) == (dg.AssetCheckSeverity.ERROR, dg.AssetCheckSeverity.WARN)


def test_a_function_is_told_the_partitions_and_what_the_step_of_the_run_reported(five_windows, instance):
    heard = []
    promise = replace(oversold(OF_WINDOWS), query="", finds=lambda _, subject: heard.append(subject) or [])
    run(instance, five_windows, promise, span=("2020-04-01", "2020-07-01"), facts={"quarters": ["x"]})
    run(instance, five_windows, promise, key="2020-07-01")
    run(instance, five_windows, promise, only_check=True)
    asked = [(one.partitions, one.facts.get("quarters")) for one in heard]
    assert asked == [(["2020-04-01", "2020-07-01"], ["x"]), (["2020-07-01"], None), (None, None)]


def test_where_there_is_nothing_to_compare_that_is_said(five_windows, instance):
    promise = replace(oversold(OF_WINDOWS), finds=lambda _store, _subject: None)
    (one,) = run(instance, five_windows, promise, key="2020-07-01")
    assert (one.passed, one.metadata["compared"].value) == (True, 0)


def test_what_was_not_built_is_not_passed(three_dumps, instance):
    instance.add_dynamic_partitions(DUMPS.name, ["d-20200101"])
    promise = oversold(OF_DUMPS)
    (alone,) = run(instance, three_dumps, promise, key="d-20200101")
    built, beside = run(instance, three_dumps, promise, span=("c-20200101", "d-20200101"))
    assert [one.passed for one in (alone, built, beside)] == [False, True, False]
    assert (beside.partition, beside.severity) == ("d-20200101", dg.AssetCheckSeverity.WARN)
    assert beside.metadata["found"].value == "no rows of d-20200101: not built, or its build has failed"


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        (AtLeastOne | None, [3, None], ["3", 1.5]),
        (Share, [0.5], ["half"]),
        (bool, [True], ["yes"]),
        (Literal["tempkb", "small"], ["small"], ["large", 1]),
        (Granularity, ["week"], ["day"]),
        (date | None, ["2020-01-01"], [2020]),
        (InOrder[str], ["a,b"], [["a"]]),
    ],
)
def test_the_configuration_of_runs_has_the_types_of_options(kind, right, wrong):
    schema = dg.Field(dg.Noneable(kind_in_dagster(kind))).config_type
    allowed = [validate_config(schema, one).success for one in (*right, *wrong)]
    assert allowed == [True] * len(right) + [False] * len(wrong)


def test_what_a_run_is_asked_becomes_the_words_that_people_type(store):
    words = {"limit": 0, "threads": 2, "fixed_shapes": True, "rebuild": False, "device": "", "seed": None}
    assert Order(store, (), print, words).said == {"limit": "0", "threads": "2", "fixed_shapes": "true"}


@pytest.mark.parametrize(("benchmark", "releases"), [("dynamic_templama", ["demo-quarters"]), ("templama", [])])
def test_a_check_of_releases_looks_at_those_of_its_benchmark(demo_home, monkeypatch, instance, benchmark, releases):
    """Both LAMAs fill the same tables; a check that is run by itself looks at no release of the other."""
    from tempkb.benchmarks import promises as checks

    looked_at = []
    monkeypatch.setenv("TEMPKB_HOME", str(demo_home))
    monkeypatch.setattr(checks, "broken", lambda _store, promise, names: looked_at.append((promise.name, names)) or [])
    store = open_store()
    (declared,) = (one for one in BENCHMARKS if one.name == benchmark)
    found = benchmark_checks(declared)
    result = dg.materialize(
        [*benchmark_assets(declared, store.home), *found],
        selection=dg.AssetSelection.checks(*found),
        instance=instance,
        resources={"store": store},
    )
    names = [key.name for check in found for key in check.check_keys]
    assert "every_statement_exists" in names
    assert sorted(looked_at) == [(name, releases) for name in sorted(names)]
    assert {one.passed for one in result.get_asset_check_evaluations()} == {True}


def test_a_run_tells_what_only_it_can_know(store, instance):
    """Rows and samples of what stands are told by the reporter."""
    table = replace(OF_WINDOWS, name="prices", family=Family.RESULT, partitioned_by="nothing")

    def make(order):
        done = Done(facts={"prices": {"asked": 3}}, notes=["half of them are guessed"])
        done.add(store.write(OF_WINDOWS, QUARTERS[0], [], Provenance()))
        done.shows = lambda: {"prices": {"curve": Picture("![](data:)")}}
        return done

    task = Task("prices", (Standing((table,)),), make)
    result = dg.materialize([asset_of(task, task.steps, [])], instance=instance, resources={"store": store})
    (made,) = result.asset_materializations_for_node("prices")
    told = {label: one.value for label, one in made.metadata.items()}
    assert told.pop("seconds") >= 0
    assert told == {"asked": 3, "curve": "![](data:)", "notes": ["half of them are guessed"]}


OF_EVERY_WINDOW = (
    "revision_log",
    "stable_snapshots",
    "mentions",
    "inverted_index",
    "mention_priors",
    "entity_popularity",
)


def test_rooms_that_are_no_benchmark_promise_what_they_did(home_folder):
    of_releases = {table.name for room in ROOMS for table in room.tables if table.family is Family.RELEASE}
    made = (promise for task in tasks() for promise in task.promised())
    promised = {(promise.about.name, promise.name, promise.is_warning) for promise in made}
    assert {one for one in promised if one[0] not in of_releases} == {
        ("stable_snapshots", "winners_are_in_the_log", False),
        ("stable_snapshots", "redirects_are_recognised", True),
        *((table, "no_empty_window_between_others", True) for table in OF_EVERY_WINDOW),
        ("mention_priors", "priors_of_a_surface_add_up", False),
        ("inverted_index", "the_index_counts_every_mention", False),
        ("facts", "subjects_are_known", False),
        ("wikidata_entities", "statements_are_counted", False),
        ("late_edits", "late_edits_add_up", False),
        ("models", "files_are_those_that_were_added", False),
        ("mixtures", "no_query_of_a_held_out_subject", False),
        ("mixtures", "no_sentence_of_a_test_item", False),
        ("mixtures", "no_text_after_its_windows", False),
        ("prompt_scores", "every_prompt_has_a_score_or_a_reason", False),
        ("prompt_scores", "scores_are_of_the_models_files", False),
        ("generations", "every_question_has_an_answer_or_a_reason", False),
        ("generations", "generations_are_of_the_models_files", False),
        ("linkers", "files_are_those_of_the_linker", False),
        ("entity_vectors", "vectors_have_the_length_of_the_linkers", False),
        ("linking_scores", "every_mention_is_linked", False),
        ("linking_scores", "best_candidates_are_candidates", False),
        ("prompt_scores", "log_probabilities_are_not_above_zero", False),
    }


def test_dagster_does_not_warn_of_previews_when_it_loads_the_platform(home_folder):
    with warnings.catch_warnings():
        warnings.simplefilter("error", dg.PreviewWarning)
        graph = build_definitions(load_home()).resolve_asset_graph()
    key = dg.AssetCheckKey(dg.AssetKey("facts"), "subjects_are_known")
    assert graph.get(key).partitions_def == DUMPS
