"""In-memory DuckDB connections, through which assets and checks query the lake's files."""

import duckdb


def in_memory(threads: int | None = None) -> duckdb.DuckDBPyConnection:
    """Open an in-memory DuckDB, in UTC and quiet.

    Args:
        threads: how many to use; None leaves it to DuckDB.
    """
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false; SET TimeZone = 'UTC'")
    if threads is not None:
        connection.execute(f"SET threads = {threads}")
    return connection
