"""Estimates what building a history costs: processor time, disk, network, also of a small one.

Rates are measured on one machine (docs/benchmarks.md); those that could not be
measured are assumed, and marked so. docs/scaling.md has a table made from this.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from tempkb.core.errors import SourceError

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
# What a build takes however little it reads: the start, the plan, and for each window the steps of Dagster and of the
# store. Measured: 7.5, 14.9 CPU seconds at 10 and 40 windows of 0.2 MB, 9.2, 16.1 and 38.4 at 10, 40 and 100 of 20 MB.
START_SECONDS = 5.0
SECONDS_PER_WINDOW = 0.28
# Bytes of the lake that the step merges, checks and writes per second, in one process. Measured: the difference
# between 79 and 620 MB of generated history, 19 MB at 10 cuts and 22 MB at 40.
WRITTEN_PER_SECOND = 20e6

# Of a history of LARGE raw bytes, enwiki's of 2022; of others by the powers below: a small wiki has shorter revisions,
# and fewer for each article. The powers agree within a factor of two with generated histories of 0.2, 20 and 440 MB.
LARGE = 20e12
REVISION_BYTES = (
    20e3  # mean raw size of a revision; assumed, from guesses for enwiki of 19 kB in 2022 and 22 kB in 2026
)
REVISION_POWER = 0.1
ARTICLE_BYTES = 8e3  # mean size of an article's text; assumed
SNAPSHOT_SHARE = (
    0.0021  # bytes of all texts of one snapshot per raw byte; assumed: 5.3 million articles in 20 TB, enwiki 2022
)
SNAPSHOT_POWER = -0.2
CHANGED_IN_A_YEAR = 0.76  # share of a snapshot's texts that differ from those of a year before; assumed

# Bytes; measured on 620 MB of generated history.
LAKE_PER_REVISION = 45.0
LAKE_PER_SNAPSHOT_ROW = 84.0
MENTIONS_PER_SNAPSHOT_ROW = 270.0  # measured on 440 MB: mentions, inverted_index, mention_priors, entity_popularity
LINKS_PER_TEXT_BYTE = 0.10  # page_links
LAKE_PER_TEXT_BYTE = 1 / 2.9 + 0.27 + LINKS_PER_TEXT_BYTE  # with page_wikitexts and page_texts
# Measured as disk usage, at 10, 40 and 100 windows: DuckDB's file and Dagster's storage without rows, and for each
# window the pointers, manifests and begun blocks of the lake (0.25) and Dagster's events (0.3).
EMPTY_BYTES = 6.5e6
BYTES_PER_WINDOW = 0.55e6
PUBLISHED = 0.9  # bytes of DuckDB's file for each byte of the lake that is copied into it
STAGING_PER_REVISION = 129.0
STAGING_PER_SNAPSHOT_ROW = 290.0
STAGING_PER_TEXT_BYTE = 1.0


@dataclass(frozen=True)
class Cost:
    """Cost of building all tables of windows, from the history to the mentions and what is made from them.

    Attributes:
        raw_bytes: the history, decompressed; it is never written to disk.
        cpu_seconds: of all processes together.
        wall_seconds: if each worker has a core, and items are many and of similar size.
        staging_bytes: the most that workers' drafts take at one time.
        lake_bytes: size of the finished tables.
        home_bytes: what the build leaves on the disk: the lake, DuckDB's file and Dagster's storage.
        network_bytes: through a shared file system: dumps read twice (once for their hash), drafts written and read,
            the lake written.
    """

    raw_bytes: float
    cpu_seconds: float
    wall_seconds: float
    staging_bytes: float
    lake_bytes: float
    home_bytes: float
    network_bytes: float


def estimate(compressed: Mapping[str, int], windows: int, workers: int, windows_per_year: float = 4) -> Cost:
    """Estimate a build of all windows in an empty home.

    Args:
        compressed: bytes of the history's files by suffix: `.bz2`, `.7z`, `.gz`, `.zst`, or empty for plain XML.
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
    revisions = raw / _scaled(REVISION_BYTES, REVISION_POWER, raw)
    snapshot = raw * _scaled(SNAPSHOT_SHARE, SNAPSHOT_POWER, raw)
    rows = windows * snapshot / ARTICLE_BYTES
    text_bytes = min(raw, snapshot * _distinct_snapshots(windows, windows_per_year))
    # Texts stay in the lake; DuckDB's file has all else again.
    copied = revisions * LAKE_PER_REVISION + rows * (LAKE_PER_SNAPSHOT_ROW + MENTIONS_PER_SNAPSHOT_ROW)
    copied += text_bytes * LINKS_PER_TEXT_BYTE
    lake = copied + text_bytes * (LAKE_PER_TEXT_BYTE - LINKS_PER_TEXT_BYTE)
    staging = revisions * STAGING_PER_REVISION + rows * STAGING_PER_SNAPSHOT_ROW + text_bytes * STAGING_PER_TEXT_BYTE
    in_workers = decoding + scanning + text_bytes / CLEANED_PER_SECOND
    in_the_step = sum(compressed.values()) / HASHED_PER_SECOND + lake / WRITTEN_PER_SECOND
    in_the_step += START_SECONDS + windows * SECONDS_PER_WINDOW
    return Cost(
        raw_bytes=raw,
        cpu_seconds=in_workers + in_the_step,
        wall_seconds=in_workers / workers + in_the_step,
        staging_bytes=staging,
        lake_bytes=lake,
        home_bytes=lake + PUBLISHED * copied + EMPTY_BYTES + windows * BYTES_PER_WINDOW,
        network_bytes=2 * sum(compressed.values()) + 2 * staging + lake,
    )


def _scaled(at_large: float, power: float, raw: float) -> float:
    """Return a quantity of a history of some raw bytes that has a value at LARGE and follows a power law."""
    factor: float = (max(raw, 1.0) / LARGE) ** power
    return at_large * factor


def _distinct_snapshots(windows: int, windows_per_year: float) -> float:
    """Return how many snapshots' worth of distinct texts there are, if texts change at the yearly rate."""
    changed: float = 1 - (1 - CHANGED_IN_A_YEAR) ** (1 / windows_per_year)
    return 1 + (windows - 1) * changed if windows else 0.0
