"""Parquet files with a checksum in each page, which our readers verify.

DuckDB (2.0.0) ignores these checksums, so those of whole files are verified before it reads them (`Version.paths`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

# Imported by functions that read or write a file: commands that only look do not need it, and it takes long.
if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


def open_parquet(path: Path) -> "pq.ParquetFile":
    """Open a file whose pages are verified against their checksums when they are read."""
    import pyarrow.parquet as pq

    return pq.ParquetFile(path, page_checksum_verification=True)


def read_parquet(paths: Path | Sequence[Path], columns: Sequence[str] | None = None) -> "pa.Table":
    """Return all rows of one file or several."""
    import pyarrow.parquet as pq

    listed = paths if isinstance(paths, Path) else list(paths)
    return pq.read_table(listed, columns=columns, page_checksum_verification=True)


def parquet_writer(path: Path, schema: "pa.Schema", **options: Any) -> "pq.ParquetWriter":
    """Open a file for writing, with a checksum in each page."""
    import pyarrow.parquet as pq

    return pq.ParquetWriter(path, schema, write_page_checksum=True, **options)
