"""The room's Dagster assets: texts and links by quarter, all other tables by window."""

import time
from collections.abc import Iterator
from typing import Any

import dagster as dg

from tempkb.dumps.tables import NAMESPACES
from tempkb.engine.assets import asset_of
from tempkb.engine.steps import bring
from tempkb.mentions.steps import BY_WINDOW, CLEAN, STEPS
from tempkb.mentions.tables import PAGE_LINKS, PAGE_TEXTS
from tempkb.partitions import DUMP_OF_WINDOW
from tempkb.revisions.steps import STEPS as REVISIONS_STEPS
from tempkb.revisions.tables import PAGE_WIKITEXTS
from tempkb.store.assets import sample_of, spec_of
from tempkb.store.store import Store

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
    began = time.monotonic()
    brought = bring(store, STEPS, CLEAN, store.lake.partitions(PAGE_WIKITEXTS.name), context.log.info)
    for table in (PAGE_TEXTS, PAGE_LINKS):
        everything = store.lake.versions(table.name)
        written = [version for (name, _), version in brought.made.items() if name == table.name]
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


mentions, inverted_index, mention_priors, entity_popularity = (
    asset_of(step, description, (*REVISIONS_STEPS, *STEPS))
    for step, description in zip(
        BY_WINDOW,
        (
            "Links from one article to another, resolved at the cut, with redirects followed, and whether a redirect "
            "leads to a section only. Other links are counted in `exclusions`. Key `source_page_id, start_char`.",
            "For each entity and surface at the cut, the articles that mention the entity with this surface. "
            "Key `target_page_id, surface, source_page_id`.",
            "How likely a surface means an entity at the cut, with its rank among surfaces and among entities. "
            "Key `surface, target_page_id`.",
            "How often each article is mentioned and edited up to the cut. Key `page_id`.",
        ),
        strict=True,
    )
)
