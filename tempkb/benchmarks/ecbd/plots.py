"""Draws a release for the metadata of a run: entities by category and year (Table 1), items by origin window."""

from collections.abc import Sequence

from tempkb.benchmarks.ecbd.categories import category_names
from tempkb.benchmarks.plots import plot_bars
from tempkb.store.memory import asking, view_files
from tempkb.store.versions import Version

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
