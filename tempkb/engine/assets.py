"""Dagster's assets: one factory makes them of all tasks."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from tempkb.benchmarks.benchmark import Benchmark
from tempkb.engine.steps import Step
from tempkb.engine.tasks import NOTES, Done, Order, Picture, Rows, Shown, Task, bad_in_words, keep_verdicts
from tempkb.options import Option
from tempkb.partitions import CHAINED
from tempkb.settings import Settings
from tempkb.store.assets import sample_of, table_of
from tempkb.store.materialise import CELL, facts_of, facts_of_partitions
from tempkb.store.store import Store
from tempkb.store.tables import EXCLUSIONS, Family, Table
from tempkb.store.versions import Version
from tempkb.wikidata.scope import settings_mark

# Several keys are several runs.
_ONE_A_RUN = (Family.MODEL, Family.LINKER, Family.RESULT, Family.DUMP)
Result = dg.MaterializeResult[None] | dg.AssetCheckResult


def asset_of(task: Task, steps: Sequence[Step], benchmarks: Sequence[Benchmark]) -> dg.AssetsDefinition:
    """Return the assets of a task, one for each table that it makes.

    If a key fails, the others are still written. What is current is not made again.

    Args:
        steps: its own, and those that make its sources.
        benchmarks: whose assets of tables that they share it is about.
    """

    def key_of(table: Table) -> dg.AssetKey:
        (key,) = keys_of(benchmarks, table)
        return key

    @dg.multi_asset(
        name=task.name,
        specs=[_spec(task, step, table, benchmarks) for step in task.steps for table in step.makes],
        check_specs=[
            dg.AssetCheckSpec(name, asset=about, description=said) for (about, name), said in task.checks.items()
        ],
        can_subset=task.is_divisible,
        backfill_policy=None if task.family in _ONE_A_RUN else dg.BackfillPolicy.single_run(),
        config_schema={one.name: _field(one) for one in task.options} or None,
    )
    def made(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]) -> Iterator[Result]:
        began = time.monotonic()
        wanted = [table for table in task.makes if key_of(table) in context.selected_asset_keys]
        order = Order(
            store,
            () if task.family is Family.RESULT else tuple(context.partition_keys),
            context.log.info,
            context.op_execution_context.op_config or {},
            frozenset(table.name for table in wanted),
            CHAINED in context.run.tags,
        )
        try:
            done = task.run(order, steps)
        finally:
            _forget(context, task, store)
        yield from _report(context, task, key_of, order, done, wanted, round(time.monotonic() - began, 2))

    return made


def keys_of(benchmarks: Sequence[Benchmark], table: Table) -> list[dg.AssetKey]:
    """Return the keys of the assets of a table: some benchmarks have one of their own of a table that they share."""
    shared = [dg.AssetKey(one.key_of(table)) for one in benchmarks if table in one.shared]
    return shared or [dg.AssetKey(table.name)]


def code_version_of(table: Table, settings: Settings) -> str:
    """Return the version of the code that makes a table; to Dagster, other settings of Wikidata are other code."""
    return f"{table.code_version} {settings_mark(settings)}" if table.family is Family.ENTITIES else table.code_version


def _report(
    context: dg.AssetExecutionContext,
    task: Task,
    key_of: Callable[[Table], dg.AssetKey],
    order: Order,
    done: Done,
    wanted: Sequence[Table],
    seconds: float,
) -> Iterator[Result]:
    """Tell Dagster what a run did.

    Raises:
        dg.Failure: some keys could not be made.
    """
    for note in done.notes:
        context.log.warning(note)
    keep_verdicts(order.store, order.keys or None, done.verdicts)
    for (about, name), verdict in done.verdicts.items():
        if about in order.tables:
            yield dg.AssetCheckResult(asset_key=about, check_name=name, passed=verdict.passed, metadata=verdict.facts)
    found, shows = _by_key(order, done), {} if done.bad else done.shows()
    notes = {NOTES: list(done.notes)} if done.notes else {}
    for table in dict.fromkeys((*wanted, *found)):
        is_whole = table in wanted and not done.bad
        if is_whole and (not task.is_skippable or found[table].keys() >= {*(order.keys or (None,))}):
            for key, versions in found[table].items():
                context.add_asset_metadata(facts_of_key(versions), asset_key=key_of(table), partition_key=key)
            shown = {**done.facts.get(table.name, {}), **shows.get(table.name, {})}
            told = {**_sample_of(found[table]), "seconds": seconds, **in_dagster(shown), **notes}
            yield dg.MaterializeResult(asset_key=key_of(table), metadata=told)
            continue
        for key, versions in found[table].items():
            if key not in done.bad:
                facts = {**facts_of_key(versions), **notes}
                context.log_event(dg.AssetMaterialization(key_of(table), partition=key, metadata=facts))
    if done.bad:
        raise dg.Failure("\n".join(bad_in_words(task, done.bad)))


def facts_of_key(versions: Sequence[Version]) -> dict[str, Any]:
    """Return what Dagster shows of the versions of one of its partitions."""
    if len(versions) != 1:
        return facts_of_partitions(versions)
    left_out = {f"left out/{row['reason']}": row["n"] for row in versions[0].side_rows(EXCLUSIONS.name)}
    return {**facts_of(versions[0]), **left_out}


def _by_key(order: Order, done: Done) -> dict[Table, dict[str | None, list[Version]]]:
    """The versions of each partition of Dagster, by table; what is of a quarter is of every window of the run."""
    found = defaultdict[Table, dict[str | None, list[Version]]](lambda: defaultdict(list))
    for (name, key), version in done.versions.items():
        table = order.store.tables[name]
        owner = table.owner_of(key)
        for one in order.keys or (None,) if owner is None else (owner,):
            found[table][one].append(version)
    return found


def _sample_of(found: Mapping[str | None, Sequence[Version]]) -> dict[str, Any]:
    last = next((versions[-1] for versions in reversed([*found.values()])), None)
    return {"dagster/row_count": 0} if last is None else {"sample": sample_of(last)}


def in_dagster(shown: Mapping[str, Shown]) -> dict[str, Any]:
    """Return what the UI shows, by label, as Dagster's metadata."""
    return {label: _value(one) for label, one in shown.items()}


def _value(one: Shown) -> Any:
    if isinstance(one, Picture):
        return dg.MetadataValue.md(one.markdown)
    if isinstance(one, Rows):
        return table_of(one.table, CELL if one.cell is None else one.cell)
    return one if isinstance(one, (str, int, float)) else dg.MetadataValue.json(one)


def _forget(context: dg.AssetExecutionContext, task: Task, store: Store) -> None:
    """Let Dagster forget keys of a run which the home does not know."""
    if task.known is None:
        return
    known, partitions = task.known(store), context.assets_def.partitions_def
    for key in context.partition_keys:
        if key not in known and isinstance(partitions, dg.DynamicPartitionsDefinition):
            context.instance.delete_dynamic_partition(str(partitions.name), key)


def _spec(task: Task, step: Step, table: Table, benchmarks: Sequence[Benchmark]) -> dg.AssetSpec:
    # Of what is made for other things than the table, the words of a run tell the partitions.
    deps = {
        key: dg.AssetDep(key, partition_mapping=None if one.table.family is table.family else dg.AllPartitionMapping())
        for one in step.sources
        for key in keys_of(benchmarks, one.table)
    }
    (own,), how = keys_of(benchmarks, table), f" {task.how}" if task.how else ""
    said = f"{table.meaning}{how}\n\nKey `{', '.join(table.key)}`."
    return dg.AssetSpec(own, description=said, deps=deps.values(), skippable=task.is_skippable)


def _field(option: Option) -> dg.Field:
    """The field of a run's configuration for an option; its type is that of the default."""
    kind: Any = [str] if option.many else type(option.default) if isinstance(option.default, (bool, dict)) else str
    if option.default is None:
        return dg.Field(str, description=option.meaning)
    default = [] if option.many else option.default
    return dg.Field(kind, is_required=False, default_value=default, description=option.meaning)
