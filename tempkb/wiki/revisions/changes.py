"""What a rebuild from another dump changed, page by page, and why.

Compares the old and new log and snapshot of a window. The new dump's own list of
pages shows which pages were deleted.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from tempkb.core.windows import Window
from tempkb.store.drafts import Provenance
from tempkb.store.memory import asking, view_files
from tempkb.store.store import Store
from tempkb.store.versions import Version
from tempkb.wiki.dumps.tables import PAGES
from tempkb.wiki.revisions.tables import REBUILD_CHANGES, REVISION_LOG, STABLE_SNAPSHOTS


@dataclass(frozen=True)
class Rebuilt:
    """A window before and after a rebuild.

    Attributes:
        old, new: versions by table: `revision_log`, `stable_snapshots`; without a table that was not built.
    """

    window: Window
    old: dict[str, Version]
    new: dict[str, Version]

    @property
    def is_changed(self) -> bool:
        """Did anything change?"""
        return any(name in self.new and self.new[name].version != one.version for name, one in self.old.items())


def write_changes(store: Store, rebuilt: Rebuilt, pages: Sequence[Version], provenance: Provenance) -> Version:
    """Write the table `rebuild_changes` of a window, replacing the rows of an earlier rebuild.

    Args:
        pages: the partition of `pages` that lists the pages of the new dump.
    """
    return store.write(REBUILD_CHANGES, rebuilt.window.key, _rows(rebuilt, pages), provenance)


def counts_of(version: Version, rows: pa.Table) -> dict[str, int]:
    """Count the pages of `rebuild_changes` by kind of change, in the order of the kinds' names."""
    return dict(sorted(Counter(rows["change"].to_pylist()).items())) if version.rows else {}


def _rows(rebuilt: Rebuilt, pages: Sequence[Version]) -> Iterator[pa.Table]:
    with asking() as memory:
        for side, versions in (("old", rebuilt.old), ("new", rebuilt.new)):
            for table in (REVISION_LOG, STABLE_SNAPSHOTS):
                version = versions.get(table.name)
                view_files(memory, f"{side}_{table.name}", version.paths() if version else [], table.schema)
        paths = [path for version in pages for path in version.paths()]
        view_files(memory, "new_pages", paths, PAGES.schema)
        start, cut = rebuilt.window.start.isoformat(), rebuilt.window.cut.isoformat()
        yield REBUILD_CHANGES.conform(memory.sql(_QUERY, params={"start": start, "cut": cut}).to_arrow_table())


# One row per page and kind of change. `logs` compares revisions, `snapshots` chosen revisions. A revision that now
# belongs to another page was moved there by a merge of histories; it is neither removed here nor imported there.
_QUERY = """
WITH logs AS (
    SELECT coalesce(o.page_id, n.page_id) AS page_id, coalesce(o.revision_id, n.revision_id) AS revision_id,
           o.page_id IS NOT NULL AS was_there, n.page_id IS NOT NULL AS is_there,
           coalesce(n.is_suppressed, false) AND NOT coalesce(o.is_suppressed, true) AS hidden
    FROM old_revision_log o FULL JOIN new_revision_log n USING (page_id, revision_id)
    WHERE (SELECT count(*) FROM old_revision_log) > 0
), moved AS (
    SELECT g.page_id, g.revision_id, c.page_id AS other_page_id
    FROM logs g JOIN logs c USING (revision_id) WHERE g.was_there AND NOT g.is_there AND c.is_there AND NOT c.was_there
), snapshots AS (
    SELECT coalesce(o.page_id, n.page_id) AS page_id, coalesce(n.title, o.title) AS title,
           o.page_id IS NOT NULL AS was_there, n.page_id IS NOT NULL AS is_there,
           o.has_text AND NOT n.has_text AS hidden,
           o.revision_id AS old_revision_id, n.revision_id, o.entity_id AS old_entity_id, n.entity_id
    FROM old_stable_snapshots o FULL JOIN new_stable_snapshots n USING (page_id)
    WHERE (SELECT count(*) FROM old_stable_snapshots) > 0
), kinds AS (
    SELECT page_id, 'merged' AS change, count(*) AS n_revisions, min(other_page_id) AS other_page_id
    FROM moved GROUP BY page_id
    UNION ALL
    SELECT page_id, 'imported', count(*), NULL FROM logs
    WHERE is_there AND NOT was_there AND revision_id NOT IN (SELECT revision_id FROM moved) GROUP BY page_id
    UNION ALL
    SELECT page_id, 'removed', count(*), NULL FROM logs
    WHERE was_there AND NOT is_there AND revision_id NOT IN (SELECT revision_id FROM moved)
      AND page_id IN (SELECT page_id FROM new_pages) GROUP BY page_id
    UNION ALL
    SELECT page_id, 'suppressed', sum(n)::BIGINT, NULL FROM (
        SELECT page_id, count(*) AS n FROM logs WHERE hidden GROUP BY page_id
        UNION ALL SELECT page_id, 0 FROM snapshots WHERE hidden
    ) GROUP BY page_id
    UNION ALL
    SELECT page_id, 'deleted', sum(n)::BIGINT, NULL FROM (
        SELECT page_id, count(*) AS n FROM logs WHERE was_there AND NOT is_there
          AND revision_id NOT IN (SELECT revision_id FROM moved) GROUP BY page_id
        UNION ALL SELECT page_id, 0 FROM snapshots WHERE was_there AND NOT is_there
    ) WHERE page_id NOT IN (SELECT page_id FROM new_pages) GROUP BY page_id
    UNION ALL
    SELECT page_id, 'left', 0, NULL FROM snapshots
    WHERE was_there AND NOT is_there AND page_id IN (SELECT page_id FROM new_pages)
    UNION ALL
    SELECT page_id, 'come', 0, NULL FROM snapshots WHERE is_there AND NOT was_there
    UNION ALL
    SELECT page_id, 'winner_changed', 0, NULL FROM snapshots
    WHERE was_there AND is_there AND old_revision_id <> revision_id
    UNION ALL
    SELECT page_id, 'item_changed', 0, NULL FROM snapshots
    WHERE was_there AND is_there AND old_entity_id IS DISTINCT FROM entity_id
)
SELECT (SELECT min(wiki) FROM (FROM new_stable_snapshots UNION ALL BY NAME FROM new_revision_log)) AS wiki,
       (SELECT max(dump_id) FROM (FROM new_stable_snapshots UNION ALL BY NAME FROM new_revision_log)) AS dump_id,
       (SELECT max(dump_id) FROM (FROM old_stable_snapshots UNION ALL BY NAME FROM old_revision_log))
           AS previous_dump_id,
       CAST($start AS DATE) AS window_start, CAST($cut AS DATE) AS cut, page_id, title, change, n_revisions,
       other_page_id, old_revision_id, revision_id, old_entity_id, entity_id
FROM kinds LEFT JOIN snapshots USING (page_id)
ORDER BY page_id, change
"""
