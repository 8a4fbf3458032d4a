"""The methods of a benchmark that has mentions, which the code that links them calls."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tempkb.benchmarks.linkable.declaration import Linkable
from tempkb.store.store import Store

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Snapshots:
    """A release with mentions, as far as pools of candidates depend on it.

    Attributes:
        cuts: its snapshots, oldest first.
    """

    name: str
    cuts: Sequence[date]
    seed: int
    tables: Linkable


@dataclass(frozen=True)
class LinkableMethods:
    """What only the code of a benchmark can do.

    Attributes:
        snapshots: returns the snapshots of a release from its entry in the register.
        write_described: writes the candidates of a cut to a Parquet file with the columns `texts.DESCRIBED`, in the
            order of `page_id`. Its arguments are the store, the cut, the path, the release (empty: the candidates that
            the default design has at the cut), and the page_ids that are wanted (None: all). It raises ContractError
            if the cut or the release is not built, or texts of it are no longer in the home.
    """

    snapshots: Callable[[Mapping[str, Any]], Snapshots]
    write_described: Callable[[Store, date, Path, str, Integers | None], None]
