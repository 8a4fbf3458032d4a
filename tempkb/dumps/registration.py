"""The rows of `dump_files` for a dump that was just found, before a pass has read its files."""

from typing import Any

from tempkb.dumps.catalogue import Dump


def describe_files(dump: Dump) -> list[dict[str, Any]]:
    """Return the rows of `dump_files` for a dump as its files are on disk, sorted by file name."""
    return [
        {
            "wiki": dump.wiki,
            "dump_id": dump.dump_id,
            "file_name": file.path.name,
            "kind": file.kind,
            "dump_date": dump.date,
            "horizon": dump.horizon * 1_000_000,
            "size_bytes": file.path.stat().st_size,
            "checksum": file.sha256,
            "status": "complete",
            "reason": None,
            "n_pages": None,
            "n_revision_elements": None,
        }
        for file in sorted(dump.files, key=lambda file: file.path.name)
    ]
