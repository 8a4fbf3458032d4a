"""The room's Dagster assets: texts and links by quarter, all other tables by window."""

import time
from collections.abc import Iterator
from typing import Any

import dagster as dg

from tempkb.dumps.tables import NAMESPACES
from tempkb.errors import ContractError, TempkbError
from tempkb.failures import windows_in_words
from tempkb.mentions.building import WRITERS, connected
from tempkb.mentions.cleaning import clean_quarters, stale_quarters
from tempkb.mentions.tables import ENTITY_POPULARITY, INVERTED_INDEX, MENTION_PRIORS, MENTIONS, PAGE_LINKS, PAGE_TEXTS
from tempkb.partitions import DUMP_OF_WINDOW
from tempkb.revisions.tables import PAGE_WIKITEXTS, STABLE_SNAPSHOTS
from tempkb.store.assets import sample_of, spec_of
from tempkb.store.materialise import facts_of
from tempkb.store.store import Store
from tempkb.store.tables import EXCLUSIONS, Table
from tempkb.windows import Window, window_of_key

_OF_WIKITEXTS: list[Any] = [PAGE_WIKITEXTS.name, dg.AssetDep(NAMESPACES.name, partition_mapping=DUMP_OF_WINDOW)]


@dg.multi_asset(
    name="clean_texts",
    specs=[
        spec_of(table, description, deps)
        for table, description, deps in (
            (
                PAGE_TEXTS,
                "Readable text of every winning revision, each cleaned once. Key `page_id, revision_id`; "
                "partitioned in the lake by the quarter in which the revision was saved.",
                _OF_WIKITEXTS,
            ),
            (
                PAGE_LINKS,
                "Links in the readable texts as written, with their spans. Key `page_id, revision_id, start_char`.",
                [PAGE_TEXTS.name],
            ),
        )
    ],
    backfill_policy=dg.BackfillPolicy.single_run(),
)
def clean_texts(
    context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]
) -> Iterator[dg.MaterializeResult[None]]:
    """Clean the new revisions of every quarter, whichever windows the run names."""
    _windows_of_run(context, store)
    began = time.monotonic()
    versions = clean_quarters(store, stale_quarters(store), context.log.info)
    for table in (PAGE_TEXTS, PAGE_LINKS):
        everything = store.lake.versions(table.name)
        written = [version for (name, _), version in versions.items() if name == table.name]
        facts: dict[str, Any] = {
            "dagster/row_count": sum(one.rows for one in everything),
            "quarters_written": len(written),
            # The asset check reads which quarters this run has written.
            "quarters": sorted(version.partition for version in written),
            "seconds": round(time.monotonic() - began, 2),
        }
        if everything:
            facts["sample"] = sample_of(everything[-1])
        for key in context.partition_keys:
            context.add_asset_metadata(
                {"dagster/row_count": facts["dagster/row_count"]}, asset_key=table.name, partition_key=key
            )
        yield dg.MaterializeResult(asset_key=table.name, metadata=facts)


def _window_asset(table: Table, description: str, sources: list[str]) -> dg.AssetsDefinition:
    """Return the asset of a table that is written window by window; if a window fails, the others are still written."""
    spec = spec_of(table, description, sources)

    @dg.multi_asset(name=table.name, specs=[spec], backfill_policy=dg.BackfillPolicy.single_run())
    def made(context: dg.AssetExecutionContext, store: dg.ResourceParam[Store]) -> dg.MaterializeResult[None]:
        began = time.monotonic()
        bad, versions = {}, {}
        with connected(store) as connection:
            for window in _windows_of_run(context, store):
                try:
                    version = versions[window.key] = WRITERS[table.name](store, window, connection)
                    context.log.info(f"{window.label}: {version.rows:,} rows")
                except TempkbError as error:
                    bad[window.key] = str(error)
        if bad:
            for key, version in versions.items():
                context.log_event(dg.AssetMaterialization(table.name, partition=key, metadata=facts_of(version)))
            raise dg.Failure(windows_in_words(bad, table.name))
        for key, version in versions.items():
            left_out = {f"left out/{row['reason']}": row["n"] for row in version.side_rows(EXCLUSIONS.name)}
            context.add_asset_metadata({**facts_of(version), **left_out}, partition_key=key)
        last = versions[max(versions)]
        facts: dict[str, Any] = {
            "seconds": round(time.monotonic() - began, 2),
            "sample": sample_of(last),
        }
        return dg.MaterializeResult(metadata=facts)

    return made


mentions = _window_asset(
    MENTIONS,
    "Links from one article to another, resolved at the cut, with redirects followed, and whether a redirect leads to "
    "a section only. Other links are counted in `exclusions`. Key `source_page_id, start_char`.",
    [PAGE_LINKS.name, STABLE_SNAPSHOTS.name],
)
inverted_index = _window_asset(
    INVERTED_INDEX,
    "For each entity and surface at the cut, the articles that mention the entity with this surface. "
    "Key `target_page_id, surface, source_page_id`.",
    [MENTIONS.name],
)
mention_priors = _window_asset(
    MENTION_PRIORS,
    "How likely a surface means an entity at the cut, with its rank among surfaces and among entities. "
    "Key `surface, target_page_id`.",
    [INVERTED_INDEX.name],
)
entity_popularity = _window_asset(
    ENTITY_POPULARITY,
    "How often each article is mentioned and edited up to the cut. Key `page_id`.",
    [MENTION_PRIORS.name, STABLE_SNAPSHOTS.name],
)


def _windows_of_run(context: dg.AssetExecutionContext, store: Store) -> list[Window]:
    if not context.partition_keys:
        raise ContractError("the run names no window; expected a partition key or a range of them")
    return [window_of_key(key, store.home.settings.granularity) for key in context.partition_keys]
