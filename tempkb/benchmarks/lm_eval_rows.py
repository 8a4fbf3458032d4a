"""Reads the rows of a task of lm-evaluation-harness from beside the task. Exported with the tasks; needs no tempkb."""

from pathlib import Path
from typing import Any

import datasets
import pyarrow.parquet as pq


def load(file: str, date: str, **_: Any) -> dict[str, datasets.Dataset]:
    """Return the rows of a window in a file as the split `test`."""
    rows = pq.read_table(Path(__file__).with_name(file), filters=[("date", "==", date)])
    return {"test": datasets.Dataset.from_list(rows.to_pylist())}


def nats(doc: dict[str, Any], results: list[tuple[float, bool]]) -> dict[str, float]:
    """Return the log-probability of a text; `results` has it with whether it is the likeliest."""
    return {"nats": results[0][0]}
