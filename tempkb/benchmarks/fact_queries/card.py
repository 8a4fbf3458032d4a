"""The dataset card of a release of facts."""

from collections.abc import Callable

from tempkb.benchmarks.card import Card, card_beside, texts_beside
from tempkb.benchmarks.fact_queries.releases import Release
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES, FACT_SPELLS
from tempkb.benchmarks.methods import Options
from tempkb.benchmarks.register import partitions_of_release
from tempkb.store.memory import asking, view_files
from tempkb.store.plain import plain_rows
from tempkb.store.store import Store
from tempkb.store.tables import Table


def _no_changes(_store: Store, _release: Release) -> str:
    return ""


def card_of(
    title: str, queries: Table, changes: Callable[[Store, Release], str] = _no_changes
) -> Callable[[Store, Release, Options], Card]:
    """Return a function that makes the card of a release."""

    def card(store: Store, release: Release, _options: Options) -> Card:
        (row,) = plain_rows(store.read(FACT_RELEASES.name, release=release.name))
        partitions = partitions_of_release(store.lake, queries, release.name)
        with asking() as connection:
            view_files(connection, "queries", store.lake.files(queries.name, partitions))
            counted = connection.execute(
                "SELECT relation, count(DISTINCT subject_id), count(*) FROM queries GROUP BY relation ORDER BY relation"
            ).fetchall()
        design = release.design
        return card_beside(
            __file__,
            store.lake.versions(FACT_SPELLS.name, [release.name]),
            **row,
            title=title,
            dump_id=design.dump_id,
            n_queries=sum(n for _, _, n in counted),
            n_subjects=sum(n for _, n, _ in counted),
            aliases="" if release.preset == "paper" else ", each with its other names (`aliases`)",
            changes=changes(store, release),
            relations="\n".join(f"| {relation} | {n:,} | {m:,} |" for relation, n, m in counted),
            answers="possibly" if design.answers == "possible" else "certainly",
            rules=design.rules,
            ambiguous=texts_beside(__file__)["ambiguous"][design.ambiguous],
        )

    return card
