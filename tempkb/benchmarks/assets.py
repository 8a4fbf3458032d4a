"""Makes the Dagster assets of the benchmarks from the steps that each benchmark declares."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import dagster as dg

from tempkb.benchmarks.benchmark import Benchmark, Measurement
from tempkb.benchmarks.building import begin, build_step, measure, versions_of
from tempkb.benchmarks.methods import Built, Picture, Rows, Shown, Step
from tempkb.benchmarks.register import as_listed, is_registered, unfinished_releases
from tempkb.benchmarks.releases import create, load
from tempkb.errors import TempkbError
from tempkb.store.assets import sample_of, spec_of, table_of
from tempkb.store.materialise import CELL, facts_of, facts_of_partitions
from tempkb.store.store import Store
from tempkb.store.tables import EXCLUSIONS, Family, Table
from tempkb.store.versions import Version

_PARTITIONS = (
    " A partition is a release, made by `tempkb release`. While there is none, Dagster's graph shows 0 partitions in "
    "green, though nothing was built."
)


def assets_of_benchmark(benchmark: Benchmark) -> list[dg.AssetsDefinition]:
    """Return the assets of a benchmark: one definition for each step, with an asset for each table that it makes."""
    methods = benchmark.loaded()
    steps = [_asset_of(benchmark, step, is_first=step is methods.steps[0]) for step in methods.steps]
    return steps + [_asset_of(benchmark, methods.measures[one.name], one) for one in benchmark.measurements]


def partitions_of_benchmark(benchmark: Benchmark) -> dg.DynamicPartitionsDefinition:
    """Return the partitions of a benchmark's assets, which are the names of its releases."""
    return dg.DynamicPartitionsDefinition(name=benchmark.partition_set)


def _asset_of(
    benchmark: Benchmark, step: Step, measurement: Measurement | None = None, *, is_first: bool = False
) -> dg.AssetsDefinition:
    """Return the assets of a step; a run makes several releases one after another.

    Args:
        measurement: the measurement whose step it is; None for a step of building a release.
        is_first: whether it is the first step, whose configuration may request a new release.
    """
    config = _config_of_releases(benchmark) if is_first else _config_of_measurement(measurement)

    @dg.multi_asset(
        name=step.name,
        specs=[_spec(benchmark, made.table, made.meaning, made.sources) for made in step.makes],
        backfill_policy=dg.BackfillPolicy.single_run(),
        config_schema=config or None,
    )
    def asset(
        context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]
    ) -> Iterator[dg.MaterializeResult[None]]:
        options = context.op_execution_context.op_config or {}
        if is_first and options[benchmark.study.name]:
            _register(context, store, benchmark, options)
        last: dict[dg.AssetKey, dict[str, Any]] = {}
        for name in context.partition_keys:
            last = _make(context, store, benchmark, step, measurement, name)
        for key, metadata in last.items():
            yield dg.MaterializeResult(asset_key=key, metadata=metadata)

    return asset


def _make(
    context: dg.AssetExecutionContext,
    store: Store,
    benchmark: Benchmark,
    step: Step,
    measurement: Measurement | None,
    name: str,
) -> dict[dg.AssetKey, dict[str, Any]]:
    """Run a step for one release, and return the metadata for the UI, by asset."""
    began = time.monotonic()
    methods = benchmark.loaded()
    # Read before the block that undoes what was written, so that nothing is undone of a release of another benchmark.
    release = load(store.home, benchmark, name)
    with _none_half_built(context, store, benchmark, name):
        if measurement is not None:
            built = measure(store, step, release, context.log.info, context.op_execution_context.op_config)
        else:
            built = build_step(store, methods, step, release, context.log.info)
    for warning in built.warnings:
        context.log.warning(warning)
    versions = versions_of(store, step, release)
    facts = _facts(store, versions, built, round(time.monotonic() - began, 2))
    shown = step.shows(store, release, versions)
    found = {}
    for table, own in versions.items():
        key = _key(benchmark, store.tables[table])
        context.add_asset_metadata(facts[table], asset_key=key, partition_key=name)
        pictures = {word: _in_dagster(one) for word, one in shown.get(table, {}).items()}
        found[key] = {**facts[table], **_samples(own), **pictures}
    return found


def _key(benchmark: Benchmark, table: Table) -> dg.AssetKey:
    return dg.AssetKey(benchmark.key_of(table))


def _spec(benchmark: Benchmark, table: Table, meaning: str, sources: Sequence[Table]) -> dg.AssetSpec:
    deps = [
        dg.AssetDep(_key(benchmark, source))
        if source.family is Family.RELEASE
        # Only the design knows from which windows and dumps a release is made, so Dagster is told that it may be any.
        else dg.AssetDep(source.name, partition_mapping=dg.AllPartitionMapping())
        for source in sources
    ]
    return spec_of(table, f"{meaning}{_PARTITIONS}", deps).replace_attributes(key=_key(benchmark, table))


def _config_of_releases(benchmark: Benchmark) -> dict[str, dg.Field]:
    """Return the fields of a run's configuration; without a study, a registered release is built."""
    fields = {
        one.name: dg.Field(
            [str] if one.many else str,
            is_required=False,
            default_value=[] if one.many else one.default,
            description=one.meaning,
        )
        for one in benchmark.all_options
    }
    changes = "Hyperparameters and their values, as people type them."
    return {**fields, "changes": dg.Field(dict, is_required=False, default_value={}, description=changes)}


def _config_of_measurement(measurement: Measurement | None) -> dict[str, dg.Field]:
    """Return the fields of a run's configuration for a measurement; none for other steps."""
    arguments = measurement.arguments if measurement else ()
    return {one.name: dg.Field(str, description=one.meaning) for one in arguments}


def _register(context: dg.AssetExecutionContext, store: Store, benchmark: Benchmark, options: dict[str, Any]) -> None:
    """Register the release that the run's configuration requests."""
    name = context.partition_key
    with _none_half_built(context, store, benchmark, name):
        changes = {part: str(value) for part, value in options["changes"].items()}
        design = benchmark.loaded().design(store, {**options, "changes": changes})
        begin(store, create(store.home, benchmark, options["preset"], design, name))


def _facts(store: Store, versions: dict[str, list[Version]], built: Built, seconds: float) -> dict[str, dict[str, Any]]:
    """Return the metadata of each table for the UI."""
    facts: dict[str, dict[str, Any]] = {}
    for table, found in versions.items():
        if store.tables[table].partitioned_by == "release":
            (version,) = found
            left_out = {f"left out/{row['reason']}": row["n"] for row in version.side_rows(EXCLUSIONS.name)}
            facts[table] = {**facts_of(version), **left_out, "seconds": seconds}
        else:
            facts[table] = {**facts_of_partitions(found, "windows"), "seconds": seconds}
    if built.warnings:
        facts[next(iter(facts))]["warning"] = "; ".join(built.warnings)
    return facts


def _samples(versions: Sequence[Version]) -> dict[str, dg.MetadataValue]:
    return {"sample": sample_of(versions[-1])} if versions else {}


def _in_dagster(shown: Shown) -> Any:
    if isinstance(shown, Picture):
        return dg.MetadataValue.md(shown.markdown)
    if isinstance(shown, Rows):
        return table_of(shown.table, CELL if shown.cell is None else shown.cell)
    return shown


@contextmanager
def _none_half_built(
    context: dg.AssetExecutionContext, store: Store, benchmark: Benchmark, name: str
) -> Iterator[None]:
    """If the block fails, undo what the run has written of its other releases, and let Dagster forget what is gone.

    A run over several releases ends with the first that fails.
    """
    try:
        yield
    except BaseException as error:
        others = [key for key in unfinished_releases(store) if key in context.partition_keys and key != name]
        for key in others:
            as_listed(store, key)
        for key in context.partition_keys:
            if not is_registered(store.home, key):
                context.instance.delete_dynamic_partition(benchmark.partition_set, key)
        if others and isinstance(error, TempkbError):
            error.args = (f"{error}. Not built either, since the run ended here: {', '.join(others)}",)
        raise
