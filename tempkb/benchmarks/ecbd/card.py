"""The dataset card of an ECBD release."""

from tempkb.benchmarks.card import Card, card_beside
from tempkb.benchmarks.ecbd.releases import Release
from tempkb.benchmarks.ecbd.tables import ECBD_CLOZE, ECBD_RELEASES, TABLES
from tempkb.benchmarks.ecbd.views import CATEGORIES, DATA_STATISTICS, ORIGIN_YEARS
from tempkb.benchmarks.methods import Options
from tempkb.benchmarks.register import release_files, release_versions
from tempkb.store.materialise import markdown
from tempkb.store.memory import asking, view_files
from tempkb.store.parquet import read_parquet
from tempkb.store.plain import plain_rows
from tempkb.store.store import Store


def card_of(store: Store, release: Release, _options: Options) -> Card:
    """Return the card of a release that is built."""
    (row,) = plain_rows(read_parquet(release_files(store, ECBD_RELEASES, release.name)))
    with asking() as connection:
        for table in TABLES:
            view_files(connection, table.name, release_files(store, table, release.name))
        n_items, n_entities, n_popular = connection.execute(
            "SELECT count(*), count(DISTINCT page_id) FILTER (WHERE subset = 'odie'), "
            f"count(DISTINCT page_id) FILTER (WHERE subset = 'popular') FROM {ECBD_CLOZE.name}"
        ).fetchall()[0]

        def table_of(query: str) -> str:
            return markdown(connection.sql(query).to_arrow_table())

        every = "CASE WHEN origin_year = 0 THEN 'all' ELSE origin_year::VARCHAR END AS origin_year"
        years = table_of(
            f"SELECT {every}, n_dev, n_test, n_entities FROM ({ORIGIN_YEARS.query}) AS y ORDER BY y.origin_year"
        )
        statistics = table_of(
            "SELECT * EXCLUDE (release) REPLACE (round(mean_span_words, 2) AS mean_span_words, "
            f"round(proper_share, 3) AS proper_share) FROM ({DATA_STATISTICS.query}) ORDER BY subset"
        )
        categories = table_of(
            f"SELECT {every}, category, n_entities, round(per_cent, 1) AS per_cent "
            f"FROM ({CATEGORIES.query}) AS c ORDER BY c.origin_year, place"
        )
    return card_beside(
        __file__,
        release_versions(store, ECBD_CLOZE, release.name),
        **row,
        n_items=n_items,
        n_entities=n_entities,
        popular=f", and {n_popular:,} popular ones" if n_popular else "",
        years=years,
        statistics=statistics,
        categories=categories,
    )
