"""Shows what models know as a table: rows of the lake, CSV with all columns, and LaTeX as papers print it."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from tempkb.models.known import until_in_words
from tempkb.results.knowing import Known, known_of
from tempkb.results.latex import escaped
from tempkb.results.questions import Scored
from tempkb.results.reading import read_windows
from tempkb.results.tables import KNOWLEDGE
from tempkb.statistics import Estimate
from tempkb.store.store import Store
from tempkb.store.tables import Table
from tempkb.wording import csv_of, rounded

TITLES = (
    "model",
    "knows until",
    "items",
    "clusters",
    "level",
    "earlier",
    "difference",
    "detectable",
    "rank",
    "verdict",
)
"""Columns of the table for people."""

_UNRANKED = "none: as controls"


def rows_of_known(table: Table, known: Sequence[Known]) -> pa.Table:
    """Return the rows of `knowledge` or `knows`."""
    rows = sorted((one.row() for one in known), key=lambda row: [row[name] for name in table.key])
    return pa.Table.from_pylist(rows, table.schema)


def read_known(store: Store) -> tuple[list[Known], list[Known]]:
    """Return what models know of each release's last window, and of all windows, of the scores that are there now."""
    last, every = list[Known](), list[Known]()
    for of_last, of_windows in read_windows(store):
        last += known_of([of_last])
        every += known_of(of_windows)
    return last, every


def as_arrow(known: Sequence[Known]) -> pa.Table:
    """Return the table for people, with the columns `TITLES`; all cells are texts."""
    cells = [[str(cell) for cell in row] for row in map(cells_of, known)]
    return pa.table(dict(zip(TITLES, map(list, zip(*cells, strict=True)), strict=True)))


def as_csv(known: Sequence[Known]) -> str:
    """Return a CSV file with the columns of `knowledge`; numbers have all their digits."""
    names = KNOWLEDGE.column_names()
    return csv_of([names, *(map(one.row().get, names) for one in known)])


def as_latex(known: Sequence[Known]) -> str:
    """Return a LaTeX table for each release and aggregate; it needs the package booktabs."""
    from pandas import DataFrame

    parts = []
    for caption, own in questions_of(known):
        frame = DataFrame([cells_of(one) for one in own], columns=list(TITLES))
        parts.append(frame.to_latex(index=False, escape=True, caption=escaped(caption), position="t"))
    return "\n".join(parts)


def questions_of(known: Sequence[Known]) -> list[tuple[str, list[Known]]]:
    """Return what is known by question, each with its title for people."""
    found: dict[tuple[str, str], list[Known]] = {}
    for one in known:
        found.setdefault((one.question.release, one.question.aggregate.name), []).append(one)
    return [(title_of(own[0]), own) for own in found.values()]


def title_of(known: Known) -> str:
    """Return the title of a question: what was measured of which window, compared with which period."""
    asked = known.question
    return (
        f"{asked.aggregate.title} from {asked.window[0]} to {asked.window[1]} ({asked.release}), "
        f"earlier: {asked.earlier[0]} to {asked.earlier[1]}{' (the first that can be compared)' * asked.is_fallback}"
    )


def cells_of(known: Known) -> tuple[Any, ...]:
    """Return the cells of `TITLES`: shares in per cent, differences in percentage points or as factors."""
    row = known.row()
    show = _factor if known.is_factor else _percent
    sign = "" if known.is_factor else "+"
    return (
        known.label,
        until_in_words(row["knows_certainly_until"], row["knows_possibly_until"]),
        row["n_items"],
        row["n_clusters"],
        _interval(row["value"], row["low"], row["high"], show),
        _interval(row["earlier_value"], row["earlier_low"], row["earlier_high"], show),
        _interval(row["difference"], row["difference_low"], row["difference_high"], show, sign),
        "" if row["detectable"] is None else show(row["detectable"], ""),
        _UNRANKED if known.rank_note else "" if known.rank is None else _rank(known.rank, known.n_ranked),
        row["verdict"],
    )


def level_in_words(known: Known, items: Scored) -> str:
    """Return the aggregate of some of a model's items as the table shows levels; empty without an item."""
    level = known.level_of(items)
    show = _factor if known.is_factor else _percent
    return "" if level is None else _interval(level.value, level.low, level.high, show)


def share_in_words(share: Estimate) -> str:
    """Return a share with its interval, if there is one, in per cent."""
    return _interval(share.value, share.low, share.high, _percent)


def _interval(value: float | None, low: float | None, high: float | None, show: Any, sign: str = "") -> str:
    if value is None:
        return ""
    if low is None or high is None:
        return str(show(value, sign))
    return f"{show(value, sign)} [{show(low, sign)}, {show(high, sign)}]"


def _percent(share: float, sign: str) -> str:
    """A share as a whole number of per cent.

    >>> _percent(-0.002, "+"), _percent(-0.334, "+"), _percent(0.72, "")
    ('+0', '-33', '72')
    """
    return rounded(100 * share, 0, sign)


def _factor(value: float, _sign: str) -> str:
    # In between three digits would be written as a power, too. Larger numbers would not fit a terminal.
    return f"{value:.0f}" if 999.5 <= value < 999_999.5 else f"{value:.3g}"


def _rank(rank: tuple[int, int], n: int) -> str:
    return f"{rank[0]} of {n}" if rank[0] == rank[1] else f"{rank[0]}-{rank[1]} of {n}"
