"""The methods of TempEL, which the code that all benchmarks share calls."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa

from tempkb.benchmarks.loading import config_of_table
from tempkb.benchmarks.methods import (
    Closing,
    Made,
    Methods,
    Options,
    Step,
    Versions,
)
from tempkb.benchmarks.register import partition_of
from tempkb.benchmarks.tempel.building import write_release
from tempkb.benchmarks.tempel.card import card_of, plot_figures
from tempkb.benchmarks.tempel.design import Design, Release, balanced, extended, make_design, read_entry, read_snapshots
from tempkb.benchmarks.tempel.entity_texts import write_entity_texts
from tempkb.benchmarks.tempel.exporting import write_files
from tempkb.benchmarks.tempel.new_entities import write_new_entities
from tempkb.benchmarks.tempel.tables import (
    ENTITY_TEXTS,
    TEMPEL_ENTITIES,
    TEMPEL_FILTERS,
    TEMPEL_MENTIONS,
    TEMPEL_NEW_ENTITIES,
    TEMPEL_PLANS,
    TEMPEL_RELEASES,
    TEMPEL_STATISTICS,
)
from tempkb.benchmarks.work import ReleaseWork
from tempkb.core.files import read_parquet
from tempkb.core.windows import refuse_future_cuts
from tempkb.core.wording import counted
from tempkb.engine.tasks import Picture, Rows, Shows
from tempkb.store.listings import Sheet
from tempkb.store.plain import plain_rows
from tempkb.store.promises import Promise
from tempkb.store.store import Store
from tempkb.store.tables import Table
from tempkb.store.versions import Version
from tempkb.wiki.mentions.tables import MENTION_PRIORS, MENTIONS, PAGE_TEXTS
from tempkb.wiki.revisions.tables import STABLE_SNAPSHOTS

PROMISES = (
    Promise(
        "snapshots_are_equal",
        "If a release is equal, all cuts have the same numbers of entities and mentions in each category and subset.",
        TEMPEL_MENTIONS,
        """
        WITH counted AS (
            SELECT m.release, len(r.cuts) AS n_cuts, m.category, m.subset, m.cut, count(*) AS n,
                   count(DISTINCT target_page_id) AS entities
            FROM tempel_mentions AS m JOIN tempel_releases AS r USING (release) WHERE r.is_equal GROUP BY ALL
        )
        SELECT release, category, subset FROM counted GROUP BY release, n_cuts, category, subset
        HAVING min(n) <> max(n) OR min(entities) <> max(entities) OR count(*) <> n_cuts
        """,
        (TEMPEL_RELEASES,),
    ),
    Promise(
        "mentions_are_as_planned",
        "Every entity has, at each cut and in each subset, exactly the planned number of mentions.",
        TEMPEL_MENTIONS,
        """
        SELECT * FROM (
            SELECT release, cut, page_id, subset, n_planned FROM tempel_plans WHERE n_planned > 0
        ) FULL JOIN (
            SELECT release, cut, target_page_id AS page_id, subset, count(*) AS n FROM tempel_mentions GROUP BY ALL
        ) USING (release, cut, page_id, subset) WHERE n_planned IS DISTINCT FROM n
        """,
        (TEMPEL_PLANS,),
    ),
    Promise(
        "categories_are_as_defined",
        "Continual entities have mentions at every cut; new ones at one cut, and they were not articles before it.",
        TEMPEL_MENTIONS,
        """
        WITH entities AS (
            SELECT release, category, target_page_id, count(DISTINCT cut) AS n_cuts, max(cut) AS cut,
                   min(target_article_since) AS since
            FROM tempel_mentions GROUP BY release, category, target_page_id
        )
        SELECT release, category, target_page_id FROM entities JOIN tempel_releases AS r USING (release)
        WHERE CASE category WHEN 'continual' THEN r.is_equal AND n_cuts <> len(r.cuts)
              ELSE n_cuts > 1 OR (r.design->>'rules' = 'tempkb' AND since
                   < list_max(list_filter(r.cuts, lambda one: one < cut))::TIMESTAMPTZ) END
        """,
        (TEMPEL_RELEASES,),
    ),
    Promise(
        "targets_are_candidates",
        "Every target is among the candidates of its cut.",
        TEMPEL_MENTIONS,
        """
        SELECT m.release, m.cut, m.target_page_id FROM tempel_mentions AS m
        ANTI JOIN tempel_entities AS e ON e.release = m.release AND e.cut = m.cut AND e.page_id = m.target_page_id
        """,
        (TEMPEL_ENTITIES,),
    ),
)


def _shown(row: tuple[Any, ...]) -> str:
    """A page of a release's snapshot in words."""
    release, cut, page, *_ = row
    return f"{release} at {cut}: page {page}"


OF_TEXTS = (
    Promise(
        "every_candidate_has_a_digest",
        "Every candidate, and nothing else, has the digest of its text at the cut.",
        ENTITY_TEXTS,
        """
        SELECT release, cut, page_id FROM tempel_entities AS e FULL JOIN entity_texts AS d USING (release, cut, page_id)
        WHERE d.revision_id IS DISTINCT FROM e.revision_id
        """,
        (TEMPEL_ENTITIES,),
        shown=_shown,
    ),
)
OF_NEW = (
    Promise(
        "every_new_entity_has_a_type",
        "Every candidate that is new at its snapshot, and no other, has a row with its type.",
        TEMPEL_NEW_ENTITIES,
        """
        SELECT release, cut, page_id FROM (FROM tempel_entities WHERE category = 'new') AS e
        FULL JOIN tempel_new_entities AS n USING (release, cut, page_id) WHERE e.title IS DISTINCT FROM n.title
        """,
        (TEMPEL_ENTITIES,),
        shown=_shown,
    ),
)


# `tempel_filters` is not among these, because balanced releases and those of early versions do not have it.
_OF_CUTS = (TEMPEL_PLANS, TEMPEL_MENTIONS, TEMPEL_ENTITIES, ENTITY_TEXTS, TEMPEL_NEW_ENTITIES)


def _design(store: Store, options: Options) -> Design:
    return make_design(options["preset"], _snapshots(store, options), options["changes"])


def _extend(store: Store, release: Release, options: Options) -> Release:
    return extended(release, _snapshots(store, options))


def _snapshots(store: Store, options: Options) -> list[date]:
    """The requested snapshots; refuse those in the future."""
    cuts = read_snapshots(options["snapshots"])
    today, granularity = datetime.now(UTC).date(), store.home.settings.granularity
    refuse_future_cuts(f"snapshots {options['snapshots']}", cuts, today, granularity)
    return cuts


def _partitions(release: Release) -> Mapping[str, Sequence[str]]:
    cuts = [partition_of(release.name, cut) for cut in release.cuts]
    once = (TEMPEL_RELEASES, TEMPEL_STATISTICS)
    return {**{table.name: cuts for table in _OF_CUTS}, **{table.name: [release.name] for table in once}}


def _each_cut(table: Table, write: Callable[[ReleaseWork, date], None]) -> Callable[[ReleaseWork], None]:
    """Return what writes a table of each cut that does not stand."""

    def run(work: ReleaseWork) -> None:
        for cut in work.release.cuts:
            if not work.stands(table, partition_of(work.release.name, cut)):
                write(work.branch(), cut)

    return run


def _shows(_store: Store, _release: Release, versions: Versions) -> Shows:
    (row,), figures = _rows(versions[TEMPEL_RELEASES.name]), _rows(versions[TEMPEL_STATISTICS.name])
    return {
        TEMPEL_RELEASES.name: {name: row[name] for name in ("is_equal", "shortfall", "design")},
        TEMPEL_STATISTICS.name: {
            "figures": Picture(plot_figures(figures)),
            "table_1": Rows(_table_1(figures)),
            "lowest_overlap": Rows(_lowest(figures)),
        },
    }


def _rows(versions: Sequence[Version]) -> list[dict[str, Any]]:
    return [row for one in versions for row in plain_rows(read_parquet(one.paths()))]


def _table_1(rows: Sequence[dict[str, Any]]) -> pa.Table:
    found = [
        {"cut": str(row["cut"]), "entities and subset": row["series"], "what": row["label"], "n": int(row["value"])}
        for row in rows
        if row["figure"] == "table_1"
    ]
    return pa.Table.from_pylist(found)


def _lowest(rows: Sequence[dict[str, Any]]) -> pa.Table:
    found = sorted((row["value"], row["label"]) for row in rows if row["figure"] == "drift")
    return pa.Table.from_pylist([{"overlap": f"{value:.3f}", "entity": label} for value, label in found])


def _closing(store: Store, release: Release) -> Closing:
    """Counts by snapshot, category and subset."""
    (row,) = plain_rows(store.read(TEMPEL_RELEASES.name, release=release.name))
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for one in plain_rows(store.read(TEMPEL_STATISTICS.name, release=release.name, figure="table_1")):
        counts.setdefault((str(one["cut"]), one["series"]), {})[one["label"]] = int(one["value"])
    rows = [(*key, by_label["entities"], by_label["mentions"]) for key, by_label in sorted(counts.items())]
    short = f", {row['shortfall']:.1%} short at most" if release.design.equal_snapshots else ""
    equal = "equal" if row["is_equal"] else f"not equal{short}"
    return Closing(
        f"{counted(len(row['cuts']), 'snapshot')}, {equal}",
        (Sheet(("snapshot", "category and subset", "entities", "mentions"), rows),),
        "cut, category, mention, target_title",
        TEMPEL_MENTIONS.name,
    )


_STEP = Step(
    "tempel",
    (
        Made(TEMPEL_PLANS, (MENTIONS, MENTION_PRIORS, STABLE_SNAPSHOTS, PAGE_TEXTS)),
        Made(TEMPEL_FILTERS, (TEMPEL_PLANS,)),
        Made(TEMPEL_MENTIONS, (TEMPEL_PLANS,)),
        Made(TEMPEL_ENTITIES, (TEMPEL_PLANS,)),
        Made(TEMPEL_RELEASES, (TEMPEL_MENTIONS, TEMPEL_ENTITIES)),
        Made(TEMPEL_STATISTICS, (TEMPEL_FILTERS, TEMPEL_MENTIONS, TEMPEL_ENTITIES)),
    ),
    write_release,
    PROMISES,
    _shows,
)
_TEXTS_STEP = Step(
    ENTITY_TEXTS.name,
    (Made(ENTITY_TEXTS, (TEMPEL_ENTITIES, TEMPEL_RELEASES, PAGE_TEXTS)),),
    _each_cut(ENTITY_TEXTS, write_entity_texts),
    OF_TEXTS,
)
_NEW_STEP = Step(
    TEMPEL_NEW_ENTITIES.name,
    (Made(TEMPEL_NEW_ENTITIES, (TEMPEL_ENTITIES, TEMPEL_RELEASES, STABLE_SNAPSHOTS, PAGE_TEXTS)),),
    _each_cut(TEMPEL_NEW_ENTITIES, write_new_entities),
    OF_NEW,
)

METHODS = Methods(
    design=_design,
    read_entry=read_entry,
    partitions=_partitions,
    steps=(_STEP, _TEXTS_STEP, _NEW_STEP),
    files=write_files,
    card=card_of,
    closing=_closing,
    configs=(config_of_table("mentions", TEMPEL_MENTIONS, "a mention with its entity", "subset", "cut::VARCHAR"),),
    acts={
        "extend": _extend,
        "balance": lambda _store, release, _options: balanced(release),
    },
)
