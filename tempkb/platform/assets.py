"""Dagster's assets, partitions, checks and resource, made of tasks, tables and promises.

A run's own event says what only that run can tell, such as its seconds; what stands is told by `reporter.py`.
"""

import contextlib
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import EnumType
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import dagster as dg
import pyarrow as pa

from tempkb.benchmarks.benchmark import Benchmark
from tempkb.core.files import own
from tempkb.core.locks import Patience, at_work, name_of_run
from tempkb.core.options import Form, Option, annotated
from tempkb.core.settings import Settings, load_home
from tempkb.core.windows import Granularity, epoch_seconds, instant
from tempkb.engine.steps import Step
from tempkb.engine.tasks import NOTES, Done, Order, Picture, Rows, Shown, Task, bad_in_words, keep_verdicts
from tempkb.store.materialise import CELL, cells_of, first_rows
from tempkb.store.promises import Promise, Subject, Verdict, versions_of
from tempkb.store.store import Store
from tempkb.store.tables import EXCLUSIONS, Family, Table, View
from tempkb.store.versions import Version
from tempkb.wiki.wikidata.scope import settings_mark

_SCHEMA = "dagster/column_schema"
# Dagster renders the description of a column as Markdown; without a backslash, `<wiki>` would be an unknown tag.
_MARKS = re.compile(r"[\\`*_\[\]<>]")


def with_columns(spec: dg.AssetSpec, table: Table) -> dg.AssetSpec:
    """Give an asset the columns of its table, so that Dagster shows them before anything is built."""
    return spec.merge_attributes(
        metadata={_SCHEMA: schema_of(table), "dagster/table_name": f"tempkb.main.{table.name}"}
    )


def schema_of(table: Table) -> dg.TableSchema:
    """Return a table's columns in Dagster's form, with DuckDB's types and our meanings."""
    in_key = dg.TableColumnConstraints(nullable=False)
    columns = [
        dg.TableColumn(
            column.name,
            column.sql_type,
            _MARKS.sub(r"\\\g<0>", column.meaning),
            constraints=in_key if column.name in table.key else None,
        )
        for column in table.columns
    ]
    return dg.TableSchema(columns, dg.TableConstraints([f"key of a partition: {', '.join(table.key)}"]))


def sample_of(version: Version) -> dg.MetadataValue:
    """Return the first ten rows of a version as a table in Dagster; columns with one value come last."""
    rows = first_rows(version)
    cells = cells_of(rows)
    same = {name for name in rows.column_names if len(cells) > 1 and len({row[name] for row in cells}) == 1}
    return table_of(rows.select(sorted(rows.column_names, key=same.__contains__)))


def table_of(rows: pa.Table, cell: int = CELL) -> dg.MetadataValue:
    """Return a small table that Dagster shows at once, in which no cell is rendered as Markdown or HTML.

    Args:
        rows: shown in full; values are texts, so that no browser rounds a long number.
        cell: characters per cell; longer ones are cut.
    """
    records = [dg.TableRecord(row) for row in cells_of(rows, cell)]
    return dg.MetadataValue.table(records, dg.TableSchema([dg.TableColumn(name) for name in rows.column_names]))


_CRON = {
    Granularity.WEEK: "0 0 * * 1",
    Granularity.MONTH: "0 0 1 * *",
    Granularity.QUARTER: "0 0 1 1,4,7,10 *",
    Granularity.YEAR: "0 0 1 1 *",
}


def partitions_of(settings: Settings) -> dict[Family, dg.PartitionsDefinition[str]]:
    """Return the partitions of each family of tables; which windows there are depends on the home's settings.

    Releases are partitions of their benchmark (`tempkb.platform.definitions`). Results have no partitions.
    """
    windows = dg.TimeWindowPartitionsDefinition(
        start=instant(epoch_seconds(settings.first_window)),
        fmt="%Y-%m-%d",
        cron_schedule=_CRON[settings.granularity],
        timezone="UTC",
    )
    return {
        Family.DUMP: DUMPS,
        Family.ENTITIES: DUMPS,
        Family.WINDOW: windows,
        Family.MODEL: MODELS,
        Family.LINKER: LINKERS,
        Family.CORPUS: CORPORA,
    }


DUMPS = dg.DynamicPartitionsDefinition(name="dumps")
"""One partition per dump that was registered; the key is its `dump_id`."""

MODELS = dg.DynamicPartitionsDefinition(name="models")
"""One partition per language model; the key is its name."""

LINKERS = dg.DynamicPartitionsDefinition(name="linkers")
"""One partition per linker; the key is its name."""

CORPORA = dg.DynamicPartitionsDefinition(name="corpora")
"""One partition per corpus of dated text; the key is its name."""

CHAINED = ".dagster/tempkb_chained"
"""Tag of the runs that automation has asked for. Dagster's UI hides tags that begin with `.dagster/`."""


# Several keys are several runs.
_ONE_A_RUN = (Family.MODEL, Family.LINKER, Family.CORPUS, Family.RESULT, Family.DUMP)
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
    if done.bad:
        raise dg.Failure("\n".join(bad_in_words(task, done.bad)))
    shows = done.shows()
    for table in wanted:
        if not task.is_skippable or _has_all(order, done, table):
            told = in_dagster({**done.facts.get(table.name, {}), **shows.get(table.name, {})})
            notes = {NOTES: list(done.notes)} if done.notes else {}
            yield dg.MaterializeResult(asset_key=key_of(table), metadata={"seconds": seconds, **told, **notes})


def _has_all(order: Order, done: Done, table: Table) -> bool:
    """Was a table made for all keys of a run? What is of a quarter is of every window of the run."""
    owners = {table.owner_of(key) for name, key in done.versions if name == table.name}
    return owners >= {*order.keys} or None in owners


def facts_of_key(versions: Sequence[Version]) -> dict[str, Any]:
    """Return what Dagster shows of the versions of one of its partitions."""
    if len(versions) != 1:
        return {"dagster/row_count": sum(one.rows for one in versions), "partitions": len(versions)}
    (one,) = versions
    facts = {"dagster/row_count": one.rows, "version": one.version, "bytes": sum(file.bytes for file in one.files)}
    return facts | {f"left out/{row['reason']}": row["n"] for row in one.side_rows(EXCLUSIONS.name)}


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
    """The field of a run's configuration for an option; of several values, or of names, it is a list or a mapping."""
    if option.default is None:
        return dg.Field(str, description=option.meaning)
    kind = type(option.default) if isinstance(option.default, (bool, dict)) else kind_in_dagster(option.kind)
    default = [] if option.many else option.default
    if default == "" and kind is not str:
        kind, default = dg.Noneable(kind), None
    kind = [str] if option.many else kind
    return dg.Field(kind, is_required=False, default_value=default, description=option.meaning)


@cache
def kind_in_dagster(kind: Any) -> Any:
    """Return Dagster's type of values; text where people write them in a way of their own, or of several types."""
    base, notes = annotated(kind)
    parts = [one for one in get_args(base) if one is not NoneType]
    if any(callable(one) or isinstance(one, Form) for one in notes):
        return str
    if get_origin(base) in (Union, UnionType) and len(parts) == 1:
        return kind_in_dagster(parts[0])
    words = [*base] if isinstance(base, EnumType) else parts if get_origin(base) is Literal else []
    if words:
        # Dagster has one type by a name.
        return dg.Enum("_or_".join(map(str, words)), [dg.EnumValue(str(word)) for word in words])
    return base if base in (bool, int, float) else str


# Seconds that one run may wait for the DuckDB file in all; the next run publishes what is left.
PATIENCE_SECONDS = 10.0
# Locks that the process holds until it ends, for after its resources are gone it has yet to say how the run ended.
_HELD = contextlib.ExitStack()


def store_resource(tables: Sequence[Table], views: Sequence[View]) -> dg.ResourceDefinition:
    """Return the resource `store` for the home that `TEMPKB_HOME` names."""

    @dg.resource(description="The home's lake and its DuckDB file.")
    def store(context: dg.InitResourceContext) -> Iterator[Store]:
        home = load_home()
        store = Store(home, tables, Patience(PATIENCE_SECONDS), views)
        if context.run_id:
            _HELD.enter_context(at_work(own(home.path, home.working), [name_of_run(context.run_id)]))
        try:
            yield store
        finally:
            publication = store.publish()
            for said in filter(None, (publication.set_aside, publication.reason, *publication.damaged)):
                if context.log is not None:
                    context.log.warning(said)

    return store


_PARTITION = "dagster/partition"
_FIRST, _LAST = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"


def check_of(
    promise: Promise,
    partitions: dg.PartitionsDefinition[str] | None,
    asset: dg.AssetKey | None = None,
    judged: Callable[[Store, Subject], Verdict] | None = None,
) -> dg.AssetChecksDefinition:
    """Return the asset check of a promise.

    Args:
        partitions: those of the asset; None if it has none.
        asset: at which the check is shown; by default that of the promise's table.
        judged: takes the place of the promise's own judgement, where that needs to know more.
    """
    key, judge = asset or dg.AssetKey(promise.about.name), judged or promise.judged
    is_run_in_ranges = isinstance(partitions, dg.TimeWindowPartitionsDefinition)
    with warnings.catch_warnings():
        # Partitions of checks are a preview in Dagster 1.13; the version is pinned, and tests tell whether they work.
        warnings.simplefilter("ignore", dg.PreviewWarning)

        @dg.asset_check(
            asset=key,
            name=promise.name,
            description=promise.meaning,
            partitions_def=None if is_run_in_ranges else partitions,
        )
        def check(context: dg.AssetCheckExecutionContext, store: dg.ResourceParam[Store]):  # type: ignore[no-untyped-def]  # noqa: ANN202 - a generator of results
            keys = keys_of_run(context, partitions)
            facts = _facts_of_run(context, key) if promise.finds is not None else {}
            verdict = judge(store, Subject(keys, facts))
            if partitions is None or is_run_in_ranges or context.has_partition_key:
                yield dg.AssetCheckResult(**_told(_unless_absent(store, promise, keys, verdict)))
                return
            # In a run over several partitions, or over none, Dagster 1.13 takes no `AssetCheckResult`.
            yield dg.Output(None)
            for one in keys if keys is not None else (None,):
                told = _told(_unless_absent(store, promise, one and [one], verdict))
                yield dg.AssetCheckEvaluation(asset_key=key, check_name=promise.name, partition=one, **told)

    return check


def _told(verdict: Verdict) -> dict[str, Any]:
    severity = dg.AssetCheckSeverity.WARN if verdict.is_warning else dg.AssetCheckSeverity.ERROR
    return {"passed": verdict.passed, "severity": severity, "metadata": verdict.facts}


def _unless_absent(store: Store, promise: Promise, keys: Sequence[str] | None, verdict: Verdict) -> Verdict:
    """Return a verdict, or that there is nothing to judge: none of the partitions stands that a check is about."""
    if keys is None or versions_of(store, promise.about, Subject(keys)):
        return verdict
    return Verdict(False, {"found": f"no rows of {', '.join(keys)}: not built, or its build has failed"}, True)


def keys_of_run(
    context: dg.AssetCheckExecutionContext, partitions: dg.PartitionsDefinition[str] | None
) -> list[str] | None:
    """Return the partitions that the run of a check is about; None if it names none, and so is about all."""
    tags = context.run.tags
    if _PARTITION in tags:
        return [tags[_PARTITION]]
    if partitions is None or _FIRST not in tags:
        return None
    ends = [tags[_FIRST], tags[_LAST]]
    if not isinstance(partitions, dg.DynamicPartitionsDefinition):
        return list(partitions.get_partition_keys_in_range(dg.PartitionKeyRange(*ends)))
    keys = list(context.instance.get_dynamic_partitions(partitions.name or ""))
    # A step of the run may have taken an end of the range out.
    return keys[keys.index(ends[0]) : keys.index(ends[1]) + 1] if {*ends} <= {*keys} else ends


def _facts_of_run(context: dg.AssetCheckExecutionContext, asset: dg.AssetKey) -> Mapping[str, Any]:
    """What a step of this run has reported of an asset; nothing if none has made it."""
    event = context.instance.get_latest_materialization_event(asset)
    made = event.asset_materialization if event is not None and event.run_id == context.run.run_id else None
    return {name: value.value for name, value in made.metadata.items()} if made is not None else {}
