"""Where tables live: a lake of Parquet files for the machines, a DuckDB file for the people."""
