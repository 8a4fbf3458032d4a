"""The dataset card of a release of facts."""

from collections.abc import Callable

from tempkb.benchmarks.card import Card, card_beside, texts_beside
from tempkb.benchmarks.fact_queries.releases import Release
from tempkb.benchmarks.fact_queries.tables import FACT_RELEASES, FACT_SPELLS
from tempkb.benchmarks.methods import Options
from tempkb.benchmarks.register import release_files, release_versions
from tempkb.store.memory import asking, view_files
from tempkb.store.parquet import read_parquet
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
        (row,) = plain_rows(read_parquet(release_files(store, FACT_RELEASES, release.name)))
        with asking() as connection:
            view_files(connection, "queries", release_files(store, queries, release.name))
            counted = connection.execute(
                "SELECT relation, count(DISTINCT subject_id), count(*) FROM queries GROUP BY relation ORDER BY relation"
            ).fetchall()
        design = release.design
        return card_beside(
            __file__,
            release_versions(store, FACT_SPELLS, release.name),
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
