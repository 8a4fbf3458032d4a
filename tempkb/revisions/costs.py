"""Estimates what building a history costs: processor time, disk, network.

Rates are measured on one machine (docs/benchmarks.md); those that could not be
measured are assumed, and marked so. docs/scaling.md has a table made from this.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tempkb.errors import SourceError

# Raw bytes per compressed byte. .bz2: the program that makes Wikimedia's exports aims at 100 MB for 2 GB of text. The
# others: measured on 300 MB of real articles with simulated edits; real histories may differ much.
EXPANSION = {".bz2": 20.0, ".7z": 75.0, ".gz": 7.4, ".zst": 80.0, "": 1.0}

# Raw bytes that a core decodes per second. .bz2 and .7z: benchmarks.md; .gz and .zst: the same machine and reader, on
# 79 MB of generated history. Plain files need no decoding.
DECODED_PER_SECOND = {".bz2": 64e6, ".7z": 315e6, ".gz": 1.1e9, ".zst": 1.5e9, "": float("inf")}

# Processor seconds per raw byte to scan and choose, and those that each window adds. From benchmarks.md, 10 and 40
# cuts, less start-up (0.4 s) and writing.
SCAN_SECONDS_PER_BYTE = 3.6e-9
SCAN_SECONDS_PER_BYTE_AND_WINDOW = 0.035e-9

HASHED_PER_SECOND = 1.6e9  # compressed bytes; measured, SHA-256; one process, before the reading
CLEANED_PER_SECOND = 14.9e6  # bytes of wikitext turned into text and links, per core; measured on real articles
# Bytes of the lake that the step merges, checks and writes per second, in one process. Measured: the difference
# between 79 and 620 MB of generated history, 19 MB at 10 cuts and 22 MB at 40.
WRITTEN_PER_SECOND = 20e6

REVISION_BYTES = (
    20e3  # mean raw size of a revision; assumed, from guesses for enwiki of 19 kB in 2022 and 22 kB in 2026
)
ARTICLE_BYTES = 8e3  # mean size of an article's text; assumed
SNAPSHOT_SHARE = (
    0.0021  # bytes of all texts of one snapshot per raw byte; assumed: 5.3 million articles in 20 TB, enwiki 2022
)
CHANGED_IN_A_YEAR = 0.76  # share of a snapshot's texts that differ from those of a year before; assumed

# Bytes; measured on 620 MB of generated history.
LAKE_PER_REVISION = 45.0
LAKE_PER_SNAPSHOT_ROW = 84.0
LAKE_PER_TEXT_BYTE = 1 / 2.9 + 0.27 + 0.10  # page_wikitexts, page_texts, page_links
STAGING_PER_REVISION = 129.0
STAGING_PER_SNAPSHOT_ROW = 290.0
STAGING_PER_TEXT_BYTE = 1.0


@dataclass(frozen=True)
class Cost:
    """Cost of building `revision_log`, `stable_snapshots`, `page_wikitexts`, `page_texts` and `page_links`.

    Attributes:
        raw_bytes: the history, decompressed; it is never written to disk.
        cpu_seconds: of all processes together.
        wall_seconds: if each worker has a core, and items are many and of similar size.
        staging_bytes: the most that workers' drafts take at one time.
        lake_bytes: size of the finished tables.
        network_bytes: through a shared file system: dumps read twice (once for their hash), drafts written and read,
            the lake written.
    """

    raw_bytes: float
    cpu_seconds: float
    wall_seconds: float
    staging_bytes: float
    lake_bytes: float
    network_bytes: float


def estimate(compressed: Mapping[str, int], windows: int, workers: int, windows_per_year: float = 4) -> Cost:
    """Estimate a build of all windows in an empty home.

    Args:
        compressed: bytes of the history's files by suffix: `.bz2`, `.7z`, `.gz`, `.zst`, or empty for plain XML.
        windows: how many windows.
        workers: processes that read and clean, at least 1.
        windows_per_year: 4 for quarters; shorter windows share more texts.

    Raises:
        SourceError: there is no rate for a suffix.
    """
    unknown = sorted(set(compressed) - set(EXPANSION))
    if unknown:
        raise SourceError(
            f"no rate is known for files in {', '.join(unknown)}; known: {', '.join(filter(None, EXPANSION))}"
        )
    raw = sum(size * EXPANSION[suffix] for suffix, size in compressed.items())
    decoding = sum(size * EXPANSION[suffix] / DECODED_PER_SECOND[suffix] for suffix, size in compressed.items())
    scanning = raw * (SCAN_SECONDS_PER_BYTE + windows * SCAN_SECONDS_PER_BYTE_AND_WINDOW)
    revisions = raw / REVISION_BYTES
    snapshot_rows = windows * raw * SNAPSHOT_SHARE / ARTICLE_BYTES
    text_bytes = raw * SNAPSHOT_SHARE * _distinct_snapshots(windows, windows_per_year)
    lake = revisions * LAKE_PER_REVISION + snapshot_rows * LAKE_PER_SNAPSHOT_ROW + text_bytes * LAKE_PER_TEXT_BYTE
    staging = (
        revisions * STAGING_PER_REVISION + snapshot_rows * STAGING_PER_SNAPSHOT_ROW + text_bytes * STAGING_PER_TEXT_BYTE
    )
    in_workers = decoding + scanning + text_bytes / CLEANED_PER_SECOND
    in_the_step = sum(compressed.values()) / HASHED_PER_SECOND + lake / WRITTEN_PER_SECOND
    return Cost(
        raw_bytes=raw,
        cpu_seconds=in_workers + in_the_step,
        wall_seconds=in_workers / workers + in_the_step,
        staging_bytes=staging,
        lake_bytes=lake,
        network_bytes=2 * sum(compressed.values()) + 2 * staging + lake,
    )


def _distinct_snapshots(windows: int, windows_per_year: float) -> float:
    """Return how many snapshots' worth of distinct texts there are, if texts change at the yearly rate."""
    changed: float = 1 - (1 - CHANGED_IN_A_YEAR) ** (1 / windows_per_year)
    return 1 + (windows - 1) * changed if windows else 0.0
