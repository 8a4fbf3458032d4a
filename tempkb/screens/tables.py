"""The screen of `tempkb tables`: the tables and views of a home."""

from tempkb.api import open_store
from tempkb.screens.console import console, grid


def print_tables() -> None:
    """Print all tables with rows, partitions, form and meaning, and all views with their tables and meaning."""
    store = open_store()
    rows = []
    for table in store.tables.values():
        versions = store.lake.versions(table.name)
        n_rows = sum(one.rows for one in versions)
        form = table.form(n_rows, store.home.settings.duckdb_max_rows)
        rows.append((table.name, n_rows, len(versions), table.partitioned_by, form, table.meaning))
    console().print(grid(("table", "rows", "partitions", "a partition is a", "in DuckDB", "meaning"), rows))
    views = [(view.name, ", ".join((*view.needs, *view.optional)), view.meaning) for view in store.views.values()]
    console().print(grid(("view", "over", "meaning"), views))
