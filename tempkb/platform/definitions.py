"""The platform on one page: the rooms' assets and checks with what all have in common, the jobs, and what starts them.

Dagster loads `defs`. What does not belong here: anything but putting together.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import dagster as dg

from tempkb.benchmarks.benchmark import Benchmark
from tempkb.benchmarks.declared import BENCHMARKS
from tempkb.benchmarks.tasks import tasks_of
from tempkb.core.settings import Home, load_home
from tempkb.engine.room import Room
from tempkb.engine.tasks import Task
from tempkb.platform import automation
from tempkb.platform.assets import (
    asset_of,
    check_of,
    code_version_of,
    keys_of,
    partitions_of,
    store_resource,
    with_columns,
)
from tempkb.platform.rooms import ROOMS, TABLES, VIEWS, steps
from tempkb.store.tables import Family, by_name

_DECLARED = by_name(TABLES)


def build_definitions(home: Home) -> dg.Definitions:
    """Put the platform together for a home; its settings tell which windows there are, and whether sensors run."""
    jobs = {job.name: job for job in automation.jobs(TABLES, BENCHMARKS)}
    of_rooms = [asset for room in ROOMS for asset in assets_of(room, home)]
    of_benchmarks = [asset for one in BENCHMARKS for asset in benchmark_assets(one, home)]
    room_checks = [check for room in ROOMS for check in checks_of(room, home)]
    return dg.Definitions(
        assets=[*of_rooms, *of_benchmarks],
        asset_checks=[
            *room_checks,
            automation.age_check(),
            *(check for one in BENCHMARKS for check in benchmark_checks(one)),
        ],
        jobs=list(jobs.values()),
        sensors=automation.sensors(home.settings, jobs),
        schedules=automation.schedules(home.settings, jobs),
        resources={"store": store_resource(TABLES, VIEWS)},
        # One step after the other in the process of the run, as commands do it: another process would import
        # everything once more, which takes longer than most steps, and steps share the cores by workers of their own.
        executor=dg.in_process_executor,
    )


def assets_of(room: Room, home: Home) -> Sequence[dg.AssetsDefinition]:
    """Return the assets of a room for a home: with their partitions, and with all that follows from their tables."""
    made = [asset_of(task, steps(), BENCHMARKS) for task in room.tasks()]
    partitions = partitions_of(home.settings)
    return dg.map_asset_specs(partial(_completed, group=room.name, home=home, partitions=partitions), made)


def checks_of(room: Room, home: Home) -> list[dg.AssetChecksDefinition]:
    """Return the asset checks of a room for a home: of its promises, over the partitions of their tables."""
    return _checks(room.tasks(), BENCHMARKS, partitions_of(home.settings))


def benchmark_assets(benchmark: Benchmark, home: Home) -> Sequence[dg.AssetsDefinition]:
    """Return the assets of a benchmark for a home; their partitions are the benchmark's releases."""
    completed = partial(_completed, group=benchmark.name, home=home, partitions=_releases_of(benchmark))
    made = [asset_of(task, (), [benchmark]) for task in tasks_of(benchmark)]
    return dg.map_asset_specs(completed, made)


def benchmark_checks(benchmark: Benchmark) -> list[dg.AssetChecksDefinition]:
    """Return the asset checks of a benchmark, one for each promise of its steps."""
    return _checks(tasks_of(benchmark), [benchmark], _releases_of(benchmark))


def _releases_of(benchmark: Benchmark) -> dict[Family, dg.PartitionsDefinition[str]]:
    return {Family.RELEASE: dg.DynamicPartitionsDefinition(name=benchmark.partition_set)}


def _checks(
    tasks: Sequence[Task], benchmarks: Sequence[Benchmark], partitions: Mapping[Family, dg.PartitionsDefinition[str]]
) -> list[dg.AssetChecksDefinition]:
    return [
        check_of(
            promise,
            partitions.get(task.family),
            keys_of(benchmarks, promise.about)[0],
            partial(task.judge_and_keep, promise),
        )
        for task in tasks
        for promise in task.promised()
    ]


def _completed(
    spec: dg.AssetSpec, group: str, home: Home, partitions: Mapping[Family, dg.PartitionsDefinition[str]]
) -> dg.AssetSpec:
    """An asset as the UI shows it; what follows from its table and its room is said here, once for all."""
    table = _DECLARED[spec.key.path[-1]]
    spec = spec.replace_attributes(
        group_name=group,
        kinds={"parquet", "duckdb"},
        owners=["team:tempkb"],
        code_version=code_version_of(table, home.settings),
        partitions_def=partitions.get(table.family),
    )
    return with_columns(automation.kept_fresh(spec, table, home.settings.granularity), table)


defs = build_definitions(load_home())
