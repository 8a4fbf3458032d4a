"""Gives dated texts to training, as many of each year; they are never all in memory."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from tempkb.core.errors import SettingsError
from tempkb.models.corpora.steps import MEMORY, command_of, is_whole
from tempkb.models.corpora.tables import DATED_TEXTS, HOME, TRAIN, partition_of
from tempkb.store.memory import spilling_to, view_files
from tempkb.store.store import Store

_ROWS = 1 << 12
_SAMPLE = """
    WITH taken AS (
        SELECT window_start, text_id, md5_number_lower(concat($seed, ' ', text_id)) AS place FROM texts
        WHERE split = $split
        QUALIFY row_number() OVER (PARTITION BY year(window_start) ORDER BY place, text_id, window_start) <= $each
    )
    SELECT texts.* FROM texts JOIN taken USING (window_start, text_id) ORDER BY place, text_id, window_start
"""


def sample(
    store: Store, corpus: str, windows: Sequence[str], each: int, seed: int, split: str = TRAIN
) -> Iterator[pa.RecordBatch]:
    """Yield `each` texts of each year of some windows (YYYY-MM-DD), shuffled; all of a year with fewer.

    Texts are drawn by a hash of seed and text_id, so that a larger sample of the same windows has all of a smaller one.

    Raises:
        SettingsError: a window is not there, or the corpus was not read to its end.
    """
    lake, keys = store.lake, [partition_of(corpus, window) for window in windows]
    held = lake.versions(DATED_TEXTS.name, keys)
    if len(held) < len(keys) or not (corpus == HOME or is_whole(lake, corpus)):
        found = f"{len(held)} of {len(keys)} windows" if len(held) < len(keys) else "a part of its files"
        raise SettingsError(f"corpus {corpus!r}: found {found}; make it whole: {command_of(lake, corpus)}")
    asked = {"seed": seed, "split": split, "each": each}
    with lake.staging() as folder, spilling_to(folder, MEMORY) as connection:
        view_files(connection, "texts", [path for one in held for path in one.paths()], DATED_TEXTS.schema)
        yield from connection.sql(_SAMPLE, params=asked).to_arrow_reader(_ROWS)
