"""Is it so? Checks that compare the room's tables with one another, over the lake."""

import dagster as dg

from tempkb.mentions.tables import INVERTED_INDEX, MENTION_PRIORS, MENTIONS, PAGE_LINKS, PAGE_TEXTS
from tempkb.store.memory import in_memory
from tempkb.store.quoting import file_names
from tempkb.store.store import Store


@dg.asset_check(asset=PAGE_LINKS.name)
def surfaces_stand_in_their_texts(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """Every surface is what the clean text holds at its span."""
    texts, links = (_files(store, table) for table in (PAGE_TEXTS.name, PAGE_LINKS.name))
    return _result(
        """
        SELECT l.page_id, l.revision_id, l.surface FROM read_parquet($links) AS l
        LEFT JOIN read_parquet($texts) AS t USING (page_id, revision_id)
        WHERE t.text IS NULL OR substring(t.text, l.start_char + 1, l.end_char - l.start_char) <> l.surface
        """,
        texts=texts, links=links,
    )  # fmt: skip


@dg.asset_check(asset=MENTION_PRIORS.name)
def priors_of_a_surface_add_up(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """At each cut the priors of a surface sum to one, and links are as many as mentions of whole articles."""
    return _result(
        """
        SELECT cut, surface, sum(prior) FROM read_parquet($priors) GROUP BY cut, surface
        HAVING abs(sum(prior) - 1) > 1e-9
        UNION ALL
        SELECT cut, 'links', sum(n) FROM (
            SELECT cut, sum(n_links) AS n FROM read_parquet($priors) GROUP BY cut
            UNION ALL
            SELECT cut, -count(*) AS n FROM read_parquet($mentions) WHERE via_redirect <> 'section' GROUP BY cut
        ) GROUP BY cut HAVING sum(n) <> 0
        """,
        priors=_files(store, MENTION_PRIORS.name), mentions=_files(store, MENTIONS.name),
    )  # fmt: skip


@dg.asset_check(asset=INVERTED_INDEX.name)
def the_index_counts_every_mention(store: dg.ResourceParam[Store]) -> dg.AssetCheckResult:
    """At each cut the index holds as many mentions as there are of whole articles."""
    return _result(
        """
        SELECT cut, sum(n), '' FROM (
            SELECT cut, sum(n_mentions) AS n FROM read_parquet($index) GROUP BY cut
            UNION ALL
            SELECT cut, -count(*) AS n FROM read_parquet($mentions) WHERE via_redirect <> 'section' GROUP BY cut
        ) GROUP BY cut HAVING sum(n) <> 0
        """,
        index=_files(store, INVERTED_INDEX.name), mentions=_files(store, MENTIONS.name),
    )  # fmt: skip


def _files(store: Store, table: str) -> list[str]:
    return file_names(store.lake.files(table))


def _result(query: str, **files: list[str]) -> dg.AssetCheckResult:
    if not all(files.values()):
        return dg.AssetCheckResult(passed=True, metadata={"compared": 0})
    with in_memory() as memory:
        broken = memory.execute(query, files).fetchall()
    return dg.AssetCheckResult(
        passed=not broken, metadata={"broken": len(broken), "examples": [str(row) for row in broken[:5]] or ["none"]}
    )
