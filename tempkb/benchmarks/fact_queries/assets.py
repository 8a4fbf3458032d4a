"""When the shared tables of a release of facts are made: once per name; what stands is never written again."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import dagster as dg

from tempkb.benchmarks.assets import forgetting_withdrawn
from tempkb.benchmarks.fact_queries import releases
from tempkb.benchmarks.fact_queries.asking import told_of_queries
from tempkb.benchmarks.fact_queries.building import build_spells
from tempkb.benchmarks.fact_queries.checking import PROMISES
from tempkb.benchmarks.fact_queries.design import make_design
from tempkb.benchmarks.fact_queries.selection import NO_STATEMENT, NO_WORDING
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES, FACT_SPELLS, FACT_SUBJECTS
from tempkb.benchmarks.promises import require
from tempkb.benchmarks.withdrawal import whole_or_nothing
from tempkb.store.assets import glance_of, sample_of, spec_of, table_of
from tempkb.store.lake import Version
from tempkb.store.materialise import facts_of
from tempkb.store.parquet import read_parquet
from tempkb.store.plain import plain_rows
from tempkb.store.store import Store
from tempkb.store.tables import EXCLUSIONS, Table
from tempkb.wikidata.tables import FACTS, UNDATED_STATEMENTS, WIKIDATA_ENTITIES


class FactReleaseConfig(dg.Config):
    """What a release is to be, when it was not written down before by `tempkb release`.

    Attributes:
        benchmark: `templama` or `dynamic_templama`.
        preset: `tempkb`, `paper` or `small`.
        dump_id: Wikidata dump; empty when the release is written down.
        windows: the study, as `2010-01-01..2021-01-01`.
        granularity: week, month, quarter or year.
        templates: sets of wordings, or CSV files; empty for the benchmark's own.
        changes: part of the design -> value.
    """

    benchmark: str = "templama"
    preset: str = "tempkb"
    dump_id: str = ""
    windows: str = ""
    granularity: str = "year"
    templates: list[str] = []  # noqa: RUF012 - pydantic copies it
    changes: dict[str, str] = {}  # noqa: RUF012


def of_release(
    table: Table, description: str, sources: Sequence[str]
) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """Return a decorator for what makes one table of a release; several releases are made in one run."""
    return dg.multi_asset(
        name=table.name,
        specs=[spec_of(table, description, sources)],
        backfill_policy=dg.BackfillPolicy.single_run(),
    )


def shown_of_queries(versions: Sequence[Version]) -> dict[str, dg.MetadataValue]:
    """Return what the UI shows of the queries of a release."""
    told = told_of_queries(versions)
    return {
        "by_relation": table_of(told.by_relation),
        "glance": glance_of(told.dates, {"queries": told.by_date}),
        "picture": dg.MetadataValue.md(told.picture),
        "sample": table_of(told.sample),
    }


_OF_DUMP = [
    dg.AssetDep(table.name, partition_mapping=dg.AllPartitionMapping())
    for table in (FACTS, UNDATED_STATEMENTS, WIKIDATA_ENTITIES)
]


@dg.multi_asset(
    name="fact_queries",
    specs=[
        spec_of(
            FACT_SUBJECTS,
            "Subjects that a release asks about, by relation; what is left out is counted in `exclusions`. "
            "Key `relation, subject_id`.",
            _OF_DUMP,
        ),
        spec_of(
            FACT_SPELLS,
            "When each object of a subject was its object: facts that touch are joined, gaps kept. "
            "Key `subject_id, relation, object_id, spell_no`.",
            _OF_DUMP,
        ),
        spec_of(FACT_RELEASES, "Releases of facts with their designs. Key `release`.", [FACT_SPELLS.name]),
    ],
    backfill_policy=dg.BackfillPolicy.single_run(),
)
def fact_queries(
    context: dg.AssetExecutionContext, config: FactReleaseConfig, store: dg.ResourceParam[Store]
) -> Iterator[dg.MaterializeResult[None]]:
    """Choose subjects and join their facts, for a release of either benchmark."""
    if config.dump_id:
        _write_down(context, config, store)
    told: dict[str, dict[str, Any]] = {}
    for name in context.partition_keys:
        began = time.monotonic()
        # Read outside, so that the name of another benchmark's release takes nothing of that one back.
        release = releases.load(store.home, name)
        with forgetting_withdrawn(context, store, name), whole_or_nothing(store, name):
            versions = build_spells(store, release, context.log.info)
            require(store, PROMISES, name)
        publication = store.publish()
        for table in (FACT_SUBJECTS, FACT_SPELLS, FACT_RELEASES):
            version = versions[table.name]
            told[table.name] = facts_of(version, publication)
            left_out = {f"left out/{row['reason']}": row["n"] for row in version.side_rows(EXCLUSIONS.name)}
            seconds = {"seconds": round(time.monotonic() - began, 2)}
            context.add_asset_metadata(
                {**told[table.name], **left_out, **seconds}, asset_key=table.name, partition_key=name
            )
            told[table.name]["sample"] = sample_of(version)
        warning = _unasked(versions[FACT_SUBJECTS.name])
        if warning:
            context.log.warning(warning)
            told[FACT_SUBJECTS.name]["warning"] = warning
        told[FACT_RELEASES.name]["design"] = plain_rows(read_parquet(version.paths()))[0]["design"]
    for table_name, facts in told.items():
        yield dg.MaterializeResult(asset_key=table_name, metadata=facts)


def _write_down(context: dg.AssetExecutionContext, config: FactReleaseConfig, store: Store) -> None:
    """Write down a release that is asked for by the run's configuration."""
    name = context.partition_key
    with forgetting_withdrawn(context, store, name):
        design = make_design(
            config.benchmark,
            config.preset,
            config.dump_id,
            config.windows,
            config.granularity,
            config.templates,
            config.changes,
        )
        releases.keep(store.home, releases.create(store.home, config.benchmark, config.preset, design, name))


def _unasked(subjects: Version) -> str:
    """Which relations of the templates are not asked about, and why; empty if all are."""
    found = {row["reason"]: row["example"] for row in subjects.side_rows(EXCLUSIONS.name)}
    return "; ".join(f"not asked about: {found[why]} ({why})" for why in (NO_STATEMENT, NO_WORDING) if why in found)
