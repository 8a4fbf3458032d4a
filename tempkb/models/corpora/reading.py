"""Gives dated texts to training: all of some windows, or as many of each year; neither is ever whole in memory."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from tempkb.core.errors import SettingsError
from tempkb.models.corpora.dating import MEMORY
from tempkb.models.corpora.steps import command_of, is_all_there, versions_of
from tempkb.models.corpora.tables import DATED_TEXTS, HOME, TRAIN, parts_of
from tempkb.store.memory import spilling_to, view_files
from tempkb.store.store import Store, read_files
from tempkb.store.versions import Version

_ROWS = 1 << 12


def versions_in(store: Store, corpus: str, windows: Sequence[str]) -> list[Version]:
    """Return the texts of some windows (YYYY-MM-DD), oldest first.

    Raises:
        SettingsError: a window is not there, or the corpus was not read to its end.
    """
    held = {parts_of(one.partition)[1]: one for one in versions_of(store.lake, corpus)}
    lacking = sorted({*windows} - {*held})
    if lacking or (corpus != HOME and not all(is_all_there(store.lake, held[window]) for window in windows)):
        found = f"no texts of {lacking[0]}" if lacking else "texts of some windows only"
        there = f"; there are {min(held)} to {max(held)}" if held else ""
        raise SettingsError(f"corpus {corpus!r}: found {found}{there}. Make them: {command_of(store.lake, corpus)}")
    return [held[window] for window in sorted({*windows})]


def texts(store: Store, corpus: str, windows: Sequence[str], split: str) -> Iterator[pa.RecordBatch]:
    """Yield the texts of a split in some windows, by window and text_id.

    Raises:
        SettingsError: see `versions_in`.
    """
    import pyarrow.compute as pc

    for version in versions_in(store, corpus, windows):
        for rows in read_files(version.paths()):
            yield from rows.filter(pc.equal(rows["split"], split)).to_batches(_ROWS)


_SAMPLE = """
    WITH places AS (
        SELECT window_start, text_id, md5_number_lower(concat($seed, ' ', text_id)) AS place FROM texts
        WHERE split = $split
    ), taken AS (
        FROM places
        QUALIFY row_number() OVER (PARTITION BY year(window_start) ORDER BY place, text_id, window_start)
                <= $each + (year(window_start) IN $with_one_more)::INTEGER
    )
    SELECT texts.* FROM texts JOIN taken USING (window_start, text_id) ORDER BY place, text_id, window_start
"""


def sample(
    store: Store, corpus: str, windows: Sequence[str], n: int, seed: int, split: str = TRAIN
) -> Iterator[pa.RecordBatch]:
    """Yield `n` texts, as many of each year, shuffled; fewer where a year has not so many.

    Texts are drawn by a hash of seed and text_id, so that a larger sample of the same windows has all of a smaller one.

    Raises:
        SettingsError: see `versions_in`.
    """
    versions = versions_in(store, corpus, windows)
    years = sorted({int(parts_of(one.partition)[1][:4]) for one in versions if one.rows})
    each, rest = divmod(n, max(1, len(years)))
    asked = {"seed": seed, "split": split, "each": each, "with_one_more": years[:rest]}
    with store.lake.staging() as folder, spilling_to(folder, MEMORY) as connection:
        paths = [path for one in versions for path in one.paths()]
        view_files(connection, "texts", paths, DATED_TEXTS.schema)
        yield from connection.sql(_SAMPLE, params=asked).to_arrow_reader(_ROWS)
