"""The asset that writes the room's tables, in one pass over a dump for all windows of the run."""

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import dagster as dg

from tempkb.dumps.tables import DUMP_FILES, PAGES
from tempkb.errors import ContractError
from tempkb.failures import windows_in_words
from tempkb.partitions import DUMP_OF_WINDOW
from tempkb.revisions.building import Log, Report, build
from tempkb.revisions.plans import plan_windows
from tempkb.revisions.plots import plot_windows
from tempkb.revisions.sitelinks import link_windows
from tempkb.revisions.tables import ALL, PAGE_WIKITEXTS, REBUILD_CHANGES, REVISION_LOG, STABLE_SNAPSHOTS
from tempkb.store.assets import glance_of, sample_of, spec_of
from tempkb.store.materialise import facts_of
from tempkb.store.store import Store
from tempkb.store.versions import Version
from tempkb.windows import Window, window_of_key


class HistoryConfig(dg.Config):
    """Options of a run.

    Attributes:
        dump_id: build the windows from this dump; empty: the catalogue chooses the earliest one that reaches them.
        rebuild: also build windows that were built from another dump, and report what changed.
        only_listed: use no dump in the folder without its publisher's list; set in runs that automation starts.
        only_items: read no dump; update the Wikidata items of the built snapshots from `pages` and the Wikidata dumps
            that have been read.
    """

    dump_id: str = ""
    rebuild: bool = False
    only_listed: bool = False
    only_items: bool = False


_spec = partial(spec_of, skippable=True)
_OF_DUMPS = [dg.AssetDep(DUMP_FILES.name, partition_mapping=DUMP_OF_WINDOW)]
_WITH_PAGES = [dg.AssetDep(PAGES.name, partition_mapping=DUMP_OF_WINDOW)]

PROMISES = "keeps_its_promises"
ACCOUNTED = "every_revision_element_is_accounted_for"


@dg.multi_asset(
    name="revisions",
    specs=[
        _spec(
            REVISION_LOG,
            "Every revision of every page, without its text, by the window in which it was saved. "
            "Key `page_id, revision_id`.",
            _OF_DUMPS,
        ),
        _spec(
            STABLE_SNAPSHOTS,
            "For each page and cut, the revision whose text was current longest in the days before the cut. "
            "Key `page_id`.",
            [REVISION_LOG.name, *_WITH_PAGES],
        ),
        _spec(
            PAGE_WIKITEXTS,
            "Raw wikitext of every revision that was chosen at some cut, each once. Key `page_id, revision_id`; "
            "in the lake by the quarter in which the revision was saved.",
            [STABLE_SNAPSHOTS.name],
        ),
        _spec(
            REBUILD_CHANGES,
            "Changes that the last rebuild of a window made, page by page: deletions, suppressions, imports, merges. "
            "Key `page_id, change`; a window that was never rebuilt has none.",
            [REVISION_LOG.name, STABLE_SNAPSHOTS.name],
        ),
    ],
    check_specs=[
        dg.AssetCheckSpec(PROMISES, asset=REVISION_LOG.name, blocking=True, description="Schema, key and rules hold."),
        dg.AssetCheckSpec(
            PROMISES, asset=STABLE_SNAPSHOTS.name, blocking=True, description="Schema, key and rules hold."
        ),
        dg.AssetCheckSpec(
            ACCOUNTED,
            asset=REVISION_LOG.name,
            description="Rows, exclusions and losses add up to the <revision> tags counted in the bytes.",
        ),
    ],
    can_subset=True,
    backfill_policy=dg.BackfillPolicy.single_run(),
)
def revisions(
    context: dg.AssetExecutionContext, config: HistoryConfig, store: dg.ResourceParam[Store]
) -> Iterator[dg.MaterializeResult[None] | dg.AssetCheckResult]:
    """Read each dump once and write log, snapshots and texts of all windows of the run."""
    keys = context.partition_keys
    if not keys:
        raise ContractError("the run names no window; expected a partition key or a range of them")
    began = time.monotonic()
    windows = [window_of_key(key, store.home.settings.granularity) for key in keys]
    wanted = frozenset(key.to_user_string() for key in context.selected_asset_keys) & ALL
    report = _built(store, windows, config, wanted, context.log.info)
    seconds = round(time.monotonic() - began, 2)
    for (name, partition), version in report.versions.items():
        if name in (PAGES.name, REBUILD_CHANGES.name):
            context.log_event(dg.AssetMaterialization(name, partition=partition, metadata=facts_of(version)))
    facts = {
        (name, key): {**facts_of(built), **_changes(report, key), "window": window.label}
        for name in sorted(wanted - {PAGE_WIKITEXTS.name})
        for key, window in zip(keys, windows, strict=True)
        if (built := _version(store, report, name, key)) is not None and key not in report.bad
    }
    if PAGE_WIKITEXTS.name in wanted:
        # In the lake, texts are partitioned by quarter, so each window reports the figures of all texts.
        texts = store.lake.versions(PAGE_WIKITEXTS.name)
        text_facts = {"dagster/row_count": sum(one.rows for one in texts), "quarters_written": len(report.texts)}
        facts |= {(PAGE_WIKITEXTS.name, key): text_facts for key in keys if key not in report.bad}
    yield from _checks(report, wanted)
    if report.bad:
        for (name, key), metadata in facts.items():
            context.log_event(dg.AssetMaterialization(name, partition=key, metadata=metadata))
        raise dg.Failure(windows_in_words(report.bad))
    for (name, key), metadata in facts.items():
        context.add_asset_metadata(metadata, asset_key=name, partition_key=key)
    for name in (REVISION_LOG.name, STABLE_SNAPSHOTS.name, PAGE_WIKITEXTS.name):
        if name in wanted:
            yield dg.MaterializeResult(asset_key=name, metadata=_shared_facts(store, report, name, keys[-1], seconds))


def _built(store: Store, windows: Sequence[Window], config: HistoryConfig, wanted: frozenset[str], log: Log) -> Report:
    """Read the dumps that serve the windows, or only update the windows' Wikidata items."""
    if config.only_items:
        return Report(versions=link_windows(store, windows))
    plans, known, missing = plan_windows(store.home, windows, config.dump_id, only_listed=config.only_listed)
    report = build(store, plans, known, log, wanted=wanted, rebuild=config.rebuild)
    report.bad |= missing
    return report


def _version(store: Store, report: Report, table: str, key: str) -> Version | None:
    """Return the version of a window; for the texts, which are partitioned by quarter, the newest that was written."""
    if table == PAGE_WIKITEXTS.name:
        return report.texts[max(report.texts)] if report.texts else None
    return report.versions.get((table, key)) or store.lake.current(table, key)


def _changes(report: Report, key: str) -> Mapping[str, Any]:
    if key in report.kept:
        return {"kept": "built before from another dump; --rebuild would replace it"}
    return {f"rebuild/{what}": n for what, n in report.changes.get(key, {}).items()}


def _shared_facts(store: Store, report: Report, table: str, last_key: str, seconds: float) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "seconds": seconds,
        "windows_kept": len(report.kept),
        "worker_peak_mb": report.peak_mb,
        "worker_cpu_seconds": round(report.cpu_seconds, 2),
    }
    version = _version(store, report, table, last_key)
    if version is not None:
        facts["sample"] = sample_of(version)
    if table == STABLE_SNAPSHOTS.name:
        snapshots = store.lake.versions(STABLE_SNAPSHOTS.name)
        edits = {one.partition: one.rows for one in store.lake.versions(REVISION_LOG.name)}
        labels = [window_of_key(one.partition, store.home.settings.granularity).label for one in snapshots]
        rows = [one.rows for one in snapshots]
        saved = [edits.get(one.partition, 0) for one in snapshots]
        facts["glance"] = glance_of(labels, {"pages at the cut": rows, "edits in the window": saved})
        facts["plot"] = dg.MetadataValue.md(plot_windows(labels, rows, saved))
    if report.warnings:
        facts["warning"] = "; ".join(report.warnings)
    if report.damages:
        facts["damaged_files"] = dg.MetadataValue.json(report.damages)
    return facts


def _checks(report: Report, wanted: frozenset[str]) -> Iterator[dg.AssetCheckResult]:
    for table in (REVISION_LOG, STABLE_SNAPSHOTS):
        if table.name in wanted:
            broken = {key: why for key, why in report.bad.items() if f"table {table.name!r}" in why}
            metadata: dict[str, Any] = {
                "rules": dg.MetadataValue.json([f"{rule.name}: {rule.meaning}" for rule in table.rules])
            }
            metadata |= {f"window {key}": dg.MetadataValue.text(why) for key, why in broken.items()}
            yield dg.AssetCheckResult(asset_key=table.name, check_name=PROMISES, passed=not broken, metadata=metadata)
    if REVISION_LOG.name in wanted:
        counted = {dump_id: dg.MetadataValue.json(vars(counts)) for dump_id, counts in report.counts.items()}
        agree = all(counts.agree for counts in report.counts.values())
        yield dg.AssetCheckResult(asset_key=REVISION_LOG.name, check_name=ACCOUNTED, passed=agree, metadata=counted)
