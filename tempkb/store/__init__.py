"""Storage of tables: a lake of Parquet files for programs, and a DuckDB file for people."""
