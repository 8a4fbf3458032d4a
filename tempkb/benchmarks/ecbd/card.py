"""The dataset card of an ECBD release, and pictures: entities by category and year (Table 1), and items."""

from collections.abc import Sequence

from tempkb.benchmarks.card import Card, card_beside, plot_bars, popularity_in_words, popularity_of
from tempkb.benchmarks.ecbd.categories import category_names
from tempkb.benchmarks.ecbd.design import Release
from tempkb.benchmarks.ecbd.tables import CATEGORIES, DATA_STATISTICS, ECBD_CLOZE, ECBD_RELEASES, ORIGIN_YEARS, TABLES
from tempkb.benchmarks.methods import Options
from tempkb.benchmarks.register import release_files, release_versions
from tempkb.core.files import read_parquet
from tempkb.store.materialise import markdown
from tempkb.store.memory import asking, view_files
from tempkb.store.plain import plain_rows
from tempkb.store.store import Store
from tempkb.store.versions import Version
from tempkb.wiki.wikidata.scope import language_of_wiki


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
        language=language_of_wiki(store.home.settings),
        min_words=release.design.min_words,
        **popularity_in_words(
            popularity_of(store, release.name, release.design.cut, ECBD_CLOZE, ("page_id", "s.page_id"))
        ),
    )


_NO_ORIGIN = "popular"


def plot_categories(entities: Version) -> str:
    """Return a Markdown image of the entities that have items, by year of origin and category."""
    counts = _counts(
        entities,
        f"""
        SELECT coalesce(CASE WHEN subset = 'odie' THEN year(origin_from)::VARCHAR END, '{_NO_ORIGIN}') AS place,
               category, count(*) FROM counted WHERE n_np_spans + n_random_spans > 0 GROUP BY ALL
        """,
    )
    return _bars("Entities by category and year of origin", counts, category_names())


def plot_windows(items: Version) -> str:
    """Return a Markdown image of the items by origin window, split and kind of span."""
    counts = _counts(
        items,
        f"""
        SELECT coalesce(origin_window, '{_NO_ORIGIN}') AS place, concat(split, ', ', span_kind) AS what, count(*)
        FROM counted GROUP BY ALL
        """,
    )
    return _bars("Items by window of origin", counts, sorted({what for _, what in counts}))


def items_by_window(items: Version) -> tuple[list[str], dict[str, list[int]]]:
    """Return the windows of origin and, by split, the number of items in each; popular entities come last."""
    counts = _counts(
        items,
        f"SELECT coalesce(origin_window, '{_NO_ORIGIN}') AS place, split, count(*) FROM counted GROUP BY ALL",
    )
    places = _places(counts)
    splits = sorted({split for _, split in counts})
    return places, {split: [counts.get((place, split), 0) for place in places] for split in splits}


def _counts(version: Version, query: str) -> dict[tuple[str, str], int]:
    with asking() as connection:
        view_files(connection, "counted", version.paths())
        return {(place, what): n for place, what, n in connection.execute(query).fetchall()}


def _places(counts: dict[tuple[str, str], int]) -> list[str]:
    return sorted({place for place, _ in counts}, key=lambda place: (place == _NO_ORIGIN, place))


def _bars(title: str, counts: dict[tuple[str, str], int], series: Sequence[str]) -> str:
    places = _places(counts)
    shown = {name: [counts.get((place, name), 0) for place in places] for name in series}
    return plot_bars(title, places, {name: values for name, values in shown.items() if any(values)})
