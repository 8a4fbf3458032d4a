"""Draws the rows of an item: lines, bars or violins, with a panel for each release and value of others."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tempkb.core.pictures import figure, label_dates
from tempkb.results.papers.items import Drawing, Row

_HEIGHT = 3.4  # inches of a panel
_ONE_COLUMN = 3  # panels, at most
_MOST_SERIES = 12  # of a legend beside which a picture still has room


@contextmanager
def drawn(drawing: Drawing, rows: Sequence[Row], title: str) -> Iterator[Any]:
    """Give the figure of rows, in their order; those without a finite value are left out.

    Args:
        title: of the whole figure.
    """
    panels: dict[str, dict[str, list[Row]]] = {}
    apart = ("release", *drawing.panels)
    for row in rows:
        if row.get(drawing.y) is not None and math.isfinite(row[drawing.y]):
            own = panels.setdefault(_named(row, apart), {})
            own.setdefault(_named(row, drawing.series), []).append(row)
    n_columns = 1 if len(panels) <= _ONE_COLUMN else 2
    n_rows = max(1, -(-len(panels) // n_columns))
    with figure(n_columns, n_rows, width=9 + 5 * (n_columns - 1), height=0.5 + _HEIGHT * n_rows) as (canvas, axes):
        grid = list(np.array(axes).flat)
        for axis in grid[len(panels) :]:
            axis.set_visible(False)
        for axis, (name, series) in zip(grid, panels.items(), strict=False):
            _DRAW[drawing.kind](axis, drawing, series)
            axis.set_title(name, fontsize=8)
            axis.set_xlabel(drawing.x.replace("_", " "), fontsize=8)
            axis.set_ylabel(drawing.y.replace("_", " "), fontsize=8)
            axis.tick_params(labelsize=7)
            axis.spines[["top", "right"]].set_visible(False)
            if drawing.log:
                axis.set_yscale("log")
            if any(series):
                axis.legend(fontsize=6, frameon=False, ncols=1 + len(series) // _MOST_SERIES)
        canvas.suptitle(title, fontsize=9, wrap=True)
        yield canvas


def _named(row: Row, columns: Sequence[str]) -> str:
    return ", ".join("all" if row[one] is None else str(row[one]) for one in columns if one in row)


def _places(drawing: Drawing, series: Mapping[str, Sequence[Row]]) -> dict[Any, int]:
    """The values of x in the order of the rows, or, of numbers and days, by size, with their places on the axis."""
    values = list(dict.fromkeys(row[drawing.x] for rows in series.values() for row in rows))
    if not any(isinstance(value, str) or value is None for value in values):
        values.sort()
    return {value: place for place, value in enumerate(values)}


def _lines(axis: Any, drawing: Drawing, series: Mapping[str, Sequence[Row]]) -> None:
    places = _places(drawing, series)
    for at, (name, rows) in enumerate(series.items()):
        # Moved a little, so that intervals stand beside each other.
        shift = 0.3 * ((at + 0.5) / len(series) - 0.5)
        points = sorted(((places[row[drawing.x]] + shift, row) for row in rows), key=lambda one: one[0])
        xs, ys = [x for x, _ in points], [row[drawing.y] for _, row in points]
        (line,) = axis.plot(xs, ys, "o-", markersize=3.5, linewidth=1.2, label=name)
        for x, row in points:
            _interval(axis, x, row, line.get_color())
    label_dates(axis, list(map(str, places)))


def _bars(axis: Any, drawing: Drawing, series: Mapping[str, Sequence[Row]]) -> None:
    places, width = _places(drawing, series), 0.8 / max(1, len(series))
    for at, (name, rows) in enumerate(series.items()):
        xs = [places[row[drawing.x]] + (at + 0.5) * width - 0.4 for row in rows]
        axis.bar(xs, [row[drawing.y] for row in rows], width, label=name)
        for x, row in zip(xs, rows, strict=True):
            _interval(axis, x, row, "#3b4450")
    label_dates(axis, list(map(str, places)))


def _interval(axis: Any, x: float, row: Row, colour: str) -> None:
    if row.get("low") is not None and row.get("high") is not None:
        axis.plot([x, x], [row["low"], row["high"]], color=colour, linewidth=1, alpha=0.6)


def _violins(axis: Any, drawing: Drawing, series: Mapping[str, Sequence[Row]]) -> None:
    """For each value of x the distribution of its cells, each with the same weight, and the cells themselves."""
    places = _places(drawing, series)
    width = 0.8 / max(1, len(series))
    for at, (name, rows) in enumerate(series.items()):
        label: str | None = name
        for value, place in places.items():
            cells = [row[drawing.y] for row in rows if row[drawing.x] == value]
            if not cells:
                continue
            x = place + (at + 0.5) * width - 0.4
            if len(set(cells)) > 1:
                for body in axis.violinplot(cells, [x], widths=0.9 * width, showextrema=False)["bodies"]:
                    body.set(facecolor=f"C{at % 10}", alpha=0.3)
            axis.plot([x] * len(cells), cells, ".", color=f"C{at % 10}", markersize=3, label=label)
            axis.plot(x, np.mean(cells), "_", color=f"C{at % 10}", markersize=10)
            label = None
    label_dates(axis, list(map(str, places)))


_DRAW = {"lines": _lines, "bars": _bars, "violin": _violins}
